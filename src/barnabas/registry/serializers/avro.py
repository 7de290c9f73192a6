"""Avro for serializers: what a schema means with its references, and values by it.

Owns that a value of the schema "bytes" has no length before it, as Confluent's serializers have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from barnabas.formats.avro_resolution import Strictness, parsed
from barnabas.formats.avro_values import AvroValues
from barnabas.registry.references import Referenced
from barnabas.registry.rules.avro_walk import AvroWalk
from barnabas.registry.schemas import Schema
from barnabas.registry.serializers.models import plain
from barnabas.registry.serializers.shapes import avro_shape
from barnabas.registry.serializers.value_format import Decode, ReadSchema, ValueFormat, Walk


class ReadAvro(ReadSchema):
    """One schema, and what it refers to."""

    def __init__(self, schema: Schema, references: Sequence[Referenced], strict: Strictness) -> None:
        self.text = schema.text
        # One schema may be referred to by two names.
        self.references = tuple(dict.fromkeys(each.schema.text for each in references))
        self._names: dict[str, Any] = {}
        found: Any = parsed(self.text, self.references, self._names)
        self._parsed = found
        self.is_bytes = found == "bytes" or (
            isinstance(found, dict) and cast(Any, found).get("type") == "bytes"
        )
        values = AvroValues(self.text, references=self.references, strict=strict)
        self.encode = _without_length(values) if self.is_bytes else values.encode
        self.name = _name_of(found)
        self._walk: AvroWalk | None = None

    def walk(self) -> Walk:
        if self._walk is None:
            self._walk = AvroWalk(self.text, self.references)
        return self._walk

    def shape(self) -> Any:
        return avro_shape(self._parsed, self._names)

    def tags(self) -> set[str]:
        return {tag for tags in (self.walk().inline_tags or {}).values() for tag in tags}


class AvroFormat(ValueFormat[ReadAvro]):
    """`strict` and `tells_records`: see AvroValues."""

    type = "AVRO"

    def __init__(self, *, strict: Strictness = "no", tells_records: bool = False) -> None:
        self._strict: Strictness = strict
        self._tells_records = tells_records

    def read(self, schema: Schema, references: Sequence[Referenced]) -> ReadAvro:
        return ReadAvro(schema, references, self._strict)

    def decoder(
        self, writer: ReadAvro | None, reader: ReadAvro | None, indexes: Sequence[int] | None
    ) -> Decode:
        assert writer is not None, "Avro's bytes mean nothing without their schema"
        if writer.is_bytes:
            return _rest
        other = None if reader is writer else reader
        return AvroValues(
            writer.text,
            None if other is None else other.text,
            references=writer.references,
            reader_references=() if other is None else other.references,
            tells_records=self._tells_records,
        ).decode

    def rule_decoder(
        self,
        writer: ReadAvro | None,
        reader: ReadAvro | None,
        indexes: Sequence[int] | None,
        *,
        migrates: bool,
    ) -> Decode:
        return self.decoder(writer, None if migrates else reader, indexes)

    def plain(self, value: Any) -> Any:
        return plain(value)

    def resolver(self, writer: ReadAvro | None, reader: ReadAvro | None) -> Callable[[Any], Any] | None:
        assert writer is not None
        if reader is None or writer.is_bytes or reader.shape() == writer.shape():
            return None
        # Resolution is of bytes: they are written once more, as the writer would have without rules.
        encode, decode = writer.encode, self.decoder(writer, reader, None)
        return lambda value: decode(encode(value, b""), 0)


def _name_of(schema: Any) -> str | None:
    """A type without a name of its own is called by its kind; a union is not called anything."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, dict):
        found = cast(dict[str, Any], schema)
        return found.get("name") or _name_of(found["type"])
    return None


def _rest(data: Any, offset: int = 0) -> bytes:
    return bytes(data[offset:])


def _without_length(values: AvroValues) -> Any:
    def encode(value: Any, header: bytes) -> bytes:
        if isinstance(value, str):
            value = value.encode()
        written = values.encode(value)
        length = 1
        while written[length - 1] & 0x80:
            length += 1
        return header + written[length:]

    return encode
