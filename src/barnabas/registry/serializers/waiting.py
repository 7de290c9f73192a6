# Made by codegen/plain_calls.py, of
# barnabas/registry/serializers/awaited.py
"""Serializers and deserializers for plain calls. Owns nothing but the waiting."""

from __future__ import annotations

from typing import Any

from barnabas.registry.serializers.bases import DeserializerBase, SerializerBase, context_of
from barnabas.registry.serializers.by_format import (
    AvroDeserializing,
    AvroSerializing,
    JSONDeserializing,
    JSONSerializing,
    ProtobufDeserializing,
    ProtobufSerializing,
)
from barnabas.registry.serializers.context import Headers, RecordLike


class WaitingSerializer(SerializerBase):
    is_awaited = False
    """For the clients of `barnabas`."""

    def __call__(
        self, topic: str | None, value: Any, *, is_key: bool = False, headers: Headers = None
    ) -> bytes | None:
        """The bytes of `value`, None for None. `headers`: those that the record will be sent with, a list or
        a dict, to which the schema's GUID is added where `schema_id` is `header`.

        Raises: SerializationError (the value does not fit the schema, or a rule failed), SchemaError,
        MisuseError, RegistryError, ClosedError.
        """
        if value is None:
            return None
        if not self._is_always_slow:
            writer = self._core.known(topic, is_key)
            if writer is not None and writer.encode is not None:
                return writer.encode(value, writer.prefix)
        context = context_of(topic, is_key, headers)
        writer = self._known(context)
        if writer is None:
            writer = self._registry.run(self._core.find(context))
        return self._written(writer, value, context)


class WaitingDeserializer(DeserializerBase):
    is_awaited = False
    """For the clients of `barnabas`."""

    def __call__(
        self, topic: str | None, data: bytes | None, *, is_key: bool = False, headers: Headers = None
    ) -> Any:
        """The value of `data`, None for None. `headers`: the record's, which may have the schema's id.

        Raises: SerializationError (the bytes are not of the schema, or a rule failed), SchemaError,
        MisuseError, RegistryError, ClosedError.
        """
        if data is None:
            return None
        data = bytes(data)
        reader = self._core.known(topic, is_key, data, headers)
        if reader is not None and reader.decode is not None and not self._tracks_keys:
            return reader.decode(data, reader.offset)
        context = context_of(topic, is_key, headers)
        if reader is None:
            reader = self._registry.run(self._core.find(context, data))
        return self._read(reader, data, context)

    def value_of(self, record: RecordLike) -> Any:
        """Of a consumer's record. Raises: as a call."""
        return self(record.topic, record.value, headers=record.headers)

    def key_of(self, record: RecordLike) -> Any:
        """Of a consumer's record. Raises: as a call."""
        return self(record.topic, record.key, is_key=True, headers=record.headers)


class AvroSerializer(WaitingSerializer, AvroSerializing):
    __doc__ = AvroSerializing.__doc__


class AvroDeserializer(WaitingDeserializer, AvroDeserializing):
    __doc__ = AvroDeserializing.__doc__


class JSONSerializer(WaitingSerializer, JSONSerializing):
    __doc__ = JSONSerializing.__doc__


class JSONDeserializer(WaitingDeserializer, JSONDeserializing):
    __doc__ = JSONDeserializing.__doc__


class ProtobufSerializer(WaitingSerializer, ProtobufSerializing):
    __doc__ = ProtobufSerializing.__doc__


class ProtobufDeserializer(WaitingDeserializer, ProtobufDeserializing):
    __doc__ = ProtobufDeserializing.__doc__
