"""Keys and values of letters by the schemas of a registry that they name: as JSON, and as bytes again once
that was edited. Knows nothing of lines and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from barnabas.cli.options import UsageError
from barnabas.errors import SerializationError
from barnabas.formats.errors import SchemaError
from barnabas.records.dead_letters.conventions import BY_KEY, Origin
from barnabas.records.dead_letters.spool import Spooled
from barnabas.records.texts import SIDES, JsonText, Part, ReadRecord, Side
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Registry
    from barnabas.formats.json_values import JsonValues
    from barnabas.records.auto_side import AutoSide
    from barnabas.registry.schemas import Schema

SchemaKey = int | str
"""An id, or a GUID."""


@frozen
class SeenLetter:
    """A letter as people see it. What was read by a schema is `JsonText`, and its schema is named."""

    letter: Spooled
    key: Part
    value: Part
    key_schema: SchemaKey | None = None
    value_schema: SchemaKey | None = None

    def schema(self, side: Side) -> SchemaKey | None:
        return self.key_schema if side == "key" else self.value_schema

    def record(self) -> ReadRecord:
        letter = self.letter
        topic, partition, offset = letter.origin
        return ReadRecord(topic, partition, offset, letter.timestamp, self.key, self.value, letter.headers)


class LetterSchemas:
    """Without a `registry` no letter is read by a schema."""

    def __init__(self, registry: Registry | None) -> None:
        self._registry = registry
        self._sides: dict[Side, AutoSide] = {}
        if registry is not None:
            from barnabas.records.auto_side import AutoSide

            self._sides = {side: AutoSide(registry, side) for side in SIDES}
        self._validators: dict[SchemaKey, JsonValues] = {}

    @property
    def has_registry(self) -> bool:
        return self._registry is not None

    def seen(self, letters: Sequence[Spooled]) -> list[SeenLetter]:
        """What names no schema, or cannot be read by it, stays what it is. Raises: RegistryError where the
        registry does not answer, MissingExtraError."""
        keys = self._read("key", letters)
        values = self._read("value", letters)
        return [
            SeenLetter(letter, key, value, key_schema, value_schema)
            for letter, (key, key_schema), (value, value_schema) in zip(letters, keys, values, strict=True)
        ]

    def unread(self, letter: Spooled) -> SeenLetter:
        """As `seen` without a registry."""
        return SeenLetter(letter, _looked_at(letter.key), _looked_at(letter.value))

    def written(self, letter: Spooled, side: Side, document: Any) -> bytes:
        """By the schema that the letter names. Raises: UsageError (names letter and field), RegistryError,
        MissingExtraError."""
        data = _side_of(letter, side) or b""
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        record = _record(letter)
        reader = self._sides[side]
        named = reader.schema_named(record, data)
        assert named is not None, "only what was read by a schema is written by it"
        key, schema = named
        try:
            if schema.type == "JSON":
                self._json_values(_shown(key), schema).check(document)
            return reader.write_like(record, data, text)
        except (SerializationError, SchemaError) as error:
            told = str(error)
            if schema.type == "JSON":
                told = f"the {side} cannot be written as json, schema {key}: {told}"
            hint = f"; barnabas schemas show --id {key} prints the schema" if isinstance(key, int) else ""
            raise UsageError(f"{place_of_letter(letter.origin)}: {told}{hint}") from None

    def _read(self, side: Side, letters: Sequence[Spooled]) -> list[tuple[Part, SchemaKey | None]]:
        found: list[tuple[Part, SchemaKey | None]] = [
            (_looked_at(_side_of(letter, side)), None) for letter in letters
        ]
        reader = self._sides.get(side)
        if reader is None:
            return found
        records = [_record(letter) for letter in letters]
        named = {
            row: schema[0]
            for row, (record, letter) in enumerate(zip(records, letters, strict=True))
            if (data := _side_of(letter, side)) is not None
            and (schema := reader.schema_named(record, data)) is not None
        }
        parts = reader.read([records[row] for row in named], [_side_of(letters[row], side) for row in named])
        for (row, key), part in zip(named.items(), parts, strict=True):
            if isinstance(part, JsonText):
                found[row] = part, _shown(key)
        return found

    def _json_values(self, key: SchemaKey, schema: Schema) -> JsonValues:
        from barnabas.formats.json_values import JsonValues
        from barnabas.registry.references import referenced

        if key not in self._validators:
            assert self._registry is not None
            found = self._registry.run(referenced(self._registry.calls, schema))
            texts = {each.name: each.schema.text for each in found}
            self._validators[key] = JsonValues(schema.text, references=texts)
        return self._validators[key]


def place_of_letter(origin: Origin) -> str:
    topic, partition, offset = origin
    return f"{topic}, offset {offset}" if partition == BY_KEY else f"{topic}-{partition} at offset {offset}"


def _shown(key: int | UUID) -> SchemaKey:
    return key if isinstance(key, int) else str(key)


def _side_of(letter: Spooled, side: Side) -> bytes | None:
    return letter.key if side == "key" else letter.value


def _record(letter: Spooled) -> Any:
    """What a reader asks of a record."""
    topic, partition, offset = letter.origin
    key, value = letter.key, letter.value
    return ReadRecord(topic, partition, offset, letter.timestamp, key, value, letter.headers)


def _looked_at(data: bytes | None) -> bytes | None:
    """Objects and lists stand in lines as JSON, all else as text or base64."""
    if data is None or data.lstrip()[:1] not in (b"{", b"["):
        return data
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return data
    return JsonText(data)
