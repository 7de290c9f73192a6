"""Serializers and deserializers of keys and values that need no schema registry.

    Producer(..., key_serializer=to_text, value_serializer=to_json)
    Consumer(..., key_deserializer=from_text, value_deserializer=from_json)

Any function from an object to bytes is a serializer, and any from bytes to an object a deserializer: these
are for what most topics hold. Numbers, UUIDs and text have the bytes of the serializers in Java's
`org.apache.kafka.common.serialization`. None is sent and read as None, without a call. The serializers of
`barnabas.registry`, which ask a schema registry, are for the same settings. Knows no clients.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import uuid

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class TopicSerializer(Protocol[T_contra]):
    """A serializer that depends on the topic, as those of `barnabas.registry` do. `is_awaited`: whether it is
    for clients of `barnabas.aio`. `headers`: a list, which it may add to."""

    @property
    def is_awaited(self) -> bool: ...

    def __call__(
        self, topic: str | None, value: T_contra, *, is_key: bool = False, headers: Any = None
    ) -> bytes | Awaitable[bytes | None] | None: ...


class RecordDeserializer(Protocol[T_co]):
    """A deserializer that depends on topic and headers, as those of `barnabas.registry` do."""

    @property
    def is_awaited(self) -> bool: ...

    def key_of(self, record: Any) -> T_co: ...

    def value_of(self, record: Any) -> T_co: ...


Serializer = Callable[[T], "bytes | bytearray | memoryview"] | TopicSerializer[T]
Deserializer = Callable[[bytes], T] | RecordDeserializer[T]


def to_text(value: str) -> bytes:
    """UTF-8, as Java's StringSerializer. Raises: TypeError, UnicodeEncodeError."""
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a str, got {value!r}")
    return value.encode()


def from_text(data: bytes) -> str:
    """UTF-8, as Java's StringDeserializer. Raises: UnicodeDecodeError."""
    return data.decode()


def to_json(value: Any) -> bytes:
    """JSON in UTF-8, without spaces. Beside what JSON has, it takes dataclasses and Pydantic models as
    objects, enumerations as their values, dates, times, UUIDs and Decimals as text.

    Raises: TypeError (another type), ValueError (NaN, an infinity, a circle).
    """
    return _json_encoder().encode(value).encode()


def from_json(data: bytes) -> Any:
    """What JSON in UTF-8 says. Raises: ValueError."""
    return json.loads(data)


def to_int32(value: int) -> bytes:
    """Four bytes, big-endian, as Java's IntegerSerializer. Raises: struct.error."""
    return struct.pack(">i", value)


def from_int32(data: bytes) -> int:
    """Four bytes, big-endian, as Java's IntegerDeserializer. Raises: struct.error for other sizes."""
    return struct.unpack(">i", data)[0]


def to_int64(value: int) -> bytes:
    """Eight bytes, big-endian, as Java's LongSerializer. Raises: struct.error."""
    return struct.pack(">q", value)


def from_int64(data: bytes) -> int:
    """Eight bytes, big-endian, as Java's LongDeserializer. Raises: struct.error for other sizes."""
    return struct.unpack(">q", data)[0]


def to_float64(value: float) -> bytes:
    """Eight bytes, big-endian, as Java's DoubleSerializer. Raises: struct.error."""
    return struct.pack(">d", value)


def from_float64(data: bytes) -> float:
    """Eight bytes, big-endian, as Java's DoubleDeserializer. Raises: struct.error for other sizes."""
    return struct.unpack(">d", data)[0]


def to_uuid(value: uuid.UUID) -> bytes:
    """The UUID as text, as Java's UUIDSerializer. Raises: TypeError."""
    import uuid

    if not isinstance(value, uuid.UUID):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a UUID, got {value!r}")
    return str(value).encode()


def from_uuid(data: bytes) -> uuid.UUID:
    """The UUID as text, as Java's UUIDDeserializer. Raises: ValueError."""
    import uuid

    return uuid.UUID(data.decode())


@cache
def _json_encoder() -> json.JSONEncoder:
    # `json.dumps` makes one for each call.
    return json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_in_json)


def _in_json(value: Any) -> Any:
    import dataclasses
    import datetime
    import decimal
    import enum
    import uuid

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump: Callable[..., Any] | None = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, decimal.Decimal)):
        return str(value)
    raise TypeError(f"JSON has no form for {type(value).__qualname__}: {value!r}")
