"""What CEL sees of values: of messages of google.protobuf with their fields, of all others what they are.

A timestamp, a duration and a wrapper are the values that they stand for; what CEL cannot hold (nanoseconds)
is kept beside, for what is given back as it came.
"""

# cel-python's types are its own; messages have the fields that their schema says.
# pyright: basic

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from celpy import celtypes

WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("String", "Bytes", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "Bool")
)
FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
EPOCH = celtypes.TimestampType(1970, 1, 1)
MESSAGE_TYPES = (11, 10)

_SCALARS: Mapping[int, Callable[[Any], Any]] = {
    **dict.fromkeys((5, 3, 17, 18, 15, 16, 14), celtypes.IntType),
    **dict.fromkeys((13, 4, 7, 6), celtypes.UintType),
    **dict.fromkeys((1, 2), celtypes.DoubleType),
    8: celtypes.BoolType,
    9: celtypes.StringType,
    12: celtypes.BytesType,
}
_state = threading.local()


@contextmanager
def within_has() -> Iterator[None]:
    """While `has(a.b)` is evaluated, a field that is not set is not there."""
    before = getattr(_state, "is_in_has", False)
    _state.is_in_has = True
    try:
        yield
    finally:
        _state.is_in_has = before


def is_message(value: Any) -> bool:
    return hasattr(value, "DESCRIPTOR")


def as_cel(value: Any) -> Any:
    """Of any value."""
    if is_message(value):
        return message_as_cel(value)
    if isinstance(value, dict):
        found = celtypes.MapType()
        for key, each in value.items():
            found[key] = as_cel(each)
        return found
    if isinstance(value, list):
        return celtypes.ListType([as_cel(each) for each in value])
    if isinstance(value, bool):
        return celtypes.BoolType(value)
    if isinstance(value, uuid.UUID):
        return celtypes.StringType(str(value))
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return celtypes.IntType(value.toordinal() - FIRST_DAY)
    for kind, made in _KINDS:
        if isinstance(value, kind):
            return made(value)
    # Decimals, times and variants are what they are.
    return value


_KINDS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, celtypes.StringType),
    (bytes, celtypes.BytesType),
    (int, celtypes.IntType),
    (float, celtypes.DoubleType),
    (datetime.datetime, celtypes.TimestampType),
    (datetime.timedelta, celtypes.DurationType),
)


def element_as_cel(value: Any, field: Any) -> Any:
    """Of one value of a field, which may be repeated."""
    return message_as_cel(value) if field.type in MESSAGE_TYPES else _SCALARS[field.type](value)


def field_as_cel(value: Any, field: Any) -> Any:
    """Of all that a field has."""
    if not field.is_repeated:
        return element_as_cel(value, field)
    if field.message_type is None or not field.message_type.GetOptions().map_entry:
        return celtypes.ListType([element_as_cel(each, field) for each in value])
    key_field, value_field = field.message_type.fields
    found = celtypes.MapType()
    for key, each in value.items():
        found[element_as_cel(key, key_field)] = element_as_cel(each, value_field)
    return found


def message_as_cel(message: Any) -> Any:
    name = message.DESCRIPTOR.full_name
    if name == "google.protobuf.Duration":
        return _of_message(celtypes.DurationType(seconds=message.seconds, nanos=message.nanos), message)
    if name == "google.protobuf.Timestamp":
        since = celtypes.DurationType(seconds=message.seconds, nanos=message.nanos)
        return _of_message(since + EPOCH, message)
    if name in WRAPPERS:
        return element_as_cel(message.value, message.DESCRIPTOR.fields_by_name["value"])
    return MessageValue(message)


def _of_message(value: Any, message: Any) -> Any:
    value.msg = message
    return value


class MessageValue(celtypes.MapType):
    """A message, by the names of its fields."""

    def __init__(self, message: Any) -> None:
        super().__init__()
        self.msg = message
        for field in message.DESCRIPTOR.fields:
            is_present = not field.has_presence or message.HasField(field.name)
            if field.containing_oneof is not None and not is_present:
                continue
            is_absent = field.message_type is not None and not field.is_repeated and not is_present
            self[field.name] = None if is_absent else field_as_cel(getattr(message, field.name), field)

    def __getitem__(self, name: Any) -> Any:
        field = self.msg.DESCRIPTOR.fields_by_name[name]
        if not _is_set(self.msg, field):
            if getattr(_state, "is_in_has", False):
                raise KeyError(name)
            if field.has_presence:
                return _default(self.msg, field)
        return super().__getitem__(name)


def _is_set(message: Any, field: Any) -> bool:
    value = getattr(message, field.name)
    if field.is_repeated:
        return len(value) > 0
    return message.HasField(field.name) if field.has_presence else value != field.default_value


def _default(message: Any, field: Any) -> Any:
    if field.message_type is None:
        return field_as_cel(field.default_value, field)
    # No value is what wrappers are for.
    return (
        None
        if field.message_type.full_name in WRAPPERS
        else field_as_cel(getattr(message, field.name), field)
    )
