# Made by codegen/plain_calls.py, of
# barnabas/compat/confluent_kafka/schema_registry/_async/json_schema.py
# pyright: basic
"""JSON with JSON Schema, for plain calls."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry._serde.base import track_key
from barnabas.compat.confluent_kafka.schema_registry._serde.builders import (
    JsonDeserializerParts,
    JsonSerializerParts,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.json_schema import JSON_TYPE as JSON_TYPE
from barnabas.compat.confluent_kafka.schema_registry._serde.json_schema import (
    READING,
    WRITING,
    json_reading,
    json_writing,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import run
from barnabas.compat.confluent_kafka.schema_registry._sync.serde import (
    BaseDeserializer,
    BaseSerializer,
    build_serde,
)
from barnabas.compat.confluent_kafka.schema_registry.common.json_schema import (
    JsonSchema as JsonSchema,
)
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Schema
from barnabas.compat.confluent_kafka.serialization import (
    DeserializerBuilder,
    SerializationContext,
    SerializationError,
    SerializerBuilder,
)
from barnabas.errors import SerializationError as ValueDoesNotFitError

__all__ = [
    "JSONDeserializer",
    "JSONDeserializerBuilder",
    "JSONSerializer",
    "JSONSerializerBuilder",
]

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry._sync.json_schema")


class JSONSerializer(BaseSerializer):
    """Values to JSON, behind the id of their schema in a registry.

    `schema_str`: the schema, a text or a Schema (with references); None where the registry chooses. `to_dict`
    makes a dict of a value that is none, called with it and its context. `json_encode` writes JSON in place
    of ours.

    Properties: those of AvroSerializer but for its `validate.`; `validate` (True) holds values against the
    schema.

    Raises: ValueError, SchemaRegistryError.
    """

    _default_conf = WRITING

    def __init__(
        self,
        schema_str: str | Schema | None,
        schema_registry_client: Any,
        to_dict: Callable[[Any, Any], dict[str, Any]] | None = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
        json_encode: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        self._writing = json_writing(
            self, schema_str, schema_registry_client, to_dict, conf, rule_conf, rule_registry, json_encode
        )
        run(self._writing.prepare())
        self._configure_rules()

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The bytes of `obj`; None stays None. Raises: SerializationError, SchemaRegistryError."""
        data = None if obj is None else self._writing.at_once(obj, ctx)
        if data is not None:
            return data
        try:
            if obj is None:
                return None
            return run(self._writing.write(obj, ctx))
        finally:
            track_key(ctx, obj)


class JSONSerializerBuilder(JsonSerializerParts, SerializerBuilder):
    """Builds a JSONSerializer with a client of a registry, as `key.serializer.builder` or
    `value.serializer.builder` of a producer. Experimental, as the original says."""

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[JSONSerializer, dict[str, Any]]:
        """The serializer, and `conf`, of which it takes nothing. Raises: ValueError."""
        serializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_conf,
            lambda client: JSONSerializer(*self._arguments(client)),
            self._serializer_init,
        )
        return serializer, dict(conf)


class JSONDeserializer(BaseDeserializer):
    """JSON behind the id of its schema in a registry, to values.

    `schema_str`: what values are held against, a text or a Schema; None for what they were written with.
    Without a client of a registry, no schema is asked for. `from_dict` makes an object of what was read,
    called with it and its context. `json_decode` reads JSON in place of ours.

    Properties: those of AvroDeserializer, and `validate` (True).

    Raises: ValueError, TypeError, SchemaRegistryError.
    """

    _default_conf = READING

    def __init__(
        self,
        schema_str: str | Schema | None,
        from_dict: Callable[[Any, Any], Any] | None = None,
        schema_registry_client: Any = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
        json_decode: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        self._reading = json_reading(
            self, schema_str, from_dict, schema_registry_client, conf, rule_conf, rule_registry, json_decode
        )
        run(self._reading.prepare())
        self._configure_rules()

    def __call__(self, data: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """The value of `data`; None stays None. Raises: SerializationError, SchemaRegistryError."""
        try:
            if data is None:
                return None
            short_way = self._reading.short_way(data, ctx)
            if short_way is not None:
                return short_way(data, self._reading.prefix_bytes)
            return run(self._reading.read(data, ctx))
        except ValueDoesNotFitError as error:
            raise SerializationError(str(error)) from error
        finally:
            track_key(ctx, data)


class JSONDeserializerBuilder(JsonDeserializerParts, DeserializerBuilder):
    """Builds a JSONDeserializer with a client of a registry, as `key.deserializer.builder` or
    `value.deserializer.builder` of a consumer. Experimental, as the original says."""

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[JSONDeserializer, dict[str, Any]]:
        """The deserializer, and `conf`, of which it takes nothing. Raises: ValueError."""
        deserializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_conf,
            lambda client: JSONDeserializer(*self._arguments(client)),
            self._deserializer_init,
        )
        return deserializer, dict(conf)
