"""What programs wait by, threads or greenlets, and requests that are answered later.

The original has a thread for each connection; here requests are sent by the caller, and the core tells of
answers.
"""

from __future__ import annotations

import concurrent.futures
import logging
import socket as pysocket
import threading
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from queue import Empty as Empty
from queue import Queue as Queue
from threading import Semaphore as Semaphore
from typing import Any, ClassVar, NamedTuple

from barnabas.compat.pykafka._network.greenlets import GreenletEvent
from barnabas.compat.pykafka.exceptions import SocketDisconnectedError
from barnabas.compat.pykafka.utils.compat import buffer
from barnabas.latch import Latch

__all__ = ["Handler", "RequestHandler", "ResponseFuture", "ThreadingHandler"]

log = logging.getLogger("pykafka.handlers")


def event_of(handler: Any) -> Any:
    """What a caller waits by for the core's thread to set it once: the handler's Event, or, in place of
    threading's, a latch, which Ctrl-C cannot leave locked."""
    return Latch() if handler.Event is threading.Event else handler.Event()


class ResponseFuture:
    """An answer that may come yet."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler
        self.error: Any = False
        self.response: Any
        self._ready = event_of(handler)
        self._lock = threading.Lock()
        self._is_done = False
        self._calls: list[Callable[[], object]] = []

    def set_response(self, response: Any) -> None:
        self.response = response
        self._done()

    def set_error(self, error: BaseException) -> None:
        self.error = error
        self._done()

    def _done(self) -> None:
        with self._lock:
            self._is_done = True
            calls, self._calls = self._calls, []
        self._ready.set()
        for call in calls:
            call()

    def when_done(self, call: Callable[[], object]) -> None:
        """Calls it once, in the thread that the answer comes in, or at once where that is there."""
        with self._lock:
            if not self._is_done:
                self._calls.append(call)
                return
        call()

    def get(self, response_cls: Any = None, timeout: float | None = None, **response_kwargs: Any) -> Any:
        """Waits, for `timeout` seconds at most. The answer's bytes, or what `response_cls` makes of them.

        Raises: the error that took the answer's place, and what `response_cls` raises.
        """
        self._ready.wait(timeout)
        if self.error:
            raise self.error
        return response_cls(self.response, **response_kwargs) if response_cls else self.response


class Handler:
    """What programs' own handlers descend from."""

    def spawn(self, target: Any, *args: Any, **kwargs: Any) -> Any:
        """Begins `target` beside the caller."""
        raise NotImplementedError


class ThreadingHandler(Handler):
    """Waits in threads."""

    Queue: Any = Queue
    Event: Any = threading.Event
    Lock: Any = threading.Lock
    Semaphore: Any = Semaphore
    Socket: Any = pysocket
    SockErr: Any = OSError
    GaiError: Any = pysocket.gaierror
    _workers_spawned: ClassVar[int] = 0

    def sleep(self, seconds: float = 0) -> None:
        time.sleep(seconds)

    def RLock(self, *args: Any, **kwargs: Any) -> Any:
        return threading.RLock()

    def spawn(self, target: Any, *args: Any, **kwargs: Any) -> threading.Thread:
        """A thread that runs `target`. Arguments are those of threading.Thread."""
        if "name" in kwargs:
            kwargs["name"] = f"{ThreadingHandler._workers_spawned}: {kwargs['name']}"
        thread = threading.Thread(None, target, *args, **kwargs)
        thread.daemon = True
        thread.start()
        ThreadingHandler._workers_spawned += 1
        return thread


def __getattr__(name: str) -> Any:
    """GEventHandler, where gevent is installed: it is imported when somebody wants to wait by it."""
    if name == "GEventHandler" and find_spec("gevent") is not None:
        made = globals()[name] = _gevent_handler()
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _gevent_handler() -> type[Handler]:
    lock, queue, socket = (import_module(f"gevent.{each}") for each in ("lock", "queue", "socket"))
    gevent: Any = import_module("gevent")

    class GEventHandler(Handler):
        """Waits in greenlets: while one waits, others run."""

        Queue: Any = queue.JoinableQueue
        Event: Any = GreenletEvent
        Lock: Any = lock.RLock
        RLock: Any = lock.RLock
        Semaphore: Any = lock.Semaphore
        Socket: Any = socket
        SockErr: Any = OSError
        GaiError: Any = pysocket.gaierror

        def sleep(self, seconds: float = 0) -> None:
            gevent.sleep(seconds)

        def spawn(self, target: Any, *args: Any, **kwargs: Any) -> Any:
            """A greenlet that runs `target`, which has no name."""
            kwargs.pop("name", None)
            return gevent.spawn(target, *args, **kwargs)

    GEventHandler.__qualname__ = "GEventHandler"
    return GEventHandler


class _Task(NamedTuple):
    request: Any
    future: ResponseFuture | None


class _Shared(NamedTuple):
    connection: Any
    requests: Any
    ending: Any


class RequestHandler:
    """Sends requests by a connection, in the order of calls."""

    Task = _Task
    Shared = _Shared

    def __init__(self, handler: Any, connection: Any) -> None:
        """`connection`: a BrokerConnection, or what has its `request` and `response`."""
        self.handler = handler
        self.shared: Any = self.Shared(connection, handler.Queue(), handler.Event())
        self._is_started = False
        self._under_way: set[concurrent.futures.Future[Any]] = set()

    def request(self, request: Any, has_response: bool = True) -> Any:
        """A ResponseFuture; None for a request without an answer. It leaves once `start` was called."""
        future = ResponseFuture(self.handler) if has_response else None
        self.shared.requests.put(self.Task(request, future))
        if self._is_started:
            self._send_all()
        return future

    def start(self) -> None:
        self._is_started = True
        self._send_all()

    def stop(self) -> None:
        """Waits for the answers that are to come. What is asked after that is not sent."""
        shared, self.shared = self.shared, None
        if shared is None:
            return
        is_done = [(sent, self.handler.Event()) for sent in [*self._under_way]]
        for sent, event in is_done:
            sent.add_done_callback(lambda _, event=event: event.set())
        for _, event in is_done:
            event.wait()
        shared.ending.set()

    def _send_all(self) -> None:
        shared = self.shared
        while True:
            try:
                task = shared.requests.get_nowait()
            except Empty:
                return
            self._send(shared.connection, task)
            shared.requests.task_done()

    def _send(self, connection: Any, task: Any) -> None:
        try:
            if hasattr(connection, "submit"):
                sent: concurrent.futures.Future[Any] = connection.submit(task.request)
                self._under_way.add(sent)
                sent.add_done_callback(lambda done: self._answered(connection, task, done))
            else:
                connection.request(task.request)
                if task.future is not None:
                    task.future.set_response(connection.response())
        except Exception as error:
            if task.future is not None:
                task.future.set_error(error)

    def _answered(self, connection: Any, task: Any, sent: concurrent.futures.Future[Any]) -> None:
        """On the core's thread."""
        self._under_way.discard(sent)
        if task.future is None:
            return
        error = SocketDisconnectedError() if sent.cancelled() else sent.exception()
        if isinstance(error, SocketDisconnectedError):
            error = SocketDisconnectedError(f"<broker {connection.host}:{connection.port}>")
        if error is None:
            task.future.set_response(buffer(sent.result()))
        else:
            task.future.set_error(error)
