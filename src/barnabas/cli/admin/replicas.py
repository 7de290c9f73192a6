"""`barnabas reassign` and `elect`: on which brokers replicas are, and which of them lead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.admin.common import (
    DryRun,
    Yes,
    admin_client,
    confirm,
    numbers_in,
    partitions_in,
    told_dry_run,
)
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import note, plural, print_rows
from barnabas.client.admin.types import ElectionType

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(help="Move replicas to other brokers, and see how far it is.", no_args_is_help=True)

Partitions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TOPIC[:0,1]]...",
        help="Topics, or some of their partitions.",
        autocompletion=completion.topics,
    ),
]


@app.command()
def start(
    partitions: Partitions = None,
    brokers: Annotated[
        str | None, typer.Option("--brokers", metavar="1,2,3", help="The brokers to divide replicas among.")
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option("--replication-factor", "-r", min=1, help="As many as now if left out."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            exists=True,
            dir_okay=False,
            help="In place of these: JSON, as kafka-reassign-partitions takes it.",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Begin to move replicas: evenly to these brokers, or as a file says."""
    if (file is None) == (not partitions or brokers is None):
        raise UsageError("name topics and --brokers, or give --file")
    with admin_client(bootstrap, command_config, setting) as admin:
        if file is not None:
            wanted = _in_file(file)
            now = _replicas(admin, sorted(wanted))
        else:
            now = _replicas(admin, partitions_in(admin, partitions or (), "TOPIC"))
            wanted = spread(now, numbers_in(brokers or "", "--brokers"), replication_factor)
        rows = [(tp.topic, tp.partition, now[tp], wanted[tp]) for tp in sorted(wanted)]
        print_rows(("topic", "partition", "replicas", "new_replicas"), rows, as_json=as_json)
        if dry_run:
            told_dry_run()
            return
        confirm(f"move the replicas of {plural(len(wanted), 'partition')}", is_sure=yes)
        admin.alter_partition_reassignments(wanted)
    note(f"replicas of {plural(len(wanted), 'partition')} move; see barnabas reassign list")


@app.command("list")
def list_moves(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the moves that are under way."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.list_partition_reassignments()
    rows = [
        (
            tp.topic,
            tp.partition,
            list(move.replicas),
            list(move.adding_replicas),
            list(move.removing_replicas),
        )
        for tp, move in sorted(found.items())
    ]
    print_rows(("topic", "partition", "replicas", "adding", "removing"), rows, as_json=as_json)


@app.command()
def cancel(
    partitions: Partitions = None,
    every: Annotated[bool, typer.Option("--all", help="All moves that are under way.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """End moves that are under way: replicas stay where they were."""
    if every == bool(partitions):
        raise UsageError("name topics, or give --all")
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.list_partition_reassignments()
        if partitions:
            chosen = set(partitions_in(admin, partitions, "TOPIC"))
            found = {tp: move for tp, move in found.items() if tp in chosen}
        if not found:
            note("no replicas move")
            return
        if dry_run:
            told_dry_run(f"end the moves of {', '.join(map(str, sorted(found)))}")
            return
        confirm(f"end the moves of {plural(len(found), 'partition')}", is_sure=yes)
        admin.alter_partition_reassignments(dict.fromkeys(found))
    note(f"ended the moves of {', '.join(map(str, sorted(found)))}")


def elect(
    partitions: Partitions = None,
    every: Annotated[bool, typer.Option("--all", help="All partitions.")] = False,
    unclean: Annotated[
        bool, typer.Option("--unclean", help="Any replica where none is in sync: records may be lost.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Make the preferred replicas leaders again, or with --unclean any replica."""
    if every == bool(partitions):
        raise UsageError("name topics, or give --all")
    kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
    with admin_client(bootstrap, command_config, setting) as admin:
        chosen = partitions_in(admin, partitions, "TOPIC") if partitions else None
        if dry_run:
            rows = _elections(admin, chosen, unclean=unclean)
            columns = ("topic", "partition", "leader", "replicas", "in_sync_replicas", "elected")
            print_rows(columns, rows, as_json=as_json)
            told_dry_run()
            return
        if unclean:
            confirm("elect leaders that are not in sync, and lose what they lack", is_sure=yes)
        found = admin.elect_leaders(kind, chosen)
    rows = [(tp.topic, tp.partition, is_elected) for tp, is_elected in sorted(found.items())]
    print_rows(("topic", "partition", "elected"), rows, as_json=as_json)


def _elections(
    admin: Admin, chosen: list[TopicPartition] | None, *, unclean: bool
) -> list[tuple[str, int, int, list[int], list[int], bool]]:
    """Who leads, and whether an election would change that."""
    topics = admin.list_topics(internal=True) if chosen is None else sorted({tp.topic for tp in chosen})
    described = admin.describe_topics(topics)
    return [
        (
            topic,
            info.partition,
            info.leader,
            list(info.replicas),
            list(info.in_sync_replicas),
            info.leader < 0
            if unclean
            else info.leader != info.replicas[0] and info.replicas[0] in info.in_sync_replicas,
        )
        for topic in topics
        for info in described[topic].partitions
        if chosen is None or (topic, info.partition) in chosen
    ]


def _replicas(admin: Admin, partitions: list[TopicPartition]) -> dict[TopicPartition, list[int]]:
    described = admin.describe_topics(list(dict.fromkeys(tp.topic for tp in partitions)))
    found = {
        TopicPartition(topic.name, info.partition): list(info.replicas)
        for topic in described.values()
        for info in topic.partitions
    }
    for tp in partitions:
        if tp not in found:
            raise UsageError(f"topic {tp.topic!r} has no partition {tp.partition}")
    return {tp: found[tp] for tp in partitions}


def spread(
    now: dict[TopicPartition, list[int]], brokers: list[int], replication_factor: int | None
) -> dict[TopicPartition, list[int]]:
    """Leaders and followers in turn over the brokers."""
    wanted: dict[TopicPartition, list[int]] = {}
    for index, (tp, replicas) in enumerate(now.items()):
        count = replication_factor or len(replicas)
        if count > len(set(brokers)):
            raise UsageError(f"{tp} has {count} replicas, and --brokers names {len(set(brokers))}")
        # After each round the followers stand in another order, so that not always the same pairs form.
        step = 1 + index // len(brokers) % max(1, len(brokers) - 1)
        order = [brokers[index % len(brokers)]]
        order += [
            brokers[(index + step + offset) % len(brokers)]
            for offset in range(len(brokers))
            if (step + offset) % len(brokers)
        ]
        wanted[tp] = order[:count]
    return wanted


def _in_file(path: Path) -> dict[TopicPartition, list[int]]:
    try:
        found: Any = json.loads(path.read_text())
        return {
            TopicPartition(str(each["topic"]), int(each["partition"])): [int(i) for i in each["replicas"]]
            for each in found["partitions"]
        }
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f'{str(path)!r} is not {{"partitions": [{{"topic": "t", "partition": 0, "replicas": [1, 2]}}]}}: '
            f"{error!r}"
        ) from None
