from __future__ import annotations

import asyncio
import gc
import inspect
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from barnabas.latch import Latch
from barnabas.loop_thread import LoopThread

LONG_SECONDS = 30.0
WAITING = ("loop_thread.py", "latch.py", "events.py", "threading.py", "/futures/_base.py", "/tasks.py")


def test_a_latch_ends_the_waits_of_all_threads_and_those_to_come() -> None:
    latch = Latch()
    ended: list[bool] = []
    threads = [threading.Thread(target=lambda: ended.append(latch.wait(LONG_SECONDS))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert not latch.is_set()
    latch.set()
    for thread in threads:
        thread.join(LONG_SECONDS)
    assert ended == [True] * 8
    assert latch.is_set()
    assert latch.wait()


@pytest.mark.parametrize("timeout", [-1.0, 0, 0.01])
def test_a_wait_ends_after_its_time_and_leaves_nothing_behind(timeout: float) -> None:
    latch = Latch()
    assert not latch.wait(timeout)
    assert not latch._waiters


def test_a_wait_may_be_longer_than_the_platform_can_count() -> None:
    latch = Latch()
    timer = threading.Timer(0.01, latch.set)
    timer.start()
    assert latch.wait(1e300)
    timer.join()


@contextmanager
def interrupted_at(step: int) -> Generator[Callable[[], int]]:
    """Raises KeyboardInterrupt before the given step of what a wait does in Python, in the calling
    thread. Gives how many steps there have been. Signals interrupt between any two of them."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        if not frame.f_code.co_filename.endswith(WAITING):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            steps += 1
            if steps == step:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    previous = sys.gettrace()
    gc.disable()
    sys.settrace(trace)
    try:
        yield lambda: steps
    finally:
        sys.settrace(previous)
        gc.enable()


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.loop.call_soon_threadsafe(thread.loop.stop)
    thread._thread.join(LONG_SECONDS)
    thread.loop.close()


def test_ctrl_c_at_any_step_of_a_wait_leaves_the_event_loop_at_work(thread: LoopThread) -> None:
    ended: list[str] = []

    async def work() -> str:
        try:
            await asyncio.sleep(0.001)
        finally:
            ended.append("work")
        return "result"

    step = 0
    is_through = False
    while not is_through:
        step += 1
        result = None
        todo = work()
        try:
            with interrupted_at(step) as steps:
                result = thread.run(todo)
        except KeyboardInterrupt:
            pass
        is_through = steps() < step
        # The loop answers, and it is Ctrl-C alone that a caller sees in place of the result.
        assert asyncio.run_coroutine_threadsafe(asyncio.sleep(0), thread.loop).result(LONG_SECONDS) is None
        if inspect.getcoroutinestate(todo) == inspect.CORO_CREATED:
            # Interrupted before it was handed over.
            todo.close()
    assert result == "result"
    assert step > 50
