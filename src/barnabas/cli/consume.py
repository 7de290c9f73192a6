"""`barnabas consume`: records become lines."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

import barnabas
from barnabas import Record
from barnabas.cli import completion, record_format
from barnabas.cli.consuming import bounds
from barnabas.cli.consuming.filters import RecordFilter, record_filter
from barnabas.cli.consuming.progress import Bar, Rates
from barnabas.cli.ending import Asked, noted
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, client_settings
from barnabas.cli.output import note, plural
from barnabas.cli.record_format import RecordFormat
from barnabas.cli.times import timestamp_ms
from barnabas.cli.value_formats import (
    FormatsByTopic,
    IgnoreRules,
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
)
from barnabas.errors import BootstrapError
from barnabas.settings.table import ConsumerConfig

if TYPE_CHECKING:
    from barnabas import Consumer

_MAX_RECORDS_A_POLL = 10_000
_POLL_SECONDS = 0.2
# For the last commit of a group, and to leave it, when a signal ended the command.
_CLOSE_SECONDS = 10.0


def consume(
    topics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC]...", help="Where the records come from.", autocompletion=completion.topics
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", metavar="REGEX", help="In place of topics: all whose whole name matches."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            help="Read as a member of this group, and commit.",
            autocompletion=completion.groups,
        ),
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Begin with the oldest record.")
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="OFFSET|-N|beginning|end|TIME",
            help="Begin at this offset, N records before the end of each partition, at one of its ends, or "
            "as --since does; as kcat writes it, s@1700000000000, too.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Begin with the first record since then: 2h, 2026-01-31T12:00."
        ),
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
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Stop before the first record at or after this time."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Stop when no record comes for so many seconds.")
    ] = None,
    match_key: Annotated[
        str | None,
        typer.Option("--match-key", metavar="REGEX", help="Only records whose key has a match of it."),
    ] = None,
    match_value: Annotated[
        str | None,
        typer.Option("--match-value", metavar="REGEX", help="Only records whose value has a match of it."),
    ] = None,
    match_header: Annotated[
        list[str] | None,
        typer.Option(
            "--match-header",
            metavar="NAME[=REGEX]",
            help="Only records with such a header (may be repeated: with all of them).",
        ),
    ] = None,
    key: Annotated[bool, typer.Option("--key", help="Print keys, a tab after each.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Print headers, a tab after them.")] = False,
    template: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="A template of {topic} {partition} {offset} {timestamp} {time} {key} {value} {headers} "
            "{key_size} {value_size}, with \\n where a line ends.",
        ),
    ] = None,
    kcat_format: Annotated[
        str | None,
        typer.Option("-f", "--kcat-format", metavar="FORMAT", help=r"kcat's, as '%t %p %o %T %k %s %h\n'."),
    ] = None,
    rates: Annotated[
        bool, typer.Option("--rates", help="Tell on stderr, each second, how many records and bytes came.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no records: for --rates.")] = False,
    value_format: ValueFormat = None,
    key_format: KeyFormat = None,
    registry_url: RegistryUrl = None,
    value_subject: ValueSubject = None,
    value_version: ValueVersion = None,
    value_schema: ValueSchema = None,
    key_subject: KeySubject = None,
    key_version: KeyVersion = None,
    key_schema: KeySchema = None,
    ignore_rules: IgnoreRules = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print records, one a line, until Ctrl-C or the end that was asked for."""
    if not topics and pattern is None:
        raise UsageError("name the topics to read, or give --pattern")
    if topics and pattern is not None:
        raise UsageError("--pattern and topics exclude each other")
    if pattern is not None:
        pattern = bounds.pattern_of(pattern)
    if sum((from_beginning, offset is not None, since is not None)) > 1:
        raise UsageError("--from-beginning, --offset and --since exclude each other")
    start = "beginning" if from_beginning else bounds.start_of(offset, since, default="end")
    until_ms = None if until is None else timestamp_ms(until, "--until")
    is_bounded = until_end or until_ms is not None
    if group is not None and (partition or isinstance(start, int | bounds.Since) or is_bounded):
        raise UsageError(
            "--group takes its own partitions and offsets: leave out --partition, --offset, --since, --until "
            "and --until-end"
        )
    line_of = _format(
        as_json=as_json, template=template, kcat_format=kcat_format, key=key, headers=headers, quiet=quiet
    )
    is_wanted = record_filter(match_key, match_value, match_header or ())
    sides: dict[Side, SideOptions] = {
        "key": SideOptions(key_format, key_subject, key_version, key_schema),
        "value": SideOptions(value_format, value_subject, value_version, value_schema),
    }
    settings = client_settings(ConsumerConfig, bootstrap, command_config, setting)
    # To look for a topic must not create it.
    settings["allow_auto_create_topics"] = False
    if start == "beginning":
        settings.setdefault("auto_offset_reset", "earliest")
    if group is not None:
        settings["group_id"] = group
    else:
        settings.pop("group_id", None)
    count = 0
    consumer = barnabas.Consumer(**settings)
    with (
        FormatsByTopic(sides, registry_url, command_config, setting, ignores_rules=ignore_rules) as formats,
        _until_interrupted(consumer),
        consumer,
        contextlib.ExitStack() as told,
    ):
        if topics:
            bounds.check_topics(consumer, topics)
            for topic in topics:
                formats.prepare(topic)
        ends = None
        if group is not None:
            consumer.subscribe(topics or [], pattern=pattern)
        else:
            names = topics or bounds.matching_topics(consumer, pattern or "")
            partitions = bounds.partitions_of(consumer, names, partition)
            consumer.assign(partitions)
            bounds.seek(consumer, partitions, start)
            if is_bounded:
                ends = bounds.Ends(consumer, partitions, is_at_end=until_end, until_ms=until_ms)
        left = None if ends is None else ends.records_left()
        # Where lines go to the terminal, they are themselves what shows how far it is.
        bar = None
        if left is not None and (quiet or not sys.stdout.isatty()):
            bar = told.enter_context(Bar(left))
        rate = Rates() if rates else None
        if rate is not None:
            told.callback(rate.end)
        printer = _Printer(sys.stdout.buffer, line_of, formats, is_wanted)
        # What a group was given is printed before anything ends it, so that just that is committed.
        asked = told.enter_context(noted()) if group is not None else Asked()
        last_came = time.monotonic()
        while asked.signal is None and (ends is None or not ends.are_reached()):
            limit = (
                _MAX_RECORDS_A_POLL if max_records is None else min(max_records - count, _MAX_RECORDS_A_POLL)
            )
            records = consumer.poll(timeout=_POLL_SECONDS, max_records=limit)
            if ends is not None:
                records = ends.within(records)
            count += printer.write(records)
            if rate is not None:
                rate.count(records)
            if bar is not None and ends is not None:
                bar.tell(ends.records_left() or 0)
            if records:
                last_came = time.monotonic()
            if max_records is not None and count >= max_records:
                break
            if timeout is not None and time.monotonic() - last_came >= timeout:
                break
        if asked.signal is not None:
            consumer.close(timeout=_CLOSE_SECONDS)
            _check_reached(consumer)
    if sys.stderr.isatty():
        note(f"{plural(count, 'record')} of {pattern if pattern is not None else ', '.join(topics or ())}")


def _format(
    *,
    as_json: bool,
    template: str | None,
    kcat_format: str | None,
    key: bool,
    headers: bool,
    quiet: bool,
) -> RecordFormat | None:
    """None if nothing is printed."""
    if sum((as_json, template is not None, kcat_format is not None, key or headers, quiet)) > 1:
        raise UsageError(
            "--json, --format, -f, --key/--headers and --quiet exclude each other: choose one way to print"
        )
    if quiet:
        return None
    if as_json:
        return record_format.as_json
    if template is not None:
        return record_format.templated(template)
    if kcat_format is not None:
        return record_format.as_by_kcat(kcat_format)
    return record_format.plain(key=key, headers=headers)


class _ReaderGoneError(Exception):
    """Whoever reads our lines has gone. What could not be written is not committed."""


@contextlib.contextmanager
def _until_interrupted(consumer: Consumer) -> Generator[None]:
    """Ctrl-C and SIGTERM are no error. Raises: BootstrapError if no broker has answered."""
    try:
        yield
    except _ReaderGoneError:
        return
    except KeyboardInterrupt:
        _check_reached(consumer)


def _check_reached(consumer: Consumer) -> None:
    """Raises: BootstrapError if there never was a broker to read from."""
    if not consumer.kafka_client.metadata.nodes:
        servers = ", ".join(consumer.config.bootstrap_servers)
        raise BootstrapError(f"none of {servers} had answered before this ended: nothing was read") from None


class _Printer:
    """Writes lines to stdout, until whoever reads them has gone."""

    def __init__(
        self,
        stream: BinaryIO,
        line_of: RecordFormat | None,
        formats: FormatsByTopic,
        is_wanted: RecordFilter | None,
    ) -> None:
        self._stream = stream
        self._line_of = line_of
        self._formats = formats
        self._is_wanted = is_wanted

    def write(self, records: Sequence[Record]) -> int:
        """How many of the records were wanted, all of which are written.

        Raises: _ReaderGoneError when there is nobody to write to any more, as after `| head`;
        SerializationError, RegistryError, SchemaError."""
        if self._line_of is None and self._is_wanted is None:
            return len(records)
        read = self._formats.read(records)
        wanted = read if self._is_wanted is None else list(filter(self._is_wanted, read))
        if self._line_of is None:
            return len(wanted)
        try:
            left = memoryview(b"".join(map(self._line_of, wanted)))
            # With PYTHONUNBUFFERED, stdout takes only a part where a signal comes meanwhile.
            while left:
                left = left[self._stream.write(left) :]
            self._stream.flush()
        except BrokenPipeError:
            # Python would flush stdout once more at exit, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise _ReaderGoneError from None
        return len(wanted)
