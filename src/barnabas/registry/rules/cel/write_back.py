"""What a CEL transformation gives, in the form that serializers take: plain containers, and messages of
google.protobuf made of maps, field by field.

A value has to be of its field's kind: what would be rounded, cut or read as something else is refused.
"""

# Messages have the fields that their schema says.
# pyright: basic

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any

from celpy import celtypes

from barnabas.formats.variant import Variant
from barnabas.registry.rules.cel.messages import WRAPPERS
from barnabas.registry.rules.protobuf_walk import (
    DECIMAL,
    MESSAGE,
    TIMESTAMP,
    is_map,
    set_decimal,
    set_timestamp,
)

DOUBLE, FLOAT, BOOL, STRING, BYTES, ENUM = 1, 2, 8, 9, 12, 14
LARGEST_FLOAT = 3.4028234663852886e38 * (1 + 1e-6)
INTEGER_DIGITS = 20
_RANGES = {
    **dict.fromkeys((5, 17, 15, ENUM), (-(2**31), 2**31 - 1)),
    **dict.fromkeys((13, 7), (0, 2**32 - 1)),
    **dict.fromkeys((3, 18, 16), (-(2**63), 2**63 - 1)),
    **dict.fromkeys((4, 6), (0, 2**64 - 1)),
}


def plain(value: Any) -> Any:
    """Python's own values in place of CEL's, at any depth. Pairs that name a union's branch stay pairs."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        return list(map(plain, value))
    made = _PLAIN.get(type(value))
    return value if made is None else made(value)


def _moment(value: Any) -> datetime.datetime:
    parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    return datetime.datetime(*parts, tzinfo=value.tzinfo)


_PLAIN: Mapping[type, Callable[[Any], Any]] = {
    celtypes.StringType: lambda value: "".join(value),
    celtypes.BytesType: bytes,
    celtypes.BoolType: bool,
    celtypes.IntType: int,
    celtypes.UintType: int,
    celtypes.DoubleType: float,
    celtypes.TimestampType: _moment,
    celtypes.DurationType: lambda value: datetime.timedelta(value.days, value.seconds, value.microseconds),
}


def message_of(result: Any, message: Any) -> Any:
    """A message of the same class, of a map; anything else as it is. Raises: ValueError."""
    if not isinstance(result, Mapping):
        return result
    made = type(message)()
    _fill(made, result)
    return made


def _fill(message: Any, values: Mapping[Any, Any]) -> None:
    descriptor = message.DESCRIPTOR
    named: dict[int, str] = {}
    chosen: dict[str, str] = {}
    for key, value in values.items():
        name = str(key)
        field = descriptor.fields_by_name.get(name) or descriptor.fields_by_camelcase_name.get(name)
        if field is None:
            continue
        if field.number in named:
            one, other = sorted((named[field.number], name))
            raise ValueError(f"result names field '{field.full_name}' twice, as '{one}' and '{other}'")
        if _is_null(value):
            message.ClearField(field.name)
            continue
        named[field.number] = name
        oneof = field.containing_oneof
        if oneof is not None and chosen.setdefault(oneof.full_name, field.name) != field.name:
            one, other = sorted((chosen[oneof.full_name], field.name))
            raise ValueError(
                f"result sets more than one member of oneof '{oneof.full_name}': '{one}' and '{other}'"
            )
        _set(message, field, value)


def _is_null(value: Any) -> bool:
    return value is None or isinstance(value, celtypes.NullType)


def _set(message: Any, field: Any, value: Any) -> None:
    if is_map(field):
        if not isinstance(value, Mapping):
            raise ValueError(f"cannot write {type(value).__name__} to map field '{field.name}'")
        entries, entry = getattr(message, field.name), field.message_type.fields_by_name["value"]
        for key, each in value.items():
            if _is_null(each):
                raise ValueError(f"cannot write a null value to map field '{field.name}'")
            if entry.type == MESSAGE:
                _set_message(entries[key], entry, each)
            else:
                entries[key] = scalar(entry, each)
    elif field.is_repeated:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
            raise ValueError(f"cannot write {type(value).__name__} to repeated field '{field.name}'")
        elements = getattr(message, field.name)
        for each in value:
            if _is_null(each):
                raise ValueError(f"cannot write null to repeated field '{field.name}'")
            if field.type == MESSAGE:
                _set_message(elements.add(), field, each)
            else:
                elements.append(scalar(field, each))
    elif field.type == MESSAGE:
        _set_message(getattr(message, field.name), field, value)
    else:
        setattr(message, field.name, scalar(field, value))


def _set_message(message: Any, field: Any, value: Any) -> None:
    name = field.message_type.full_name
    for own in (value, getattr(value, "msg", None)):
        # Given back as it came.
        if getattr(getattr(own, "DESCRIPTOR", None), "full_name", None) == name:
            message.CopyFrom(own)
            # A message that is empty is set nevertheless.
            message.SetInParent()
            return
    message.SetInParent()
    if name == DECIMAL and isinstance(value, decimal.Decimal):
        set_decimal(message, value)
    elif name == TIMESTAMP and isinstance(value, datetime.datetime):
        set_timestamp(message, value)
    elif name == "confluent.type.Variant" and isinstance(value, Variant):
        message.metadata = value.metadata
        message.value = value.standalone_value_bytes()
    elif name in WRAPPERS:
        message.value = scalar(message.DESCRIPTOR.fields_by_name["value"], value)
    elif name == "google.protobuf.Duration" and isinstance(value, datetime.timedelta):
        microseconds = value // datetime.timedelta(microseconds=1)
        # Both parts have the same sign.
        sign = -1 if microseconds < 0 else 1
        message.seconds = sign * (abs(microseconds) // 1_000_000)
        message.nanos = sign * (abs(microseconds) % 1_000_000) * 1000
    elif isinstance(value, Mapping):
        _fill(message, value)
    else:
        raise ValueError(f"cannot write {type(value).__name__} to {name} (field '{field.name}')")


def scalar(field: Any, value: Any) -> Any:
    """What a field takes. Raises: ValueError."""
    if field.type == BYTES:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise ValueError(f"cannot write {type(value).__name__} to bytes field '{field.name}'")
        return bytes(value)
    if field.type == STRING:
        if not isinstance(value, str):
            raise ValueError(f"cannot write {type(value).__name__} to string field '{field.name}'")
        return str(value)
    if field.type == BOOL:
        if not isinstance(value, bool | celtypes.BoolType):
            raise ValueError(f"cannot write {type(value).__name__} to bool field '{field.name}'")
        return bool(value)
    return _floating(field, value) if field.type in (DOUBLE, FLOAT) else _integral(field, value)


def _floating(field: Any, value: Any) -> float:
    if isinstance(value, bool | celtypes.BoolType):
        raise ValueError(f"cannot write bool to float field '{field.name}'")
    if not isinstance(value, int | float | decimal.Decimal):
        raise ValueError(f"cannot write {type(value).__name__} to float field '{field.name}'")
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError(f"out of range value for float field '{field.name}': {value}") from error
    is_finite = value.is_finite() if isinstance(value, decimal.Decimal) else math.isfinite(number)
    if not is_finite:
        return number
    if not math.isfinite(number):
        raise ValueError(f"out of range value for float field '{field.name}': {value}")
    if field.type == FLOAT and abs(number) > LARGEST_FLOAT:
        raise ValueError(f"out of range float value for field '{field.name}': {number}")
    return number


def _integral(field: Any, value: Any) -> Any:
    if isinstance(value, bool | celtypes.BoolType):
        raise ValueError(f"cannot write bool to integer field '{field.name}'")
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise ValueError(f"cannot write non-finite {value} to integer field '{field.name}'")
        # Before a number of millions of digits is made.
        if value.adjusted() >= INTEGER_DIGITS:
            raise ValueError(f"value {value} is out of range for field '{field.name}'")
        if value != value.to_integral_value():
            raise ValueError(f"cannot write non-integral {value} to integer field '{field.name}'")
    elif isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"cannot write non-integral {value!r} to integer field '{field.name}'")
    elif isinstance(value, str) and field.type == ENUM:
        # The name of one of its values.
        return str(value)
    elif not isinstance(value, int):
        raise ValueError(f"cannot write {type(value).__name__} to integer field '{field.name}'")
    number = int(value)
    low, high = _RANGES[field.type]
    if not low <= number <= high:
        raise ValueError(f"value {number} is out of range for field '{field.name}'")
    return number
