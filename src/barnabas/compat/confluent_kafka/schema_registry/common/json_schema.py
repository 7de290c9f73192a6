# pyright: basic
"""JSON schemas for programs that walk messages themselves, as the original's rules do."""

from __future__ import annotations

import decimal
import json
import logging
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import RuleKind as RuleKind
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
from barnabas.registry.rules.json_walk import TAGS_PROP, JsonWalk, field_type

__all__ = ["JsonMessage", "JsonSchema", "get_inline_tags", "get_type", "transform", "validate_message"]

JSON_TYPE = "JSON"

JsonMessage = None | str | float | int | decimal.Decimal | bool | list | dict
JsonSchema = bool | dict

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry.common.json_schema")


def transform(
    ctx: RuleContext,
    schema: JsonSchema,
    ref_registry: Any,
    ref_resolver: Any,
    path: str,
    message: JsonMessage,
    field_transform: FieldTransform,
) -> JsonMessage:
    """What a rule makes of the fields of a message. References are followed within the schema."""
    return JsonWalk(json.dumps(schema)).transform(ctx, field_transform, message)


def validate_message(
    executor: ValidationRuleExecutor | None,
    schema: JsonSchema | None,
    ref_registry: Any,
    ref_resolver: Any,
    message: JsonMessage,
    fail_fast: bool = False,
) -> list[ValidationRuleError]:
    """What does not hold of the conditions that a schema has itself."""
    if executor is None or schema is None or message is None:
        return []
    return JsonWalk(json.dumps(schema)).violations(executor, message, stops_at_first=fail_fast)


def get_type(schema: JsonSchema) -> FieldType:
    """What a schema describes, in the words of rules."""
    return field_type(schema, None)


def get_inline_tags(schema: dict[str, Any]) -> set[str]:
    """The tags that a field's schema has itself."""
    return set(schema.get(TAGS_PROP) or ())
