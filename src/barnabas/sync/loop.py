"""One event loop, on a daemon thread of its own, for all sync clients of the process.

Owns that thread, its first start, and the orderly end of clients when the process ends. Knows nothing of
Kafka.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from barnabas.errors import ClosedError, MisuseError
from barnabas.fork import forked_error, generation

T = TypeVar("T")


class LoopThread:
    """The thread. Use `loop_thread()`, which starts it when it is first needed."""

    def __init__(self) -> None:
        self.generation = generation()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="barnabas", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

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
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ClosedError(f"the {what} was closed during the call") from None
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Begins `work` on the loop, and does not wait. Cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, work: Callable[[], object]) -> None:
        """Runs `work` on the loop soon; does not wait."""
        self.loop.call_soon_threadsafe(work)


_lock = threading.Lock()
_current: LoopThread | None = None
_open_clients: weakref.WeakSet[Any] = weakref.WeakSet()


def loop_thread() -> LoopThread:
    """The process's thread. The child of a fork gets one of its own."""
    global _current
    with _lock:
        if _current is None:
            _current = LoopThread()
        return _current


def close_at_exit(client: Any) -> None:
    """`client.close()` is called when the interpreter ends, unless the client is gone by then."""
    _open_clients.add(client)


def _close_clients() -> None:
    for client in list(_open_clients):
        client.close()


def _forget_parent() -> None:
    global _current, _lock, _open_clients
    _lock = threading.Lock()
    _current = None
    _open_clients = weakref.WeakSet()


atexit.register(_close_clients)
os.register_at_fork(after_in_child=_forget_parent)
