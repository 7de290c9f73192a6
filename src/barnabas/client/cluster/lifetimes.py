"""What becomes of clients that nobody closes: of those that are collected, and of those that are still open
when the interpreter ends.

Owns which clients are open, the closing of those that were dropped, and how long the end of the process
waits. Knows nothing of what closing takes.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import math
import signal
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Never, Protocol

from barnabas.clock import CLOCK
from barnabas.fork import generation, in_child
from barnabas.loop_thread import LoopCall, LoopThread, Steps, was_just_interrupted

logger = logging.getLogger("barnabas.client")

# The end of the process is silent for so long.
SILENT_SECONDS = 1.0
# After Ctrl-C a client is given up that has come no further for so long.
STALL_SECONDS = 3.0
# All of them are given up after so long.
MOMENTS_SECONDS = 10.0
# Those that were given up let go of what they have within this.
GIVE_UP_SECONDS = 2.0
LOOK_SECONDS = 0.05


class Remains(Protocol):
    """What a client leaves behind that is dropped: all but what the user holds, to which it must not refer.
    Belongs to the event loop, but for `unfinished`."""

    async def close_unattended(self) -> None:
        """Finishes what was begun, within a time of its own, closes, and logs what was not finished."""
        ...

    def unfinished(self) -> int:
        """Gets smaller while the closing comes further. Any thread."""
        ...

    def waits_for(self) -> str:
        """What, from whom, and until when, for whoever waits for the closing."""
        ...


class Closable(Protocol):
    def close(self) -> None: ...


@contextlib.contextmanager
def closed_on_error(client: Closable) -> Generator[None]:
    """For the rest of a client's making: nobody gets one whose making fails, and could close it."""
    try:
        yield
    except BaseException:
        client.close()
        raise


class OfThisProcess:
    """Base of all clients: their connections, and what runs for them, are in one process, and once."""

    def __reduce_ex__(self, protocol: object) -> Never:
        name = type(self).__name__
        raise TypeError(
            f"a {name} cannot be pickled or copied: its connections are of this process; hand its settings "
            f"over, and make a {name} of them there"
        )


class Owned(OfThisProcess):
    """Base of the clients for plain calls. A client sets `_life` when it is made."""

    _life: Lifetime

    def __del__(self) -> None:
        life = getattr(self, "_life", None)
        if life is not None:
            life.dropped(self)


class Lifetime:
    """Of one client for plain calls, from its making until it is closed. `what`: such as "producer 'name'".
    The client calls `end` when it was closed, and `dropped` when it is collected."""

    def __init__(
        self, steps_at_exit: Callable[[], Steps], what: str, thread: LoopThread, remains: Remains
    ) -> None:
        """`steps_at_exit`: a method of what the user holds, that closes and runs the callbacks due then."""
        self.what = what
        self._remains = remains
        self._steps_at_exit = weakref.WeakMethod(steps_at_exit)
        self._thread = thread
        self._generation = generation()
        self._closing: _Closing | None = None
        _open.add(self)
        _watch_child()

    def end(self) -> None:
        _open.discard(self)

    def dropped(self, front: Owned) -> None:
        """`front` is about to be collected. Any thread, at any moment."""
        if self not in _open or self._closing is not None or self._generation != generation():
            return
        self._closing = self._unattended()
        self._closing.go_on()
        warnings.warn(f"unclosed {self.what}: use `with`, or close()", ResourceWarning, 3, source=front)

    def close_at_exit(self) -> _Closing:
        if self._closing is None:
            steps = self._steps_at_exit()
            if steps is None:
                self._closing = self._unattended()
            else:
                self._closing = _Closing(self, self._thread, steps())
        return self._closing

    def close_in_moments(self, steps: Steps) -> None:
        """Runs `steps`, which close the client, for only as long as that comes further: for Ctrl-C."""
        _finish([_Closing(self, self._thread, steps)])
        self.end()

    def unfinished(self) -> int:
        """Gets smaller while the closing comes further. Any thread."""
        return self._remains.unfinished()

    def say_what_is_waited_for(self) -> None:
        """Belongs to the event loop."""
        logger.warning(
            "the process ends when %s is closed, which waits for %s; Ctrl-C gives it up",
            self.what,
            self._remains.waits_for(),
        )

    def _unattended(self) -> _Closing:
        def steps() -> Steps:
            yield self._close_unattended()

        return _Closing(self, self._thread, steps())

    async def _close_unattended(self) -> None:
        try:
            await self._remains.close_unattended()
        except Exception:
            logger.exception("closing %s failed", self.what)
        finally:
            self.end()


class _Closing:
    """The way out of one client, taken by whoever calls `go_on`."""

    def __init__(self, life: Lifetime, thread: LoopThread, steps: Steps) -> None:
        self.life = life
        self.is_over = False
        self._thread = thread
        self._steps = steps
        self._step: LoopCall[Any] | None = None

    def go_on(self) -> None:
        """Comes as far as is possible without waiting."""
        while not self.is_over and (self._step is None or self._step.is_over.is_set()):
            try:
                self._step = LoopCall(self._next_work())
                self._thread.call(self._step.begin)
            except StopIteration:
                self._end()
            except (Exception, asyncio.CancelledError) as error:
                self._end()
                if isinstance(error, Exception):
                    logger.error("closing %s failed: %s", self.life.what, error, exc_info=error)

    def _next_work(self) -> Coroutine[Any, Any, Any]:
        if self._step is None:
            return next(self._steps)
        try:
            result = self._step.result()
        except BaseException as error:
            return self._steps.throw(error)
        return self._steps.send(result)

    def give_up(self) -> None:
        if self._step is not None:
            self._thread.call(self._step.cancel)

    def say_what_is_waited_for(self) -> None:
        self._thread.call(self.life.say_what_is_waited_for)

    def wait(self, seconds: float) -> None:
        if self._step is not None:
            self._step.is_over.wait(seconds)

    def _end(self) -> None:
        self.is_over = True
        self.life.end()


last_words: list[Callable[[], None]] = []
"""Called when all are closed. A call of atexit's own would take Ctrl-C from the closing, if it came first."""
_open: set[Lifetime] = set()
_has_closed = False
_is_child_watched = False
# Below all of multiprocessing's own: its queues are flushed, and children of this process have ended.
_LAST_PRIORITY = -100


def is_handling_ctrl_c() -> bool:
    """Whether the caller is in a `finally`, an `except` or the end of a `with` that Ctrl-C led to."""
    return isinstance(sys.exception(), KeyboardInterrupt)


def seconds_to_close(timeout: float | None) -> float | None:
    """How long `close(timeout)` of a client for asyncio may take, None for its own default: moments, where
    Ctrl-C led to it, or a step of a client was ended. Has to be called on its event loop."""
    is_short = timeout is None and (_is_loop_interrupted() or is_step_ended())
    return MOMENTS_SECONDS if is_short else timeout


def is_step_ended() -> bool:
    """Whether the caller runs because SystemExit or KeyboardInterrupt came out of a step of Barnabas's own,
    as the handler of a signal raises it at any line. That step, and what waits for it, may never end."""
    error = _error_that_ends_loop() or sys.exception()
    if error is None or isinstance(error, (Exception, asyncio.CancelledError, GeneratorExit)):
        return False
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").startswith("barnabas.") for frame, _ in frames)


def _error_that_ends_loop() -> BaseException | None:
    """What came out of `asyncio.run`'s loop, where that now cancels tasks and ends generators: these see
    nothing but their own cancellation."""
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code is asyncio.Runner.__exit__.__code__:
            return frame.f_locals["exc_val"]
        frame = frame.f_back
    return None


def _is_loop_interrupted() -> bool:
    """Whether Ctrl-C ends the running loop. `asyncio.run` answers it by cancelling the program's task, in
    which nothing else tells it from other cancellations."""
    handler = signal.getsignal(signal.SIGINT)
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    if not isinstance(runner, asyncio.Runner) or not getattr(runner, "_interrupt_count", 0):
        return False
    return runner.get_loop() is asyncio.get_running_loop()


def _close_all(*, is_interrupted: bool = False) -> None:
    global _has_closed
    if is_interrupted:
        _end_as_interrupted()
    try:
        is_interrupted |= isinstance(getattr(sys, "last_value", None), KeyboardInterrupt)
        with _FirstCtrlC() as ctrl_c:
            closings = _closings()
            _go_on(closings)
            if not is_interrupted and not was_just_interrupted():
                _wait_for(closings, ctrl_c)
        is_pressed = ctrl_c.was_pressed
    except KeyboardInterrupt:
        is_pressed = True
    if is_pressed:
        _end_as_interrupted()
        logger.warning("Ctrl-C: what cannot be done within moments is given up")
    closings = _closings()
    try:
        _finish(closings)
    except KeyboardInterrupt:
        _end_as_interrupted()
        for closing in closings:
            if not closing.is_over:
                logger.error(
                    "%s was not closed: %d records left", closing.life.what, closing.life.unfinished()
                )
    _has_closed = True


class _FirstCtrlC:
    """Notes the first Ctrl-C, where the program has no handler of its own. As an exception it would end
    whatever line it came to, and with that a closing that had only begun: what the client holds would be
    lost. The second is an exception, so that a callback of the user's that does not end can be ended."""

    def __init__(self) -> None:
        self.was_pressed = False
        self._replaces: Any = None

    def __enter__(self) -> _FirstCtrlC:
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            self._replaces = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._replaces is not None:
            signal.signal(signal.SIGINT, self._replaces)

    def _note(self, *_: object) -> None:
        self.was_pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_as_interrupted() -> None:
    """Python ends with the status that it had before Ctrl-C. The C library ends the process by the signal
    instead, as one that does not catch Ctrl-C, when Python has done all that it does at its end."""
    if sys.platform == "win32":
        # No process ends by a signal there.
        return
    import ctypes

    library = ctypes.CDLL(None)
    library.__cxa_atexit(
        ctypes.cast(getattr(library, "raise"), ctypes.c_void_p), ctypes.c_void_p(signal.SIGINT), None
    )


def _close_what_was_passed_over() -> None:
    """Ctrl-C may come between two of atexit's calls: it ends the next one before that has begun."""
    if not _has_closed:
        _close_all(is_interrupted=True)
    for say in last_words:
        say()


def _closings() -> list[_Closing]:
    """Of all that are open. Called again it gives those that are under way."""
    return [life.close_at_exit() for life in list(_open)]


def _wait_for(closings: list[_Closing], ctrl_c: _FirstCtrlC) -> None:
    is_said_at = CLOCK.monotonic() + SILENT_SECONDS
    while not ctrl_c.was_pressed and (waiting := _go_on(closings)):
        waiting[0].wait(LOOK_SECONDS)
        if is_said_at <= CLOCK.monotonic():
            is_said_at = math.inf
            for closing in _go_on(closings):
                closing.say_what_is_waited_for()


def _finish(closings: list[_Closing]) -> None:
    """Waits for as long as the closings come further, for moments at most, and gives up the others."""
    began_at = CLOCK.monotonic()
    came_further = {closing: (began_at, closing.life.unfinished()) for closing in closings}
    given_up_at: dict[_Closing, float] = {}
    while waiting := _go_on(closings):
        waiting[0].wait(LOOK_SECONDS)
        now = CLOCK.monotonic()
        if all(now > given_up_at.get(closing, math.inf) + GIVE_UP_SECONDS for closing in waiting):
            return
        for closing in waiting:
            at, unfinished_then = came_further[closing]
            if (unfinished := closing.life.unfinished()) < unfinished_then:
                came_further[closing] = at, _ = now, unfinished
            if closing not in given_up_at and (now > at + STALL_SECONDS or now > began_at + MOMENTS_SECONDS):
                given_up_at[closing] = now
                closing.give_up()


def _go_on(closings: list[_Closing]) -> list[_Closing]:
    """Those that are not over."""
    for closing in closings:
        closing.go_on()
    return [closing for closing in closings if not closing.is_over]


def _watch_child() -> None:
    """Has a child that multiprocessing forked close its clients: it ends by `os._exit`, which skips atexit,
    but runs the finalizers of multiprocessing before."""
    global _is_child_watched
    process = sys.modules.get("multiprocessing.process")
    if _is_child_watched or process is None or process.parent_process() is None:
        return
    if "--multiprocessing-fork" in sys.orig_argv and generation() == 0:
        # This one was spawned, and ends as any process does.
        return
    from multiprocessing import util

    _is_child_watched = True
    util.Finalize(None, _close_all, exitpriority=_LAST_PRIORITY)


def _forget_parents() -> None:
    global _is_child_watched
    _is_child_watched = False
    _open.clear()


# The last one is called first.
atexit.register(_close_what_was_passed_over)
atexit.register(_close_all)
in_child(_forget_parents)
