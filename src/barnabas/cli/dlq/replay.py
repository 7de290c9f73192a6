"""`barnabas dlq`: dead letters go back to where they came from, when what was wrong with them is mended."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import barnabas
from barnabas import Record, TopicPartition
from barnabas.cli import completion
from barnabas.cli.dlq import edits
from barnabas.cli.dlq.editing import Editing
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    registry_settings,
    settings_of_one,
)
from barnabas.cli.output import note, plural, print_json, print_table, stderr
from barnabas.cli.produce import Deliveries
from barnabas.records.dead_letters.conventions import Convention, DeadLetter, Origin, own_convention
from barnabas.records.dead_letters.letters import Account, Choice, account_of, broken_off_of
from barnabas.records.dead_letters.spool import LetterSpool, Spooled
from barnabas.records.times import timestamp_ms
from barnabas.settings.table import AdminConfig, ConsumerConfig, ProducerConfig
from barnabas.types import GroupIdentity, OffsetAndMetadata

if TYPE_CHECKING:
    from barnabas import Admin, Consumer, Producer

app = typer.Typer(
    help="Send dead letters back to their topics: of Spark queries, Kafka Connect, Kafka Streams, Spring and "
    "others.",
    no_args_is_help=True,
)

LETTERS_A_STEP = 5_000
"""Letters between two notes of how far a replay is: at most so many are sent again when it is broken off."""
_POLL_SECONDS = 0.2
_READ_SETTINGS = {
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
    "isolation_level": "read_committed",
    "allow_auto_create_topics": False,
}

RegistryOfLetters = Annotated[
    str | None,
    typer.Option(
        "--registry-url",
        "--registry",
        "-r",
        envvar="BARNABAS_REGISTRY",
        metavar="URL",
        help="The schema registry: keys and values that name a schema there are edited as JSON, and written "
        "by that schema again.",
    ),
]

Accounts = dict[TopicPartition, Account]


@app.callback()
def dlq() -> None:
    """Send dead letters back to their topics: of Spark queries, Kafka Connect, Kafka Streams, Spring and
    others."""


@app.command()
def replay(
    topic: Annotated[
        str, typer.Argument(help="The topic of dead letters.", autocompletion=completion.topics)
    ],
    error: Annotated[
        str | None, typer.Option("--error", help="Only letters whose error contains this text.")
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", metavar="ID", help="Only letters of this streaming query.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="TOPIC", help="Only letters that came from this topic.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Only letters read since then: 2h, 2026-01-31T12:00."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Only letters read before then.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TOPIC",
            help="Send them to this topic, by their keys, and not to where they came from.",
        ),
    ] = None,
    topic_from: Annotated[
        str | None,
        typer.Option(
            "--topic-from",
            metavar="header:NAME|FIELD",
            help="Where a letter names the topic that it came from: header:x-topic, or a field as "
            "value.source.topic. If left out, in the headers of Kafka Connect, Kafka Streams or Spring.",
        ),
    ] = None,
    partition_from: Annotated[
        str | None,
        typer.Option(
            "--partition-from",
            metavar="header:NAME|FIELD",
            help="Where it names the partition; keys choose it if left out.",
        ),
    ] = None,
    offset_from: Annotated[
        str | None,
        typer.Option(
            "--offset-from",
            metavar="header:NAME|FIELD",
            help="Where it names the offset, by which letters are put in order; if left out, they go in the "
            "order of the topic of dead letters.",
        ),
    ] = None,
    error_from: Annotated[
        str | None,
        typer.Option(
            "--error-from", metavar="header:NAME|FIELD", help="Where it names the error, for --error."
        ),
    ] = None,
    drop_header: Annotated[
        list[str] | None,
        typer.Option(
            "--drop-header",
            metavar="NAME|PREFIX*",
            help="With --topic-from, leave out this header as well (repeatable); those that the other "
            "options name are left out anyway.",
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set a field of a key or value that is JSON, or key, value or headers.NAME as a whole, to "
            "this JSON or text: value.amount=3 (repeatable).",
        ),
    ] = None,
    sets_by_cel: Annotated[
        list[str] | None,
        typer.Option(
            "--set-cel",
            metavar="PATH=CEL",
            help="Set it to the value of an expression in CEL: value.amount=value.amount * 100 (extra "
            "registry-rules; repeatable).",
        ),
    ] = None,
    edit: Annotated[
        bool,
        typer.Option(
            "--edit",
            help="Open $EDITOR on the letters, lines of JSON, and send what is there when it ends; letters "
            "whose lines are gone are dropped.",
        ),
    ] = False,
    edited: Annotated[
        Path | None,
        typer.Option(
            "--edited",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Send the letters as they are in this file, which --edit keeps where it did not send them.",
        ),
    ] = None,
    exactly_once: Annotated[
        bool,
        typer.Option(
            "--exactly-once",
            help="Send in transactions, so that a replay that was broken off sends none twice.",
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Finish the replay that was broken off, as it was begun.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be sent, and why.")
    ] = False,
    registry_url: RegistryOfLetters = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            help="Keep how far the replay is under this group; barnabas-dlq-TOPIC if left out.",
        ),
    ] = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Send dead letters back to the topics and partitions they came from, in the order they had there.

    Key, value, timestamp and the record's own headers are as they were, except for what --set and --edit
    change. Each letter is sent by one replay only: the next takes what has come since, and what earlier ones
    did not choose.
    """
    choice = Choice(error, query, source, _time(since, "--since"), _time(until, "--until"))
    if to == topic:
        raise UsageError(f"--to is {to!r}, the topic of dead letters itself")
    group = group or f"barnabas-dlq-{topic}"
    convention = own_convention(topic_from, partition_from, offset_from, error_from, drop_header or ())
    told_from = (topic_from, partition_from, offset_from, error_from, *(drop_header or ()))
    address, of_registry = registry_settings(command_config, setting, registry_url)
    editing = Editing(
        sets or (),
        sets_by_cel or (),
        told_from,
        opens_editor=edit,
        edited=edited,
        registry_url=address,
        registry_settings=of_registry,
    )
    with ExitStack() as open_clients:
        open_clients.enter_context(editing)
        producer = None
        if not dry_run:
            settings = settings_of_one(ProducerConfig, bootstrap, command_config, setting)
            if exactly_once:
                settings["transactional_id"] = group
            producer = open_clients.enter_context(barnabas.Producer(**settings))
            if exactly_once:
                # Before the group is asked how far it is: this ends what a broken-off replay has left open.
                producer.init_transactions()
        settings = settings_of_one(ConsumerConfig, bootstrap, command_config, setting)
        settings |= {**_READ_SETTINGS, "group_id": group}
        consumer = open_clients.enter_context(barnabas.Consumer(**settings))
        admin = open_clients.enter_context(
            barnabas.Admin(**settings_of_one(AdminConfig, bootstrap, command_config, setting))
        )
        run = _Replay(consumer, admin, topic, group, choice, to, convention, editing)
        if resume or run.is_same_as_broken_off():
            run.resume(is_wanted=resume)
        elif run.broken_off is not None:
            raise UsageError(
                f"a replay of {topic} with another choice was broken off: finish it with --resume, or begin "
                "a new account with --group"
            )
        spool = open_clients.enter_context(LetterSpool())
        run.read(spool)
        editing.apply(spool)
        if producer is not None:
            run.send(spool, producer, is_transactional=exactly_once)
            editing.sent()
        run.tell(spool, as_json=as_json, is_dry=dry_run)


def _time(text: str | None, option: str) -> int | None:
    return None if text is None else timestamp_ms(text, option)


class _Replay:
    """One replay: where it stands, what it reads and what it has sent."""

    def __init__(
        self,
        consumer: Consumer,
        admin: Admin,
        topic: str,
        group: str,
        choice: Choice,
        to: str | None,
        convention: Convention,
        editing: Editing,
    ) -> None:
        self._consumer = consumer
        self._admin = admin
        self._topic = topic
        self._group = group
        self._choice = choice
        self._to = to
        self._convention = convention
        self._editing = editing
        self._after: Origin | None = None
        partitions = [
            TopicPartition(topic, number) for number in range(self._count_partitions([topic])[topic])
        ]
        committed = consumer.committed(partitions)
        self._accounts: Accounts = {each: account_of(committed[each], each) for each in partitions}
        self.broken_off = broken_off_of(self._accounts.values())
        self._ends = consumer.end_offsets(partitions)
        for partition, account in self._accounts.items():
            if account.base > self._ends[partition]:
                raise UsageError(
                    f"{partition} ends at {self._ends[partition]}, and {group} is at {account.base}: the "
                    "topic was deleted and created again. Begin a new account with --group"
                )
        self._left_out = self._unknown = self._sent = 0

    def is_same_as_broken_off(self) -> bool:
        now = self.broken_off
        if now is None or self._editing.opens_editor:
            return False
        return (now.choice, now.to, now.edit) == (self._choice, self._to, self._editing.digest)

    def resume(self, *, is_wanted: bool) -> None:
        """Goes on with the replay that was broken off, to where that would have ended. Raises: UsageError."""
        now = self.broken_off
        if now is None:
            raise UsageError(f"no replay of {self._topic} was broken off, as far as {self._group} tells")
        if is_wanted and not self._choice.is_all and self._choice != now.choice:
            raise UsageError("--resume goes on with what was chosen then: give no other choice")
        if self._editing.opens_editor or now.edit != self._editing.digest:
            raise UsageError(
                "--resume goes on with letters as they were read and edited then: give the same --topic-from "
                "and its like, --set and --set-cel, and --edited with the file that was kept, if there is one"
            )
        self._choice, self._to, self._after = now.choice, now.to, now.after
        # A partition that came since was no part of it.
        self._accounts = {
            tp: account for tp, account in self._accounts.items() if account.broken_off is not None
        }
        self._ends = {
            tp: account.broken_off.end for tp, account in self._accounts.items() if account.broken_off
        }
        note(f"going on with the replay of {self._topic} that was broken off")

    def read(self, spool: LetterSpool) -> None:
        """Fills `spool` with what is to be sent."""
        consumer, partitions = self._consumer, list(self._accounts)
        consumer.assign(partitions)
        beginnings = consumer.beginning_offsets(partitions)
        for partition, account in self._accounts.items():
            consumer.seek(partition, max(account.base, beginnings[partition]))
        positions = {each: max(account.base, beginnings[each]) for each, account in self._accounts.items()}
        total = sum(max(self._ends[each] - at, 0) for each, at in positions.items())
        with _bar("reading", total) as advance:
            while any(positions[each] < end for each, end in self._ends.items()):
                spool.add(self._chosen(consumer.poll(_POLL_SECONDS)))
                reached = {each: consumer.position(each) for each in partitions}
                advance(sum(reached.values()) - sum(positions.values()))
                positions = reached

    def _chosen(self, records: Iterable[Record]) -> Iterator[tuple[DeadLetter, Record]]:
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            if record.offset >= self._ends[partition]:
                continue
            letter = self._convention.letter(record)
            if letter is None:
                self._unknown += 1
            elif self._accounts[partition].is_done(record.offset, letter):
                continue
            elif self._choice.holds(letter):
                yield letter, record
            else:
                self._left_out += 1

    def send(self, spool: LetterSpool, producer: Producer, *, is_transactional: bool) -> None:
        """Sends all, and keeps account of it. Raises: as Producer and Consumer; UsageError."""
        done = {tp: account.after(self._choice, self._ends[tp]) for tp, account in self._accounts.items()}
        _offsets(done)
        counts = self._partition_counts(spool)
        letters = spool.letters(self._after)
        identity = GroupIdentity(self._group)
        with self._told_when_broken_off(), _bar("sending", spool.count(self._after)) as advance:
            while step := [*islice(letters, LETTERS_A_STEP)]:
                is_last = len(step) < LETTERS_A_STEP
                accounts = done if is_last else self._at(step[-1].origin)
                if is_transactional:
                    with producer.transaction():
                        self._send(step, producer, counts)
                        producer.send_offsets_to_transaction(_offsets(accounts), identity)
                else:
                    self._send(step, producer, counts)
                    self._consumer.commit(_offsets(accounts))
                self._sent += len(step)
                advance(len(step))
            # Also where the last step was a full one, or nothing was chosen.
            self._consumer.commit(_offsets(done))

    def _at(self, after: Origin) -> Accounts:
        return {
            tp: account.at(self._choice, self._to, self._ends[tp], after, self._editing.digest)
            for tp, account in self._accounts.items()
        }

    def _send(self, step: list[Spooled], producer: Producer, counts: dict[str, int]) -> None:
        deliveries = Deliveries()
        for letter in step:
            source = letter.origin.topic
            producer.send(
                self._to or source,
                letter.value,
                key=letter.key,
                headers=letter.headers,
                partition=None if self._to is not None else letter.partition_among(counts[source]),
                timestamp=letter.timestamp,
                on_delivery=deliveries,
            )
        producer.flush()
        if deliveries.error is not None:
            raise deliveries.error

    def _partition_counts(self, spool: LetterSpool) -> dict[str, int]:
        """Of the topics that are written to, before anything is: a missing one would break a replay off."""
        targets = [*spool.topics()] if self._to is None else [self._to] if spool.count() else []
        if self._topic in targets:
            raise UsageError(f"there are letters in {self._topic} that came from it: choose others by --from")
        return self._count_partitions(targets)

    def _count_partitions(self, topics: list[str]) -> dict[str, int]:
        # An admin is told at once of a topic that is not there; other clients wait for it.
        described = self._admin.describe_topics(topics) if topics else {}
        return {topic: len(found.partitions) for topic, found in described.items()}

    @contextmanager
    def _told_when_broken_off(self) -> Generator[None]:
        try:
            yield
        except BaseException:
            sent = plural(self._sent, "letter")
            note(f"{sent} of {self._topic} sent before this; --resume goes on from there")
            raise

    def tell(self, spool: LetterSpool, *, as_json: bool, is_dry: bool) -> None:
        kinds = spool.kinds(self._after)
        chosen = sum(kind.letters for kind in kinds)
        editing = self._editing
        if as_json:
            document = {
                "topic": self._topic,
                "group": self._group,
                "is_dry_run": is_dry,
                "choice": self._choice.document(),
                "letters": chosen if is_dry else self._sent,
                "not_chosen": self._left_out,
                "not_dead_letters": self._unknown,
                "kinds": [asdict(kind) for kind in kinds],
                "edited": editing.count,
                "dropped": editing.dropped,
                "changes": [edits.shown(each) for each in editing.changes],
            }
            print_json(document)
            return
        if is_dry:
            columns = ("FROM", "STAGE", "FIELD", "ERROR", "QUERY", "LETTERS")
            print_table(columns, [tuple(asdict(kind).values()) for kind in kinds])
            _show(editing.changes, editing.count)
        others = f"; {plural(self._left_out, 'letter')} not chosen" if self._left_out else ""
        others += f"; {self._unknown:,} without a source topic left alone" if self._unknown else ""
        others += f"; {plural(editing.count, 'letter')} edited" if editing.count else ""
        others += f"; {plural(editing.dropped, 'letter')} dropped" if editing.dropped else ""
        would = (
            f"{plural(chosen, 'letter')} would be sent" if is_dry else f"{plural(self._sent, 'letter')} sent"
        )
        note(f"{self._topic}: {would}{others}")


def _show(changes: Sequence[edits.LetterEdit], count: int) -> None:
    """What becomes of letters, the first of so many."""
    rows = [
        (each["topic"], each["partition"], each["offset"], name, _text(was), _text(each["after"][name]))
        for each in map(edits.shown, changes)
        for name, was in each["before"].items()
    ]
    if rows:
        print_table(("FROM", "PARTITION", "OFFSET", "PART", "BEFORE", "AFTER"), rows)
    if count > len(changes):
        note(f"and {count - len(changes):,} letters more")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _offsets(accounts: Accounts) -> dict[TopicPartition, OffsetAndMetadata]:
    return {partition: account.committed() for partition, account in accounts.items()}


@contextmanager
def _bar(what: str, total: int) -> Generator[Callable[[int], None]]:
    """A bar on stderr, where somebody looks; what advances it is given."""
    from barnabas.cli.printing.bars import bar

    with bar(what, total, stderr()) as progress:
        (task,) = progress.task_ids

        def advance(count: int) -> None:
            progress.advance(task, count)

        yield advance
