# pyright: basic
"""Where a message says which schema it has: before its payload, or in a header."""

from __future__ import annotations

import io
import struct
import uuid
from collections.abc import Iterator
from typing import Any

from barnabas.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)

KEY_SCHEMA_ID = "__key_schema_id"
VALUE_SCHEMA_ID = "__value_schema_id"

MAGIC_BYTE_V0 = 0
MAGIC_BYTE_V1 = 1
MOST_INDEXES = 100_000
# Of a number of 64 bits: hostile bytes make no larger ones.
LARGEST_SHIFT = 63


class SchemaId:
    """Of a message: its schema's id or GUID, and in Protobuf which of the schema's messages it is."""

    __slots__ = ["guid", "id", "message_indexes", "schema_type"]

    def __init__(
        self,
        schema_type: str,
        schema_id: int | None = None,
        guid: str | None = None,
        message_indexes: list[int] | None = None,
    ) -> None:
        self.schema_type = schema_type
        self.id = schema_id
        self.guid = None if guid is None else uuid.UUID(guid)
        self.message_indexes = message_indexes

    def from_bytes(self, payload: io.BytesIO) -> io.BytesIO:
        """Reads itself off the front of `payload`, and gives that. Raises: SerializationError."""
        magic = struct.unpack(">b", payload.read(1))[0]
        if magic == MAGIC_BYTE_V0:
            self.id = struct.unpack(">I", payload.read(4))[0]
        elif magic == MAGIC_BYTE_V1:
            self.guid = uuid.UUID(bytes=payload.read(16))
        else:
            raise SerializationError("Invalid magic byte")
        if self.schema_type == "PROTOBUF":
            self.message_indexes = _read_indexes(payload)
        return payload

    def id_to_bytes(self) -> bytes:
        """Raises: SerializationError, without an id."""
        if self.id is None:
            raise SerializationError("Schema ID is not set")
        return struct.pack(">bI", MAGIC_BYTE_V0, self.id) + self._indexes()

    def guid_to_bytes(self) -> bytes:
        """Raises: SerializationError, without a GUID."""
        if self.guid is None:
            raise SerializationError("Schema GUID is not set")
        return struct.pack(">b", MAGIC_BYTE_V1) + self.guid.bytes + self._indexes()

    def _indexes(self) -> bytes:
        indexes = self.message_indexes
        if indexes is None:
            return b""
        # The first message, which most are, takes one byte.
        numbers = [0] if indexes == [0] else [len(indexes), *indexes]
        return bytes(byte for number in numbers for byte in _number_bytes(number))


def _number_bytes(number: int) -> Iterator[int]:
    left = (number << 1) ^ (number >> 63)
    while left & ~0x7F:
        yield left & 0x7F | 0x80
        left >>= 7
    yield left


def _read_indexes(payload: io.BytesIO) -> list[int]:
    count = _read_number(payload)
    if not 0 <= count <= MOST_INDEXES:
        raise SerializationError("Invalid msgidx array length")
    return [_read_number(payload) for _ in range(count)] if count else [0]


def _read_number(payload: io.BytesIO) -> int:
    value = shift = 0
    while True:
        byte = payload.read(1)
        if not byte:
            raise EOFError("Unexpected EOF while reading index")
        if shift > LARGEST_SHIFT:
            raise SerializationError("Invalid msgidx array length")
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if not byte[0] & 0x80:
            return (value >> 1) ^ -(value & 1)


def _header_of(ctx: SerializationContext) -> str:
    return KEY_SCHEMA_ID if ctx.field == MessageField.KEY else VALUE_SCHEMA_ID


def header_schema_id_serializer(
    payload: bytes, ctx: SerializationContext | None, schema_id: SchemaId
) -> bytes:
    """Adds a header with the schema's guid, and leaves the payload as it is. Raises: SerializationError,
    where there are no headers to add it to."""
    if ctx is None:
        raise SerializationError("SerializationContext is required for header_schema_id_serializer")
    headers: Any = ctx.headers
    if headers is None:
        raise SerializationError("Missing headers")
    name, value = _header_of(ctx), schema_id.guid_to_bytes()
    if isinstance(headers, list):
        headers.append((name, value))
    elif isinstance(headers, dict):
        headers[name] = value
    else:
        raise SerializationError("Invalid headers type")
    return payload


def prefix_schema_id_serializer(payload: bytes, ctx: Any, schema_id: SchemaId) -> bytes:
    """The payload behind the schema's id."""
    return schema_id.id_to_bytes() + payload


def dual_schema_id_deserializer(
    payload: bytes, ctx: SerializationContext | None, schema_id: SchemaId
) -> io.BytesIO:
    """Reads the header if there is one, else what is before the payload; gives the payload."""
    value = _in_headers(ctx)
    if value is None:
        return schema_id.from_bytes(io.BytesIO(payload))
    schema_id.from_bytes(io.BytesIO(value))
    return io.BytesIO(payload)


def has_id_in_headers(ctx: SerializationContext | None) -> bool:
    """Whether a header says it."""
    return _in_headers(ctx) is not None


def _in_headers(ctx: SerializationContext | None) -> Any:
    headers: Any = None if ctx is None else ctx.headers
    if ctx is None or headers is None:
        return None
    name = _header_of(ctx)
    if isinstance(headers, dict):
        return headers.get(name)
    if isinstance(headers, list):
        return next((header[1] for header in headers if header[0] == name), None)
    return None


def prefix_schema_id_deserializer(payload: bytes, ctx: Any, schema_id: SchemaId) -> io.BytesIO:
    """Reads the id that is before the payload, and gives the payload."""
    return schema_id.from_bytes(io.BytesIO(payload))
