"""`barnabas copy`: what its options mean."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

import barnabas
from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.consuming import bounds
from barnabas.cli.consuming.filters import record_filter
from barnabas.cli.consuming.progress import Bar
from barnabas.cli.copying import plan
from barnabas.cli.copying.accounts import (
    CopyAccount,
    NoAccount,
    SourceGroup,
    TargetTopic,
    TransactionGroup,
)
from barnabas.cli.copying.copier import Copier
from barnabas.cli.copying.names import renamer
from barnabas.cli.copying.newcomers import Newcomers
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.other_cluster import (
    ClusterAddress,
    ToBootstrap,
    ToCommandConfig,
    ToProfile,
    ToSetting,
    other_cluster,
)
from barnabas.cli.output import note, plural, print_json, print_table
from barnabas.cli.producing.throttle import Throttle
from barnabas.cli.times import timestamp_ms
from barnabas.errors import MissingExtraError
from barnabas.settings.table import AdminConfig, ConsumerConfig, ProducerConfig

if TYPE_CHECKING:
    from barnabas import Consumer


def copy(
    topics: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC]...", help="What is copied.", autocompletion=completion.topics),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="REGEX",
            help="In place of topics: all that match, with --follow those to come too.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="TOPIC", help="The topic that all records go to.")
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option("--rename", metavar="OLD=NEW", help="Another name at the target (may be repeated)."),
    ] = None,
    rename_regex: Annotated[
        list[str] | None,
        typer.Option(
            "--rename-regex",
            metavar="REGEX=NEW",
            help=r"Another name where the whole old one matches, with \1 for its groups (may be repeated).",
        ),
    ] = None,
    prefix: Annotated[
        str, typer.Option("--prefix", show_default=False, help="Stands before each name at the target.")
    ] = "",
    to_bootstrap: ToBootstrap = None,
    to_profile: ToProfile = None,
    to_command_config: ToCommandConfig = None,
    to_setting: ToSetting = None,
    create_topics: Annotated[
        bool,
        typer.Option(
            "--create-topics", help="Create what the target lacks, with its source's partitions and settings."
        ),
    ] = False,
    replication_factor: Annotated[
        int | None,
        typer.Option("--replication-factor", min=1, help="Of created topics; else the target's default."),
    ] = None,
    by_key: Annotated[
        bool, typer.Option("--by-key", help="Choose partitions by the keys; by default they are kept.")
    ] = False,
    source_headers: Annotated[
        bool,
        typer.Option(
            "--source-headers", help="Add headers source.topic, .partition, .offset and .timestamp (in ms)."
        ),
    ] = False,
    exactly_once: Annotated[
        bool,
        typer.Option(
            "--exactly-once",
            help="In transactions, with what was read: a copy that was broken off goes on with none lost and "
            "none twice.",
        ),
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            help="Keeps account of what was copied, so that the next run goes on there. With --exactly-once "
            "one is made of the topics' names by default.",
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Go on with what comes, added partitions too, until Ctrl-C; else stop at today's end.",
        ),
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="OFFSET|-N|beginning|end|TIME",
            help="Where to begin what no account is kept of; the beginning.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Begin with the first record since then: 2h, an ISO time."
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Stop before the first record at or after this time."),
    ] = None,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", help="Only this partition (may be repeated).")
    ] = None,
    max_records: Annotated[
        int | None, typer.Option("--max", "-n", min=1, help="Stop after so many records.")
    ] = None,
    match_key: Annotated[
        str | None, typer.Option("--match-key", metavar="REGEX", help="Only records whose key has a match.")
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
            help="Only records with such a header (may be repeated: with all of them).",
        ),
    ] = None,
    records_per_second: Annotated[
        float | None, typer.Option("--records-per-second", min=0.1, help="At most so many.")
    ] = None,
    megabytes_per_second: Annotated[
        float | None,
        typer.Option("--megabytes-per-second", min=0.001, help="At most so many, before compression."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be copied.")] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Copy records with their keys, headers, timestamps and partitions to other topics or another cluster.

    Of the source only committed records are read, unless -X isolation.level=read_uncommitted says otherwise.
    """
    _check_arrow()
    if bool(topics) == (pattern is not None):
        raise UsageError("name the topics to copy, or give --pattern, not both")
    if to is not None and (rename or rename_regex or prefix):
        raise UsageError("--to is the whole name: leave out --rename, --rename-regex and --prefix")
    if offset is not None and since is not None:
        raise UsageError("--offset and --since exclude each other")
    start = bounds.start_of(offset, since, default="beginning")
    until_ms = None if until is None else timestamp_ms(until, "--until")
    is_wanted = record_filter(match_key, match_value, match_header or ())
    renamed = renamer(to, rename, rename_regex, prefix)
    megabytes = None if megabytes_per_second is None else megabytes_per_second * 1e6
    source = ClusterAddress(bootstrap, command_config, setting)
    elsewhere = other_cluster(to_bootstrap, to_profile, to_command_config, to_setting)
    target = elsewhere or source
    if to_setting and elsewhere is None:
        raise UsageError("--to-setting needs a target of its own: give --to-bootstrap, --to-profile or -X")
    with ExitStack() as opened:
        admin = opened.enter_context(barnabas.Admin(**source.settings(AdminConfig)))
        to_admin = opened.enter_context(barnabas.Admin(**target.settings(AdminConfig)))
        source_id = admin.describe_cluster().cluster_id
        is_one_cluster = source_id == to_admin.describe_cluster().cluster_id
        consumer_settings = source.settings(ConsumerConfig)
        consumer_settings |= {"allow_auto_create_topics": False, "enable_auto_commit": False}
        consumer_settings.setdefault("isolation_level", "read_committed")
        # What was deleted before it was copied is lost, which must not go unsaid where account is kept.
        has_account = exactly_once or group is not None
        consumer_settings.setdefault("auto_offset_reset", "none" if has_account else "earliest")
        group = group or _group_of(source_id, topics or [pattern or ""], to, rename, rename_regex, prefix)
        consumer_settings["group_id"] = group
        consumer = opened.enter_context(barnabas.Consumer(**consumer_settings))
        if topics:
            bounds.check_topics(consumer, topics)
        names = topics or bounds.matching_topics(consumer, pattern or "")

        def plan_for(wanted: Sequence[str]) -> list[plan.CopyRoute]:
            found = plan.routes(admin, to_admin, wanted, renamed, is_one_cluster=is_one_cluster)
            plan.check(found, keeps_partitions=not by_key, is_created=create_topics)
            return found

        def made_for(wanted: Sequence[str]) -> list[plan.CopyRoute]:
            found = plan.routes(admin, to_admin, wanted, renamed, is_one_cluster=is_one_cluster)
            if create_topics and not by_key:
                found = plan.with_added_partitions(to_admin, found)
            plan.check(found, keeps_partitions=not by_key, is_created=create_topics)
            if create_topics:
                plan.create_missing(admin, to_admin, found, replication_factor)
            return found

        planned = plan_for(names)
        partitions = bounds.partitions_of(consumer, names, partition)
        producer_settings = target.settings(ProducerConfig)
        if exactly_once:
            producer_settings["transactional_id"] = group
        account: CopyAccount = SourceGroup(consumer) if has_account else NoAccount()
        producer = None
        if not dry_run:
            if create_topics:
                plan.create_missing(admin, to_admin, planned, replication_factor)
            producer = opened.enter_context(barnabas.Producer(**producer_settings))
            if exactly_once:
                # Before the account is read: this ends what a broken-off copy has left open.
                producer.init_transactions()
                if is_one_cluster:
                    account = TransactionGroup(consumer, producer, group)
                else:
                    settings = target.settings(ConsumerConfig)
                    account = TargetTopic(to_admin, producer, settings, source_id or "", group)
        elif exactly_once and not is_one_cluster:
            account = TargetTopic(to_admin, None, target.settings(ConsumerConfig), source_id or "", group)
        consumer.assign(partitions)
        bounds.seek(consumer, partitions, start)
        for place, kept in account.offsets(partitions).items():
            consumer.seek(place, kept)
        ends = None
        if not follow or until_ms is not None:
            ends = bounds.Ends(consumer, partitions, is_at_end=not follow, until_ms=until_ms)
        if producer is None:
            _tell_plan(planned, consumer, partitions, as_json=as_json)
            return
        copier = Copier(
            consumer,
            producer,
            account,
            {route.source: route.target for route in planned},
            partitions,
            is_wanted=is_wanted,
            keeps_partitions=not by_key,
            has_source_headers=source_headers,
            throttle=Throttle(records_per_second, megabytes),
            max_records=max_records,
        )
        newcomers = None
        if follow:
            newcomers = Newcomers(
                consumer,
                account,
                pattern,
                made_for,
                partial(plan.partition_counts, admin),
                planned,
                partitions,
                chosen=partition,
                start=start if isinstance(start, bounds.Since) else "beginning",
            )
        began = time.monotonic()
        with _told_when_broken_off(copier, is_usual=follow), _bar(ends) as tell:
            copier.run(ends, tell, newcomers)
        _tell(planned, copier, group if has_account else None, time.monotonic() - began, as_json=as_json)


def _check_arrow() -> None:
    try:
        import pyarrow  # noqa: F401  # pyright: ignore
    except ImportError:
        raise MissingExtraError("barnabas copy", "arrow") from None


def _group_of(*parts: object) -> str:
    """The same for the same copy."""
    return f"barnabas-copy-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}"


@contextmanager
def _bar(ends: bounds.Ends | None) -> Generator[Callable[[], None]]:
    left = None if ends is None else ends.records_left()
    if ends is None or left is None:
        yield lambda: None
        return
    with Bar(left) as bar:
        yield lambda: bar.tell(ends.records_left() or 0)


@contextmanager
def _told_when_broken_off(copier: Copier, *, is_usual: bool) -> Generator[None]:
    """To end by Ctrl-C is usual while following."""
    try:
        yield
    except BaseException as error:
        if is_usual and isinstance(error, KeyboardInterrupt):
            return
        note(f"{plural(copier.counts.total(), 'record')} copied before this")
        raise


def _tell(
    planned: Sequence[plan.CopyRoute], copier: Copier, group: str | None, seconds: float, *, as_json: bool
) -> None:
    count = copier.counts.total()
    if as_json:
        topics = [
            {"source": each.source, "target": each.target, "records": copier.counts[each.source]}
            for each in planned
        ]
        print_json({"records": count, "seconds": round(seconds, 3), "group": group, "topics": topics})
        return
    where = (
        f"{planned[0].source} to {planned[0].target}" if len(planned) == 1 else plural(len(planned), "topic")
    )
    kept = f"; {group} keeps account of it" if group else ""
    note(f"{plural(count, 'record')} copied, {where}, in {seconds:,.1f} s{kept}")


def _tell_plan(
    planned: Sequence[plan.CopyRoute],
    consumer: Consumer,
    partitions: Sequence[TopicPartition],
    *,
    as_json: bool,
) -> None:
    ends = consumer.end_offsets(partitions)
    rows: list[dict[str, Any]] = []
    for route in planned:
        places = [each for each in partitions if each.topic == route.source]
        rows.append(
            {
                "source": route.source,
                "target": route.target,
                "partitions": len(places),
                "offsets": sum(max(0, ends[place] - consumer.position(place)) for place in places),
                "is_created": route.target_partition_count is None,
            }
        )
    if as_json:
        print_json({"is_dry_run": True, "topics": rows})
        return
    columns = ["SOURCE", "TARGET", "PARTITIONS", "OFFSETS TO COPY", "CREATED"]
    print_table(columns, [[*list(row.values())[:-1], "yes" if row["is_created"] else "no"] for row in rows])
    note("nothing was copied: this was --dry-run")
