"""How bytes tell which schema they were written with: by a prefix, or by a header of their record.

A prefix is a zero byte and the id in four; a header has a one byte and the 16 of the GUID. Protobuf has the
message's place in its file behind either. Knows nothing of schemas.
"""

from __future__ import annotations

import io
import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from barnabas.errors import MisuseError, SerializationError
from barnabas.formats.protobuf_values import framing, read_index
from barnabas.registry.serializers.context import ContextLike

ID_MAGIC, GUID_MAGIC = 0, 1
PREFIX_BYTES = 5
KEY_HEADER, VALUE_HEADER = "__key_schema_id", "__value_schema_id"
PROTOBUF = "PROTOBUF"

IdWriter = Callable[[bytes, Any, Any], bytes]
"""Given the payload, the context and the SchemaId; gives the payload with what it puts before it."""
IdReader = Callable[[bytes, Any, Any], Any]
"""Given data, the context and a SchemaId to fill; gives the payload, bytes or a file of them."""


class SchemaId:
    """Which schema a value was written with: an `id` of the registry, or a `guid`. `message_indexes`: of
    Protobuf, the message's place in its file, and in the messages that it lies in."""

    __slots__ = ("guid", "id", "message_indexes", "schema_type")

    def __init__(
        self,
        schema_type: str,
        schema_id: int | None = None,
        guid: str | None = None,
        message_indexes: Sequence[int] | None = None,
    ) -> None:
        self.schema_type = schema_type
        self.id = schema_id
        self.guid = None if guid is None else uuid.UUID(guid)
        self.message_indexes = None if message_indexes is None else list(message_indexes)

    def from_bytes(self, payload: io.BytesIO) -> io.BytesIO:
        """Reads itself off the front of `payload`, which is left behind it. Raises: SerializationError."""
        data = payload.read()
        payload = io.BytesIO(data)
        payload.seek(self.read(data))
        return payload

    def read(self, data: bytes) -> int:
        """Reads itself off the front of `data`, and gives how many bytes that were. Raises:
        SerializationError."""
        magic = data[0] if data else None
        if magic == ID_MAGIC and len(data) >= PREFIX_BYTES:
            self.id, offset = struct.unpack_from(">I", data, 1)[0], PREFIX_BYTES
        elif magic == GUID_MAGIC and len(data) >= 17:
            self.guid, offset = uuid.UUID(bytes=bytes(data[1:17])), 17
        elif magic in (ID_MAGIC, GUID_MAGIC):
            raise SerializationError(f"{len(data)} bytes are too few for a schema's id")
        else:
            raise SerializationError(
                "the first byte is none that a schema's id begins with (0 or 1): the data was not written by "
                "a serializer of a schema registry"
            )
        if self.schema_type == PROTOBUF:
            indexes, offset = read_index(data, offset)
            self.message_indexes = list(indexes)
        return offset

    def id_to_bytes(self) -> bytes:
        """Returns the bytes that name the schema by its id, before a value. Raises: SerializationError."""
        if self.id is None:
            raise SerializationError("the schema's id is not known")
        return struct.pack(">bI", ID_MAGIC, self.id) + self._indexes()

    def guid_to_bytes(self) -> bytes:
        """Returns the bytes that name the schema by its GUID, in a header. Raises: SerializationError."""
        if self.guid is None:
            raise SerializationError("the schema's GUID is not known: the registry is too old to have them")
        return bytes([GUID_MAGIC]) + self.guid.bytes + self._indexes()

    def _indexes(self) -> bytes:
        return b"" if self.message_indexes is None else framing(self.message_indexes)


def header_name(field: Any) -> str:
    return KEY_HEADER if field == "key" else VALUE_HEADER


def prefix_id_writer(payload: bytes, context: ContextLike | None, schema_id: Any) -> bytes:
    """The id goes before the payload."""
    if schema_id is None:
        raise MisuseError("there is no subject for this value, and so no schema's id to write before it")
    return schema_id.id_to_bytes() + payload


def header_id_writer(payload: bytes, context: ContextLike | None, schema_id: Any) -> bytes:
    """The GUID goes into the record's headers, a list of pairs or a dict that the caller gives. Raises:
    MisuseError, SerializationError."""
    headers = None if context is None else context.headers
    if schema_id is None:
        raise MisuseError("there is no subject for this value, and so no schema's GUID for the headers")
    if context is None or not isinstance(headers, list | dict):
        raise MisuseError(
            "the schema's GUID goes into the record's headers: give them, a list or a dict that is sent with "
            "the record"
        )
    name, value = header_name(context.field), schema_id.guid_to_bytes()
    if isinstance(headers, dict):
        headers[name] = value
    else:
        cast(list[Any], headers).append((name, value))
    return payload


def header_in(headers: Any, name: str) -> bytes | None:
    """The value of the first header with this name."""
    if isinstance(headers, Mapping):
        return cast(Mapping[str, bytes], headers).get(name)
    for header in headers:
        if header[0] == name:
            return header[1]
    return None
