# pyright: basic
"""What subjects are called, after a message and its record."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import SchemaReference
from barnabas.compat.confluent_kafka.serialization import SerializationContext


class SubjectNameStrategyType(str, Enum):  # noqa: UP042  the bases are the original's
    """What subjects are named after."""

    NONE = "NONE"
    TOPIC = "TOPIC"
    RECORD = "RECORD"
    TOPIC_RECORD = "TOPIC_RECORD"
    ASSOCIATED = "ASSOCIATED"


def _needed(ctx: SerializationContext | None, name: str) -> SerializationContext:
    if ctx is None:
        raise ValueError(
            f"SerializationContext is required for {name}. "
            "Either provide a SerializationContext or use record_subject_name_strategy."
        )
    return ctx


def topic_subject_name_strategy(ctx: SerializationContext | None, record_name: str | None) -> str | None:
    """`topic-key` or `topic-value`. Raises: ValueError, without `ctx`."""
    needed = _needed(ctx, "topic_subject_name_strategy")
    return needed.topic + "-" + needed.field


def topic_record_subject_name_strategy(
    ctx: SerializationContext | None, record_name: str | None
) -> str | None:
    """`topic-record`, or None without a record's name. Raises: ValueError, without `ctx`."""
    needed = _needed(ctx, "topic_record_subject_name_strategy")
    return None if record_name is None else needed.topic + "-" + record_name


def record_subject_name_strategy(ctx: SerializationContext | None, record_name: str | None) -> str | None:
    """The record's name, if it has one."""
    return record_name


def reference_subject_name_strategy(
    ctx: SerializationContext | None, schema_ref: SchemaReference | Any
) -> str | None:
    """What a reference is called in the text that has it."""
    return None if schema_ref is None else schema_ref.name


STRATEGY_TYPE_MAP: dict[SubjectNameStrategyType, Callable[..., str | None]] = {
    SubjectNameStrategyType.TOPIC: topic_subject_name_strategy,
    SubjectNameStrategyType.RECORD: record_subject_name_strategy,
    SubjectNameStrategyType.TOPIC_RECORD: topic_record_subject_name_strategy,
}
