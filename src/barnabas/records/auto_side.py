"""Keys and values in whatever form each has: by the schema that it names, as JSON, as text, or in hexadecimal
digits.

Owns what bytes look like. Several schemas, of several types, may be in one topic.
"""

# google.protobuf has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from barnabas.errors import BarnabasError, SerializationError
from barnabas.records.registry_side import RegistrySide, header_of
from barnabas.records.texts import JsonText, Part, Side, Unread, place_of
from barnabas.registry.errors import RegistryError, SchemaNotFoundError
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Record, Registry
    from barnabas.registry.schemas import Schema

_ID_MAGIC, _GUID_MAGIC = 0, 1
_ID_BYTES, _GUID_BYTES = 5, 17


@frozen
class _Named:
    """The schema that a value names: an id, or a GUID. `length`: of what names it, before the value."""

    key: int | UUID
    length: int


class AutoSide:
    """Keys or values. Without a `registry` none is by a schema."""

    def __init__(self, registry: Registry | None, side: Side, *, ignores_rules: bool = False) -> None:
        self._registry = registry
        self._side: Side = side
        self._ignores_rules = ignores_rules
        self._header = f"__{side}_schema_id"
        self._schemas: dict[int | UUID, Schema | None] = {}
        self._readers: dict[tuple[int | UUID, tuple[int, ...]], RegistrySide | str] = {}

    def read(self, records: Sequence[Record], data: Sequence[bytes | None]) -> list[Part]:
        """Raises: RegistryError where the registry does not answer."""
        found: list[Part] = [None if each is None else by_looking(each) for each in data]
        if self._registry is None:
            return found
        rows_by_reader: defaultdict[tuple[int | UUID, tuple[int, ...]], list[int]] = defaultdict(list)
        for row, (record, each) in enumerate(zip(records, data, strict=True)):
            named = None if each is None else self._named(record, each)
            schema = None if named is None else self._schema(self._registry, named.key)
            if each is None or named is None or schema is None:
                continue
            if schema.type == "JSON":
                found[row] = self._json_after(record, each, named.length)
                continue
            indexes: tuple[int, ...] = ()
            if schema.type == "PROTOBUF":
                try:
                    indexes = self._indexes(record, each)
                except BarnabasError as error:
                    found[row] = self._unread(record, each, f"as protobuf: {error}")
                    continue
            rows_by_reader[named.key, indexes].append(row)
        for (key, indexes), rows in rows_by_reader.items():
            reader = self._reader(self._registry, key, indexes)
            if isinstance(reader, str):
                for row in rows:
                    found[row] = self._unread(records[row], data[row], reader)
                continue
            read = reader.read([records[row] for row in rows], [data[row] for row in rows])
            for row, part in zip(rows, read, strict=True):
                found[row] = part
        return found

    def schema_named(self, record: Record, data: bytes) -> tuple[int | UUID, Schema] | None:
        """The schema that `data`, or a header of its record, names, by its id or GUID, if the registry has
        it. Raises: RegistryError where the registry does not answer."""
        named = self._named(record, data)
        schema = None if named is None or self._registry is None else self._schema(self._registry, named.key)
        return None if named is None or schema is None else (named.key, schema)

    def write_like(self, record: Record, data: bytes, text: bytes) -> bytes:
        """The bytes of JSON by the schema that `data`, or a header of its record, names. Raises:
        SerializationError, RegistryError, SchemaError, MissingExtraError."""
        named = self._named(record, data)
        schema = None if named is None or self._registry is None else self._schema(self._registry, named.key)
        if named is None or self._registry is None or schema is None:
            raise SerializationError(f"the {self._side} names no schema that is in the registry")
        if schema.type == "JSON":
            try:
                json.loads(text)
            except (ValueError, RecursionError) as error:
                raise SerializationError(f"the {self._side} is not JSON: {error}") from None
            return data[: named.length] + text
        if not isinstance(named.key, int):
            raise SerializationError(
                f"the {self._side} names its schema by a GUID, by which a registry tells no id to write with"
            )
        from barnabas import RegistryFormat

        message = None
        if schema.type == "PROTOBUF":
            message = message_name(self._registry, schema, self._indexes(record, data))
        # What only has a schema's text can read by it: who writes needs its id.
        format = RegistryFormat(
            self._registry, id=named.key, message=message, ignores_rules=self._ignores_rules
        )
        writer = RegistrySide(format, self._side, f"{schema.type.lower()}, schema {named.key}")
        written = writer.write(text, None)
        # What names the schema stays as it was: an id, a GUID, or nothing where that is a header.
        prefix = b"" if named.length == 0 else data[: _prefix_length(data, schema.type)]
        return prefix + written[_prefix_length(written, schema.type) :]

    def _unread(self, record: Record, data: bytes | None, why: str) -> Unread:
        return Unread.because(data, f"{place_of(record)}: the {self._side} cannot be read {why}")

    def _named(self, record: Record, data: bytes) -> _Named | None:
        in_header = header_of(record, self._header)
        prefix = data if in_header is None else in_header
        if prefix[:1] == b"\0" and len(prefix) >= _ID_BYTES:
            key, length = int.from_bytes(prefix[1:_ID_BYTES]), _ID_BYTES
        elif prefix[:1] == b"\1" and len(prefix) >= _GUID_BYTES:
            key, length = UUID(bytes=prefix[1:_GUID_BYTES]), _GUID_BYTES
        else:
            return None
        return _Named(key, 0 if in_header is not None else length)

    def _schema(self, registry: Registry, key: int | UUID) -> Schema | None:
        """None: there is none, and so these bytes only look as if they named one."""
        if key not in self._schemas:
            try:
                self._schemas[key] = (
                    registry.schema(key) if isinstance(key, int) else registry.schema_by_guid(str(key))
                )
            except SchemaNotFoundError:
                self._schemas[key] = None
        return self._schemas[key]

    def _json_after(self, record: Record, data: bytes, length: int) -> Part:
        text = data[length:]
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            return self._unread(record, data, f"as json: {error}")
        return JsonText(text)

    def _indexes(self, record: Record, data: bytes) -> tuple[int, ...]:
        """The place of the message in its file. Raises: SerializationError."""
        from barnabas.registry.serializers.schema_id import PROTOBUF, SchemaId

        in_header = header_of(record, self._header)
        schema_id = SchemaId(PROTOBUF)
        schema_id.read(data if in_header is None else in_header)
        return tuple(schema_id.message_indexes or (0,))

    def _reader(self, registry: Registry, key: int | UUID, indexes: tuple[int, ...]) -> RegistrySide | str:
        """Or why there is none."""
        known = self._readers.get((key, indexes))
        if known is None:
            known = self._readers[key, indexes] = self._make_reader(registry, key, indexes)
        return known

    def _make_reader(
        self, registry: Registry, key: int | UUID, indexes: tuple[int, ...]
    ) -> RegistrySide | str:
        from barnabas import RegistryFormat

        schema = self._schemas[key]
        assert schema is not None, "only schemas that were found have readers"
        name = schema.type.lower()
        try:
            message = message_name(registry, schema, indexes) if schema.type == "PROTOBUF" else None
            format = RegistryFormat(
                registry, schema=schema, message=message, ignores_rules=self._ignores_rules
            )
            reader = RegistrySide(format, self._side, f"{name}, schema {key}")
            reader.data_type()
        except RegistryError:
            raise
        except BarnabasError as error:
            return f"as {name}: its schema, {key}: {error}"
        return reader


def _prefix_length(data: bytes, schema_type: str) -> int:
    from barnabas.registry.serializers.schema_id import SchemaId

    return SchemaId(schema_type).read(data)


def message_name(registry: Registry, schema: Schema, indexes: Sequence[int]) -> str:
    """The full name of a message by its place in the file. Raises: BarnabasError."""
    from barnabas.formats.protobuf_schema import ProtobufSchema
    from barnabas.formats.protobuf_values import file_of, is_known, message_at
    from barnabas.registry.references import referenced

    found: Any = registry.run(referenced(registry.calls, schema, is_built_in=is_known))
    texts = {each.name: each.schema.text for each in found}
    return message_at(file_of(ProtobufSchema(schema.text, texts).descriptor_set), indexes).full_name


def by_looking(data: bytes) -> bytes:
    """JSON of an object or a list as `JsonText`, text as it is, all else in hexadecimal digits."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data.hex().encode()
    if text.lstrip()[:1] in ("{", "["):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            return JsonText(data)
    return data if text.translate(_BLANKS).isprintable() else data.hex().encode()


_BLANKS = dict.fromkeys(map(ord, "\n\r\t"))
