# pyright: basic
"""Protobuf's descriptors for programs that walk messages themselves, as the original's rules do."""

from __future__ import annotations

from typing import Any

from barnabas.compat.confluent_kafka.schema_registry.common.serde import (
    FieldTransform,
    FieldType,
    RuleContext,
    ValidationRuleError,
    ValidationRuleExecutor,
)
from barnabas.registry.rules.protobuf_walk import ProtobufWalk, field_type, is_map, tags_of

__all__ = ["get_inline_tags", "get_type", "is_map_field", "transform", "validate_message"]

PROTOBUF_TYPE = "PROTOBUF"


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
