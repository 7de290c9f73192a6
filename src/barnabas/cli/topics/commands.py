"""`barnabas topics`: what the cluster's topics are, and changes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import barnabas
from barnabas.broker_errors import TopicAlreadyExistsError
from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, ends_of, partitions_in, told_dry_run
from barnabas.cli.names import Pattern, Topics, chosen, matching
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, pairs
from barnabas.cli.other_cluster import ToBootstrap, ToCommandConfig, ToProfile, ToSetting, other_cluster
from barnabas.cli.output import note, plural, print_json, print_rows, print_table
from barnabas.cli.topics import looks
from barnabas.cli.topics.differences import differences
from barnabas.errors import BarnabasError
from barnabas.records.times import timestamp_ms
from barnabas.settings.table import AdminConfig

if TYPE_CHECKING:
    from barnabas.client.admin.types import OffsetSpec

# Of a command that looks for something: it is not as it should be.
_STATUS_OF_A_DIFFERENCE = 3
_ENDS: dict[str, OffsetSpec] = {
    "earliest": "earliest",
    "latest": "latest",
    "max-timestamp": "max_timestamp",
    "earliest-local": "earliest_local",
    "latest-tiered": "latest_tiered",
    "earliest-pending-upload": "earliest_pending_upload",
}
app = typer.Typer(help="List, describe, compare, create, alter and delete topics.", no_args_is_help=True)

Config = Annotated[
    list[str] | None,
    typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting of the topic (repeatable)."),
]


@app.command("list")
def list_topics(
    internal: Annotated[bool, typer.Option("--internal", help="List Kafka's own topics as well.")] = False,
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="REGEX", help="Only those whose whole name matches.")
    ] = None,
    long: Annotated[
        bool,
        typer.Option("--long", "-l", help="Print partitions, replicas, records, bytes and groups as well."),
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the names of all topics; with --long, also what is in them and who reads them.

    Records are counted by offsets: where a topic is compacted, or has transactions, there are fewer. Bytes
    are those of one replica of each partition, as the brokers keep them.
    """
    with admin_client(bootstrap, command_config, setting) as admin:
        names = admin.list_topics(internal=internal)
        if pattern is not None:
            names = matching(names, pattern)
        found = looks.listed(admin, names) if long else []
    if long:
        print_rows(looks.LISTED, [tuple(each.values()) for each in found], as_json=as_json)
    elif as_json:
        print_json(names)
    else:
        for name in names:
            print(name)


@app.command()
def offsets(
    partitions: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC[:0,1]...",
            help="Topics, or some of their partitions.",
            autocompletion=completion.topics,
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME|END",
            help="The offset of the first record at or after this time (2h, 2026-01-31T12:00), or one of "
            f"{', '.join(_ENDS)}; both ends if left out.",
        ),
    ] = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the offsets of partitions: their ends, or by time.

    For example: barnabas topics offsets orders --at 2h
    """
    spec: OffsetSpec | None = None
    if at is not None:
        spec = _ENDS[at] if at in _ENDS else timestamp_ms(at, "--at")
    with admin_client(bootstrap, command_config, setting) as admin:
        places = partitions_in(admin, partitions, "TOPIC")
        if spec is None:
            ends = [ends_of(admin, places, end) for end in ("earliest", "latest")]
            rows = [(*tp, *(each.get(tp) for each in ends)) for tp in places]
            print_rows(("topic", "partition", "first_offset", "end_offset"), rows, as_json=as_json)
            return
        found = admin.list_offsets(dict.fromkeys(places, spec))
    # -1: no record is that late.
    known = [
        (*tp, *(None if value < 0 else value for value in (at.offset, at.timestamp)))
        for tp, at in found.items()
    ]
    print_rows(("topic", "partition", "offset", "timestamp_ms"), known, as_json=as_json)


@app.command()
def diff(
    topics: Topics = None,
    pattern: Pattern = None,
    records: Annotated[
        bool, typer.Option("--records", help="Compare how many records there are as well.")
    ] = False,
    to_bootstrap: ToBootstrap = None,
    to_profile: ToProfile = None,
    to_command_config: ToCommandConfig = None,
    to_setting: ToSetting = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print how the topics of two clusters differ: which are missing, partitions, replicas and settings.

    The exit status is 0 if they do not, 3 if they do. Settings count where a topic has a value of its own.
    """
    elsewhere = other_cluster(to_bootstrap, to_profile, to_command_config, to_setting)
    if elsewhere is None:
        raise UsageError("name the other cluster: give --to-bootstrap, --to-profile or --to-command-config")
    if topics and pattern is not None:
        raise UsageError("--pattern and topics exclude each other")
    with (
        admin_client(bootstrap, command_config, setting) as admin,
        barnabas.Admin(**elsewhere.settings(AdminConfig)) as other,
    ):
        both = [looks.facts(each, topics, pattern, with_records=records) for each in (admin, other)]
    for name in topics or ():
        if all(name not in each for each in both):
            raise UsageError(f"no cluster has a topic {name!r}")
    found = differences(*both)
    rows = [(each.topic, each.what, each.here, each.there) for each in found]
    if rows or as_json:
        print_rows(("topic", "what", "here", "there"), rows, as_json=as_json)
    if not found:
        note(f"no differences in {plural(len(both[0]), 'topic')}")
        return
    raise typer.Exit(_STATUS_OF_A_DIFFERENCE)


@app.command()
def create(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="The names of the new topics.")],
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            "-p",
            min=1,
            help="How many partitions each has; the broker's default if left out.",
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            "-r",
            min=1,
            help="How many replicas each partition has; the broker's default if left out.",
        ),
    ] = None,
    config: Config = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Pass over topics that are there already.")
    ] = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Create topics.

    For example: barnabas topics create orders -p 6 -r 3 -c retention.ms=86400000
    """
    # Here and not above: no help waits for what administers.
    from barnabas.client.admin.types import BROKER_DEFAULT

    settings = pairs(config, "--config")
    wanted = [
        barnabas.NewTopic(name, partitions or BROKER_DEFAULT, replication_factor or BROKER_DEFAULT, settings)
        for name in dict.fromkeys(topics)
    ]
    with admin_client(bootstrap, command_config, setting) as admin:
        failed: dict[str, BarnabasError] = {}
        try:
            admin.create_topics(wanted, validate_only=dry_run)
        except BarnabasError as error:
            if error.outcome is None:
                raise
            failed.update(error.outcome.errors)
    for each in wanted:
        error = failed.get(each.name)
        if if_not_exists and isinstance(error, TopicAlreadyExistsError):
            note(f"topic {each.name} is there already")
            del failed[each.name]
        elif error is None and not dry_run:
            note(f"created topic {each.name}")
    for error in failed.values():
        raise error
    if dry_run:
        told_dry_run(f"create topic {', '.join(each.name for each in wanted)}")


@app.command()
def describe(
    topics: Topics = None,
    pattern: Pattern = None,
    under_replicated: Annotated[
        bool, typer.Option("--under-replicated", help="Only partitions with replicas that are not in sync.")
    ] = False,
    unavailable: Annotated[
        bool, typer.Option("--unavailable", help="Only partitions without a leader.")
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the partitions of topics, their offsets, and the settings that are not defaults; of all topics
    where none is named."""
    with admin_client(bootstrap, command_config, setting) as admin:
        names = None
        if topics or pattern is not None:
            names = chosen("topic", topics, pattern, lambda: admin.list_topics(internal=True))
        found = looks.described(admin, names, under_replicated=under_replicated, unavailable=unavailable)
    if as_json:
        print_json(found)
        return
    for topic in found:
        print(f"{topic['name']}  (id {topic['topic_id']})")
        for name, value in topic["configs"].items():
            print(f"  {name}={value}")
        columns = ["PARTITION", "LEADER", "REPLICAS", "IN SYNC", "FIRST OFFSET", "END OFFSET"]
        keys = ["partition", "leader", "replicas", "in_sync_replicas", "first_offset", "end_offset"]
        print_table(columns, [[_cell(row[key]) for key in keys] for row in topic["partitions"]])


@app.command()
def alter(
    topics: Topics = None,
    pattern: Pattern = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions", "-p", min=1, help="How many partitions each has afterwards, more than now."
        ),
    ] = None,
    config: Config = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option(
            "--delete-config",
            metavar="NAME",
            help="Delete this setting of the topic: the broker's default holds then (repeatable).",
            autocompletion=completion.topic_configs,
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Add partitions to topics, or change settings. Settings that are not named stay as they are."""
    changes: dict[str, str | None] = {**pairs(config, "--config"), **dict.fromkeys(delete_config or ())}
    if partitions is None and not changes:
        raise UsageError("nothing to alter: give --partitions, --config or --delete-config")
    with admin_client(bootstrap, command_config, setting) as admin:
        names = chosen("topic", topics, pattern, admin.list_topics)
        what = f"alter topic {', '.join(names)}"
        if pattern is not None and not dry_run:
            confirm(what, is_sure=yes)
        if changes:
            resources = [barnabas.ConfigResource(barnabas.ResourceType.TOPIC, name) for name in names]
            admin.alter_configs(dict.fromkeys(resources, changes), validate_only=dry_run)
        if partitions is not None:
            admin.create_partitions(dict.fromkeys(names, partitions), validate_only=dry_run)
    if dry_run:
        told_dry_run(what)
    else:
        note(f"altered topic {', '.join(names)}")


@app.command()
def delete(
    topics: Topics = None,
    pattern: Pattern = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete topics, with all their records."""
    with admin_client(bootstrap, command_config, setting) as admin:
        names = chosen("topic", topics, pattern, admin.list_topics)
        admin.describe_topics(names)
        if dry_run:
            told_dry_run(f"delete {', '.join(names)}")
            return
        confirm(f"delete {', '.join(names)} with all records", is_sure=yes)
        admin.delete_topics(names)
    note(f"deleted {', '.join(names)}")


def _cell(value: int | list[int] | None) -> int | str | None:
    return ",".join(map(str, value)) if isinstance(value, list) else value
