"""Keys and values in a format, as JSON in lines: the options that `consume` and `produce` share for it, and
what turns bytes into JSON and back.

JSON is read and written by the type of the schema's column, so that times, decimals and bytes have the forms
that Spark's JSON has: ISO 8601, digits, base64.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import typer

import barnabas
from barnabas.cli.options import UsageError, registry_settings
from barnabas.cli.plain_formats import PLAIN_FORMATS, PlainFormat
from barnabas.errors import SerializationError
from barnabas.registry.errors import RegistryError
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Record, Registry

Side = Literal["key", "value"]
SIDES: tuple[Side, ...] = ("key", "value")
REGISTRY_FORMATS = ("avro", "json", "protobuf")
FORMATS = (*REGISTRY_FORMATS, *PLAIN_FORMATS)
DEFAULT_REGISTRY = "http://localhost:8081"
# A registry's serializers begin with another byte.
_BEGINS_JSON = tuple(bytes([byte]) for byte in b'{["-0123456789tfn \t\n')

ValueFormat = Annotated[
    str | None,
    typer.Option(
        "--value-format",
        metavar="FORMAT",
        help="Values are avro, json or protobuf by a schema registry, and JSON in the lines; or short, int, "
        "long, float, double, as Kafka's serializers write them; or hex or base64.",
    ),
]
KeyFormat = Annotated[str | None, typer.Option("--key-format", metavar="FORMAT", help="The same for keys.")]
RegistryUrl = Annotated[
    str | None,
    typer.Option(
        "--registry-url",
        "--registry",
        "-r",
        envvar="BARNABAS_REGISTRY",
        metavar="URL",
        help=f"The schema registry; {DEFAULT_REGISTRY} where nothing names any.",
    ),
]
ValueSubject = Annotated[
    str | None, typer.Option("--value-subject", help="Of the values' schema; TOPIC-value if not given.")
]
KeySubject = Annotated[
    str | None, typer.Option("--key-subject", help="Of the keys' schema; TOPIC-key if not given.")
]
ValueVersion = Annotated[
    str | None, typer.Option("--value-version", help="A number, or latest, which it is if not given.")
]
KeyVersion = Annotated[str | None, typer.Option("--key-version", help="The same for keys.")]
ValueSchema = Annotated[
    Path | None,
    typer.Option(
        "--value-schema",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="The values' schema, which produce registers, and into which consume reads.",
    ),
]
KeySchema = Annotated[
    Path | None,
    typer.Option("--key-schema", metavar="FILE", exists=True, dir_okay=False, help="The same for keys."),
]
IgnoreRules = Annotated[
    bool,
    typer.Option(
        "--ignore-rules",
        help="Print keys and values whose schemas have rules as they were written: encrypted, for instance.",
    ),
]


@frozen
class SideOptions:
    """What the options say of one side."""

    format: str | None
    subject: str | None
    version: str | None
    schema: Path | None


class JsonText(bytes):
    """A key or value that is JSON, and not what the record has."""


@frozen
class ReadRecord:
    """A record whose key or value is JSON now."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Any


class LineFormats:
    """Turns keys and values of one topic into JSON and back. `formats` by side, of a registry, `plain` those
    that need none; what has neither stays as it is. `names`: what the formats are called."""

    def __init__(
        self, formats: Mapping[Side, Any], plain: Mapping[Side, PlainFormat], names: Mapping[Side, str]
    ) -> None:
        self._formats = formats
        self._plain = plain
        self._names = names
        self._json: dict[Side, Any] = {}

    def read(self, records: Sequence[Record]) -> Sequence[Record | ReadRecord]:
        """Raises: SerializationError (names topic, partition and offset), RegistryError, SchemaError."""
        if not self._names or not records:
            return records
        sides: dict[Side, list[bytes | None]] = {
            "key": [record.key for record in records],
            "value": [record.value for record in records],
        }
        for side in self._formats:
            sides[side] = self._read_side(side, records, sides[side])
        for side, plain in self._plain.items():
            sides[side] = [
                self._read_plain(side, plain, record, data)
                for record, data in zip(records, sides[side], strict=True)
            ]
        return [
            ReadRecord(r.topic, r.partition, r.offset, r.timestamp, key, value, r.headers)
            for r, key, value in zip(records, sides["key"], sides["value"], strict=True)
        ]

    def _read_plain(
        self, side: Side, format: PlainFormat, record: Record, data: bytes | None
    ) -> bytes | None:
        if data is None:
            return None
        try:
            text = format.read(data).encode()
        except ValueError as error:
            raise SerializationError(
                f"{record.topic}-{record.partition} at offset {record.offset}: the {side} cannot be read as "
                f"{self._names[side]}: {error}"
            ) from None
        return JsonText(text) if format.is_json else text

    def _read_side(
        self, side: Side, records: Sequence[Record], data: list[bytes | None]
    ) -> list[bytes | None]:
        import pyarrow as pa

        from barnabas.registry.columns import HEADERS

        format = self._formats[side]
        named = [_header(record, HEADERS[side]) for record in records]
        headers = None if named.count(None) == len(named) else pa.array(named, pa.binary())
        with self._asking(side):
            column, errors = format.run(format.column_of(pa.array(data, pa.binary()), headers))
        for error in errors.to_pylist():
            record, bare = records[error["row"]], named[error["row"]] is None
            field = f", field {error['field']!r}" if error["field"] else ""
            hint = self._hint(side) if bare and (data[error["row"]] or b"")[:1] in _BEGINS_JSON else ""
            if "ignores_rules" in error["error"]:
                hint = " (--ignore-rules)"
            raise SerializationError(
                f"{record.topic}-{record.partition} at offset {record.offset}: the {side}{field} cannot be "
                f"read as {self._names[side]}: {error['error']}{hint}"
            )
        texts: list[bytes | None] = self._json_codec(side).encode(column).to_pylist()
        return [None if text is None else JsonText(text) for text in texts]

    def write(self, side: Side, text: bytes | None, line_number: int) -> bytes | None:
        """The bytes of JSON. Raises: SerializationError (names the line), RegistryError, SchemaError."""
        plain = self._plain.get(side)
        if plain is not None and text is not None:
            try:
                return plain.write(text.decode().strip().strip('"'))
            except ValueError as error:
                raise SerializationError(
                    f"line {line_number}: the {side} cannot be written as {self._names[side]}: {error}"
                ) from None
        format = self._formats.get(side)
        if format is None or text is None:
            return text
        import pyarrow as pa

        from barnabas.formats import EncodeError

        with self._asking(side):
            column, errors = self._json_codec(side).decode(pa.array([text], pa.binary()))
        field, reason = "", ""
        for error in errors.to_pylist():
            field, reason = error["field"], f"it is not JSON of its schema: {error['error']}"
        if not reason:
            try:
                return format.run(format.bytes_of(column))[0].as_py()
            except EncodeError as error:
                field, reason = error.field, error.reason
        where = f", field {field!r}" if field else ""
        raise SerializationError(
            f"line {line_number}: the {side}{where} cannot be written as {self._names[side]}: {reason}"
        )

    @contextmanager
    def _asking(self, side: Side) -> Generator[None]:
        """Around what asks the registry for schemas. Raises: SerializationError in place of a RegistryError
        where the format is json, by which plain JSON may be meant."""
        try:
            yield
        except RegistryError as error:
            hint = self._hint(side)
            if not hint:
                raise
            raise SerializationError(f"{error}{hint}") from error

    def _hint(self, side: Side) -> str:
        if self._names[side] != "json":
            return ""
        return f"; {side}s that are plain JSON, without a registry, need no --{side}-format"

    def _json_codec(self, side: Side) -> Any:
        codec = self._json.get(side)
        if codec is None:
            from barnabas.formats import Codec, json

            format = self._formats[side]
            codec = self._json[side] = Codec(json(format.run(format.data_type())))
        return codec


class FormatsByTopic:
    """The formats of each topic that records come from. A context manager."""

    def __init__(
        self,
        sides: Mapping[Side, SideOptions],
        url: str | None,
        command_config: Path | None,
        given: Sequence[str] | None,
        *,
        ignores_rules: bool = False,
    ) -> None:
        self._options = (sides, url, command_config, given)
        self._ignores_rules = ignores_rules
        self._is_plain = all(options == SideOptions(None, None, None, None) for options in sides.values())
        self._formats: dict[str, LineFormats] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def prepare(self, topic: str) -> LineFormats:
        """Has what is wrong with the options said before records come. Raises: UsageError, ConfigError."""
        found = self._formats.get(topic)
        if found is None:
            found = self._stack.enter_context(
                line_formats(topic, *self._options, ignores_rules=self._ignores_rules)
            )
            self._formats[topic] = found
        return found

    def read(self, records: Sequence[Record]) -> Sequence[Record | ReadRecord]:
        """Raises: SerializationError (names topic, partition and offset), RegistryError, SchemaError."""
        if self._is_plain:
            return records
        found: list[Record | ReadRecord] = []
        for topic, of_topic in groupby(records, key=lambda record: record.topic):
            found += self.prepare(topic).read(list(of_topic))
        return found


@contextmanager
def line_formats(
    topic: str,
    sides: Mapping[Side, SideOptions],
    url: str | None,
    command_config: Path | None,
    given: Sequence[str] | None,
    *,
    ignores_rules: bool = False,
) -> Generator[LineFormats]:
    """`given` are the options -X, of which those of the registry count. Raises: UsageError, ConfigError."""
    for side, options in sides.items():
        others = {"subject": options.subject, "version": options.version, "schema": options.schema}
        for name, value in others.items():
            if options.format not in REGISTRY_FORMATS and value is not None:
                if options.format is not None and options.format not in FORMATS:
                    continue
                without = "" if options.format is None else f" {' or '.join(REGISTRY_FORMATS)}"
                raise UsageError(f"--{side}-{name} means nothing without --{side}-format{without}")
        if options.format is not None and options.format not in FORMATS:
            raise UsageError(f"--{side}-format is one of {', '.join(FORMATS)}, not {options.format!r}")
        if options.version is not None and options.schema is not None:
            raise UsageError(f"--{side}-version and --{side}-schema exclude each other")
    names: dict[Side, str] = {s: options.format for s, options in sides.items() if options.format is not None}
    plain: dict[Side, PlainFormat] = {
        s: PLAIN_FORMATS[name] for s, name in names.items() if name in PLAIN_FORMATS
    }
    if len(plain) == len(names):
        yield LineFormats({}, plain, names)
        return
    address, settings = registry_settings(command_config, given, url)
    with barnabas.Registry(address or DEFAULT_REGISTRY, **settings) as registry:
        formats: dict[Side, Any] = {
            s: _format(registry, topic, s, sides[s], name, ignores_rules=ignores_rules)
            for s, name in names.items()
            if s not in plain
        }
        yield LineFormats(formats, plain, names)


def _format(
    registry: Registry, topic: str, side: Side, options: SideOptions, name: str, *, ignores_rules: bool
) -> Any:
    from barnabas import RegistryFormat

    version = options.version
    if version is not None and version != "latest" and not version.isdecimal():
        raise UsageError(f"--{side}-version is a number or latest, not {version!r}")
    return RegistryFormat(
        registry,
        options.subject or f"{topic}-{side}",
        version=None if version in (None, "latest") else int(version),
        schema=None if options.schema is None else options.schema.read_text(),
        type=name.upper(),
        ignores_rules=ignores_rules,
    )


def _header(record: Record, name: str) -> bytes | None:
    return next((value for key, value in record.headers if key == name), None)
