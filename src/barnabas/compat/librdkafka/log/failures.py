"""How librdkafka words failures of brokers, and how often it logs the same one."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import os
import re

from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.errors import BarnabasError

# Of the same failure of a broker there is no second line sooner.
SUPPRESSED_SECONDS = 30.0
# What may differ between two failures that are the same.
_WHEN = re.compile(r" \(after \d+ms in state (\w+)\)$")


class FailureLimit:
    """One that repeats itself is logged only every 30 seconds, and then with how many were left out."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, float, int]] = {}

    def line(self, broker: str, text: str) -> str | None:
        """What to log of this failure of a broker, if anything."""
        now, what = CLOCK.monotonic(), _WHEN.sub("", text)
        last, logged_at, count = self._last.get(broker, ("", now, 0))
        if what == last and now - logged_at < SUPPRESSED_SECONDS:
            self._last[broker] = what, logged_at, count + 1
            return None
        self._last[broker] = what, now, 0
        if what == last and count and text.endswith(")"):
            return f"{text[:-1]}, {count} identical error(s) suppressed)"
        return text


def connect_failure(host: str, port: int, error: BarnabasError) -> tuple[int, str]:
    """The code and the text of a connection that could not be opened."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.strerror:
        if "resolve" in str(error):
            text = f"Failed to resolve '{host}:{port}': {cause.strerror}"
            return KafkaError._RESOLVE, f"{text} (after 0ms in state CONNECT)"
        family = "ipv6" if ":" in host else "ipv4"
        reason = os.strerror(cause.errno) if cause.errno else cause.strerror
        text = f"Connect to {family}#{host}:{port} failed: {reason}"
        return KafkaError._TRANSPORT, f"{text} (after 0ms in state CONNECT)"
    return KafkaError._TRANSPORT, str(error)
