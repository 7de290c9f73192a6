# pyright: basic
"""`MessageSerializer`: values to bytes behind a schema's id, and back, with a legacy client of a registry."""

from __future__ import annotations

import io
import logging
import struct
from typing import Any, Self

from barnabas.compat.confluent_kafka.avro.error import ClientError
from barnabas.compat.confluent_kafka.avro.serializer import (
    KeySerializerError,
    SerializerError,
    ValueSerializerError,
)
from barnabas.errors import SerializationError
from barnabas.formats import AvroValues
from barnabas.registry.cache import Cache

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.avro.serializer.message_serializer")

MAGIC_BYTE = 0
# Whether Avro is quick.
HAS_FAST = True

_HEADER = struct.Struct(">bI")
_CAPACITY = 1000


class ContextStringIO(io.BytesIO):
    """A buffer that `with` closes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


class MessageSerializer:
    """Writes and reads messages with schemas of a registry. `registry_client`: a CachedSchemaRegistryClient,
    or what has its calls; the other two are the schemas that what is read is given by."""

    def __init__(
        self, registry_client: Any, reader_key_schema: Any = None, reader_value_schema: Any = None
    ) -> None:
        self.registry_client = registry_client
        self.reader_key_schema = reader_key_schema
        self.reader_value_schema = reader_value_schema
        self._writers: Cache[int, AvroValues] = Cache(_CAPACITY)
        self._readers: Cache[tuple[int, bool], AvroValues] = Cache(_CAPACITY)

    def encode_record_with_schema(self, topic: str, schema: Any, record: Any, is_key: bool = False) -> bytes:
        """A record in bytes, with its schema, which is registered for the topic unless the client's
        `auto.register.schemas` is false. Raises: KeySerializerError, ValueSerializerError, ClientError."""
        subject = topic + ("-key" if is_key else "-value")
        # A program's own client may know nothing of it.
        if getattr(self.registry_client, "auto_register_schemas", True):
            schema_id = self.registry_client.register(subject, schema)
        else:
            schema_id = self.registry_client.check_registration(subject, schema)
        if not schema_id:
            raise _error(is_key)(f"Unable to retrieve schema id for subject {subject}")
        if self._writers.get(schema_id) is None:
            self._writers.put(schema_id, AvroValues(str(schema)))
        return self.encode_record_with_schema_id(schema_id, record, is_key=is_key)

    def encode_record_with_schema_id(self, schema_id: int, record: Any, is_key: bool = False) -> bytes:
        """A record in bytes, with the schema of that id. Raises: KeySerializerError, ValueSerializerError."""
        values = self._writers.get(schema_id)
        if values is None:
            try:
                schema = self.registry_client.get_by_id(schema_id)
            except ClientError as error:
                raise _error(is_key)(str(error)) from error
            if not schema:
                raise _error(is_key)("Schema does not exist")
            values = AvroValues(str(schema))
            self._writers.put(schema_id, values)
        try:
            return values.encode(record, _HEADER.pack(MAGIC_BYTE, schema_id))
        except SerializationError as error:
            raise _error(is_key)(str(error)) from error

    def decode_message(self, message: bytes | None, is_key: bool = False) -> Any:
        """What is in a message, as its reader's schema has it. Raises: SerializerError."""
        if message is None:
            return None
        if len(message) <= _HEADER.size:
            raise SerializerError("message is too small to decode")
        magic, schema_id = _HEADER.unpack_from(message)
        if magic != MAGIC_BYTE:
            raise SerializerError("message does not start with magic byte")
        try:
            return self._reader(schema_id, is_key).decode(message, _HEADER.size)
        except SerializationError as error:
            raise SerializerError(str(error)) from error

    def _reader(self, schema_id: int, is_key: bool) -> AvroValues:
        values = self._readers.get((schema_id, is_key))
        if values is None:
            try:
                writer = self.registry_client.get_by_id(schema_id)
            except ClientError as error:
                raise SerializerError(f"unable to fetch schema with id {schema_id}: {error}") from error
            if writer is None:
                raise SerializerError(f"unable to fetch schema with id {schema_id}")
            reader = self.reader_key_schema if is_key else self.reader_value_schema
            values = AvroValues(str(writer), None if reader is None else str(reader))
            self._readers.put((schema_id, is_key), values)
        return values


def _error(is_key: bool) -> type[SerializerError]:
    return KeySerializerError if is_key else ValueSerializerError
