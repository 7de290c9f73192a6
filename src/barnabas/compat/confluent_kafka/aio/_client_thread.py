"""Where the calls of an asyncio client that ask brokers are made, and how its callbacks get to the loop.

Waiting for messages, and for their delivery, takes no thread. What is left are calls in which the client may
call the program back, such as a rebalance: these run one after another in one thread of the client's own,
which exists from the first of them on. While a callback, a coroutine, runs on the event loop, the thread
makes the calls that it asks for. Owns that thread; knows nothing of Kafka.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
import weakref
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from queue import SimpleQueue
from typing import Any, cast

COMMON_CALLBACKS = ("error_cb", "throttle_cb", "stats_cb")


class _Call:
    """One call to be made in the thread, and who waits for it."""

    def __init__(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._call, self._args, self._kwargs = call, args, kwargs
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def make(self) -> None:
        if self.future.cancelled():
            return
        result: Any = None
        failure: BaseException | None = None
        try:
            result = self._call(*self._args, **self._kwargs)
        except BaseException as error:
            failure = error
        # The loop may be closed by now; then nobody waits.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._settle, result, failure)

    def _settle(self, result: Any, failure: BaseException | None) -> None:
        if self.future.cancelled():
            return
        if failure is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(failure)


_Calls = SimpleQueue["_Call | None"]


class ClientThread:
    """The thread of one client."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._calls: _Calls = SimpleQueue()
        self._thread: threading.Thread | None = None
        # In a callback and what it calls: where the thread, which waits for the callback, takes calls from.
        self._nested: contextvars.ContextVar[_Calls | None] = contextvars.ContextVar(name, default=None)
        self._stop_when_gone = weakref.finalize(self, self._calls.put, None)
        # Callbacks that came on the event loop's own thread, which cannot wait for them.
        self._under_way: set[asyncio.Task[Any]] = set()
        # What the first of them raised since a call raised that.
        self._failure: BaseException | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Where callbacks run: the loop of the latest call."""
        return self._loop

    @property
    def is_on_loop(self) -> bool:
        return threading.get_ident() == self._loop_thread

    def follow(self) -> bool:
        """Makes the running loop the client's. Whether it was another one before."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return False
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._under_way.clear()
        return True

    def submit(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> asyncio.Future[Any]:
        """What `call` gives in the thread, after the calls before it. On the event loop."""
        work = _Call(call, args, kwargs)
        nested = self._nested.get()
        if nested is not None:
            nested.put(work)
            return work.future
        if self._thread is None:
            self._thread = threading.Thread(
                target=_make_calls, args=(self._calls,), name=self._name, daemon=True
            )
            self._thread.start()
        self._calls.put(work)
        return work.future

    def stop(self) -> None:
        """The thread ends after the calls that were submitted; a later one starts another."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread = None

    def wrap(self, callback: Callable[..., Awaitable[Any]], *first: Any) -> Callable[..., Any]:
        """What a client can call in place of a callback that is a coroutine function: it runs on the event
        loop, and the caller waits for what it gives. `first`: arguments in place of as many of the caller's.
        """

        def call(*args: Any) -> Any:
            arguments = (*first, *args[len(first) :])
            if self.is_on_loop:
                return self._start(callback, arguments)
            return self._wait_for(callback, arguments)

        return call

    def wrap_all(self, conf: Any, names: tuple[str, ...]) -> dict[str, Any]:
        """`conf` with the callbacks among `names`, `oauth_cb` and `logger` wrapped. What is no configuration
        is given back, for the client to refuse."""
        wrapped: MutableMapping[str, Any] = {}
        for name in names:
            if name in conf and callable(conf[name]):
                wrapped[name] = self.wrap(conf[name])
        if not isinstance(conf, dict):
            return conf
        given = cast("dict[str, Any]", conf)
        if callable(given.get("oauth_cb")):
            wrapped["oauth_cb"] = self._wrap_oauth_cb(given["oauth_cb"])
        if given.get("logger") is not None:
            wrapped["logger"] = _LoopLogger(self, given["logger"])
        return {**given, **wrapped}

    def _wrap_oauth_cb(self, callback: Callable[[str | None], Any]) -> Callable[[str | None], Any]:
        """What can be called in place of an `oauth_cb`, on any thread, and does not wait: what a coroutine
        function gives runs on the event loop, and comes as a future. The client may be made on that loop."""

        def call(config: str | None) -> Any:
            if self._loop.is_closed():
                raise RuntimeError("the event loop of the client is closed")
            given = callback(config)
            if not inspect.isawaitable(given):
                return given
            return asyncio.run_coroutine_threadsafe(_result(given), self._loop)

        return call

    def _start(self, callback: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> None:
        task = self._loop.create_task(_await(callback, args))
        self._under_way.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and self._failure is None:
            self._failure = task.exception()

    async def finish_callbacks(self) -> None:
        """Waits for callbacks that were begun on the event loop. Raises: what one raised. A callback that
        calls this waits for no other."""
        if self._under_way and asyncio.current_task() not in self._under_way:
            await asyncio.wait(self._under_way)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _wait_for(self, callback: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> Any:
        nested: _Calls = SimpleQueue()
        tasks: list[asyncio.Task[Any]] = []

        def start() -> None:
            context = contextvars.copy_context()
            context.run(self._nested.set, nested)
            task = self._loop.create_task(_await(callback, args), context=context)
            tasks.append(task)
            task.add_done_callback(lambda _: nested.put(None))

        self._loop.call_soon_threadsafe(start)
        _make_calls(nested)
        return tasks[0].result()


def weakly(method: Callable[[], None]) -> Callable[[], None]:
    """Calls a method while its object is there: what calls it does not keep the object."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        bound = reference()
        if bound is not None:
            bound()

    return call


class _LoopLogger:
    """Has a logger called on the event loop."""

    def __init__(self, thread: ClientThread, logger: Any) -> None:
        self._thread = weakref.ref(thread)
        self._logger = logger

    def log(self, *args: Any, **kwargs: Any) -> None:
        thread = self._thread()
        # Nobody is left to be told when the client is gone or its loop closed.
        with contextlib.suppress(RuntimeError):
            if thread is not None:
                thread.loop.call_soon_threadsafe(partial(self._logger.log, *args, **kwargs))


async def _result(given: Awaitable[Any]) -> Any:
    return await given


async def _await(callback: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> Any:
    return await callback(*args)


def _make_calls(calls: _Calls) -> None:
    """Makes calls until there is None in place of one."""
    while (work := calls.get()) is not None:
        work.make()
        # The next one may be long in coming, and should not keep this one's arguments until then.
        del work
