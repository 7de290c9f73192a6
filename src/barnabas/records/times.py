"""Times as people write them, on a command line and in a form. Knows neither."""

from __future__ import annotations

import re
import time
from datetime import datetime

from barnabas.records.asked import UsageError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")
_AGO = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([smhdw])")
# Milliseconds since 1970 have more digits than a year.
_MILLISECONDS = re.compile(r"\d{10,18}")


def timestamp_ms(text: str, option: str) -> int:
    """Milliseconds since 1970 of `2h` (so long ago), of ISO 8601 (local where it has no zone), or of such
    milliseconds themselves. Raises: UsageError."""
    found = _timestamp_ms(text.strip())
    if found is None:
        raise UsageError(
            f"{option} {text!r} is no time: give how long ago (30m, 2h, 7d), 2026-01-31T12:00, or "
            "milliseconds since 1970"
        )
    return found


def duration_ms(text: str, option: str, *, of_number: int, unit: str) -> int:
    """Milliseconds of `2h`, or of a number alone, which is `of_number` milliseconds times that, in `unit`.
    Raises: UsageError."""
    told = text.strip()
    found = _AGO.fullmatch(told)
    if found is not None:
        return round(float(found[1]) * _SECONDS[found[2]] * 1000)
    if _NUMBER.fullmatch(told):
        return round(float(told) * of_number)
    raise UsageError(f"{option} {text!r} is no duration: give 30s, 15m, 2h, 7d, or a number of {unit}")


def is_time(text: str) -> bool:
    """Whether `timestamp_ms` takes it."""
    return _timestamp_ms(text.strip()) is not None


def _timestamp_ms(text: str) -> int | None:
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return round((time.time() - float(ago[1]) * _SECONDS[ago[2]]) * 1000)
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
