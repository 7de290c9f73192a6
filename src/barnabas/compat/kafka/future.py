"""`Future`: what a request, or a record that was sent, will have come to.

Owns the callbacks: they are called in the order in which they were added, in the thread that completes the
future, or at once in that of whoever adds them later. Knows nothing of what it is a future of.
"""

from __future__ import annotations

import builtins
import functools
import logging
import threading
from abc import ABCMeta
from collections.abc import Callable, Generator
from typing import Any, Self

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka_engine.generations import generation

log = logging.getLogger("kafka.future")

Callback = Callable[[Any], object]


class Future(metaclass=ABCMeta):  # noqa: B024 it has virtual subclasses
    """Completed once, by `success` or `failure`, on any thread.

    What a callback raises is logged; `error_on_callbacks` has it raised as well. The kernel's futures of
    sent records are counted among its subclasses.
    """

    error_on_callbacks = False

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.exception: BaseException | None = None
        self._callbacks: list[Callback] = []
        self._errbacks: list[Callback] = []
        self._lock = threading.Lock()

    def succeeded(self) -> bool:
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        return self.is_done and self.exception is not None

    def retriable(self) -> bool:
        """Whether it failed with what may be tried again."""
        if generation().retriable_errors_have_a_base:
            return self.is_done and isinstance(self.exception, Errors.RetriableError)
        return getattr(self.exception, "retriable", False)

    def success(self, value: Any) -> Self:
        """Completes it with a value, and calls the callbacks."""
        self._check_pending()
        with self._lock:
            self.value = value
            self.is_done = True
            callbacks = self._taken(self._callbacks)
        self._call("callback", callbacks, value)
        return self

    def failure(self, e: BaseException | type[BaseException]) -> Self:
        """Completes it with an exception, or one of a class, and calls the errbacks."""
        self._check_pending()
        exception = e() if isinstance(e, type) else e
        if not isinstance(exception, BaseException):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise vars(builtins)[generation().failure_without_exception]("future failed without an exception")
        with self._lock:
            self.exception = exception
            self.is_done = True
            errbacks = self._taken(self._errbacks)
        self._call("errback", errbacks, exception)
        return self

    def add_callback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Has `f` called with the value after `args`, if and when there is one."""
        callback = functools.partial(f, *args, **kwargs) if args or kwargs else f
        with self._lock:
            if not self.is_done:
                self._callbacks.append(callback)
                return self
        if self.exception is None:
            self._call("callback", [callback], self.value)
        return self

    def add_errback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Has `f` called with the exception after `args`, if and when there is one."""
        errback = functools.partial(f, *args, **kwargs) if args or kwargs else f
        with self._lock:
            if not self.is_done:
                self._errbacks.append(errback)
                return self
        if self.exception is not None:
            self._call("errback", [errback], self.exception)
        return self

    def add_both(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        self.add_callback(f, *args, **kwargs)
        self.add_errback(f, *args, **kwargs)
        return self

    def chain(self, future: Future) -> Self:
        """Completes another future with this one."""
        self.add_callback(future.success)
        self.add_errback(future.failure)
        return self

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self.is_done:
            yield self
        if self.exception is not None:
            raise self.exception
        return self.value

    def _check_pending(self) -> None:
        if self.is_done and generation().futures_complete_once:
            raise AssertionError("Future is already complete")

    def _taken(self, callbacks: list[Callback]) -> list[Callback]:
        """Lets go of all callbacks, which may lead back to the future."""
        self._callbacks, self._errbacks = [], []
        return callbacks

    def _call(self, kind: str, callbacks: list[Callback], value: Any) -> None:
        for callback in callbacks:
            try:
                callback(value)
            except Exception:
                log.exception("Error processing %s", kind)
                if self.error_on_callbacks:
                    raise
