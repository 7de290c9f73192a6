# pyright: basic
"""JSON: what its (de)serializers are made of, by their properties."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry._serde.base import SerdeParts
from barnabas.compat.confluent_kafka.schema_registry._serde.conf import (
    STRATEGY,
    Chosen,
    refuse_the_rest,
    take_callable,
    take_chosen,
    take_flag,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.reading import Reading
from barnabas.compat.confluent_kafka.schema_registry._serde.writing import Writing
from barnabas.compat.confluent_kafka.schema_registry.common._schema_ids import (
    dual_schema_id_deserializer,
    prefix_schema_id_serializer,
)
from barnabas.compat.confluent_kafka.schema_registry.common._validation import ValidationRulesExecution
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Schema
from barnabas.registry.serializers.json_schema import JsonFormat, ReadJsonSchema
from barnabas.registry.serializers.value_format import Referenced

JSON_TYPE = "JSON"

WRITING: dict[str, Any] = {
    "auto.register.schemas": True,
    "normalize.schemas": False,
    "use.schema.id": None,
    "use.latest.version": False,
    "use.latest.with.metadata": None,
    **STRATEGY,
    "schema.id.serializer": prefix_schema_id_serializer,
    "validate": True,
    "validation.rules.execution": ValidationRulesExecution.DISABLED,
    "validation.rules.fail.fast": False,
    "validation.rules.executor": None,
}
READING: dict[str, Any] = {
    "use.latest.version": False,
    "use.latest.with.metadata": None,
    **STRATEGY,
    "schema.id.deserializer": dual_schema_id_deserializer,
    "validate": True,
}


class OriginalsJsonFormat(JsonFormat):
    """Says of what is no JSON what the original lets through."""

    def read(self, schema: Any, references: Sequence[Referenced]) -> ReadJsonSchema:
        json.loads(schema.text)
        return super().read(schema, references)


def json_writing(
    parts: SerdeParts,
    schema_str: str | Schema | None,
    client: Any,
    to_dict: Callable[[Any, Any], dict[str, Any]] | None,
    conf: dict[str, Any] | None,
    rule_conf: dict[str, Any] | None,
    rule_registry: Any,
    json_encode: Callable[[Any], Any] | None,
) -> Writing[ReadJsonSchema]:
    """Raises: ValueError."""
    schema = Schema(schema_str, schema_type=JSON_TYPE) if isinstance(schema_str, str) else None
    if isinstance(schema_str, Schema):
        schema = schema_str
    parts._registry = client
    parts._rule_conf = rule_conf
    parts._take_rules(rule_registry)
    if to_dict is not None and not callable(to_dict):
        raise ValueError(
            "to_dict must be callable with the signature to_dict(object, SerializationContext)->dict"
        )
    left = WRITING | (conf or {})
    auto_register = take_flag(left, "auto.register.schemas")
    normalize = take_flag(left, "normalize.schemas")
    chosen = take_chosen(left, auto_register=auto_register, has_id=True)
    parts.configure_subject_name_strategy(*(left.pop(name) for name in STRATEGY))
    put_id = take_callable(left, "schema.id.serializer")
    validates = take_flag(left, "validate")
    parts.configure_validation_rules(left)
    refuse_the_rest(left)
    return Writing(
        client,
        OriginalsJsonFormat(validates=validates, dumps=json_encode),
        parts._subjects,
        chosen,
        parts._rules,
        schema=schema,
        auto_register=auto_register,
        normalize=normalize,
        validation=parts._validation,
        put_id=put_id,
        to_dict=to_dict,
    )


def json_reading(
    parts: SerdeParts,
    schema_str: str | Schema | None,
    from_dict: Callable[[Any, Any], Any] | None,
    client: Any,
    conf: dict[str, Any] | None,
    rule_conf: dict[str, Any] | None,
    rule_registry: Any,
    json_decode: Callable[[bytes], Any] | None,
) -> Reading[ReadJsonSchema]:
    """Raises: ValueError, TypeError."""
    schema = Schema(schema_str, schema_type=JSON_TYPE) if isinstance(schema_str, str) else schema_str
    if schema is not None and not isinstance(schema, Schema):
        raise TypeError("You must pass either str or Schema")
    if client is None and schema is None:
        raise ValueError('schema_registry_client must be provided if "schema_str" is not provided')
    if client is None and schema is not None and schema.references:
        raise ValueError(
            'schema_registry_client must be provided if "schema_str" is a Schema instance with references'
        )
    parts._registry = client
    parts._rule_conf = rule_conf
    parts._take_rules(rule_registry)
    left = READING | (conf or {})
    chosen: Chosen = take_chosen(left, auto_register=False, has_id=False)
    parts.configure_subject_name_strategy(*(left.pop(name) for name in STRATEGY))
    take_id = take_callable(left, "schema.id.deserializer")
    validates = take_flag(left, "validate")
    refuse_the_rest(left)
    if from_dict is not None and not callable(from_dict):
        raise ValueError(
            "from_dict must be callable with the signature from_dict(dict, SerializationContext) -> object"
        )
    return Reading(
        client,
        OriginalsJsonFormat(validates=validates, loads=json_decode),
        parts._subjects,
        chosen,
        parts._rules,
        schema=schema,
        take_id=take_id,
        from_dict=from_dict,
        needs_context=False,
    )
