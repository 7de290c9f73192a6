"""One event loop, on a daemon thread of its own, for all sync clients of the process.

Owns that thread and its first start. Knows nothing of Kafka.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from barnabas.clock import CLOCK
from barnabas.errors import ClosedError, MisuseError
from barnabas.fork import forked_error, generation, in_child
from barnabas.latch import Latch

T = TypeVar("T")

INTERRUPT_SECONDS = 10.0

Steps = Generator[Coroutine[Any, Any, Any], Any, None]
"""Work that goes back and forth: each coroutine is run on the loop and its result, or error, sent back in;
what lies between is done in the caller's thread."""


class LoopThread:
    """The thread. Use `loop_thread()`, which starts it when it is first needed."""

    def __init__(self) -> None:
        self.generation = generation()
        self.loop = asyncio.new_event_loop()
        self.interrupted_at = -math.inf
        """When Ctrl-C ended a wait last, on the clock of `CLOCK.monotonic()`."""
        self._thread = threading.Thread(target=self._run, name="barnabas", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while True:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                # A task raised it, and asyncio stops the loop for that. Other clients need the loop.
                continue
            return

    @property
    def is_current(self) -> bool:
        """Whether the caller is on the loop's thread: in a callback, for instance."""
        return threading.current_thread() is self._thread

    def run(self, work: Coroutine[Any, Any, T], *, what: str = "client") -> T:
        """The result of `work`, done on the loop while the caller waits. Ctrl-C interrupts, and cancels it.

        Deadlines belong into `work`. `what` is what errors call the caller's object.
        Raises: what `work` raises; ClosedError after a fork; MisuseError on the loop's own thread.
        """
        if self.generation != generation():
            work.close()
            raise forked_error(what)
        if self.is_current:
            work.close()
            raise MisuseError(
                f"a blocking call on a {what} from a callback would wait for itself: callbacks run on the "
                "thread that does the work; hand it over to a thread of your own"
            )
        call = LoopCall(work)
        try:
            self.call(call.begin)
            call.is_over.wait()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                self.interrupted_at = CLOCK.monotonic()
            self.call(call.cancel)
            raise
        try:
            return call.result()
        except asyncio.CancelledError:
            raise ClosedError(f"the {what} was closed during the call") from None

    def run_steps(self, steps: Steps, *, what: str) -> None:
        """`run` of each of the steps, one after the other."""
        try:
            work = next(steps)
            while True:
                try:
                    result = self.run(work, what=what)
                except BaseException as error:
                    work = steps.throw(error)
                else:
                    work = steps.send(result)
        except StopIteration:
            return

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Begins `work` on the loop, and does not wait. Cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, work: Callable[[], object]) -> None:
        """Runs `work` on the loop soon; does not wait."""
        self.loop.call_soon_threadsafe(work)


class LoopCall(Generic[T]):
    """Work on the loop that another thread waits for. A future has a lock that Ctrl-C could leave held,
    see `Latch`."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.is_over = Latch()
        """The work has ended, even if it was cancelled before."""
        self._work = work
        self._task: asyncio.Task[T] | None = None

    def begin(self) -> None:
        """On the loop."""
        self._task = asyncio.get_running_loop().create_task(self._work)
        self._task.add_done_callback(lambda _: self.is_over.set())

    def cancel(self) -> None:
        """On the loop, after `begin`, if that is called at all."""
        if self._task is None:
            self._work.close()
        else:
            self._task.cancel()
            # Nobody waits for the outcome any more.
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    def result(self) -> T:
        """Once it is over. Raises: what the work raised; asyncio.CancelledError."""
        assert self._task is not None
        # An error keeps the frames that it passed, which must not keep the error.
        task, self._task = self._task, None
        try:
            return task.result()
        finally:
            del task


_lock = threading.RLock()
"""A client that is collected meanwhile may ask for the thread as well."""
_current: LoopThread | None = None


def loop_thread() -> LoopThread:
    """The process's thread. The child of a fork gets one of its own."""
    global _current
    with _lock:
        if _current is None:
            _current = LoopThread()
        return _current


def was_just_interrupted() -> bool:
    """Whether Ctrl-C ended a wait moments ago: whoever pressed it wants no other wait of the same kind."""
    return _current is not None and CLOCK.monotonic() - _current.interrupted_at < INTERRUPT_SECONDS


def is_on_loop_thread() -> bool:
    """Whether the caller is on the process's thread."""
    return _current is not None and _current.is_current


def _forget_parent() -> None:
    global _current, _lock
    _lock = threading.RLock()
    _current = None


in_child(_forget_parent)
