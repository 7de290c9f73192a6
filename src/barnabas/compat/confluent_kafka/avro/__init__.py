# pyright: basic
"""The original's legacy Avro: clients, and what they use. New programs take `schema_registry.avro`."""

from __future__ import annotations

import warnings
from typing import Any

from barnabas.compat.confluent_kafka.avro.cached_schema_registry_client import CachedSchemaRegistryClient
from barnabas.compat.confluent_kafka.avro.error import ClientError
from barnabas.compat.confluent_kafka.avro.load import load as load
from barnabas.compat.confluent_kafka.avro.load import loads as loads
from barnabas.compat.confluent_kafka.avro.serializer import (
    KeySerializerError,
    SerializerError,
    ValueSerializerError,
)
from barnabas.compat.confluent_kafka.avro.serializer.message_serializer import MessageSerializer
from barnabas.compat.confluent_kafka.cimpl import Consumer, Message, Producer

_PREFIX = "schema.registry."
_SASL = ("mechanism", "username", "password")


def _parted(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is the registry's, and what is Kafka's."""
    of_registry = {
        name.replace(_PREFIX, ""): value
        for name, value in config.items()
        if name.startswith("schema.registry")
    }
    if of_registry.get("basic.auth.credentials.source") == "SASL_INHERIT":
        inherited = {f"sasl.{name}": config.get(f"sasl.{name}", "") for name in _SASL}
        # There are two names for it.
        inherited["sasl.mechanism"] = config.get("sasl.mechanism", config.get("sasl.mechanisms", ""))
        of_registry |= inherited
    return of_registry, {
        name: value for name, value in config.items() if not name.startswith("schema.registry")
    }


def _client(schema_registry: Any, of_registry: dict[str, Any]) -> Any:
    if schema_registry is None:
        return CachedSchemaRegistryClient(of_registry)
    if of_registry.get("url") is not None:
        raise ValueError("Cannot pass schema_registry along with schema.registry.url config")
    return schema_registry


class AvroProducer(Producer):
    """A Producer that writes keys and values in Avro. Deprecated by the original since its 2.0.2.

    `config`: a Producer's, with `schema.registry.url` and whatever else is a CachedSchemaRegistryClient's,
    behind the same prefix; or `schema_registry` is such a client. The default schemas are those of messages
    that come without one.
    """

    def __init__(
        self,
        config: dict[str, Any],
        default_key_schema: Any = None,
        default_value_schema: Any = None,
        schema_registry: Any = None,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "AvroProducer has been deprecated. Use AvroSerializer instead.",
            category=DeprecationWarning,
            stacklevel=2,
        )
        of_registry, of_kafka = _parted(config)
        if of_registry.get("basic.auth.credentials.source") == "SASL_INHERIT":
            of_registry["auto.register.schemas"] = config.get("auto.register.schemas", True)
        client = _client(schema_registry, of_registry)
        super().__init__(of_kafka, **kwargs)
        self._serializer = MessageSerializer(client)
        self._key_schema = default_key_schema
        self._value_schema = default_value_schema

    def produce(self, **kwargs: Any) -> None:
        """Sends a message: `topic`, `value` with `value_schema`, `key` with `key_schema`, and whatever else
        Producer.produce takes, all by name.

        Raises: SerializerError, ClientError, BufferError, KafkaException.
        """
        key_schema = kwargs.pop("key_schema", self._key_schema)
        value_schema = kwargs.pop("value_schema", self._value_schema)
        topic = kwargs.pop("topic", None)
        if not topic:
            raise ClientError("Topic name not specified.")
        value, key = kwargs.pop("value", None), kwargs.pop("key", None)
        if value is not None:
            if not value_schema:
                raise ValueSerializerError("Avro schema required for values")
            value = self._serializer.encode_record_with_schema(topic, value_schema, value)
        if key is not None:
            if not key_schema:
                raise KeySerializerError("Avro schema required for key")
            key = self._serializer.encode_record_with_schema(topic, key_schema, key, True)
        super().produce(topic, value, key, **kwargs)


class AvroConsumer(Consumer):
    """A Consumer that reads keys and values in Avro. Deprecated by the original since its 2.0.2.

    `config`: a Consumer's, with `schema.registry.url` and whatever else is a CachedSchemaRegistryClient's,
    behind the same prefix; or `schema_registry` is such a client. With reader's schemas, keys and values are
    given as these have them.
    """

    def __init__(
        self,
        config: dict[str, Any],
        schema_registry: Any = None,
        reader_key_schema: Any = None,
        reader_value_schema: Any = None,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "AvroConsumer has been deprecated. Use AvroDeserializer instead.",
            category=DeprecationWarning,
            stacklevel=2,
        )
        of_registry, of_kafka = _parted(config)
        client = _client(schema_registry, of_registry)
        super().__init__(of_kafka, **kwargs)
        self._serializer = MessageSerializer(client, reader_key_schema, reader_value_schema)

    def poll(self, timeout: float | None = None) -> Message | None:
        """The next message, its key and value as objects. Waits for ever without `timeout`, in seconds.
        Raises: SerializerError, which says where the message is."""
        message = super().poll(-1 if timeout is None else timeout)
        if message is None or message.error():
            return message
        try:
            value, key = message.value(), message.key()
            if value is not None:
                message.set_value(self._serializer.decode_message(value, is_key=False))
            if key is not None:
                message.set_key(self._serializer.decode_message(key, is_key=True))
        except SerializerError as error:
            raise SerializerError(
                f"Message deserialization failed for message at {message.topic()} "
                f"[{message.partition()}] offset {message.offset()}: {error}"
            ) from error
        return message
