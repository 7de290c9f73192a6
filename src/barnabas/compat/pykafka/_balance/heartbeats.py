"""Heartbeats of a member of a group, on the core's event loop.

Owns when they are sent: one at a time, and none while the member mends what the last answer told of, in a
thread that lasts as long as that. All of it belongs to the loop, but for what `Beat` and `mend` are given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from barnabas.loop_thread import LoopThread

__all__ = ["Answer", "Heartbeats"]


class Answer(Protocol):
    """What comes of a heartbeat: what a ResponseFuture is once it is done."""

    error: Any

    def get(self, response_cls: Any = None) -> Any: ...

    def when_done(self, call: Callable[[], object]) -> None: ...


class Heartbeats:
    """`beat()`: sends one, without waiting; None where there is no connection for it. `read(answer)`: the
    response. `mend(response)`: has the member do what a response with an error asks for, or look for itself
    where there is none, and then call `go_on`; returns at once."""

    def __init__(
        self,
        loop: LoopThread,
        interval_seconds: float,
        beat: Callable[[], Answer | None],
        read: Callable[[Answer], Any],
        mend: Callable[[Any], object],
    ) -> None:
        self._loop = loop
        self._interval_seconds = interval_seconds
        self._beat = beat
        self._read = read
        self._mend = mend
        self._timer: asyncio.TimerHandle | None = None
        self._is_ended = False

    def go_on(self) -> None:
        """The next heartbeat is sent after the interval. Any thread."""
        self._loop.call(self._wait)

    def end(self) -> None:
        """None is sent any more, once the loop has come to it. Any thread."""
        self._loop.call(self._end)

    def _wait(self) -> None:
        if not self._is_ended:
            self._timer = self._loop.loop.call_later(self._interval_seconds, self._send)

    def _end(self) -> None:
        self._is_ended = True
        if self._timer is not None:
            self._timer.cancel()

    def _send(self) -> None:
        self._timer = None
        answer = self._beat()
        if answer is None:
            self._mend(None)
        else:
            answer.when_done(lambda: self._answered(answer))

    def _answered(self, answer: Answer) -> None:
        """On any thread."""
        self._loop.call(lambda: self._judge(answer))

    def _judge(self, answer: Answer) -> None:
        if self._is_ended:
            return
        response = None if answer.error else self._read(answer)
        if response is not None and response.error_code == 0:
            self._wait()
        else:
            self._mend(response)
