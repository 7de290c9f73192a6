"""JSON for serializers: what a JSON Schema means with its references, and values by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from barnabas.formats.json_values import JsonValues
from barnabas.registry.references import Referenced
from barnabas.registry.rules.json_walk import JsonWalk
from barnabas.registry.schemas import Schema
from barnabas.registry.serializers.models import plain
from barnabas.registry.serializers.shapes import json_shape, json_tags
from barnabas.registry.serializers.value_format import Decode, Encode, ReadSchema, ValueFormat, Walk

Dumps = Callable[[Any], str | bytes]
Loads = Callable[[bytes], Any]


class ReadJsonSchema(ReadSchema):
    """One schema, and what it refers to."""

    def __init__(
        self, schema: Schema, references: Sequence[Referenced], *, validates: bool, dumps: Dumps | None
    ) -> None:
        self.text = schema.text
        self.references = {each.name: each.schema.text for each in references}
        self.values = JsonValues(self.text, references=self.references, validates=validates)
        self.encode = self.values.encode if dumps is None else _encoder(self.values, dumps)
        self.name = _title_of(self.text)
        self._walk: JsonWalk | None = None

    def walk(self) -> Walk:
        if self._walk is None:
            self._walk = JsonWalk(self.text, self.references)
        return self._walk

    def shape(self) -> Any:
        return json_shape(self.text, self.references)

    def tags(self) -> set[str]:
        return json_tags(self.text, self.references)


class JsonFormat(ValueFormat[ReadJsonSchema]):
    """`dumps` and `loads` write and read JSON in place of the kernel."""

    type = "JSON"

    def __init__(
        self, *, validates: bool = True, dumps: Dumps | None = None, loads: Loads | None = None
    ) -> None:
        self._validates = validates
        self._dumps = dumps
        self._loads = loads

    def read(self, schema: Schema, references: Sequence[Referenced]) -> ReadJsonSchema:
        return ReadJsonSchema(schema, references, validates=self._validates, dumps=self._dumps)

    def decoder(
        self, writer: ReadJsonSchema | None, reader: ReadJsonSchema | None, indexes: Sequence[int] | None
    ) -> Decode:
        read = writer if reader is None else reader
        if read is None:
            return self._unvalidated()
        if self._loads is None:
            return read.values.decode
        decode, check = self._unvalidated(), read.values.check

        def decode_and_check(data: Any, offset: int = 0) -> Any:
            value = decode(data, offset)
            check(value)
            return value

        return decode_and_check

    def rule_decoder(
        self,
        writer: ReadJsonSchema | None,
        reader: ReadJsonSchema | None,
        indexes: Sequence[int] | None,
        *,
        migrates: bool,
    ) -> Decode:
        return self._unvalidated()

    def _unvalidated(self) -> Decode:
        loads = self._loads
        if loads is None:
            return JsonValues(None).decode
        return lambda data, offset: loads(bytes(data[offset:]))

    def after_rules(self, value: Any, reader: ReadJsonSchema | None) -> Any:
        if reader is not None:
            reader.values.check(value)
        return value

    def plain(self, value: Any) -> Any:
        return plain(value)


def _encoder(values: JsonValues, dumps: Dumps) -> Encode:
    def encode(value: Any, header: bytes = b"") -> bytes:
        values.check(value)
        written = dumps(value)
        return header + (written.encode() if isinstance(written, str) else written)

    return encode


def _title_of(text: str) -> str | None:
    found = json.loads(text)
    title = cast(dict[str, Any], found).get("title") if isinstance(found, dict) else None
    return title if isinstance(title, str) else None
