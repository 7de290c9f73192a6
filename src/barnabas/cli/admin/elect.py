"""`barnabas elect`: which replicas lead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, partitions_in, told_dry_run
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import print_rows
from barnabas.client.admin.types import ElectionType

if TYPE_CHECKING:
    from barnabas import Admin

Partitions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TOPIC[:0,1]]...",
        help="Topics, or some of their partitions.",
        autocompletion=completion.topics,
    ),
]


def elect(
    partitions: Partitions = None,
    every: Annotated[bool, typer.Option("--all", help="All partitions.")] = False,
    unclean: Annotated[
        bool, typer.Option("--unclean", help="Elect any replica where none is in sync: records may be lost.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Make the preferred replicas leaders again, or with --unclean any replica.

    For example: barnabas elect orders
    """
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
