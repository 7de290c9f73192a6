"""Keys, values and headers as people read them: by the registry's schemas, as JSON, as text, or in
hexadecimal digits; and what is not to be seen left out.

Knows nothing of HTTP.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from barnabas.aio import AvroDeserializer, JSONDeserializer, ProtobufDeserializer, Registry
from barnabas.errors import BarnabasError
from barnabas.records.asked import UsageError
from barnabas.records.plain import PLAIN_FORMATS
from barnabas.records.texts import JsonText, Part, ReadRecord
from barnabas.registry.errors import (
    RegistryError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from barnabas.registry.schemas import Schema
from barnabas.registry.serializers.schema_id import (
    GUID_MAGIC,
    ID_MAGIC,
    PREFIX_BYTES,
    PROTOBUF,
    header_in,
    header_name,
)
from barnabas.ui.records.part_forms import AS_IT_IS, AUTOMATIC, BY_SCHEMA, PartForm, RecordForms
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Record

MASK = "•••"
EVERYTHING = "*"
GUID_BYTES = 17
UNKNOWN_SECONDS = 10.0
"""A schema that is not there is not asked for again so soon."""
MOST_UNKNOWN = 1_000
DESERIALIZERS: Mapping[str, Any] = {
    "AVRO": AvroDeserializer,
    "JSON": JSONDeserializer,
    "PROTOBUF": ProtobufDeserializer,
}
SchemaKey = int | UUID


@frozen
class ShownPart:
    """A key, a value or a header. `text` is None where there is none; `form` says how the bytes were read,
    and `problem` why not as they were to be. `part`: what conditions and files see of it."""

    text: str | None
    form: str
    bytes_long: int = 0
    problem: str | None = None
    part: Part = None

    @property
    def pretty(self) -> str:
        """JSON over several lines."""
        try:
            return _dumped(json.loads(self.text or ""), indent=2)
        except (ValueError, RecursionError):
            return self.text or ""


@frozen
class ShownRecord:
    """A record as the page shows it, masked already."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: ShownPart
    value: ShownPart
    headers: Sequence[tuple[str, ShownPart]]

    def has(self, wanted: str, where: str) -> bool:
        """Whether `wanted` stands in the key, in the value, in a header, or in any of them ("")."""
        wanted = wanted.casefold()
        texts: list[str | None] = []
        if where in ("", "key"):
            texts.append(self.key.text)
        if where in ("", "value"):
            texts.append(self.value.text)
        if where in ("", "header"):
            texts += [f"{name}={part.text or ''}" for name, part in self.headers]
        return any(text is not None and wanted in text.casefold() for text in texts)

    @property
    def as_read(self) -> ReadRecord:
        """As conditions and files have records."""
        headers = [(name, part.part) for name, part in self.headers]
        return ReadRecord(
            self.topic, self.partition, self.offset, self.timestamp, self.key.part, self.value.part, headers
        )


@frozen
class ChosenSchema:
    """One that was chosen by hand, and is in the registry."""

    id: int
    type: str


@frozen
class ChosenForms:
    """`RecordForms` whose schemas were looked up."""

    key: str = AUTOMATIC
    value: str = AUTOMATIC
    key_schema: ChosenSchema | None = None
    value_schema: ChosenSchema | None = None


AS_THEY_ARE = ChosenForms()


class RecordDecoder:
    """`masked`: names of fields and headers, in any case of letters; `*` stands for all values."""

    def __init__(self, registry: Registry | None, masked: Iterable[str]) -> None:
        self.registry = registry
        self._masked = frozenset(name.casefold() for name in masked)
        self._deserializers: dict[str, Any] = {}
        self._unknown: dict[SchemaKey, tuple[float, RegistryError]] = {}

    @property
    def masks(self) -> bool:
        """Whether something may be left out, so that no bytes may be shown."""
        return bool(self._masked)

    def hides_header(self, name: str) -> bool:
        return bool(self._masked & {name.casefold(), EVERYTHING})

    async def chosen(self, forms: RecordForms) -> ChosenForms:
        """Raises: UsageError where there is no such schema, RegistryError."""
        if forms == AS_IT_IS:
            return AS_THEY_ARE
        return ChosenForms(
            forms.key.form,
            forms.value.form,
            await self._chosen_schema(forms.key),
            await self._chosen_schema(forms.value),
        )

    async def _chosen_schema(self, form: PartForm) -> ChosenSchema | None:
        if form.form != BY_SCHEMA:
            return None
        if self.registry is None:
            raise UsageError("there are no schemas here: the page was started without --registry")
        subject, colon, version = form.schema.rpartition(":")
        has_version = bool(colon) and version.isascii() and version.isdecimal()
        try:
            if form.schema.isascii() and form.schema.isdecimal():
                return ChosenSchema(
                    int(form.schema), str((await self.registry.schema(int(form.schema))).type)
                )
            if has_version:
                found = await self.registry.version(subject, int(version))
            else:
                found = await self.registry.latest(form.schema)
        except (SchemaNotFoundError, SubjectNotFoundError, VersionNotFoundError):
            raise UsageError(f"the registry has no schema {form.schema!r}") from None
        return ChosenSchema(found.id, str(found.schema.type))

    async def shown(self, record: Record, forms: ChosenForms = AS_THEY_ARE) -> ShownRecord:
        """Never raises for what is in the record."""
        return ShownRecord(
            record.topic,
            record.partition,
            record.offset,
            record.timestamp,
            await self._part(record, record.key, forms.key, forms.key_schema, is_key=True),
            await self._part(record, record.value, forms.value, forms.value_schema, is_key=False),
            [(name, self._header(name, value)) for name, value in record.headers],
        )

    async def _part(
        self, record: Record, data: bytes | None, form: str, schema: ChosenSchema | None, *, is_key: bool
    ) -> ShownPart:
        if data is None:
            return ShownPart(None, "null")
        if form == AUTOMATIC:
            return await self._automatic(record, data, is_key=is_key)
        if self._masked and form != "json":
            # Read in another form, the fields to leave out would not be seen as such.
            why = "the page was started with --mask: it is shown in its own form alone"
            return _masked(data, why)
        try:
            if schema is not None:
                label, value = await self._by_chosen(record, data, schema, is_key)
                return _json_part(value, label, data)
            if form == "json":
                return _json_part(self._without_masked(json.loads(data)), "JSON", data)
            if form == "text":
                text = data.decode(errors="replace")
                return ShownPart(text, "text", len(data), part=text.encode())
            plain = PLAIN_FORMATS[form]
            text = plain.read(data)
        except (BarnabasError, ValueError, RecursionError) as error:
            if self._masked:
                return _masked(data, "it is not JSON")
            return ShownPart(data.hex(" "), "bytes", len(data), f"not {form}: {error}", data)
        part = JsonText(text.encode()) if plain.is_json else text.encode()
        return ShownPart(text, form, len(data), part=part)

    async def _automatic(self, record: Record, data: bytes, *, is_key: bool) -> ShownPart:
        problem: str | None = None
        named = self.schema_named(record, data, is_key=is_key)
        if self.registry is not None and named is not None:
            try:
                form, value = await self._by_schema(self.registry, record, data, named, is_key)
            except SchemaNotFoundError as error:
                # What begins with a one may be anything; a zero is seldom anything else.
                problem = str(error) if isinstance(named, int) else None
            except BarnabasError as error:
                problem = "it cannot be read by its schema" if self._masked else str(error)
            else:
                try:
                    return _json_part(self._without_masked(value), form, data)
                except RecursionError:
                    problem = "it has too many levels"
        text, form, value = _read(data)
        part: Part = JsonText(data) if form == "JSON" else data
        if self._masked:
            # What is no JSON has no fields to leave out: it is left out as a whole, keys excepted.
            if form == "JSON":
                try:
                    text = _dumped(self._without_masked(value))
                except RecursionError:
                    text = json.dumps(MASK)
                part = JsonText(text.encode())
            elif not is_key or EVERYTHING in self._masked:
                text, part = MASK, MASK.encode()
        return ShownPart(text, form, len(data), problem, part)

    def schema_named(self, record: Record, data: bytes, *, is_key: bool) -> SchemaKey | None:
        """The id or GUID that the bytes, or a header, name."""
        in_header = header_in(record.headers, header_name("key" if is_key else "value"))
        prefix = data if in_header is None else in_header
        if prefix[:1] == bytes([ID_MAGIC]) and len(prefix) >= PREFIX_BYTES:
            return int.from_bytes(prefix[1:PREFIX_BYTES])
        if prefix[:1] == bytes([GUID_MAGIC]) and len(prefix) >= GUID_BYTES:
            return UUID(bytes=prefix[1:GUID_BYTES])
        return None

    async def schema(self, key: SchemaKey) -> Schema:
        """Raises: SchemaNotFoundError, RegistryError."""
        assert self.registry is not None, "without a registry there are no schemas"
        unknown = self._unknown.get(key)
        if unknown is not None and time.monotonic() < unknown[0]:
            raise unknown[1]
        try:
            if isinstance(key, int):
                return await self.registry.schema(key)
            return await self.registry.schema_by_guid(str(key))
        except SchemaNotFoundError as error:
            if len(self._unknown) >= MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown[key] = (time.monotonic() + UNKNOWN_SECONDS, error)
            raise

    async def _by_schema(
        self, registry: Registry, record: Record, data: bytes, key: SchemaKey, is_key: bool
    ) -> tuple[str, Any]:
        kind = str((await self.schema(key)).type)
        deserializer = self._deserializer(registry, kind)
        value = await deserializer(record.topic, data, is_key=is_key, headers=record.headers)
        return _label(kind, key), _jsonable(value)

    async def _by_chosen(
        self, record: Record, data: bytes, schema: ChosenSchema, is_key: bool
    ) -> tuple[str, Any]:
        """By another schema than what the bytes name, or where they name none."""
        assert self.registry is not None, "a schema was found in it"
        if data[:1] == bytes([ID_MAGIC]) and len(data) >= PREFIX_BYTES and await self._is_there(data):
            body = data[PREFIX_BYTES:]
        else:
            # Protobuf has the message's place behind the id: the first of its file.
            body = b"\0" + data if schema.type == PROTOBUF else data
        framed = bytes([ID_MAGIC]) + schema.id.to_bytes(4) + body
        deserializer = self._deserializer(self.registry, schema.type)
        value = await deserializer(record.topic, framed, is_key=is_key, headers=[])
        return _label(schema.type, schema.id), _jsonable(value)

    async def _is_there(self, data: bytes) -> bool:
        try:
            await self.schema(int.from_bytes(data[1:PREFIX_BYTES]))
        except SchemaNotFoundError:
            return False
        return True

    def _deserializer(self, registry: Registry, kind: str) -> Any:
        deserializer = self._deserializers.get(kind)
        if deserializer is None:
            deserializer = self._deserializers[kind] = DESERIALIZERS[kind](registry)
        return deserializer

    def _header(self, name: str, value: bytes | None) -> ShownPart:
        if value is None:
            return ShownPart(None, "null")
        if self.hides_header(name):
            return ShownPart(MASK, "masked", len(value), part=MASK.encode())
        text, form, _ = _read(value)
        return ShownPart(text, form, len(value), part=value)

    def _without_masked(self, value: Any) -> Any:
        if not self._masked:
            return value
        if EVERYTHING in self._masked:
            return MASK
        if isinstance(value, dict):
            fields = cast("dict[Any, Any]", value)
            return {
                name: MASK if str(name).casefold() in self._masked else self._without_masked(each)
                for name, each in fields.items()
            }
        if isinstance(value, list):
            return [self._without_masked(each) for each in cast("list[Any]", value)]
        return value


def _label(kind: str, key: SchemaKey) -> str:
    return f"{kind.capitalize() if kind != 'JSON' else kind}, schema {key}"


def _masked(data: bytes, problem: str) -> ShownPart:
    return ShownPart(MASK, "masked", len(data), problem, MASK.encode())


def _json_part(value: Any, form: str, data: bytes) -> ShownPart:
    text = _dumped(value)
    return ShownPart(text, form, len(data), part=JsonText(text.encode()))


def _dumped(value: Any, indent: int | None = None) -> str:
    """JSON has half characters, which stay as they are written in it; UTF-8 has none."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    return text.encode(errors="backslashreplace").decode()


def _read(data: bytes) -> tuple[str, str, Any]:
    """Text, what it is, and of JSON its value."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data.hex(" "), "bytes", None
    if text[:1] in ("{", "["):
        try:
            return text, "JSON", json.loads(text)
        except (ValueError, RecursionError):
            pass
    if not text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
        return data.hex(" "), "bytes", None
    return text, "text", None


def _jsonable(value: Any) -> Any:
    """Messages of Protobuf as Protobuf writes them in JSON."""
    if hasattr(value, "DESCRIPTOR"):
        from google.protobuf.json_format import MessageToDict

        return MessageToDict(value, preserving_proto_field_name=True)
    return value


def _plain(value: Any) -> str:
    """What JSON has no form for."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def as_bytes(text: str, form: str) -> bytes:
    """What somebody typed for a key or a value. Raises: ValueError."""
    if form == "hex":
        return bytes.fromhex(text)
    if form == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(str(error)) from None
    return text.encode()
