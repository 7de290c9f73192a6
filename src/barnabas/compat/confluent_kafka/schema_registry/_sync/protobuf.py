# Made by codegen/plain_calls.py, of
# barnabas/compat/confluent_kafka/schema_registry/_async/protobuf.py
# pyright: basic
"""Protobuf, for plain calls."""

from __future__ import annotations

from typing import Any

from barnabas.compat.confluent_kafka.schema_registry._serde.base import track_key
from barnabas.compat.confluent_kafka.schema_registry._serde.builders import (
    ProtobufDeserializerParts,
    ProtobufSerializerParts,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.protobuf import (
    PROTOBUF_TYPE as PROTOBUF_TYPE,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.protobuf import (
    READING,
    WRITING,
    protobuf_reading,
    protobuf_writing,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import run
from barnabas.compat.confluent_kafka.schema_registry._sync.serde import (
    BaseDeserializer,
    BaseSerializer,
    build_serde,
)
from barnabas.compat.confluent_kafka.serialization import (
    DeserializerBuilder,
    SerializationContext,
    SerializationError,
    SerializerBuilder,
)
from barnabas.errors import SerializationError as ValueDoesNotFitError

__all__ = [
    "ProtobufDeserializer",
    "ProtobufDeserializerBuilder",
    "ProtobufSerializer",
    "ProtobufSerializerBuilder",
]


class ProtobufSerializer(BaseSerializer):
    """Messages of Protobuf, behind the id of their schema in a registry.

    `msg_type`: their class, whose file is registered, and what it imports before it.

    Properties: `auto.register.schemas`, `normalize.schemas`, `use.schema.id`, `use.latest.version`,
    `use.latest.with.metadata`, `subject.name.strategy` and those of its type, `schema.id.serializer` and
    `validation.rules.` as AvroSerializer has them; `skip.known.types` (True: what every registry knows is not
    registered) and `reference.subject.name.strategy` (of files that are imported).

    Raises: ValueError.
    """

    _default_conf = WRITING

    def __init__(
        self,
        msg_type: Any,
        schema_registry_client: Any,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
    ) -> None:
        super().__init__()
        self._writing = protobuf_writing(
            self, schema_registry_client, msg_type, conf, rule_conf, rule_registry
        )
        self._configure_rules()

    def __call__(self, message: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The bytes of a message; None stays None. Raises: SerializationError, ValueError (it is of another
        class), SchemaRegistryError."""
        data = None if message is None else self._writing.at_once(message, ctx)
        if data is not None:
            return data
        try:
            if message is None:
                return None
            return run(self._writing.write(message, ctx))
        finally:
            track_key(ctx, message)


class ProtobufSerializerBuilder(ProtobufSerializerParts, SerializerBuilder):
    """Builds a ProtobufSerializer with a client of a registry, as `key.serializer.builder` or
    `value.serializer.builder` of a producer. Experimental, as the original says."""

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[ProtobufSerializer, dict[str, Any]]:
        """The serializer, and `conf`, of which it takes nothing. Raises: ValueError."""
        self._check()
        serializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_conf,
            lambda client: ProtobufSerializer(*self._arguments(client)),
            self._serializer_init,
        )
        return serializer, dict(conf)


class ProtobufDeserializer(BaseDeserializer):
    """Protobuf behind the id of its schema in a registry, to messages of a class.

    `message_type`: the class. Without a client of a registry, no schema is asked for.

    Properties: those of AvroDeserializer.

    Raises: ValueError.
    """

    _default_conf = READING

    def __init__(
        self,
        message_type: Any,
        conf: dict[str, Any] | None = None,
        schema_registry_client: Any = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
    ) -> None:
        super().__init__()
        self._reading = protobuf_reading(
            self, schema_registry_client, message_type, conf, rule_conf, rule_registry
        )
        self._configure_rules()

    def __call__(self, data: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """The message of `data`; None stays None. Raises: SerializationError, SchemaRegistryError."""
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


class ProtobufDeserializerBuilder(ProtobufDeserializerParts, DeserializerBuilder):
    """Builds a ProtobufDeserializer with a client of a registry, as `key.deserializer.builder` or
    `value.deserializer.builder` of a consumer. Experimental, as the original says."""

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[ProtobufDeserializer, dict[str, Any]]:
        """The deserializer, and `conf`, of which it takes nothing. Raises: ValueError."""
        self._check()
        deserializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_conf,
            lambda client: ProtobufDeserializer(*self._arguments(client)),
            self._deserializer_init,
        )
        return deserializer, dict(conf)
