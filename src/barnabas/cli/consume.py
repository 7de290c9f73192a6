"""`barnabas consume`: records become lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import barnabas
from barnabas import Record
from barnabas.cli import completion
from barnabas.cli.consuming import bounds
from barnabas.cli.consuming.figures import RecordFigures
from barnabas.cli.consuming.filters import RecordFilter, record_filter
from barnabas.cli.consuming.outputs import (
    Lines,
    Nothing,
    ReaderGoneError,
)
from barnabas.cli.consuming.progress import Bar, Rates
from barnabas.cli.ending import Asked, noted
from barnabas.cli.formats import records as record_format
from barnabas.cli.formats.lines import ON_ERROR, FormatsByTopic, OnError
from barnabas.cli.formats.options import (
    IgnoreRules,
    KeyFormat,
    KeyMessage,
    KeySchema,
    KeySubject,
    KeyVersion,
    ReadValueFormat,
    RegistryUrl,
    SideOptions,
    ValueMessage,
    ValueSchema,
    ValueSubject,
    ValueVersion,
)
from barnabas.cli.names import pattern_of
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, client_settings
from barnabas.cli.output import note, plural, print_json, print_table
from barnabas.errors import BootstrapError
from barnabas.records import json_lines
from barnabas.records.fields import FieldPath, fields_of
from barnabas.records.files import Output, file_output, selected
from barnabas.records.json_lines import RecordFormat
from barnabas.records.texts import ReadRecord, Side
from barnabas.records.times import timestamp_ms
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
        typer.Argument(metavar="[TOPIC]...", help="The topics to read.", autocompletion=completion.topics),
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
            help="Read as a member of this group, and commit what was read.",
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
        list[int] | None,
        typer.Option("--partition", "-p", metavar="NUMBER", help="Only this partition (repeatable)."),
    ] = None,
    tail: Annotated[
        int | None,
        typer.Option(
            "--tail",
            min=1,
            metavar="N",
            help="Begin with the last N records of each partition. -o -N counts offsets: of a topic that is "
            "compacted, or has transactions, some are no records.",
        ),
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
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="Stop when no record comes for so many seconds."),
    ] = None,
    match_key: Annotated[
        str | None,
        typer.Option("--match-key", metavar="REGEX", help="Only records whose key has a match."),
    ] = None,
    match_value: Annotated[
        str | None,
        typer.Option("--match-value", metavar="REGEX", help="Only records whose value has a match."),
    ] = None,
    match_header: Annotated[
        list[str] | None,
        typer.Option(
            "--match-header",
            metavar="NAME[=REGEX]",
            help="Only records with such a header (repeatable: with all of them).",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="CEL",
            help="Only records of which this is true: value.amount > 100 && headers.source == 'web' (extra "
            "registry-rules).",
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="FIELD",
            help="Print only this field, as key or value.user.name (repeatable): a tab between several, an "
            "object with --json, a column in a file of --output.",
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
        typer.Option(
            "-f",
            "--kcat-format",
            metavar="FORMAT",
            help=r"A format as kcat takes it, such as '%t %p %o %T %k %s %h\n'.",
        ),
    ] = None,
    rates: Annotated[
        bool, typer.Option("--rates", help="Print on stderr, each second, how many records and bytes came.")
    ] = False,
    stats: Annotated[
        bool,
        typer.Option(
            "--stats",
            help="Print no records, but at the end how many there were, their sizes by partition, and the "
            "keys that take the most.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no records; with --rates, only how many come.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-O",
            metavar="FILE",
            help="Write records to this file; its name ends in .parquet, .csv or .jsonl.",
        ),
    ] = None,
    on_error: Annotated[
        str,
        typer.Option(
            "--on-error",
            metavar="stop|skip|hex",
            help="What to do with a record that its format cannot read: end the command, leave the record "
            "out, or print its bytes in hexadecimal digits.",
        ),
    ] = "stop",
    value_format: ReadValueFormat = None,
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
    ignore_rules: IgnoreRules = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print records, one per line, until Ctrl-C or the end that was asked for."""
    if not topics and pattern is None:
        raise UsageError("name the topics to read, or give --pattern")
    if topics and pattern is not None:
        raise UsageError("--pattern and topics exclude each other")
    if pattern is not None:
        pattern = pattern_of(pattern)
    if sum((from_beginning, offset is not None, since is not None, tail is not None)) > 1:
        raise UsageError("--from-beginning, --offset, --since and --tail exclude each other")
    start = "beginning" if from_beginning else bounds.start_of(offset, since, default="end")
    until_ms = None if until is None else timestamp_ms(until, "--until")
    is_bounded = until_end or until_ms is not None
    if group is not None and (
        partition or tail is not None or isinstance(start, int | bounds.Since) or until_ms is not None
    ):
        raise UsageError(
            "--group takes its own partitions and offsets: leave out --partition, --offset, --since, --tail "
            "and --until"
        )
    fails = _on_error(on_error)
    if output is not None and output.suffix.lower() == ".parquet":
        if group is not None:
            raise UsageError(
                "--group is not for a Parquet file: one that is broken off cannot be read, and what it had "
                "would be committed"
            )
        if fails == "hex":
            raise UsageError("--on-error hex is not for columns of a Parquet file: choose skip or stop")
    figures = RecordFigures() if stats else None
    paths = [FieldPath(text, "--select") for text in select or ()]
    line_of = _format(
        as_json=as_json,
        template=template,
        kcat_format=kcat_format,
        key=key,
        headers=headers,
        is_nothing=quiet or stats,
        paths=paths,
        is_file=output is not None,
    )
    is_wanted = _wanted(record_filter(match_key, match_value, match_header or ()), where)
    sides: dict[Side, SideOptions] = {
        "key": SideOptions(key_format, key_subject, key_version, key_schema, key_message),
        "value": SideOptions(value_format, value_subject, value_version, value_schema, value_message),
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
        FormatsByTopic(
            sides,
            registry_url,
            command_config,
            setting,
            ignores_rules=ignore_rules,
            on_error=fails,
        ) as formats,
        _until_interrupted(consumer),
        consumer,
        contextlib.ExitStack() as told,
    ):
        if topics:
            bounds.check_topics(consumer, topics)
            for topic in topics:
                formats.prepare(topic)
        ends: bounds.Ends | bounds.GroupEnds | None = None
        names = topics or []
        if group is None or until_end:
            names = topics or bounds.matching_topics(consumer, pattern or "")
        if group is not None:
            if until_end:
                ends = bounds.GroupEnds(consumer, bounds.partitions_of(consumer, names, None))
            consumer.subscribe(topics or [], pattern=pattern)
        else:
            partitions = bounds.partitions_of(consumer, names, partition)
            consumer.assign(partitions)
            if tail is not None:
                bounds.seek_to_last(consumer, partitions, tail)
            else:
                bounds.seek(consumer, partitions, start)
            if is_bounded:
                ends = bounds.Ends(consumer, partitions, is_at_end=until_end, until_ms=until_ms)
        left = None if ends is None else ends.records_left()
        # Where lines go to the terminal, they are themselves what shows how far it is.
        bar = None
        if left is not None and (line_of is None or not sys.stdout.isatty()):
            bar = told.enter_context(Bar(left))
        rate = Rates() if rates else None
        if rate is not None:
            told.callback(rate.end)
        written = told.enter_context(contextlib.closing(_output(output, line_of, paths, names, formats)))
        printer = _Printer(written, formats, is_wanted, figures)
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
    if figures is not None:
        _show(figures, as_json=as_json)
    if formats.unread:
        done = "left out" if on_error == "skip" else "printed in hexadecimal digits"
        note(f"{plural(formats.unread, 'record')} could not be read: {done}")
    if sys.stderr.isatty():
        note(f"{plural(count, 'record')} of {pattern if pattern is not None else ', '.join(topics or ())}")


def _format(
    *,
    as_json: bool,
    template: str | None,
    kcat_format: str | None,
    key: bool,
    headers: bool,
    is_nothing: bool,
    paths: Sequence[FieldPath],
    is_file: bool,
) -> RecordFormat | None:
    """None if no line is printed. Raises: UsageError."""
    ways = (template is not None, kcat_format is not None, key or headers, is_nothing, is_file)
    if sum((as_json and not is_nothing, *ways)) > 1:
        raise UsageError(
            "--json, --format, -f, --key/--headers, --quiet, --stats and --output exclude each other: choose "
            "one way to print"
        )
    if paths and any(ways[:-1]):
        raise UsageError("--select is one way to print, and goes with --json and --output alone")
    if is_nothing or is_file:
        return None
    if paths:
        return selected(paths, as_json=as_json)
    if as_json:
        return json_lines.as_json
    if template is not None:
        return record_format.templated(template)
    if kcat_format is not None:
        return record_format.as_by_kcat(kcat_format)
    return record_format.plain(key=key, headers=headers)


def _on_error(text: str) -> OnError:
    for each in ON_ERROR:
        if each == text:
            return each
    raise UsageError(f"--on-error is one of {', '.join(ON_ERROR)}, not {text!r}")


def _wanted(matches: RecordFilter | None, where: str | None) -> Callable[[Any], bool] | None:
    """By all conditions. Raises: UsageError, MissingExtraError."""
    if where is None:
        return matches
    # Here and not above: nobody else waits for the import.
    from barnabas.records.conditions import condition

    holds = condition(where)

    def wanted(record: Record | ReadRecord) -> bool:
        return (matches is None or matches(record)) and holds(fields_of(record))

    return wanted


def _output(
    path: Path | None,
    line_of: RecordFormat | None,
    paths: Sequence[FieldPath],
    topics: Sequence[str],
    formats: FormatsByTopic,
) -> Output:
    if path is None:
        return Nothing() if line_of is None else Lines(sys.stdout.buffer, line_of)
    return file_output(path, paths, formats, topics)


def _show(figures: RecordFigures, *, as_json: bool) -> None:
    rows, keys = figures.partitions(), figures.largest_keys()
    if as_json:
        print_json({"partitions": rows, "largest_keys": keys, "has_more_keys": figures.has_more_keys})
        return
    for found in (rows, keys):
        if found:
            names = [name.upper().replace("_", " ") for name in found[0]]
            print_table(names, [list(each.values()) for each in found])


@contextlib.contextmanager
def _until_interrupted(consumer: Consumer) -> Generator[None]:
    """Ctrl-C and SIGTERM are no error. Raises: BootstrapError if no broker has answered."""
    try:
        yield
    except ReaderGoneError:
        return
    except KeyboardInterrupt:
        _check_reached(consumer)


def _check_reached(consumer: Consumer) -> None:
    """Raises: BootstrapError if there never was a broker to read from."""
    if not consumer.kafka_client.metadata.nodes:
        servers = ", ".join(consumer.config.bootstrap_servers)
        raise BootstrapError(f"none of {servers} had answered before this ended: nothing was read") from None


class _Printer:
    """Reads records in their formats, and hands on those that are wanted."""

    def __init__(
        self,
        output: Output,
        formats: FormatsByTopic,
        is_wanted: Callable[[Any], bool] | None,
        figures: RecordFigures | None,
    ) -> None:
        self._output = output
        self._formats = formats
        self._is_wanted = is_wanted
        self._figures = figures

    def write(self, records: Sequence[Record]) -> int:
        """How many of the records were wanted, all of which are written.

        Raises: ReaderGoneError, SerializationError, RegistryError, SchemaError."""
        if self._is_wanted is None and isinstance(self._output, Nothing):
            if self._figures is not None:
                self._figures.count(records)
            return len(records)
        read = self._formats.read(records)
        wanted = read if self._is_wanted is None else list(filter(self._is_wanted, read))
        if self._figures is not None:
            places = {(each.topic, each.partition, each.offset) for each in wanted}
            self._figures.count(r for r in records if (r.topic, r.partition, r.offset) in places)
        self._output.write(wanted)
        return len(wanted)
