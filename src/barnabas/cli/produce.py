"""`barnabas produce`: lines become records."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import barnabas
from barnabas.cli import completion
from barnabas.cli.formats.lines import LineFormats, line_formats
from barnabas.cli.formats.options import (
    KeyFormat,
    KeyMessage,
    KeySchema,
    KeySubject,
    KeyVersion,
    RegistryUrl,
    SideOptions,
    ValueFormat,
    ValueMessage,
    ValueSchema,
    ValueSubject,
    ValueVersion,
)
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    client_settings,
    pairs,
)
from barnabas.cli.output import note, plural, print_json
from barnabas.cli.producing.json_records import JsonRecord, json_record
from barnabas.cli.producing.pieces import delimiter_of, pieces_of
from barnabas.cli.producing.rows import check, records_of
from barnabas.cli.producing.throttle import Throttle
from barnabas.errors import MisuseError
from barnabas.records.texts import Side
from barnabas.records.times import timestamp_ms
from barnabas.settings.table import ProducerConfig
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Producer, RecordMetadata


@dataclass
class Deliveries:
    """How many records were begun and delivered, and the first failure among those that were not."""

    begun: int = 0
    count: int = 0
    error: BaseException | None = None

    def __call__(self, error: BaseException | None, _metadata: RecordMetadata | None) -> None:
        if error is None:
            self.count += 1
        elif self.error is None:
            self.error = error


def produce(
    topic: Annotated[str, typer.Argument(help="The topic to write to.", autocompletion=completion.topics)],
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            "-f",
            exists=True,
            dir_okay=False,
            help="Read this file, in place of stdin (repeatable: one after the other).",
        ),
    ] = None,
    delimiter: Annotated[
        str,
        typer.Option(
            "--delimiter",
            "-D",
            show_default="a line's end",
            help="What separates records: any text, in which \\n, \\t, \\0 and \\xHH may stand.",
        ),
    ] = r"\n",
    whole: Annotated[bool, typer.Option("--whole", help="Make each file, or stdin, one record.")] = False,
    json_lines: Annotated[
        bool,
        typer.Option(
            "--json-lines",
            "-J",
            help="Take lines as objects of JSON with key, value, headers, partition and timestamp, as "
            "consume --json prints them.",
        ),
    ] = False,
    rows: Annotated[
        bool,
        typer.Option(
            "--rows",
            help="Make a record of each row of --file, a .csv or .parquet file. If there is a column value, "
            "the columns are key, value, headers, partition and timestamp, as consume --output writes them; "
            "otherwise a row as a whole becomes a value of JSON.",
        ),
    ] = False,
    key_column: Annotated[
        str | None,
        typer.Option("--key-column", metavar="NAME", help="With --rows, the column that becomes the key."),
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option(
            "--key-separator",
            "-K",
            help="What separates key and value in a line, with the same escapes as --delimiter.",
        ),
    ] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="Give all records this key.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header", "-H", metavar="NAME=VALUE", help="Give all records this header (repeatable)."
        ),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", help="Send all records to this partition.")
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option(
            "--timestamp",
            metavar="TIME",
            help="Give all records this time: 2h (two hours ago), 2026-01-31T12:00.",
        ),
    ] = None,
    tombstones: Annotated[
        bool,
        typer.Option(
            "--tombstones", help="Send an empty value as null, which deletes its key in a compacted topic."
        ),
    ] = False,
    transaction: Annotated[
        bool,
        typer.Option(
            "--transaction", help="Send all records in one transaction: readers see all of them, or none."
        ),
    ] = False,
    records_per_second: Annotated[
        float | None,
        typer.Option(
            "--records-per-second", "--rate", min=0.1, help="Send at most so many records a second."
        ),
    ] = None,
    value_format: ValueFormat = None,
    key_format: KeyFormat = None,
    registry_url: RegistryUrl = None,
    value_subject: ValueSubject = None,
    value_version: ValueVersion = None,
    value_schema: ValueSchema = None,
    value_message: ValueMessage = None,
    key_subject: KeySubject = None,
    key_version: KeyVersion = None,
    key_schema: KeySchema = None,
    key_message: KeyMessage = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Send each line of stdin, or of files, as a record."""
    if key is not None and key_separator is not None:
        raise UsageError("--key and --key-separator exclude each other: choose where keys come from")
    if json_lines and (key is not None or key_separator is not None or whole):
        raise UsageError("--json-lines excludes --key, --key-separator and --whole: the lines have the keys")
    if rows and (json_lines or key_separator is not None or whole):
        raise UsageError("--rows excludes --json-lines, --key-separator and --whole")
    if key_column is not None and not rows:
        raise UsageError("--key-column is for --rows")
    if rows:
        check(file or ())
    divider = delimiter_of(delimiter, "--delimiter")
    maker = _RecordMaker(
        key=None if key is None else key.encode(),
        separator=None if key_separator is None else delimiter_of(key_separator, "--key-separator"),
        separator_text=key_separator,
        headers=[(name, value.encode()) for name, value in pairs(header, "--header").items()],
        partition=partition,
        timestamp=None if timestamp is None else timestamp_ms(timestamp, "--timestamp"),
        has_tombstones=tombstones,
        is_json=json_lines,
        is_key_json=key_format is not None,
        is_value_json=value_format is not None,
    )
    sides: dict[Side, SideOptions] = {
        "key": SideOptions(key_format, key_subject, key_version, key_schema, key_message),
        "value": SideOptions(value_format, value_subject, value_version, value_schema, value_message),
    }
    settings = client_settings(ProducerConfig, bootstrap, command_config, setting)
    if transaction:
        settings.setdefault("transactional_id", f"barnabas-produce-{uuid.uuid4()}")
    elif "transactional_id" in settings:
        raise UsageError("transactional_id means nothing without --transaction")
    throttle = None if records_per_second is None else Throttle(records_per_second)
    sending = _Sending(topic, Deliveries(), throttle, is_transaction=transaction)
    producer = barnabas.Producer(**settings)
    with (
        sending.told_on_failure(),
        producer,
        line_formats(topic, sides, registry_url, command_config, setting) as formats,
        _records(maker, file or (), divider, key_column, are_rows=rows, is_whole=whole) as records,
    ):
        if transaction:
            producer.init_transactions()
        with producer.transaction() if transaction else nullcontext():
            sending.send(producer, formats, records)
            sending.is_sent = True
    if as_json:
        print_json({"topic": topic, "records": sending.deliveries.count})
    else:
        note(sending.text())


@frozen
class _RecordMaker:
    """What the options say of all records, and of how a piece of the input becomes one."""

    key: bytes | None
    separator: bytes | None
    separator_text: str | None
    headers: list[tuple[str, bytes]]
    partition: int | None
    timestamp: int | None
    has_tombstones: bool
    is_json: bool
    is_key_json: bool
    is_value_json: bool

    def record(self, piece: bytes, number: int) -> JsonRecord:
        """Raises: UsageError, SerializationError (name the line)."""
        if self.is_json:
            found = json_record(piece, number, is_key_json=self.is_key_json, is_value_json=self.is_value_json)
            return self.with_what_all_have(found)
        key, value = self.key, piece
        if self.separator is not None:
            key, separator, value = piece.partition(self.separator)
            if not separator:
                raise UsageError(f"line {number} has no key separator {self.separator_text!r}")
        return JsonRecord(key, self._value(value), [*self.headers], self.partition, self.timestamp)

    def with_what_all_have(self, found: JsonRecord) -> JsonRecord:
        """What the options say of all records, for one that says for itself what it is."""
        return JsonRecord(
            found.key if self.key is None else self.key,
            self._value(found.value),
            [*self.headers, *found.headers],
            found.partition if self.partition is None else self.partition,
            found.timestamp if self.timestamp is None else self.timestamp,
        )

    def _value(self, value: bytes | None) -> bytes | None:
        return None if self.has_tombstones and not value else value


@contextmanager
def _records(
    maker: _RecordMaker,
    files: Sequence[Path],
    divider: bytes,
    key_column: str | None,
    *,
    are_rows: bool,
    is_whole: bool,
) -> Generator[Iterable[JsonRecord]]:
    if are_rows:
        yield map(maker.with_what_all_have, records_of(files, key_column))
        return
    with pieces_of(files, divider, is_whole=is_whole) as pieces:
        yield (maker.record(piece, number) for number, piece in enumerate(pieces, 1))


@dataclass
class _Sending:
    """The records of one command line, and what is told of them."""

    topic: str
    deliveries: Deliveries
    throttle: Throttle | None
    is_transaction: bool
    is_sent: bool = False

    def send(self, producer: Producer, formats: LineFormats, records: Iterable[JsonRecord]) -> None:
        deliveries = self.deliveries
        for number, record in enumerate(records, 1):
            if self.throttle is not None:
                self.throttle.wait(1)
            key = formats.write("key", record.key, number)
            value = formats.write("value", record.value, number)
            deliveries.begun += 1
            producer.send(
                self.topic,
                value,
                key=key,
                headers=record.headers,
                partition=record.partition,
                timestamp=record.timestamp,
                on_delivery=deliveries,
            )
            if deliveries.error is not None:
                raise deliveries.error
        producer.flush()
        if deliveries.error is not None:
            raise deliveries.error

    @contextmanager
    def told_on_failure(self) -> Generator[None]:
        """An error, or Ctrl-C, leaves behind what was sent before it."""
        try:
            yield
        except BaseException as error:
            if self.deliveries.begun and not self.is_transaction:
                note(f"{self.text()} before this")
            elif self.deliveries.begun and not self.is_sent:
                note(f"the transaction is aborted: no record of it is in {self.topic} for read_committed")
            elif self.is_sent and not isinstance(error, MisuseError):
                note("whether the transaction was committed is not known")
            raise

    def text(self) -> str:
        return f"{plural(self.deliveries.count, 'record')} sent to {self.topic}"
