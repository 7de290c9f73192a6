# pyright: basic
"""Rules, subject names and ids of schemas: what (de)serializers of all formats have in common.

Rules are `barnabas.registry.rules`'s, but for the action that raises the original's error.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, NoReturn, TypeVar

from barnabas.compat.confluent_kafka.schema_registry.common._schema_ids import SchemaId
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    STRATEGY_TYPE_MAP,
    SubjectNameStrategyType,
)
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    record_subject_name_strategy as record_subject_name_strategy,
)
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    topic_record_subject_name_strategy as topic_record_subject_name_strategy,
)
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    topic_subject_name_strategy as topic_subject_name_strategy,
)
from barnabas.compat.confluent_kafka.schema_registry.common._validation import (
    ValidationRulesExecution,
    default_validation_rule_executor,
)
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    RegisteredSchema as RegisteredSchema,
)
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Rule as Rule
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import RuleKind as RuleKind
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import RuleMode as RuleMode
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Schema as Schema
from barnabas.compat.confluent_kafka.schema_registry.wildcard_matcher import wildcard_match as wildcard_match
from barnabas.compat.confluent_kafka.serialization import SerializationContext as SerializationContext
from barnabas.compat.confluent_kafka.serialization import SerializationError as SerializationError
from barnabas.registry.rules.context import FieldContext, FieldTransform, FieldTransformer, RuleContext
from barnabas.registry.rules.engine import (
    Migration,
    clear_original_key,
    get_original_key,
    set_original_key,
)
from barnabas.registry.rules.errors import RuleConditionError, RuleError
from barnabas.registry.rules.executors import (
    FieldRuleExecutor,
    NoneAction,
    RuleAction,
    RuleBase,
    RuleExecutor,
)
from barnabas.registry.rules.kinds import FieldType
from barnabas.registry.rules.validation import (
    VALIDATION_RULES_PROP,
    ValidationRule,
    ValidationRuleError,
    ValidationRuleExecutor,
    evaluate_validation_rule,
    parse_validation_rules,
)

__all__ = [
    "DLQ_HEADER_PREFIX",
    "DLQ_RULE_EXCEPTION_HEADER",
    "DLQ_RULE_MODE_HEADER",
    "DLQ_RULE_NAME_HEADER",
    "DLQ_RULE_SUBJECT_HEADER",
    "DLQ_RULE_TOPIC_HEADER",
    "STRATEGY_TYPE_MAP",
    "VALIDATION_RULES_PROP",
    "ErrorAction",
    "FieldContext",
    "FieldRuleExecutor",
    "FieldTransform",
    "FieldTransformer",
    "FieldType",
    "Migration",
    "NoneAction",
    "ParsedSchemaCache",
    "RuleAction",
    "RuleBase",
    "RuleConditionError",
    "RuleContext",
    "RuleError",
    "RuleExecutor",
    "SchemaId",
    "SubjectNameStrategyType",
    "ValidationRule",
    "ValidationRuleError",
    "ValidationRuleExecutor",
    "ValidationRulesExecution",
    "clear_original_key",
    "default_validation_rule_executor",
    "evaluate_validation_rule",
    "get_original_key",
    "parse_validation_rules",
    "set_original_key",
]

T = TypeVar("T")

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry.common.serde")

DLQ_HEADER_PREFIX = "__rule."
DLQ_RULE_NAME_HEADER = DLQ_HEADER_PREFIX + "name"
DLQ_RULE_MODE_HEADER = DLQ_HEADER_PREFIX + "mode"
DLQ_RULE_SUBJECT_HEADER = DLQ_HEADER_PREFIX + "subject"
DLQ_RULE_TOPIC_HEADER = DLQ_HEADER_PREFIX + "topic"
DLQ_RULE_EXCEPTION_HEADER = DLQ_HEADER_PREFIX + "exception"


class ErrorAction(RuleAction):
    """Ends the call with the original's error, whose cause is why the rule failed."""

    def type(self) -> str:
        return "ERROR"

    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> NoReturn:
        raise SerializationError() from ex


class ParsedSchemaCache:
    """What was made of schemas. For all threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.parsed_schemas: dict[Schema, Any] = {}

    def set(self, schema: Schema, parsed_schema: Any) -> None:
        """Keeps what was made of a schema."""
        with self.lock:
            self.parsed_schemas[schema] = parsed_schema

    def get_parsed_schema(self, schema: Schema) -> Any:
        """What was made of a schema, or None."""
        with self.lock:
            return self.parsed_schemas.get(schema)

    def clear(self) -> None:
        """Forgets all."""
        with self.lock:
            self.parsed_schemas.clear()
