"""Keys and values of topics as text and JSON, and back, by the options of both sides.

JSON is read and written by the type of the schema's column, so that times, decimals and bytes have the forms
that Spark's JSON has: ISO 8601, digits, base64.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import barnabas
from barnabas.cli.formats.options import (
    AUTO,
    DEFAULT_REGISTRY,
    FORMATS,
    RAW_FORMATS,
    REGISTRY_FORMATS,
    SideOptions,
)
from barnabas.cli.formats.raw import raw_schema, text_of
from barnabas.cli.options import UsageError, registry_settings
from barnabas.errors import SerializationError
from barnabas.records.auto_side import AutoSide
from barnabas.records.plain import PLAIN_FORMATS, PlainFormat
from barnabas.records.registry_side import RegistrySide
from barnabas.records.texts import SIDES, JsonText, Part, ReadRecord, Side, Unread, place_of

if TYPE_CHECKING:
    from barnabas import Record, Registry

OnError = Literal["stop", "skip", "hex"]
ON_ERROR: tuple[OnError, ...] = ("stop", "skip", "hex")


class PlainSide:
    """Keys or values of one topic that need no registry. `name`: what the format is called."""

    def __init__(self, format: PlainFormat, side: Side, name: str) -> None:
        self._format = format
        self._side = side
        self._name = name

    def read(self, records: Sequence[Record], data: Sequence[bytes | None]) -> list[Part]:
        return [self._one(record, each) for record, each in zip(records, data, strict=True)]

    def _one(self, record: Record, data: bytes | None) -> Part:
        if data is None:
            return None
        try:
            text = self._format.read(data).encode()
        except ValueError as error:
            return Unread.because(
                data, f"{place_of(record)}: the {self._side} cannot be read as {self._name}: {error}"
            )
        return JsonText(text) if self._format.is_json else text

    def write(self, text: bytes, line_number: int) -> bytes:
        """The bytes of a text. Raises: SerializationError (names the line)."""
        try:
            return self._format.write(text.decode().strip().strip('"'))
        except ValueError as error:
            raise SerializationError(
                f"line {line_number}: the {self._side} cannot be written as {self._name}: {error}"
            ) from None


class LineFormats:
    """Turns keys and values of one topic into text or JSON and back. A side that has no format stays as it
    is."""

    def __init__(self, sides: Mapping[Side, RegistrySide | PlainSide | AutoSide]) -> None:
        self._sides = sides

    def read(self, records: Sequence[Record]) -> Sequence[Record | ReadRecord]:
        """What cannot be read is `Unread`. Raises: RegistryError, SchemaError, SerializationError (where the
        registry does not answer for what may be plain JSON)."""
        if not self._sides or not records:
            return records
        keys: list[Part] = [record.key for record in records]
        values: list[Part] = [record.value for record in records]
        if "key" in self._sides:
            keys = self._sides["key"].read(records, keys)
        if "value" in self._sides:
            values = self._sides["value"].read(records, values)
        return [
            ReadRecord(r.topic, r.partition, r.offset, r.timestamp, key, value, r.headers)
            for r, key, value in zip(records, keys, values, strict=True)
        ]

    def write(self, side: Side, text: bytes | None, line_number: int) -> bytes | None:
        """The bytes of JSON. Raises: SerializationError (names the line), RegistryError, SchemaError."""
        format = self._sides.get(side)
        if format is None or text is None:
            return text
        assert not isinstance(format, AutoSide), "what is written has one format"
        return format.write(text, line_number)

    def column_side(self, side: Side) -> RegistrySide | None:
        """What has columns of a registry's schema."""
        format = self._sides.get(side)
        return format if isinstance(format, RegistrySide) else None


class FormatsByTopic:
    """The formats of each topic that records come from. A context manager. `on_error`: what happens to a
    record whose key or value cannot be read; it is left out, or the bytes stand in hexadecimal digits."""

    def __init__(
        self,
        sides: Mapping[Side, SideOptions],
        url: str | None,
        command_config: Path | None,
        given: Sequence[str] | None,
        *,
        ignores_rules: bool = False,
        on_error: OnError = "stop",
    ) -> None:
        self._options = (sides, url, command_config, given)
        self._ignores_rules = ignores_rules
        self._on_error = on_error
        self._is_plain = all(options == SideOptions(None, None, None, None) for options in sides.values())
        self._formats: dict[str, LineFormats] = {}
        self._stack = ExitStack()
        self.unread = 0
        """Records of which something could not be read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def is_text(self, side: Side) -> bool:
        """Whether what is read is text or JSON, and not the record's own bytes."""
        return self._options[0][side].format is not None

    def columns_of(self, topic: str, side: Side) -> RegistrySide | None:
        """What has columns of a registry's schema."""
        return self.prepare(topic).column_side(side)

    def prepare(self, topic: str) -> LineFormats:
        """Has what is wrong with the options said before records come. Raises: UsageError, ConfigError."""
        found = self._formats.get(topic)
        if found is None:
            found = self._stack.enter_context(
                line_formats(topic, *self._options, ignores_rules=self._ignores_rules, reads=True)
            )
            self._formats[topic] = found
        return found

    def read(self, records: Sequence[Record]) -> Sequence[Record | ReadRecord]:
        """Raises: SerializationError (names topic, partition and offset), RegistryError, SchemaError."""
        if self._is_plain:
            return records
        found: list[Record | ReadRecord] = []
        for topic, of_topic in groupby(records, key=lambda record: record.topic):
            for record in self.prepare(topic).read(list(of_topic)):
                kept = self._kept(record)
                if kept is not None:
                    found.append(kept)
        return found

    def _kept(self, record: Record | ReadRecord) -> Record | ReadRecord | None:
        unread = [part for part in (record.key, record.value) if isinstance(part, Unread)]
        if not unread:
            return record
        if self._on_error == "stop":
            raise SerializationError(unread[0].error)
        self.unread += 1
        if self._on_error == "skip":
            return None
        key, value = (_in_hex(part) for part in (record.key, record.value))
        return ReadRecord(
            record.topic, record.partition, record.offset, record.timestamp, key, value, record.headers
        )


def _in_hex(part: Part) -> Part:
    return part.hex().encode() if isinstance(part, Unread) else part


@contextmanager
def line_formats(
    topic: str,
    sides: Mapping[Side, SideOptions],
    url: str | None,
    command_config: Path | None,
    given: Sequence[str] | None,
    *,
    ignores_rules: bool = False,
    reads: bool = False,
) -> Generator[LineFormats]:
    """`given` are the options -X, of which those of the registry count. `reads`: whether AUTO is one of the
    formats. Raises: UsageError, ConfigError."""
    _check(sides, (*FORMATS, AUTO) if reads else FORMATS)
    names: dict[Side, str] = {side: sides[side].format or "" for side in SIDES if sides[side].format}
    found: dict[Side, RegistrySide | PlainSide | AutoSide] = {}
    with ExitStack() as stack:
        registry = None
        if any(name in (AUTO, *REGISTRY_FORMATS) for name in names.values()):
            address, settings = registry_settings(command_config, given, url)
            # Where all looks for what is there, a registry that nobody has named is none.
            if address is not None or any(name in REGISTRY_FORMATS for name in names.values()):
                registry = stack.enter_context(barnabas.Registry(address or DEFAULT_REGISTRY, **settings))
        for side, name in names.items():
            if name in PLAIN_FORMATS:
                found[side] = PlainSide(PLAIN_FORMATS[name], side, name)
            elif name in RAW_FORMATS:
                found[side] = RegistrySide(raw_schema(side, sides[side], name), side, name)
            elif name == AUTO:
                found[side] = AutoSide(registry, side, ignores_rules=ignores_rules)
            else:
                assert registry is not None, "these formats are a registry's"
                found[side] = _registry_side(
                    registry, topic, side, sides[side], name, ignores_rules=ignores_rules
                )
        yield LineFormats(found)


def _check(sides: Mapping[Side, SideOptions], formats: Sequence[str]) -> None:
    """Raises: UsageError."""
    for side, options in sides.items():
        if options.format is not None and options.format not in formats:
            raise UsageError(f"--{side}-format is one of {', '.join(formats)}, not {options.format!r}")
        for name, value, where in (
            ("subject", options.subject, REGISTRY_FORMATS),
            ("version", options.version, REGISTRY_FORMATS),
            ("schema", options.schema, (*REGISTRY_FORMATS, *RAW_FORMATS)),
            ("message", options.message, ("protobuf", "raw-protobuf")),
        ):
            if options.format not in where and value is not None:
                without = "" if options.format is None else f" {' or '.join(where)}"
                raise UsageError(f"--{side}-{name} means nothing without --{side}-format{without}")
        if options.format in RAW_FORMATS and options.schema is None:
            raise UsageError(f"--{side}-format {options.format} needs --{side}-schema")
        if options.version is not None and options.schema is not None:
            raise UsageError(f"--{side}-version and --{side}-schema exclude each other")


def _registry_side(
    registry: Registry, topic: str, side: Side, options: SideOptions, name: str, *, ignores_rules: bool
) -> RegistrySide:
    from barnabas import RegistryFormat

    version = options.version
    if version is not None and version != "latest" and not version.isdecimal():
        raise UsageError(f"--{side}-version is a number or latest, not {version!r}")
    format = RegistryFormat(
        registry,
        options.subject or f"{topic}-{side}",
        version=None if version in (None, "latest") else int(version),
        schema=None if options.schema is None else text_of(side, options.schema),
        type=name.upper(),
        message=options.message,
        ignores_rules=ignores_rules,
    )
    return RegistrySide(format, side, name)
