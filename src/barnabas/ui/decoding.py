"""Keys, values and headers as people read them: by the registry's schemas, as JSON, as text, or in
hexadecimal digits; and what is not to be seen left out.

Knows nothing of HTTP.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from barnabas.aio import AvroDeserializer, JSONDeserializer, ProtobufDeserializer, Registry
from barnabas.errors import BarnabasError
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Record

MASK = "•••"
EVERYTHING = "*"
FRAME = b"\x00"
FRAMED_BYTES = 5
DESERIALIZERS: Mapping[str, Any] = {
    "AVRO": AvroDeserializer,
    "JSON": JSONDeserializer,
    "PROTOBUF": ProtobufDeserializer,
}


@frozen
class ShownPart:
    """A key, a value or a header. `text` is None where there is none; `form` says how the bytes were read,
    and `problem` why not as their schema says."""

    text: str | None
    form: str
    bytes_long: int = 0
    problem: str | None = None

    @property
    def pretty(self) -> str:
        """JSON over several lines."""
        try:
            return json.dumps(json.loads(self.text or ""), indent=2, ensure_ascii=False)
        except ValueError:
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


class RecordDecoder:
    """`masked`: names of fields and headers, in any case of letters; `*` stands for all values."""

    def __init__(self, registry: Registry | None, masked: Iterable[str]) -> None:
        self._registry = registry
        self._masked = frozenset(name.casefold() for name in masked)
        self._deserializers: dict[str, Any] = {}

    async def shown(self, record: Record) -> ShownRecord:
        """Never raises for what is in the record."""
        return ShownRecord(
            record.topic,
            record.partition,
            record.offset,
            record.timestamp,
            await self._part(record, record.key, is_key=True),
            await self._part(record, record.value, is_key=False),
            [(name, self._header(name, value)) for name, value in record.headers],
        )

    async def _part(self, record: Record, data: bytes | None, *, is_key: bool) -> ShownPart:
        if data is None:
            return ShownPart(None, "null")
        problem: str | None = None
        if self._registry is not None and data[:1] == FRAME and len(data) >= FRAMED_BYTES:
            try:
                form, value = await self._by_schema(self._registry, record, data, is_key)
            except BarnabasError as error:
                problem = str(error)
            else:
                value = self._without_masked(value)
                return ShownPart(json.dumps(value, ensure_ascii=False, default=_plain), form, len(data))
        text, form, value = _read(data)
        if self._masked:
            # What is no JSON has no fields to leave out: it is left out as a whole, keys excepted.
            if form == "JSON":
                text = json.dumps(self._without_masked(value), ensure_ascii=False)
            elif not is_key or EVERYTHING in self._masked:
                text = MASK
        return ShownPart(text, form, len(data), problem)

    async def _by_schema(
        self, registry: Registry, record: Record, data: bytes, is_key: bool
    ) -> tuple[str, Any]:
        schema_id = int.from_bytes(data[1:FRAMED_BYTES])
        schema = await registry.schema(schema_id)
        kind = str(schema.type)
        deserializer = self._deserializers.get(kind)
        if deserializer is None:
            deserializer = self._deserializers[kind] = DESERIALIZERS[kind](registry)
        value = await deserializer(record.topic, data, is_key=is_key, headers=record.headers)
        return f"{kind.capitalize() if kind != 'JSON' else kind}, schema {schema_id}", _jsonable(value)

    def _header(self, name: str, value: bytes | None) -> ShownPart:
        if value is None:
            return ShownPart(None, "null")
        if self._masked & {name.casefold(), EVERYTHING}:
            return ShownPart(MASK, "masked", len(value))
        text, form, _ = _read(value)
        return ShownPart(text, form, len(value))

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
