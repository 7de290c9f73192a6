from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.errors import ClosedError, MisuseError
from barnabas.loop_thread import LoopThread, loop_thread


async def echo(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


def test_all_callers_share_one_thread() -> None:
    found: list[LoopThread] = []
    threads = [threading.Thread(target=lambda: found.append(loop_thread())) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {loop_thread()}


def test_the_result_comes_back_to_the_caller_and_so_does_the_error() -> None:
    async def fail() -> None:
        raise KeyError("reason")

    assert loop_thread().run(echo(5)) == 5
    with pytest.raises(KeyError, match="reason"):
        loop_thread().run(fail())


def test_a_blocking_call_on_the_loop_itself_is_refused_by_name() -> None:
    async def block() -> None:
        loop_thread().run(echo(1), what="producer")

    with pytest.raises(MisuseError, match="a blocking call on a producer from a callback"):
        loop_thread().run(block())


def test_work_that_was_cancelled_from_within_is_a_closed_client() -> None:
    async def cancel() -> None:
        raise asyncio.CancelledError

    with pytest.raises(ClosedError, match="the consumer was closed during the call"):
        loop_thread().run(cancel(), what="consumer")


def in_child(work: Callable[[], bool]) -> int:
    """Forks, and gives the exit status of the child: 0 if `work` is true there."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@pytest.mark.integration
def test_a_forked_child_gets_a_thread_of_its_own_and_may_not_use_its_parents() -> None:
    parents = loop_thread()

    def work() -> bool:
        with pytest.raises(ClosedError, match="made in the parent"):
            parents.run(echo(1), what="producer")
        return loop_thread() is not parents and loop_thread().run(echo(2)) == 2

    assert in_child(work) == 0
    assert parents.run(echo(3)) == 3


def test_work_that_ends_the_program_reaches_its_caller_and_leaves_the_loop_to_others() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            loop_thread().run(leave())
        assert ended.value.code == 3
    assert loop_thread().run(echo(7)) == 7
