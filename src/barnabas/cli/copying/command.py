"""`barnabas copy`: what its options mean."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Annotated

import typer

import barnabas
from barnabas import TopicPartition
from barnabas.cli import completion, profiles
from barnabas.cli.consuming import bounds
from barnabas.cli.consuming.filters import record_filter
from barnabas.cli.consuming.progress import Bar
from barnabas.cli.copying import plan, rules
from barnabas.cli.copying.accounts import (
    CopyAccount,
    NoAccount,
    SourceGroup,
    TargetTopic,
    TransactionGroup,
)
from barnabas.cli.copying.carrying import GroupCarrying
from barnabas.cli.copying.copier import Copier
from barnabas.cli.copying.groups import GroupTransfer, WhatCopyChanges
from barnabas.cli.copying.names import renamer
from barnabas.cli.copying.newcomers import Newcomers
from barnabas.cli.copying.schema_options import check_schema_options, schema_transfer
from barnabas.cli.copying.telling import tell, tell_plan
from barnabas.cli.formats.options import RegistryUrl
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    registry_settings,
)
from barnabas.cli.other_cluster import (
    ClusterAddress,
    ToBootstrap,
    ToCommandConfig,
    ToProfile,
    ToSetting,
    other_cluster,
)
from barnabas.cli.output import note, plural
from barnabas.cli.producing.throttle import Throttle
from barnabas.client.admin.types import AclBinding
from barnabas.errors import MissingExtraError
from barnabas.records.times import timestamp_ms
from barnabas.settings.table import AdminConfig, ConsumerConfig, ProducerConfig


def copy(
    topics: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC]...", help="The topics to copy.", autocompletion=completion.topics),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="REGEX",
            help="In place of topics: all whose whole name matches; with --follow also those that come "
            "later.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="TOPIC", help="The topic at the target that all records go to."),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            "--rename", metavar="OLD=NEW", help="Give a topic another name at the target (repeatable)."
        ),
    ] = None,
    rename_regex: Annotated[
        list[str] | None,
        typer.Option(
            "--rename-regex",
            metavar="REGEX=NEW",
            help="Give topics whose whole name matches a new name, in which \\1 stands for a group of the "
            "expression (repeatable).",
        ),
    ] = None,
    prefix: Annotated[
        str, typer.Option("--prefix", show_default=False, help="Put this before each name at the target.")
    ] = "",
    to_bootstrap: ToBootstrap = None,
    to_profile: ToProfile = None,
    to_command_config: ToCommandConfig = None,
    to_setting: ToSetting = None,
    create_topics: Annotated[
        bool,
        typer.Option(
            "--create-topics",
            help="Create topics that the target lacks, with the partitions and settings of the source.",
        ),
    ] = False,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            min=1,
            help="How many replicas created topics have; the target's default if left out.",
        ),
    ] = None,
    by_key: Annotated[
        bool,
        typer.Option(
            "--by-key", help="Choose partitions by the keys; if left out, each record keeps its partition."
        ),
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
            help="Write records in transactions, together with how far the copy is: after a break the next "
            "run loses no record and writes none twice.",
        ),
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            help="Keep how far the copy is under this group, so that the next run goes on there. With "
            "--exactly-once, a name is made of the topics' names if left out.",
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Go on with new records and partitions until Ctrl-C; if left out, stop at the present end.",
        ),
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="OFFSET|-N|beginning|end|TIME",
            help="Begin there, unless --group knows how far the copy is; at the beginning if left out.",
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
        list[int] | None,
        typer.Option("--partition", "-p", metavar="NUMBER", help="Only this partition (repeatable)."),
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
            help="Only records with such a header (repeatable: with all of them).",
        ),
    ] = None,
    records_per_second: Annotated[
        float | None,
        typer.Option(
            "--records-per-second", "--rate", min=0.1, help="Copy at most so many records a second."
        ),
    ] = None,
    megabytes_per_second: Annotated[
        float | None,
        typer.Option(
            "--megabytes-per-second",
            min=0.001,
            help="Copy at most so many megabytes a second, counted before compression.",
        ),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--groups",
            metavar="GROUP|REGEX",
            help="Commit the offsets of these groups at the target, after the copy, and with --follow every "
            "minute (repeatable).",
            autocompletion=completion.groups,
        ),
    ] = None,
    acls: Annotated[
        bool,
        typer.Option(
            "--acls",
            help="Copy the rules of access (ACLs) that name the topics, and with --groups those that name "
            "the groups.",
        ),
    ] = False,
    to_schema_registry: Annotated[
        str | None,
        typer.Option(
            "--to-schema-registry",
            metavar="URL",
            help="Register the schemas that records name in this registry too, and write the ids that they "
            "have there; --registry-url is the source's.",
        ),
    ] = None,
    to_subject: Annotated[
        str | None,
        typer.Option(
            "--to-subject",
            metavar="TEMPLATE",
            help="What subjects are called there, with {subject}, {topic} (at the target) and {side}; the "
            "same if left out.",
        ),
    ] = None,
    schemas_in: Annotated[
        str | None,
        typer.Option(
            "--schemas-in",
            metavar="key|value|both",
            help="Which part of records has schemas; if left out, values, and keys where there is a subject "
            "TOPIC-key.",
        ),
    ] = None,
    on_error: Annotated[
        str | None,
        typer.Option(
            "--on-error",
            metavar="stop|skip|keep",
            help="With --to-schema-registry, what to do with a record that names no schema of the source: "
            "end the command (if left out), leave the record out, or copy it as it is.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be copied.")] = False,
    registry_url: RegistryUrl = None,
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
    check_schema_options(to_schema_registry, to_subject, schemas_in, on_error)
    with ExitStack() as opened:
        schemas = None
        if to_schema_registry is not None:
            from_registry = registry_settings(command_config, setting, registry_url)
            to_registry = registry_settings(
                to_command_config,
                to_setting,
                to_schema_registry,
                # What is secret at the source's registry is no other's business.
                profile=to_profile or profiles.NO_PROFILE,
            )
            schemas = schema_transfer(opened, from_registry, to_registry, to_subject, schemas_in, on_error)
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
            if acls:
                rules.make(to_admin, rules.rules_of(admin, found))
            return found

        planned = plan_for(names)
        if groups and (by_key or len({route.target for route in planned}) < len(planned)):
            raise UsageError(
                "--groups needs each partition to be copied to one of its own: leave out --by-key, and do "
                "not give several topics one name"
            )
        partitions = bounds.partitions_of(consumer, names, partition)
        of_access = rules.rules_of(admin, planned) if acls else []
        of_group_access: list[AclBinding] = []
        begins: dict[TopicPartition, int] = {}
        carrying = None
        if groups:
            transfer = GroupTransfer(
                admin,
                to_admin,
                consumer_settings,
                target.settings(ConsumerConfig),
                groups,
                group,
                WhatCopyChanges(
                    is_wanted, source_headers, schemas is not None, leaves_some_out=on_error == "skip"
                ),
            )

            def make_rules(groups: Sequence[str]) -> None:
                rules.make(to_admin, rules.rules_of_groups(admin, groups))

            carrying = GroupCarrying(
                transfer, consumer, planned, partitions, begins, make_rules if acls else None
            )
            if acls:
                of_group_access = rules.rules_of_groups(admin, carrying.groups)
        producer_settings = target.settings(ProducerConfig)
        if exactly_once:
            producer_settings["transactional_id"] = group
        account: CopyAccount = SourceGroup(consumer) if has_account else NoAccount()
        producer = None
        if not dry_run:
            if create_topics:
                plan.create_missing(admin, to_admin, planned, replication_factor)
            if acls:
                rules.make(to_admin, [*of_access, *of_group_access])
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
        if not has_account:
            begins |= {each: consumer.position(each) for each in partitions}
        if producer is None:
            targets = {route.source: route.target for route in planned}
            of_schemas = None if schemas is None else schemas.preview(targets)
            of_groups = None if carrying is None else carrying.found(is_before=True)
            tell_plan(
                planned,
                consumer,
                partitions,
                of_access,
                of_group_access,
                of_schemas,
                of_groups,
                as_json=as_json,
            )
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
            schemas=schemas,
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
        with _told_when_broken_off(copier, is_usual=follow), _bar(ends) as advance:

            def told() -> None:
                advance()
                if follow and carrying is not None:
                    carrying.run_when_due()

            copier.run(ends, told, newcomers)
        seconds = time.monotonic() - began
        if schemas is not None and schemas.left:
            done = "left out" if on_error == "skip" else "copied as they are"
            note(f"{plural(schemas.left.total(), 'record')} named no schema that is there: {done}")
        with _told_when_broken_off(copier, is_usual=False):
            carried = None if carrying is None else carrying.run()
        tell(planned, copier, group if has_account else None, seconds, carried, as_json=as_json)


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
