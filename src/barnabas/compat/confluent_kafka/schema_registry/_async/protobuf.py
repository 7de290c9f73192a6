# pyright: basic
"""Protobuf, for asyncio."""

from __future__ import annotations

from typing import Any

from barnabas.compat.confluent_kafka._util.asyncinit import asyncinit
from barnabas.compat.confluent_kafka.schema_registry._async.serde import (
    AsyncBaseDeserializer,
    AsyncBaseSerializer,
    async_build_serde,
)
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
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import run_async
from barnabas.compat.confluent_kafka.serialization import (
    DeserializerBuilder,
    SerializationContext,
    SerializationError,
    SerializerBuilder,
)
from barnabas.errors import SerializationError as ValueDoesNotFitError

__all__ = [
    "AsyncProtobufDeserializer",
    "AsyncProtobufDeserializerBuilder",
    "AsyncProtobufSerializer",
    "AsyncProtobufSerializerBuilder",
]


@asyncinit
class AsyncProtobufSerializer(AsyncBaseSerializer):
    """Messages of Protobuf, behind the id of their schema in a registry. Made by `await`.

    `msg_type`: their class, whose file is registered, and what it imports before it.

    Properties: `auto.register.schemas`, `normalize.schemas`, `use.schema.id`, `use.latest.version`,
    `use.latest.with.metadata`, `subject.name.strategy` and those of its type, `schema.id.serializer` and
    `validation.rules.` as AvroSerializer has them; `skip.known.types` (True: what every registry knows is not
    registered) and `reference.subject.name.strategy` (of files that are imported).

    Raises: ValueError.
    """

    _default_conf = WRITING

    async def __init__(
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

    async def __call__(self, message: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The bytes of a message; None stays None. Raises: SerializationError, ValueError (it is of another
        class), SchemaRegistryError."""
        data = None if message is None else self._writing.at_once(message, ctx)
        if data is not None:
            return data
        try:
            if message is None:
                return None
            return await run_async(self._writing.write(message, ctx))
        finally:
            track_key(ctx, message)


class AsyncProtobufSerializerBuilder(ProtobufSerializerParts, SerializerBuilder):
    """Builds an AsyncProtobufSerializer with a client of a registry, as `key.serializer.builder` or
    `value.serializer.builder` of a producer. Experimental, as the original says."""

    async def build(
        self, conf: dict[str, Any], is_key: bool
    ) -> tuple[AsyncProtobufSerializer, dict[str, Any]]:
        """The serializer, and `conf`, of which it takes nothing. Raises: ValueError."""
        self._check()
        serializer = await async_build_serde(
            self._schema_registry_client,
            self._schema_registry_conf,
            lambda client: AsyncProtobufSerializer(*self._arguments(client)),
            self._serializer_init,
        )
        return serializer, dict(conf)


@asyncinit
class AsyncProtobufDeserializer(AsyncBaseDeserializer):
    """Protobuf behind the id of its schema in a registry, to messages of a class. Made by `await`.

    `message_type`: the class. Without a client of a registry, no schema is asked for.

    Properties: those of AvroDeserializer.

    Raises: ValueError.
    """

    _default_conf = READING

    async def __init__(
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

    async def __call__(self, data: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """The message of `data`; None stays None. Raises: SerializationError, SchemaRegistryError."""
        try:
            if data is None:
                return None
            short_way = self._reading.short_way(data, ctx)
            if short_way is not None:
                return short_way(data, self._reading.prefix_bytes)
            return await run_async(self._reading.read(data, ctx))
        except ValueDoesNotFitError as error:
            raise SerializationError(str(error)) from error
        finally:
            track_key(ctx, data)


class AsyncProtobufDeserializerBuilder(ProtobufDeserializerParts, DeserializerBuilder):
    """Builds an AsyncProtobufDeserializer with a client of a registry, as `key.deserializer.builder` or
    `value.deserializer.builder` of a consumer. Experimental, as the original says."""

    async def build(
        self, conf: dict[str, Any], is_key: bool
    ) -> tuple[AsyncProtobufDeserializer, dict[str, Any]]:
        """The deserializer, and `conf`, of which it takes nothing. Raises: ValueError."""
        self._check()
        deserializer = await async_build_serde(
            self._schema_registry_client,
            self._schema_registry_conf,
            lambda client: AsyncProtobufDeserializer(*self._arguments(client)),
            self._deserializer_init,
        )
        return deserializer, dict(conf)
