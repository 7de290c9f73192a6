"""`barnabas produce`: lines become records."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from barnabas import Producer, RecordMetadata
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    client_settings,
    pairs,
)
from barnabas.cli.output import note, print_json, stderr
from barnabas.cli.value_formats import (
    KeyFormat,
    KeySchema,
    KeySubject,
    KeyVersion,
    RegistryUrl,
    Side,
    SideOptions,
    ValueFormat,
    ValueSchema,
    ValueSubject,
    ValueVersion,
    line_formats,
)
from barnabas.settings.table import ProducerConfig

# The bar is only for what takes a while: some seconds' worth of lines.
_BYTES_WORTH_A_BAR = 4_000_000


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
    topic: Annotated[str, typer.Argument(help="Where the records go.")],
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", exists=True, dir_okay=False, help="Read lines of this file, not stdin."),
    ] = None,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", help="What divides key and value in a line.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="The key of all records.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header of all records."),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", help="The partition of all records.")
    ] = None,
    tombstones: Annotated[
        bool,
        typer.Option(
            "--tombstones", help="An empty value is no value: it deletes its key in a compacted topic."
        ),
    ] = False,
    value_format: ValueFormat = None,
    key_format: KeyFormat = None,
    registry_url: RegistryUrl = None,
    value_subject: ValueSubject = None,
    value_version: ValueVersion = None,
    value_schema: ValueSchema = None,
    key_subject: KeySubject = None,
    key_version: KeyVersion = None,
    key_schema: KeySchema = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Send each line of stdin, or of a file, as a record."""
    if key is not None and key_separator is not None:
        raise UsageError("--key and --key-separator exclude each other: choose where keys come from")
    if key_separator == "":
        raise UsageError("--key-separator is empty")
    headers = [(name, value.encode()) for name, value in pairs(header, "--header").items()]
    fixed_key = None if key is None else key.encode()
    separator = None if key_separator is None else key_separator.encode()
    deliveries = Deliveries()
    sides: dict[Side, SideOptions] = {
        "key": SideOptions(key_format, key_subject, key_version, key_schema),
        "value": SideOptions(value_format, value_subject, value_version, value_schema),
    }
    settings = client_settings(ProducerConfig, bootstrap, command_config, setting)
    producer = Producer(**settings)
    with (
        line_formats(topic, sides, registry_url, command_config, setting) as formats,
        _told_what_was_delivered(topic, deliveries),
        producer,
        _lines(file) as lines,
    ):
        for line_number, line in enumerate(lines, 1):
            value: bytes | None = line.rstrip(b"\r\n") if line.endswith(b"\r\n") else line.rstrip(b"\n")
            record_key = fixed_key
            if separator is not None:
                record_key, found, value = value.partition(separator)
                if not found:
                    raise UsageError(f"line {line_number} has no key separator {key_separator!r}")
            if tombstones and not value:
                value = None
            record_key = formats.write("key", record_key, line_number)
            value = formats.write("value", value, line_number)
            deliveries.begun += 1
            producer.send(
                topic, value, key=record_key, headers=headers, partition=partition, on_delivery=deliveries
            )
            if deliveries.error is not None:
                raise deliveries.error
        producer.flush()
        if deliveries.error is not None:
            raise deliveries.error
    if as_json:
        print_json({"topic": topic, "records": deliveries.count})
    else:
        note(_sent(topic, deliveries))


@contextmanager
def _told_what_was_delivered(topic: str, deliveries: Deliveries) -> Generator[None]:
    """An error, or Ctrl-C, leaves behind what was sent before it."""
    try:
        yield
    except BaseException:
        if deliveries.begun:
            note(f"{_sent(topic, deliveries)} before this")
        raise


def _sent(topic: str, deliveries: Deliveries) -> str:
    return f"{deliveries.count} record{'' if deliveries.count == 1 else 's'} sent to {topic}"


@contextmanager
def _lines(file: Path | None) -> Generator[Iterable[bytes]]:
    """Lines of the file or of stdin, with a bar on stderr where that takes a while."""
    if file is None:
        yield sys.stdin.buffer
        return
    size = file.stat().st_size
    with file.open("rb") as stream:
        if size < _BYTES_WORTH_A_BAR or not stderr.is_terminal:
            yield stream
            return
        columns = (TextColumn(file.name), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=stderr, transient=True) as progress:
            yield _watched(stream, progress, size)


def _watched(stream: BinaryIO, progress: Progress, size: int) -> Generator[bytes]:
    task = progress.add_task("", total=size)
    done = reported = 0
    for line in stream:
        done += len(line)
        if done - reported > 100_000:
            progress.update(task, completed=done)
            reported = done
        yield line
