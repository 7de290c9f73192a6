# pyright: basic
"""Avro, for asyncio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.compat.confluent_kafka._util.asyncinit import asyncinit
from barnabas.compat.confluent_kafka.schema_registry._async.serde import (
    AsyncBaseDeserializer,
    AsyncBaseSerializer,
    async_build_serde,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.avro import AVRO_TYPE as AVRO_TYPE
from barnabas.compat.confluent_kafka.schema_registry._serde.avro import (
    READING,
    WRITING,
    avro_reading,
    avro_writing,
    check_length,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.base import track_key
from barnabas.compat.confluent_kafka.schema_registry._serde.builders import (
    AvroDeserializerParts,
    AvroSerializerParts,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import run_async
from barnabas.compat.confluent_kafka.schema_registry.common.avro import AvroSchema as AvroSchema
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Schema
from barnabas.compat.confluent_kafka.serialization import (
    DeserializerBuilder,
    SerializationContext,
    SerializationError,
    SerializerBuilder,
)
from barnabas.errors import SerializationError as ValueDoesNotFitError

__all__ = [
    "AsyncAvroDeserializer",
    "AsyncAvroDeserializerBuilder",
    "AsyncAvroSerializer",
    "AsyncAvroSerializerBuilder",
]


@asyncinit
class AsyncAvroSerializer(AsyncBaseSerializer):
    """Values to Avro, behind the id of their schema in a registry. Made by `await`.

    `schema_str`: what values are written with, a text or a Schema (with references); None where the registry
    chooses. `to_dict` makes a dict of a value that is none, called with it and its context.

    Properties: `auto.register.schemas` (True: a schema that a subject does not have is registered; else it is
    looked up), `normalize.schemas`, `use.schema.id`, `use.latest.version` and `use.latest.with.metadata`
    (which schema of the subject values are written with), `subject.name.strategy` (a function), or
    `subject.name.strategy.type` (ASSOCIATED by default, TOPIC, RECORD, TOPIC_RECORD) with
    `subject.name.strategy.conf`, `schema.id.serializer` (where the schema's id goes), `validate.strict` and
    `validate.strict.allow.default` (whether a value has to have just the schema's fields),
    `validation.rules.execution`, `validation.rules.fail.fast` and `validation.rules.executor` (conditions
    that the schema itself has). `rule_conf` is for the executors and actions of rules, `rule_registry` those
    that there are.

    Raises: ValueError, fastavro's SchemaParseException, SchemaRegistryError.
    """

    _default_conf = WRITING

    async def __init__(
        self,
        schema_registry_client: Any,
        schema_str: str | Schema | None = None,
        to_dict: Callable[[Any, Any], dict[str, Any]] | None = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
    ) -> None:
        super().__init__()
        self._writing = avro_writing(
            self, schema_registry_client, schema_str, to_dict, conf, rule_conf, rule_registry
        )
        await run_async(self._writing.prepare())
        self._configure_rules()

    async def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The bytes of `obj`; None stays None. Raises: SerializationError, ValueError (a value does not fit),
        SchemaRegistryError."""
        data = None if obj is None else self._writing.at_once(obj, ctx)
        if data is not None:
            return data
        try:
            if obj is None:
                return None
            return await run_async(self._writing.write(obj, ctx))
        finally:
            track_key(ctx, obj)


class AsyncAvroSerializerBuilder(AvroSerializerParts, SerializerBuilder):
    """Builds an AsyncAvroSerializer with a client of a registry, as `key.serializer.builder` or
    `value.serializer.builder` of a producer. Experimental, as the original says."""

    async def build(self, conf: dict[str, Any], is_key: bool) -> tuple[AsyncAvroSerializer, dict[str, Any]]:
        """The serializer, and `conf`, of which it takes nothing. Raises: ValueError."""
        serializer = await async_build_serde(
            self._schema_registry_client,
            self._schema_registry_conf,
            lambda client: AsyncAvroSerializer(*self._arguments(client)),
            self._serializer_init,
        )
        return serializer, dict(conf)


@asyncinit
class AsyncAvroDeserializer(AsyncBaseDeserializer):
    """Avro behind the id of its schema in a registry, to values. Made by `await`.

    `schema_str`: what values are wanted in, a text or a Schema; None for what they were written with.
    `from_dict` makes an object of what was read, called with it and its context. `return_record_name`: a
    record of a union is given with its name.

    Properties: `use.latest.version` and `use.latest.with.metadata` (in which schema of the subject values are
    wanted), the strategies of AvroSerializer, and `schema.id.deserializer` (where the schema's id is).

    Raises: ValueError, TypeError, fastavro's SchemaParseException, SchemaRegistryError.
    """

    _default_conf = READING

    async def __init__(
        self,
        schema_registry_client: Any,
        schema_str: str | Schema | None = None,
        from_dict: Callable[[Any, Any], Any] | None = None,
        return_record_name: bool = False,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: Any = None,
    ) -> None:
        super().__init__()
        self._reading = avro_reading(
            self,
            schema_registry_client,
            schema_str,
            from_dict,
            return_record_name,
            conf,
            rule_conf,
            rule_registry,
        )
        await run_async(self._reading.prepare())
        self._configure_rules()

    async def __call__(self, data: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """The value of `data`; None stays None. Raises: SerializationError, SchemaRegistryError."""
        try:
            if data is None:
                return None
            check_length(data)
            short_way = self._reading.short_way(data, ctx)
            if short_way is not None:
                return short_way(data, self._reading.prefix_bytes)
            return await run_async(self._reading.read(data, ctx))
        except ValueDoesNotFitError as error:
            raise SerializationError(str(error)) from error
        finally:
            track_key(ctx, data)


class AsyncAvroDeserializerBuilder(AvroDeserializerParts, DeserializerBuilder):
    """Builds an AsyncAvroDeserializer with a client of a registry, as `key.deserializer.builder` or
    `value.deserializer.builder` of a consumer. Experimental, as the original says."""

    async def build(self, conf: dict[str, Any], is_key: bool) -> tuple[AsyncAvroDeserializer, dict[str, Any]]:
        """The deserializer, and `conf`, of which it takes nothing. Raises: ValueError."""
        deserializer = await async_build_serde(
            self._schema_registry_client,
            self._schema_registry_conf,
            lambda client: AsyncAvroDeserializer(*self._arguments(client)),
            self._deserializer_init,
        )
        return deserializer, dict(conf)
