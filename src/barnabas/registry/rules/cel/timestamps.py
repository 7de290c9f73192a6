"""`timestamp` of CEL, with moments as numbers: seconds, or with a precision of 0, 3, 6 or 9 digits."""

# cel-python's types are its own.
# pyright: basic

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from celpy import celtypes
from celpy.evaluation import CELEvalError, base_functions

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
PRECISIONS = (0, 3, 6, 9)
_own_timestamp = base_functions["timestamp"]


def is_int(value: Any) -> bool:
    """One of CEL's: its unsigned numbers and truth values are other types."""
    no_ints = (bool, celtypes.BoolType, celtypes.UintType)
    return isinstance(value, int) and not isinstance(value, no_ints)


def timestamp(*values: Any) -> Any:
    """Of a text, a datetime, a message, seconds, or a number and its precision; three numbers and more are a
    date's."""
    if len(values) == 2:
        return _of_number(*values)
    return _of_value(values[0]) if len(values) == 1 else _own_timestamp(*values)


def _of_number(value: Any, precision: Any) -> Any:
    if not is_int(value):
        raise CELEvalError(f"timestamp: epoch value must be int, got {type(value).__name__}")
    if not is_int(precision):
        raise CELEvalError(f"timestamp: precision must be int, got {type(precision).__name__}")
    if precision not in PRECISIONS:
        raise CELEvalError(
            f"timestamp: unknown precision {precision}; expected 0 (seconds), 3 (millis), 6 (micros) or "
            "9 (nanos)"
        )
    return _moment(int(value) * 10**9 // 10 ** int(precision), f"epoch value out of range: {int(value)}")


def _of_value(value: Any) -> Any:
    if value is None:
        raise CELEvalError("timestamp: cannot convert null to Timestamp")
    if isinstance(value, bool | celtypes.BoolType):
        raise CELEvalError("timestamp: cannot convert bool to Timestamp")
    if isinstance(value, celtypes.UintType):
        raise CELEvalError("timestamp: expected an int epoch, got uint")
    if isinstance(value, celtypes.TimestampType):
        return value
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise CELEvalError(
                "timestamp: naive datetime (no timezone) cannot be converted. Use the regular timestamp-* "
                "logical type (UTC by spec), or pass an offset-adjusted epoch value via "
                "timestamp(value, precision)."
            )
        return celtypes.TimestampType(value)
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is not None and descriptor.full_name == "google.protobuf.Timestamp":
        seconds, nanos = int(value.seconds), int(value.nanos)
        words = f"proto Timestamp out of range: {seconds}s {nanos}ns"
        return _moment(seconds * 10**9 + nanos, words)
    if is_int(value):
        return _moment(int(value) * 10**9, f"epoch seconds value out of range: {int(value)}")
    return _own_timestamp(value)


def _moment(nanoseconds: int, words: str) -> Any:
    try:
        # A datetime has no nanoseconds.
        return celtypes.TimestampType(EPOCH + datetime.timedelta(microseconds=nanoseconds // 1000))
    except (OverflowError, ValueError) as error:
        raise CELEvalError(f"timestamp: {words}") from error


def timestamp_text(moment: datetime.datetime) -> str:
    """In UTC, with no, three or six digits of a second."""
    moment = moment.astimezone(datetime.UTC)
    text = moment.strftime("-%m-%dT%H:%M:%S")
    if moment.microsecond:
        text += f".{moment.microsecond:06d}".removesuffix("000")
    return f"{moment.year:04d}{text}Z"


FUNCTIONS: Mapping[str, Any] = {"timestamp": timestamp}
