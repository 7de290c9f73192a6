# pyright: basic
"""Serializers and deserializers: the base classes, and those for text, 32-bit integers and doubles.

Owns bytes and their meaning, nothing else: no client, no Schema Registry.
"""

from __future__ import annotations

import struct as _struct
from collections.abc import Callable
from enum import Enum
from typing import Any

from barnabas.compat.confluent_kafka._types import HeadersType
from barnabas.compat.confluent_kafka.cimpl import KafkaException

__all__ = [
    "Deserializer",
    "DeserializerBuilder",
    "DoubleDeserializer",
    "DoubleSerializer",
    "IntegerDeserializer",
    "IntegerSerializer",
    "MessageField",
    "SerializationContext",
    "SerializationError",
    "Serializer",
    "SerializerBuilder",
    "StringDeserializer",
    "StringSerializer",
]

_INTEGER = _struct.Struct(">i")
_DOUBLE = _struct.Struct(">d")


class MessageField(str, Enum):  # noqa: UP042  the bases are the original's
    """Which part of a message is serialized: its key or its value. NONE stands for neither."""

    NONE = "none"
    KEY = "key"
    VALUE = "value"

    def __str__(self) -> str:
        return str(self.value)


class SerializationContext:
    """What a (de)serializer may know of the message besides the field itself.

    `headers` are the message's own, not a copy: a serializer can add to a list of them.
    """

    def __init__(self, topic: str, field: MessageField, headers: HeadersType | None = None) -> None:
        self.topic = topic
        self.field = field
        self.headers = headers


class SerializationError(KafkaException):
    """A (de)serializer could not convert what it was given."""


class Serializer:
    """Turns objects into bytes. A subclass implements the call.

    Numbers are signed and big-endian in the serializers of this module:

    ================== ====== ==================
    Name               Type   Bytes
    ================== ====== ==================
    DoubleSerializer   float  IEEE 754 binary64
    IntegerSerializer  int    int32
    StringSerializer   str    text in its codec
    ================== ====== ==================
    """

    __slots__: list[str] = []

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The bytes of `obj`; None, which Kafka stores as null, stays None.

        Raises: SerializationError, when `obj` cannot be converted.
        """
        raise NotImplementedError

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Takes what tells the id of the client's cluster. Does nothing here.

        A SerializingProducer calls this once. `resolver()` waits for a broker, so it is to be called when the
        id is needed and not before; callers in several threads share one wait.
        """

    def close(self) -> None:
        """Lets go of what the serializer made for itself. Does nothing here.

        A SerializingProducer calls this for those that its builders built, when it is closed.
        """


class Deserializer:
    """Turns bytes into objects. A subclass implements the call.

    Numbers are signed and big-endian in the deserializers of this module:

    ==================== ====== ==================
    Name                 Type   Bytes
    ==================== ====== ==================
    DoubleDeserializer   float  IEEE 754 binary64
    IntegerDeserializer  int    int32
    StringDeserializer   str    text in its codec
    ==================== ====== ==================
    """

    __slots__: list[str] = []

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """The object that `value` stands for; None stays None.

        Raises: SerializationError, when `value` cannot be converted.
        """
        raise NotImplementedError

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Takes what tells the id of the client's cluster. Does nothing here. See Serializer."""

    def close(self) -> None:
        """Lets go of what the deserializer made for itself. Does nothing here. See Serializer."""


class SerializerBuilder:
    """Makes a Serializer out of a client's configuration. A subclass implements `build`.

    Given as `key.serializer.builder` or `value.serializer.builder`, it runs when the client is made, and the
    client closes what was built.
    """

    __slots__: list[str] = []

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Serializer, dict[str, Any]]:
        """The serializer for keys (`is_key`) or values, and `conf` less the properties it took from it."""
        raise NotImplementedError


class DeserializerBuilder:
    """Makes a Deserializer out of a client's configuration, as SerializerBuilder does a Serializer."""

    __slots__: list[str] = []

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Deserializer, dict[str, Any]]:
        """The deserializer for keys (`is_key`) or values, and `conf` less the properties it took from it."""
        raise NotImplementedError


class DoubleSerializer(Serializer):
    """A float as IEEE 754 binary64."""

    def __call__(self, obj: float | None, ctx: SerializationContext | None = None) -> bytes | None:
        """The 8 bytes of `obj`. None, which Kafka stores as null, stays None.

        Raises: SerializationError, for what is no number.
        """
        if obj is None:
            return None
        try:
            return _DOUBLE.pack(obj)
        except _struct.error as error:
            raise SerializationError(str(error))  # noqa: B904  the original names no cause either


class DoubleDeserializer(Deserializer):
    """A float from IEEE 754 binary64."""

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> float | None:
        """The float in `value`, or None for None.

        Raises: SerializationError, unless there are 8 bytes.
        """
        if value is None:
            return None
        try:
            return _DOUBLE.unpack(value)[0]
        except _struct.error as error:
            raise SerializationError(str(error))  # noqa: B904


class IntegerSerializer(Serializer):
    """An int as int32."""

    def __call__(self, obj: int | None, ctx: SerializationContext | None = None) -> bytes | None:
        """The 4 bytes of `obj`. None, which Kafka stores as null, stays None.

        Raises: SerializationError, for what is no int or does not fit.
        """
        if obj is None:
            return None
        try:
            return _INTEGER.pack(obj)
        except _struct.error as error:
            raise SerializationError(str(error))  # noqa: B904


class IntegerDeserializer(Deserializer):
    """An int from int32."""

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> int | None:
        """The int in `value`, or None for None.

        Raises: SerializationError, unless there are 4 bytes.
        """
        if value is None:
            return None
        try:
            return _INTEGER.unpack(value)[0]
        except _struct.error as error:
            raise SerializationError(str(error))  # noqa: B904


class StringSerializer(Serializer):
    """A str as text in a codec of Python's, utf_8 unless another is given."""

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, obj: str | None, ctx: SerializationContext | None = None) -> bytes | None:
        """`obj` encoded. None, which Kafka stores as null, stays None.

        Raises: SerializationError, for a character that the codec does not have.
        """
        if obj is None:
            return None
        try:
            return obj.encode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error))  # noqa: B904


class StringDeserializer(Deserializer):
    """A str from text in a codec of Python's, utf_8 unless another is given."""

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> str | None:
        """`value` decoded, or None for None.

        Raises: SerializationError, for bytes that are no text in the codec.
        """
        if value is None:
            return None
        try:
            return value.decode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error))  # noqa: B904
