"""What is counted on the connections to one broker, and how long its answers took lately.

Owns figures only, a handful of additions for each request. Knows nothing of who reads them; what is to happen
when a connection opens, ends or is throttled is for subclasses to say.
"""

from __future__ import annotations

import math
import time
from array import array
from collections import defaultdict
from collections.abc import Iterable

from barnabas.errors import BarnabasError
from barnabas.stats import WindowStats

WINDOW_SECONDS = 60.0
WINDOW_SAMPLES = 1024
NO_SAMPLES = WindowStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class RollingWindow:
    """Samples of late, the latest `samples` of them. Adding one costs next to nothing, and 16
    bytes; the figures are made when asked for."""

    __slots__ = ("_next", "_samples", "_times", "_values")

    def __init__(self, samples: int = WINDOW_SAMPLES) -> None:
        self._samples = samples
        self._times = array("d")
        self._values = array("d")
        self._next = 0
        """Where the next sample goes once the arrays are full."""

    def add(self, now: float, value: float) -> None:
        """`now` as of `time.monotonic()`."""
        if len(self._times) < self._samples:
            self._times.append(now)
            self._values.append(value)
            return
        self._times[self._next] = now
        self._values[self._next] = value
        self._next = (self._next + 1) % self._samples

    def stats(self, seconds: float = WINDOW_SECONDS) -> WindowStats:
        """Of the last `seconds`. May be called on any thread."""
        oldest = time.monotonic() - seconds
        times, values_then = self._times[:], self._values[:]
        return _figures(
            value for added_at, value in zip(times, values_then, strict=False) if added_at >= oldest
        )

    def latest(self, count: int) -> WindowStats:
        """Of the last `count` samples, or of all if there are fewer. May be called on any thread."""
        begin, values = self._next, self._values[:]
        in_order = values[begin:] + values[:begin]
        return _figures(in_order[max(0, len(in_order) - count) :])


def _figures(samples: Iterable[float]) -> WindowStats:
    values = sorted(samples)
    if not values:
        return NO_SAMPLES
    count, total = len(values), math.fsum(values)
    mean = total / count
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / count)

    def percentile(share: float) -> float:
        # The nearest rank, as librdkafka's histograms have it.
        return values[max(0, math.floor(share * count + 0.5) - 1)]

    return WindowStats(
        count=count,
        sum=total,
        min=values[0],
        avg=mean,
        max=values[-1],
        stddev=deviation,
        p50=percentile(0.5),
        p75=percentile(0.75),
        p90=percentile(0.9),
        p95=percentile(0.95),
        p99=percentile(0.99),
        p99_99=percentile(0.9999),
    )


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
        self.latency_ms.add(time.monotonic(), latency_ms)
        return latency_ms

    def opened(self) -> None:
        """A connection is ready for requests."""

    def closed(self, error: BarnabasError | None) -> None:
        """A connection that was ready has ended; `error` is None where this side closed it."""

    def throttle(self, api: str, throttle_time_ms: int) -> None:
        """The broker asked us to be silent for a while, in its answer to a request of this name."""
        self.throttled += 1
        self.throttled_apis.add(api)
        self.throttle_time_ms.add(time.monotonic(), throttle_time_ms)

    def not_throttled(self, api: str) -> None:
        """It did not in this one."""
        self.throttled_apis.discard(api)
