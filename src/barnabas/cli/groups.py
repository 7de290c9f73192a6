"""`barnabas groups`: consumer groups, how far they are, and where they go on from."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from barnabas import Admin, TopicPartition
from barnabas.cli.admin.common import Yes, confirm
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    client_settings,
)
from barnabas.cli.output import note, plural, print_json, print_table
from barnabas.client.admin.types import MemberDescription, OffsetSpec
from barnabas.settings.table import AdminConfig

app = typer.Typer(help="List, describe, delete and reset consumer groups.", no_args_is_help=True)

Group = Annotated[str, typer.Argument(help="The group.")]


@app.command("list")
def list_groups(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print all groups."""
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with Admin(**settings) as admin:
        found = sorted(admin.list_groups(), key=lambda group: group.group_id)
    if as_json:
        print_json([{"group": group.group_id, "state": group.state, "type": group.type} for group in found])
    else:
        print_table(
            ["GROUP", "STATE", "TYPE"], [(group.group_id, group.state, group.type) for group in found]
        )


@app.command()
def describe(
    group: Group,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the group's state, and each partition's committed offset, end, lag and owner."""
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with Admin(**settings) as admin:
        described = admin.describe_groups([group])[group]
        committed = _committed(admin, group)
        if described.state == "Dead" and not committed:
            raise UsageError(f"there is no group {group!r}")
        owners = {partition: member for member in described.members for partition in member.assignment}
        partitions = sorted({*committed, *owners})
        ends = _offsets(admin, partitions, "latest")
    rows = [_progress(tp, committed.get(tp), ends[tp], owners.get(tp)) for tp in partitions]
    if as_json:
        summary = {
            "group": group,
            "state": described.state,
            "assignor": described.assignor,
            "coordinator": None if described.coordinator is None else str(described.coordinator),
            "members": len(described.members),
            "lag": sum(row["lag"] or 0 for row in rows),
            "partitions": rows,
        }
        print_json(summary)
        return
    members = plural(len(described.members), "member")
    print(f"{group}  {described.state}, {members}, coordinator {described.coordinator}")
    columns = ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "CLIENT", "HOST"]
    print_table(columns, [list(row.values())[: len(columns)] for row in rows])


@app.command()
def delete(
    groups: Annotated[list[str], typer.Argument(help="The groups.")],
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete groups that have no members, with their offsets."""
    confirm(f"delete {', '.join(groups)} with their offsets", is_sure=yes)
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with Admin(**settings) as admin:
        admin.delete_groups(groups)
    note(f"deleted {', '.join(groups)}")


@app.command("reset-offsets")
def reset_offsets(
    group: Group,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", "-t", metavar="TOPIC[:0,1]", help="A topic, or some partitions (may be repeated)."
        ),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="The oldest record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="The end.")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", min=0, help="This offset.")] = None,
    to_datetime: Annotated[
        datetime | None,
        typer.Option(
            "--to-datetime", help="The first record at or after this time (local, as 2026-01-31T12:00:00)."
        ),
    ] = None,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", help="So many on, or back if negative.")
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Do it; without this, only show.")] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Move the committed offsets of a group without members; without --execute, only show what would be."""
    ways = [to_earliest, to_latest, to_offset is not None, to_datetime is not None, shift_by is not None]
    if sum(ways) != 1:
        raise UsageError("give one of --to-earliest, --to-latest, --to-offset, --to-datetime, --shift-by")
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with Admin(**settings) as admin:
        committed = _committed(admin, group)
        partitions = _chosen(admin, topic) if topic else sorted(committed)
        if not partitions:
            raise UsageError(f"group {group!r} has no committed offsets; name what to set with --topic")
        earliest, latest = _offsets(admin, partitions, "earliest"), _offsets(admin, partitions, "latest")
        if to_earliest:
            wanted = earliest
        elif to_latest:
            wanted = latest
        elif to_offset is not None:
            wanted = dict.fromkeys(partitions, to_offset)
        elif to_datetime is not None:
            found = _offsets(admin, partitions, int(to_datetime.timestamp() * 1000))
            # -1: no record is that late.
            wanted = {tp: latest[tp] if found[tp] < 0 else found[tp] for tp in partitions}
        else:
            wanted = _shifted(group, partitions, committed, shift_by or 0)
        # As Kafka's own tool does: an offset outside the log becomes the nearest end of the log.
        wanted = {tp: min(max(wanted[tp], earliest[tp]), latest[tp]) for tp in partitions}
        if execute:
            admin.alter_group_offsets(group, wanted)
    rows = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "committed": committed.get(tp),
            "new_offset": wanted[tp],
        }
        for tp in partitions
    ]
    if as_json:
        print_json({"group": group, "executed": execute, "partitions": rows})
        return
    print_table(["TOPIC", "PARTITION", "COMMITTED", "NEW OFFSET"], [list(row.values()) for row in rows])
    if not execute:
        note("nothing was changed; add --execute to do it")


def _committed(admin: Admin, group: str) -> dict[TopicPartition, int]:
    return {tp: committed.offset for tp, committed in admin.list_group_offsets(group).items() if committed}


def _offsets(admin: Admin, partitions: list[TopicPartition], spec: OffsetSpec) -> dict[TopicPartition, int]:
    return {tp: found.offset for tp, found in admin.list_offsets(dict.fromkeys(partitions, spec)).items()}


def _shifted(
    group: str, partitions: list[TopicPartition], committed: dict[TopicPartition, int], by: int
) -> dict[TopicPartition, int]:
    for partition in partitions:
        if partition not in committed:
            raise UsageError(f"group {group!r} has no committed offset for {partition} to shift from")
    return {partition: committed[partition] + by for partition in partitions}


def _progress(
    partition: TopicPartition, committed: int | None, end: int, member: MemberDescription | None
) -> dict[str, Any]:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "committed": committed,
        "end_offset": end,
        "lag": None if committed is None else max(end - committed, 0),
        "client_id": None if member is None else member.client_id,
        "host": None if member is None else member.client_host,
        "member_id": None if member is None else member.member_id,
    }


def _chosen(admin: Admin, topics: list[str]) -> list[TopicPartition]:
    """The partitions that texts such as `flights` and `flights:0,3` name."""
    chosen: list[TopicPartition] = []
    for text in topics:
        topic, colon, numbers = text.partition(":")
        existing = {info.partition for info in admin.describe_topics([topic])[topic].partitions}
        try:
            wanted = {int(number) for number in numbers.split(",")} if colon else existing
        except ValueError:
            raise UsageError(f"--topic {text!r} is not TOPIC or TOPIC:0,1") from None
        if not wanted <= existing:
            raise UsageError(f"topic {topic!r} has no partition {min(wanted - existing)}")
        chosen += [TopicPartition(topic, partition) for partition in sorted(wanted)]
    return chosen
