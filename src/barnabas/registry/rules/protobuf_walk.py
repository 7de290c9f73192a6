"""Walks Protobuf messages, for rules that are about fields.

The schema's descriptor has names, tags and conditions; the message's own class may have other names for the
same fields, which numbers pair. Messages are copied, not changed.
"""

# Messages of google.protobuf have the fields that their schema says.
# pyright: basic

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from barnabas.errors import SerializationError
from barnabas.registry.rules.context import FieldTransform, RuleContext
from barnabas.registry.rules.errors import RuleConditionError, RuleError
from barnabas.registry.rules.kinds import FieldType, RuleKind
from barnabas.registry.rules.validation import (
    Findings,
    ValidationRule,
    ValidationRuleError,
    ValidationRuleExecutor,
)

META_NUMBER = 1088
"""Of `confluent.message_meta` and `confluent.field_meta` among options."""
META_TAGS, META_RULES = 3, 4
DECIMAL, TIMESTAMP = "confluent.type.Decimal", "google.protobuf.Timestamp"
# Which rules see as one value.
VALUE_TYPES = (DECIMAL, TIMESTAMP)
MAX_DIGITS = 4300
INT32 = 2**31
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

_FIELD_TYPES = {
    **dict.fromkeys((5, 17, 13, 7, 15), FieldType.INT),
    **dict.fromkeys((3, 18, 4, 6, 16), FieldType.LONG),
    1: FieldType.DOUBLE,
    2: FieldType.FLOAT,
    8: FieldType.BOOLEAN,
    9: FieldType.STRING,
    12: FieldType.BYTES,
    14: FieldType.ENUM,
}
MESSAGE = 11


class ProtobufWalk:
    """`descriptor`: of the message, as the schema has it. All threads may share one."""

    inline_tags = None
    """Tags come with each field."""

    def __init__(self, descriptor: Any) -> None:
        self._descriptor = descriptor

    # Transformations

    def transform(self, ctx: RuleContext, field_transform: FieldTransform, message: Any) -> Any:
        """A FieldTransformer: what becomes of the fields that the rule is for."""
        copied = type(message)()
        copied.CopyFrom(message)
        return self._transformed(ctx, self._descriptor, copied, field_transform)

    def _transformed(self, ctx: RuleContext, descriptor: Any, value: Any, change: FieldTransform) -> Any:
        if isinstance(value, list):
            return [self._transformed(ctx, descriptor, each, change) for each in value]
        if isinstance(value, dict):
            return {key: self._transformed(ctx, descriptor, each, change) for key, each in value.items()}
        own = getattr(value, "DESCRIPTOR", None)
        if own is not None and own.full_name not in VALUE_TYPES:
            for field in own.fields:
                known = descriptor.fields_by_number.get(field.number)
                if known is not None:
                    self._transform_field(ctx, field, known, descriptor, value, change)
            return value
        current = ctx.current_field()
        if current is not None and (not ctx.rule.tags or not current.tags.isdisjoint(ctx.rule.tags)):
            return change(ctx, current, value)
        return value

    def _transform_field(
        self, ctx: RuleContext, field: Any, known: Any, descriptor: Any, message: Any, change: FieldTransform
    ) -> None:
        if field.has_presence and not message.HasField(field.name):
            return
        ctx.enter_field(message, known.full_name, known.name, field_type(field), tags_of(known), field)
        value = getattr(message, field.name)
        if is_map(field):
            value = dict(value.items())
        elif field.is_repeated:
            value = list(value)
        # What fails leaves the field where it is, for the error to name it.
        changed = self._transformed(ctx, _within(known, descriptor), value, change)
        if ctx.rule.kind == RuleKind.CONDITION:
            if changed is False:
                raise RuleConditionError(ctx.rule)
        else:
            _set(field, message, _as_messages(field, changed))
        ctx.exit_field()

    # Conditions in the schema itself

    def violations(
        self, executor: ValidationRuleExecutor, message: Any, *, stops_at_first: bool = False
    ) -> list[ValidationRuleError]:
        """What does not hold of the conditions that the schema has for its messages and fields. Raises:
        SerializationError, where the schema cannot read the message."""
        findings = Findings(executor, stops_at_first)
        seen = None
        if message.DESCRIPTOR is not self._descriptor and not _presents_the_same(
            self._descriptor, message.DESCRIPTOR
        ):
            seen = _as_the_schema_has_it(self._descriptor, message)
        self._check(findings, self._descriptor, message, seen, "")
        return findings.found

    def _check(self, findings: Findings, descriptor: Any, message: Any, seen: Any, path: str) -> None:
        """`seen`: the message in the schema's names, None where it has them itself."""
        if findings.is_enough:
            return
        findings.check(rules_of(descriptor), descriptor, path, message if seen is None else seen)
        for field in message.DESCRIPTOR.fields:
            known = descriptor.fields_by_number.get(field.number)
            if findings.is_enough:
                return
            if known is None or (field.has_presence and not message.HasField(field.name)):
                continue
            value = getattr(message, field.name)
            seen_value = None if seen is None else getattr(seen, known.name)
            place = f"{path}.{known.name}" if path else known.name
            findings.check(rules_of(known), known, place, value if seen_value is None else seen_value)
            if field.type == MESSAGE and known.type == MESSAGE:
                for child, seen_child, step in _children(field, value, seen_value):
                    self._check(findings, _within(known, descriptor), child, seen_child, place + step)


def _children(field: Any, value: Any, seen: Any) -> Iterator[tuple[Any, Any, str]]:
    """The messages within a field, and where they are."""
    if is_map(field):
        if field.message_type.fields_by_name["value"].type == MESSAGE:
            for key, each in value.items():
                yield each, seen[key] if seen is not None and key in seen else None, f'["{key}"]'
    elif field.is_repeated:
        for number, each in enumerate(value):
            yield each, seen[number] if seen is not None and number < len(seen) else None, f"[{number}]"
    else:
        yield value, seen, ""


def is_map(field: Any) -> bool:
    return field.type == MESSAGE and field.message_type.GetOptions().map_entry


def field_type(field: Any) -> FieldType:
    if is_map(field):
        return FieldType.MAP
    if field.type == MESSAGE:
        name = field.message_type.full_name
        # As in Avro, where these are logical types.
        return {DECIMAL: FieldType.BYTES, TIMESTAMP: FieldType.LONG}.get(name, FieldType.RECORD)
    return _FIELD_TYPES.get(field.type, FieldType.NULL)


def _within(known: Any, descriptor: Any) -> Any:
    """The descriptor that a field's value is walked with."""
    if known.type != MESSAGE:
        return descriptor
    if not is_map(known):
        return known.message_type
    value = known.message_type.fields_by_name["value"]
    return value.message_type if value.type == MESSAGE else descriptor


def _set(field: Any, message: Any, value: Any) -> None:
    if isinstance(value, list):
        message.ClearField(field.name)
        getattr(message, field.name).extend(value)
    elif isinstance(value, dict):
        entries = getattr(message, field.name)
        if field.message_type.fields_by_name["value"].type == MESSAGE:
            for key, each in value.items():
                entries[key].CopyFrom(each)
        else:
            message.ClearField(field.name)
            getattr(message, field.name).update(value)
    elif hasattr(value, "DESCRIPTOR"):
        getattr(message, field.name).CopyFrom(value)
    else:
        setattr(message, field.name, value)


def _as_messages(field: Any, value: Any) -> Any:
    """What rules gave for a field, with messages again where they see none."""
    if field.type != MESSAGE:
        return value
    if is_map(field):
        entry = field.message_type.fields_by_name["value"]
        return {key: _as_messages(entry, each) for key, each in value.items()}
    if field.message_type.full_name not in VALUE_TYPES:
        return value
    return [_rebuilt(field, each) for each in value] if field.is_repeated else _rebuilt(field, value)


def _rebuilt(field: Any, value: Any) -> Any:
    """The message of a decimal or a timestamp that a rule gave. Raises: RuleError."""
    kind = field.message_type
    for own in (value, getattr(value, "msg", None)):
        # Given back as it came: a timestamp of a rule would have no nanoseconds.
        if getattr(getattr(own, "DESCRIPTOR", None), "full_name", None) == kind.full_name:
            return own
    from google.protobuf.message_factory import GetMessageClass

    made = GetMessageClass(kind)()
    if kind.full_name == DECIMAL and isinstance(value, decimal.Decimal):
        set_decimal(made, value)
    elif kind.full_name == TIMESTAMP and isinstance(value, datetime.datetime):
        set_timestamp(made, value)
    else:
        expected = "a decimal" if kind.full_name == DECIMAL else "a timestamp"
        actual = "null" if value is None else type(value).__name__
        raise RuleError(
            f"Rule returned {actual} for field '{field.full_name}', which is a {kind.full_name}; "
            f"expected {expected}"
        )
    return made


def set_decimal(message: Any, value: decimal.Decimal) -> None:
    """Into a confluent.type.Decimal. Raises: ValueError."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"cannot write a non-finite decimal to {DECIMAL}")
    if not -INT32 <= -exponent < INT32:
        raise ValueError(
            f"decimal needs a scale of {-exponent}, which does not fit the int32 scale field of {DECIMAL}"
        )
    if len(digits) > MAX_DIGITS:
        raise ValueError(
            f"decimal coefficient has {len(digits)} digits, past the {MAX_DIGITS} this client can encode "
            f"into {DECIMAL}"
        )
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    message.value = unscaled.to_bytes(magnitude.bit_length() // 8 + 1, signed=True)
    message.precision = len(digits)
    message.scale = -exponent


def set_timestamp(message: Any, value: datetime.datetime) -> None:
    """Into a google.protobuf.Timestamp. Without a zone it is UTC."""
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    since = value - EPOCH
    message.seconds = since.days * 86400 + since.seconds
    message.nanos = since.microseconds * 1000


# What Confluent's options say. They are read off the bytes, whether or not the pool knows the extension.


@lru_cache(maxsize=10_000)
def tags_of(field: Any) -> frozenset[str]:
    return frozenset(
        _text(data) for meta in _metas(field) for number, data in _parts(meta) if number == META_TAGS
    )


@lru_cache(maxsize=10_000)
def _rules_of(described: Any) -> tuple[ValidationRule, ...]:
    found: list[ValidationRule] = []
    for meta in _metas(described):
        for number, data in _parts(meta):
            if number == META_RULES:
                words = {number: _text(each) for number, each in _parts(data)}
                found.append(ValidationRule(*(words.get(each, "") for each in (1, 2, 3, 4))))
    return tuple(found)


def rules_of(described: Any) -> list[ValidationRule]:
    return list(_rules_of(described))


def _metas(described: Any) -> Iterable[bytes]:
    options = described.GetOptions().SerializeToString()
    return (data for number, data in _parts(options) if number == META_NUMBER)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that have a length."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == 2:
            length, place = _varint(data, place)
            yield key >> 3, data[place : place + length]
            place += length
        elif kind == 0:
            _, place = _varint(data, place)
        else:
            place += 8 if kind == 1 else 4


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, place


@lru_cache(maxsize=1000)
def _presents_the_same(descriptor: Any, own: Any) -> bool:
    """Whether both have the schema's fields by the same names and types, at any depth."""
    seen: set[tuple[str, str]] = set()

    def same(known: Any, own: Any) -> bool:
        if (known.full_name, own.full_name) in seen:
            return True
        seen.add((known.full_name, own.full_name))
        if any(each.number not in own.fields_by_number for each in known.fields):
            return False
        for field in own.fields:
            other = known.fields_by_number.get(field.number)
            if other is None:
                continue
            if (other.name, other.type, other.is_repeated) != (field.name, field.type, field.is_repeated):
                return False
            if field.type == MESSAGE and not same(other.message_type, field.message_type):
                return False
        return True

    return same(descriptor, own)


def _as_the_schema_has_it(descriptor: Any, message: Any) -> Any:
    from google.protobuf.message import DecodeError, EncodeError
    from google.protobuf.message_factory import GetMessageClass

    seen = GetMessageClass(descriptor)()
    try:
        seen.ParseFromString(message.SerializeToString())
    except (DecodeError, EncodeError, UnicodeDecodeError) as error:
        raise SerializationError(
            f"Could not read message {descriptor.full_name} through the registered schema: {error}"
        ) from error
    return seen
