# pyright: basic
"""Avro schemas for programs that walk messages themselves, as the original's rules do."""

from __future__ import annotations

import decimal
import json
import logging
from collections.abc import Mapping
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import RuleKind as RuleKind
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Schema as Schema
from barnabas.compat.confluent_kafka.schema_registry.common.serde import (
    VALIDATION_RULES_PROP as VALIDATION_RULES_PROP,
)
from barnabas.compat.confluent_kafka.schema_registry.common.serde import (
    FieldTransform,
    FieldType,
    RuleContext,
    ValidationRuleError,
    ValidationRuleExecutor,
)
from barnabas.compat.confluent_kafka.schema_registry.common.serde import (
    RuleConditionError as RuleConditionError,
)
from barnabas.compat.confluent_kafka.schema_registry.common.serde import ValidationRule as ValidationRule
from barnabas.compat.confluent_kafka.schema_registry.common.serde import (
    evaluate_validation_rule as evaluate_validation_rule,
)
from barnabas.compat.confluent_kafka.schema_registry.common.serde import (
    parse_validation_rules as parse_validation_rules,
)
from barnabas.errors import MissingExtraError
from barnabas.formats.errors import SchemaError
from barnabas.formats.variant import Variant as Variant
from barnabas.registry.rules.avro_walk import AvroWalk

__all__ = [
    "AvroMessage",
    "AvroSchema",
    "LocalSchemaRepository",
    "get_inline_tags",
    "get_type",
    "parse_schema_with_repo",
    "transform",
    "validate_message",
]

AVRO_TYPE = "AVRO"

AvroMessage = None | str | float | int | decimal.Decimal | bool | bytes | list | dict | tuple
AvroSchema = str | list | dict

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry.common.avro")


class LocalSchemaRepository:
    """Schemas by name, as fastavro asks for them."""

    def __init__(self, schemas: Mapping[str, AvroSchema]) -> None:
        self.schemas = schemas

    def load(self, subject: str) -> AvroSchema | None:
        return self.schemas.get(subject)


def parse_schema_with_repo(schema_str: str, named_schemas: dict[str, AvroSchema]) -> AvroSchema:
    """A schema as fastavro reads it, with what it refers to by name. Raises: fastavro's errors,
    MissingExtraError."""
    try:
        from fastavro.schema import load_schema
    except ImportError:
        raise MissingExtraError("Avro", "avro") from None
    known = json.loads(json.dumps(named_schemas))
    known["$root"] = json.loads(schema_str)
    repository: Any = LocalSchemaRepository(known)
    return load_schema("$root", repo=repository)


def transform(
    ctx: RuleContext, schema: AvroSchema, message: AvroMessage, field_transform: FieldTransform
) -> AvroMessage:
    """What a rule makes of the fields of a message."""
    return AvroWalk(json.dumps(schema)).transform(ctx, field_transform, message)


def validate_message(
    executor: ValidationRuleExecutor | None,
    schema: AvroSchema | None,
    message: AvroMessage,
    fail_fast: bool = False,
) -> list[ValidationRuleError]:
    """What does not hold of the conditions that a schema has itself."""
    if executor is None or schema is None or message is None:
        return []
    return AvroWalk(json.dumps(schema)).violations(executor, message, stops_at_first=fail_fast)


def get_type(schema: AvroSchema) -> FieldType:
    """What a schema describes, in the words of rules."""
    if isinstance(schema, list):
        return FieldType.COMBINED
    kind = schema.get("type") if isinstance(schema, dict) else schema
    if kind == "union":
        return FieldType.COMBINED
    try:
        return FieldType(str(kind).upper())
    except ValueError:
        return FieldType.NULL


def get_inline_tags(schema: AvroSchema) -> dict[str, set[str]]:
    """The tags that fields have in a schema itself, by their full names; none in what is no schema."""
    try:
        return dict(AvroWalk(json.dumps(schema)).inline_tags or {})
    except SchemaError:
        return {}
