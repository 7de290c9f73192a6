# pyright: basic
"""Protobuf's descriptors for programs that walk messages themselves, as the original's rules do."""

from __future__ import annotations

import decimal
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry.common.serde import (
    FieldTransform,
    FieldType,
    RuleContext,
    ValidationRuleError,
    ValidationRuleExecutor,
)
from barnabas.formats.variant import Variant
from barnabas.registry.rules.protobuf_walk import ProtobufWalk, field_type, is_map, tags_of

__all__ = [
    "decimal_to_protobuf",
    "get_inline_tags",
    "get_type",
    "is_map_field",
    "protobuf_to_decimal",
    "protobuf_to_variant",
    "transform",
    "validate_message",
    "variant_to_protobuf",
]

PROTOBUF_TYPE = "PROTOBUF"

# Of Java's BigInteger.
_MOST_DIGITS = 646_456_993


def transform(ctx: RuleContext, descriptor: Any, message: Any, field_transform: FieldTransform) -> Any:
    """What a rule makes of the fields of a message."""
    return ProtobufWalk(descriptor).transform(ctx, field_transform, message)


def validate_message(
    executor: ValidationRuleExecutor | None, descriptor: Any, message: Any, fail_fast: bool = False
) -> list[ValidationRuleError]:
    """What does not hold of the conditions that a descriptor has itself."""
    if executor is None or descriptor is None or message is None:
        return []
    return ProtobufWalk(descriptor).violations(executor, message, stops_at_first=fail_fast)


def get_type(fd: Any) -> FieldType:
    """What a field is, in the words of rules."""
    return field_type(fd)


def is_map_field(fd: Any) -> bool:
    """Whether a field is a map."""
    return is_map(fd)


def get_inline_tags(fd: Any) -> set[str]:
    """The tags that a field has in its descriptor."""
    return set(tags_of(fd))


def decimal_to_protobuf(value: decimal.Decimal, scale: int) -> Any:
    """The message of a number with so many digits behind the point. Raises: ValueError, where they are too
    few for it, or more than Java has room for."""
    from barnabas.compat.confluent_kafka.schema_registry.confluent.type import decimal_pb2, decimal_utils

    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"cannot convert non-finite Decimal '{value}' to confluent.type.Decimal")
    unscaled = int(decimal.Decimal((0, digits, 0)))
    more = exponent + scale
    if more >= 0:
        if more + len(digits) > _MOST_DIGITS:
            raise ValueError("Scale provided is too wide for the decimal")
        unscaled *= 10**more
    elif unscaled:
        # Told by the digits: a divisor of that many could take for ever.
        zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
        if -more > zeros:
            raise ValueError("Scale provided does not match the decimal")
        unscaled //= 10**-more
    precision = len(digits) + more if unscaled else 1
    data = decimal_utils.unscaled_to_bytes(-unscaled if sign else unscaled)
    return decimal_pb2.Decimal(value=data, precision=precision, scale=scale)


def protobuf_to_decimal(value: Any) -> decimal.Decimal:
    """The number of a message."""
    from barnabas.compat.confluent_kafka.schema_registry.confluent.type import decimal_utils

    return decimal_utils.from_proto_decimal(value)


def variant_to_protobuf(value: Variant) -> Any:
    """The message of a Variant."""
    from barnabas.compat.confluent_kafka.schema_registry.confluent.type import variant_pb2

    return variant_pb2.Variant(metadata=value.metadata, value=value.standalone_value_bytes())


def protobuf_to_variant(value: Any) -> Variant:
    """The Variant of a message."""
    return Variant(value.value, value.metadata)
