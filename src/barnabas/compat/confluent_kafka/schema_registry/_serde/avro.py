# pyright: basic
"""Avro: what its (de)serializers are made of, by their properties."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry._serde.base import SerdeParts
from barnabas.compat.confluent_kafka.schema_registry._serde.conf import (
    STRATEGY,
    Chosen,
    checked,
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
from barnabas.compat.confluent_kafka.serialization import SerializationError
from barnabas.formats.errors import SchemaError
from barnabas.registry.references import Referenced
from barnabas.registry.serializers.avro import AvroFormat, ReadAvro

AVRO_TYPE = "AVRO"

WRITING: dict[str, Any] = {
    "auto.register.schemas": True,
    "normalize.schemas": False,
    "use.schema.id": None,
    "use.latest.version": False,
    "use.latest.with.metadata": None,
    **STRATEGY,
    "schema.id.serializer": prefix_schema_id_serializer,
    "validate.strict": False,
    "validate.strict.allow.default": False,
    "validation.rules.execution": ValidationRulesExecution.DISABLED,
    "validation.rules.fail.fast": False,
    "validation.rules.executor": None,
}
READING: dict[str, Any] = {
    "use.latest.version": False,
    "use.latest.with.metadata": None,
    **STRATEGY,
    "schema.id.deserializer": dual_schema_id_deserializer,
}


class OriginalsAvroFormat(AvroFormat):
    """Says of a broken schema what fastavro says, as the original lets it through."""

    def read(self, schema: Any, references: Sequence[Referenced]) -> ReadAvro:
        try:
            return super().read(schema, references)
        except SchemaError as error:
            from fastavro.schema import SchemaParseException

            # What is no JSON is told of as such.
            json.loads(schema.text)
            raise SchemaParseException(str(error)) from error


def schema_loads(schema_str: str) -> Schema:
    """A text as the original has it: the name of a primitive becomes an object."""
    text = schema_str.strip()
    if text[0] not in "{[":
        text = '{"type":' + text + "}"
    return Schema(text, schema_type="AVRO")


def avro_writing(
    parts: SerdeParts,
    client: Any,
    schema_str: str | Schema | None,
    to_dict: Callable[[Any, Any], dict[str, Any]] | None,
    conf: dict[str, Any] | None,
    rule_conf: dict[str, Any] | None,
    rule_registry: Any,
) -> Writing[ReadAvro]:
    """Raises: ValueError."""
    schema = schema_loads(schema_str) if isinstance(schema_str, str) else None
    if isinstance(schema_str, Schema):
        schema = schema_str
    parts._registry = client
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
    is_strict = take_flag(left, "validate.strict")
    allows_defaults = take_flag(left, "validate.strict.allow.default")
    parts.configure_validation_rules(left)
    refuse_the_rest(left)
    parts._rule_conf = rule_conf
    return Writing(
        client,
        OriginalsAvroFormat(
            strict="all" if is_strict else "but_defaults" if allows_defaults else "no",
        ),
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


def avro_reading(
    parts: SerdeParts,
    client: Any,
    schema_str: str | Schema | None,
    from_dict: Callable[[Any, Any], Any] | None,
    return_record_name: bool,
    conf: dict[str, Any] | None,
    rule_conf: dict[str, Any] | None,
    rule_registry: Any,
) -> Reading[ReadAvro]:
    """Raises: ValueError, TypeError."""
    schema = schema_loads(schema_str) if isinstance(schema_str, str) else schema_str
    if schema is not None and not isinstance(schema, Schema):
        raise TypeError("You must pass either schema string or schema object")
    parts._registry = client
    parts._take_rules(rule_registry)
    left = READING | (conf or {})
    chosen: Chosen = take_chosen(left, auto_register=False, has_id=False)
    parts.configure_subject_name_strategy(*(left.pop(name) for name in STRATEGY))
    take_id = take_callable(left, "schema.id.deserializer")
    refuse_the_rest(left)
    if from_dict is not None and not callable(from_dict):
        raise ValueError(
            "from_dict must be callable with the signature from_dict(SerializationContext, dict) -> object"
        )
    checked(return_record_name, "return_record_name", bool, "a boolean value")
    parts._rule_conf = rule_conf
    return Reading(
        client,
        OriginalsAvroFormat(tells_records=return_record_name),
        parts._subjects,
        chosen,
        parts._rules,
        schema=schema,
        take_id=take_id,
        from_dict=from_dict,
    )


def check_length(data: bytes) -> None:
    """Raises: SerializationError, for what is too short to be behind an id."""
    if len(data) <= 5:
        raise SerializationError(
            "Expecting data framing of length 6 bytes or more but total data size is "
            f"{len(data)} bytes. This message was not produced with a Confluent Schema Registry serializer"
        )
