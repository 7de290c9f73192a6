"""`barnabas consume`: records become lines."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Generator, Sequence
from typing import Annotated, BinaryIO

import typer

from barnabas import Consumer, Record, TopicPartition
from barnabas.cli import record_format
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, client_settings
from barnabas.cli.output import note
from barnabas.cli.record_format import RecordFormat
from barnabas.cli.value_formats import (
    KeyFormat,
    KeySchema,
    KeySubject,
    KeyVersion,
    LineFormats,
    RegistryUrl,
    Side,
    SideOptions,
    ValueFormat,
    ValueSchema,
    ValueSubject,
    ValueVersion,
    line_formats,
)
from barnabas.errors import BootstrapError
from barnabas.settings.table import ConsumerConfig

_MAX_RECORDS_A_POLL = 10_000
_POLL_SECONDS = 0.2


def consume(
    topic: Annotated[str, typer.Argument(help="Where the records come from.")],
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="Read as a member of this group, and commit.")
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Begin with the oldest record.")
    ] = False,
    offset: Annotated[
        int | None,
        typer.Option("--offset", "-o", help="Begin at this offset; a negative one counts back from the end."),
    ] = None,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", help="Only this partition (may be repeated).")
    ] = None,
    max_records: Annotated[
        int | None, typer.Option("--max", "-n", min=1, help="Stop after so many records.")
    ] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", "-e", help="Stop at the end that the topic has now.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Stop when no record comes for so many seconds.")
    ] = None,
    key: Annotated[bool, typer.Option("--key", help="Print keys, a tab after each.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Print headers, a tab after them.")] = False,
    template: Annotated[
        str | None,
        typer.Option(
            "--format", help="A template of {topic} {partition} {offset} {timestamp} {key} {value} {headers}."
        ),
    ] = None,
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
    """Print records, one a line, until Ctrl-C or the end that was asked for."""
    if group is not None and (partition or offset is not None or until_end):
        raise UsageError(
            "--group takes its own partitions and offsets: leave out --partition, --offset and --until-end"
        )
    if from_beginning and offset is not None:
        raise UsageError("--from-beginning and --offset exclude each other")
    line_of = _format(as_json=as_json, template=template, key=key, headers=headers)
    sides: dict[Side, SideOptions] = {
        "key": SideOptions(key_format, key_subject, key_version, key_schema),
        "value": SideOptions(value_format, value_subject, value_version, value_schema),
    }
    settings = client_settings(ConsumerConfig, bootstrap, command_config, setting)
    if from_beginning:
        settings.setdefault("auto_offset_reset", "earliest")
    count = 0
    if group is not None:
        settings["group_id"] = group
    else:
        settings.pop("group_id", None)
    consumer = Consumer(**settings)
    with (
        line_formats(topic, sides, registry_url, command_config, setting) as formats,
        _until_interrupted(consumer),
        consumer,
    ):
        ends: dict[TopicPartition, int] = {}
        if group is not None:
            consumer.subscribe([topic])
        else:
            partitions = _chosen_partitions(consumer, topic, partition)
            consumer.assign(partitions)
            _seek(consumer, partitions, from_beginning=from_beginning, offset=offset)
            ends = consumer.end_offsets(partitions) if until_end else {}
        printer = _Printer(sys.stdout.buffer, line_of, formats)
        last_came = time.monotonic()
        while not (until_end and _all_reached(consumer, ends)):
            limit = (
                _MAX_RECORDS_A_POLL if max_records is None else min(max_records - count, _MAX_RECORDS_A_POLL)
            )
            records = consumer.poll(timeout=_POLL_SECONDS, max_records=limit)
            if until_end:
                records = [r for r in records if r.offset < ends[TopicPartition(r.topic, r.partition)]]
            printer.write(records)
            count += len(records)
            if records:
                last_came = time.monotonic()
            if max_records is not None and count >= max_records:
                break
            if timeout is not None and time.monotonic() - last_came >= timeout:
                break
    if sys.stderr.isatty():
        note(f"{count} record{'' if count == 1 else 's'} of {topic}")


def _format(*, as_json: bool, template: str | None, key: bool, headers: bool) -> RecordFormat:
    if sum((as_json, template is not None, key or headers)) > 1:
        raise UsageError("--json, --format and --key/--headers exclude each other: choose one way to print")
    if as_json:
        return record_format.as_json
    if template is not None:
        return record_format.templated(template)
    return record_format.plain(key=key, headers=headers)


def _chosen_partitions(consumer: Consumer, topic: str, chosen: Sequence[int] | None) -> list[TopicPartition]:
    existing = {info.partition for info in consumer.partitions_for(topic)}
    for number in chosen or ():
        if number not in existing:
            raise UsageError(f"topic {topic!r} has no partition {number}, only 0 to {len(existing) - 1}")
    return [TopicPartition(topic, number) for number in sorted(chosen or existing)]


def _seek(
    consumer: Consumer, partitions: list[TopicPartition], *, from_beginning: bool, offset: int | None
) -> None:
    if from_beginning:
        consumer.seek_to_beginning(*partitions)
    elif offset is None:
        consumer.seek_to_end(*partitions)
    elif offset >= 0:
        for each in partitions:
            consumer.seek(each, offset)
    else:
        first = consumer.beginning_offsets(partitions)
        for each, end in consumer.end_offsets(partitions).items():
            consumer.seek(each, max(end + offset, first[each]))


def _all_reached(consumer: Consumer, ends: dict[TopicPartition, int]) -> bool:
    return all(consumer.position(partition) >= end for partition, end in ends.items())


class _ReaderGoneError(Exception):
    """Whoever reads our lines has gone. What could not be written is not committed."""


@contextlib.contextmanager
def _until_interrupted(consumer: Consumer) -> Generator[None]:
    """Ctrl-C ends it in good order, if there was anything to read. Raises: BootstrapError."""
    try:
        yield
    except _ReaderGoneError:
        return
    except KeyboardInterrupt:
        if not consumer.kafka_client.metadata.nodes:
            servers = ", ".join(consumer.config.bootstrap_servers)
            raise BootstrapError(f"none of {servers} had answered before Ctrl-C: nothing was read") from None


class _Printer:
    """Writes lines to stdout, until whoever reads them has gone."""

    def __init__(self, stream: BinaryIO, line_of: RecordFormat, formats: LineFormats) -> None:
        self._stream = stream
        self._line_of = line_of
        self._formats = formats

    def write(self, records: Sequence[Record]) -> None:
        """Raises: _ReaderGoneError when there is nobody to write to any more, as after `| head`;
        SerializationError, RegistryError, SchemaError."""
        try:
            self._stream.write(b"".join(map(self._line_of, self._formats.read(records))))
            self._stream.flush()
        except BrokenPipeError:
            # Python would flush stdout once more at exit, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise _ReaderGoneError from None
