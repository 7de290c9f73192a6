"""What is counted on the connections to one broker, and how long its answers took lately.

Owns figures only, a handful of additions for each request. Knows nothing of who reads them; what is to happen
when a connection opens, ends or is throttled is for subclasses to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError
from barnabas.steps import Stage
from barnabas.windows import RollingWindow


class ConnectionMonitor:
    """Counts since it was made. One may serve several connections to the same broker, one after the other or
    at the same time."""

    def __init__(self) -> None:
        self.requests = 0
        self.responses = 0
        self.bytes_sent = 0
        """With the four bytes of each frame's length."""
        self.bytes_received = 0
        self.in_flight = 0
        """Requests that wait for their answer."""
        self.waiting = 0
        """Requests held back while the broker throttles us."""
        self.request_timeouts = 0
        self.request_errors = 0
        """Requests that ended without an answer, time-outs included."""
        self.requests_by_api: defaultdict[str, int] = defaultdict(int)
        self.latency_ms = RollingWindow()
        """From writing a request to its answer."""
        self.throttle_time_ms = RollingWindow()
        """How long the broker asked us to be silent, each time that it did (KIP-219)."""
        self.throttled = 0
        self.throttled_apis: set[str] = set()
        """Requests whose last answer had the broker ask for silence."""

    def exchanged(
        self,
        api: str,
        *,
        requests: int,
        answers: int,
        bytes_sent: int,
        bytes_received: int,
        milliseconds: float,
    ) -> float | None:
        """Requests of this name that were sent, and answers that came, without the event loop; `milliseconds`
        is what all answers took together. Gives what one took on average, if there are any."""
        self.requests += requests
        self.requests_by_api[api] += requests
        self.responses += answers
        self.bytes_sent += bytes_sent
        self.bytes_received += bytes_received
        if not answers:
            return None
        latency_ms = milliseconds / answers
        self.latency_ms.add(CLOCK.monotonic(), latency_ms)
        return latency_ms

    @property
    def is_followed(self) -> bool:
        """Whether `sent` and `received` are to be called for each request."""
        return False

    def reached(
        self, connection: int, stage: Stage, *, address: str = "", error: BarnabasError | None = None
    ) -> None:
        """The connection of this number is at another stage."""

    def learned_versions(self, connection: int, versions: Mapping[int, tuple[int, int]]) -> None:
        """The broker has said which versions of each API key it speaks."""

    def sent(self, connection: int, api: str, version: int, correlation_id: int, size: int) -> None:
        """A request has left."""

    def received(
        self, connection: int, api: str, version: int, correlation_id: int, size: int, latency_ms: float
    ) -> None:
        """The answer to a request has come."""

    def timed_out(self, connection: int, api: str, correlation_id: int, timeout_ms: float) -> None:
        """A request was not answered in time, which ends the connection."""
        self.request_timeouts += 1

    def opened(self) -> None:
        """A connection is ready for requests."""

    def closed(self, error: BarnabasError | None) -> None:
        """A connection that was ready has ended; `error` is None where this side closed it."""

    def throttle(self, api: str, throttle_time_ms: int) -> None:
        """The broker asked us to be silent for a while, in its answer to a request of this name."""
        self.throttled += 1
        self.throttled_apis.add(api)
        self.throttle_time_ms.add(CLOCK.monotonic(), throttle_time_ms)

    def not_throttled(self, api: str) -> None:
        """It did not in this one."""
        self.throttled_apis.discard(api)
