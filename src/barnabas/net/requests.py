"""The requests of one connection: those that were sent, in the order in which their answers come, and those
that wait to be sent.

Owns correlation ids, time-outs, and what is counted of requests. Reads and writes nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, KafkaConnectionError
from barnabas.net.answers import RequestUnderWay, SentElsewhere
from barnabas.net.monitor import ConnectionMonitor
from barnabas.net.throttling import FIRST_THROTTLED_VERSION

MAX_CORRELATION_ID = 0x7FFFFFFF


class RequestsUnderWay:
    """`on_timeout` is called with a request that has waited for as long as it may."""

    def __init__(
        self,
        name: str,
        monitor: ConnectionMonitor,
        on_timeout: Callable[[RequestUnderWay], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.monitor = monitor
        self.correlation_id = 0
        """That of the last request."""
        self.last_used = CLOCK.monotonic()
        self._name = name
        self._on_timeout = on_timeout
        self._loop = loop
        self._sent: deque[RequestUnderWay] = deque()
        self._delayed: deque[RequestUnderWay] = deque()
        self._throttled_until = 0.0

    @property
    def count(self) -> int:
        return len(self._sent) + len(self._delayed)

    @property
    def first(self) -> RequestUnderWay | None:
        """The request that the next answer is for."""
        return self._sent[0] if self._sent else None

    @property
    def only(self) -> RequestUnderWay | None:
        """The request that waits for its answer, where there is no other and nothing is delayed."""
        return self._sent[0] if len(self._sent) == 1 and not self._delayed else None

    @property
    def has_delayed(self) -> bool:
        return bool(self._delayed)

    @property
    def throttled_seconds(self) -> float:
        """How long nothing may be sent yet; 0 or less where something may (KIP-219)."""
        return self._throttled_until - CLOCK.monotonic()

    @property
    def next_correlation_id(self) -> int:
        return (self.correlation_id + 1) & MAX_CORRELATION_ID

    def take_correlation_id(self) -> int:
        self.correlation_id = self.next_correlation_id
        return self.correlation_id

    def add_sent(self, under_way: RequestUnderWay) -> None:
        """The request is being written now."""
        self.last_used = under_way.sent_at = CLOCK.monotonic()
        if under_way.future is not None:
            if under_way.timer is not None:
                under_way.timer.cancel()
            self._sent.append(under_way)
            self.monitor.in_flight += 1
            self._limit(under_way, under_way.timeout_ms / 1000)
        self.monitor.requests += 1
        self.monitor.requests_by_api[under_way.request_type.NAME] += 1

    def add_sent_elsewhere(self, sent: Iterable[SentElsewhere]) -> None:
        """These were written by someone that the connection was lent to."""
        self.last_used = CLOCK.monotonic()
        monitor = self.monitor
        for request in sent:
            under_way = RequestUnderWay(
                request.correlation_id,
                request.request_type,
                request.version,
                request.timeout_ms,
                [],
                request.answer,
                size=request.size,
            )
            self._sent.append(under_way)
            self.resume(under_way, request.seconds_under_way)
            monitor.in_flight += 1
            monitor.requests += 1
            monitor.requests_by_api[request.request_type.NAME] += 1
            monitor.bytes_sent += request.size

    def resume(self, under_way: RequestUnderWay, seconds_under_way: float) -> None:
        """Someone else has waited so long for the answer, which has to come within what is left."""
        under_way.sent_at = self.last_used - seconds_under_way
        self._limit(under_way, max(0.0, under_way.timeout_ms / 1000 - seconds_under_way))

    def add_delayed(self, under_way: RequestUnderWay) -> None:
        # Whatever throttle_time_ms a broker demands, nobody waits longer to be sent than for an answer.
        if under_way.future is not None:
            self._limit(under_way, under_way.timeout_ms / 1000)
        self._delayed.append(under_way)
        self.monitor.waiting += 1

    def take_delayed(self) -> RequestUnderWay | None:
        """The next request to be sent, without those that nobody waits for any more."""
        while self._delayed:
            under_way = self._delayed.popleft()
            self.monitor.waiting -= 1
            if under_way.future is None or not under_way.future.done():
                return under_way
            if under_way.timer is not None:
                under_way.timer.cancel()
        return None

    def take_answered(self, correlation_id: int, size: int) -> RequestUnderWay:
        """The request that an answer of `size` bytes is for.

        Raises: KafkaConnectionError if it is not for the first one.
        """
        now = self.last_used = CLOCK.monotonic()
        if not self._sent or self._sent[0].correlation_id != correlation_id:
            # What was sent may be in order, and may be sent again on another connection.
            due = f"instead of {self._sent[0].correlation_id}" if self._sent else "to no request"
            raise KafkaConnectionError(f"{self._name} sent answer {correlation_id} {due}: hung up")
        under_way = self._sent.popleft()
        if under_way.timer is not None:
            under_way.timer.cancel()
        monitor = self.monitor
        monitor.in_flight -= 1
        monitor.responses += 1
        monitor.bytes_received += size
        monitor.latency_ms.add(now, (now - under_way.sent_at) * 1000)
        return under_way

    def throttle(self, under_way: RequestUnderWay, throttle_time_ms: int) -> None:
        """The answer to this request has the broker ask for silence."""
        name = under_way.request_type.NAME
        if under_way.version >= FIRST_THROTTLED_VERSION.get(name, 0):
            self._throttled_until = max(self._throttled_until, self.last_used + throttle_time_ms / 1000)
        self.monitor.throttle(name, throttle_time_ms)

    def drop_first(self) -> None:
        """The answer to the first request came to someone that the connection was lent to, who counted it."""
        self._sent.popleft()
        self.monitor.in_flight -= 1

    def fail(self, error: BarnabasError) -> None:
        """The connection has ended: no answer comes any more, and nothing is sent."""
        waiting = [*self._sent, *self._delayed]
        self.monitor.in_flight -= len(self._sent)
        self.monitor.waiting -= len(self._delayed)
        self._sent.clear()
        self._delayed.clear()
        for under_way in waiting:
            if under_way.timer is not None:
                under_way.timer.cancel()
            if under_way.future is not None and not under_way.future.done():
                under_way.future.set_exception(error)
        self.monitor.request_errors += len(waiting)

    def _limit(self, under_way: RequestUnderWay, seconds: float) -> None:
        under_way.timer = self._loop.call_later(seconds, self._on_timeout, under_way)
