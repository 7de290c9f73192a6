"""`barnabas groups`: consumer groups, how far they are, and where they go on from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.admin.common import (
    DryRun,
    Yes,
    admin_client,
    check_may_be_deleted,
    confirm,
    ends_of,
    numbers_in,
    partitions_in,
    told_dry_run,
)
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import nearest, note, plural, print_json, print_rows, print_table
from barnabas.cli.times import timestamp_ms
from barnabas.client.admin.types import (
    GroupDescription,
    MemberDescription,
    MemberToRemove,
    OffsetSpec,
    StreamsGroupDescription,
    StreamsGroupMember,
)

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(
    help="Groups of consumers and of Kafka Streams: how far they are, their members, their offsets.",
    no_args_is_help=True,
)

Group = Annotated[str, typer.Argument(help="The group.", autocompletion=completion.groups)]
Description = GroupDescription | StreamsGroupDescription


@app.command("list")
def list_groups(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print all groups."""
    with admin_client(bootstrap, command_config, setting) as admin:
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
    with admin_client(bootstrap, command_config, setting) as admin:
        described = _described(admin, group)
        committed = _committed(admin, group)
        owners: dict[TopicPartition, MemberDescription] = {}
        # Streams tell who has which task, and not which partition.
        if isinstance(described, GroupDescription):
            owners = {partition: member for member in described.members for partition in member.assignment}
        partitions = sorted({*committed, *owners})
        ends = ends_of(admin, partitions)
    rows = [_progress(tp, committed.get(tp), ends.get(tp), owners.get(tp)) for tp in partitions]
    if as_json:
        known = [row["lag"] for row in rows if row["lag"] is not None]
        summary = {
            "group": group,
            "state": described.state,
            "assignor": described.assignor if isinstance(described, GroupDescription) else None,
            "coordinator": None if described.coordinator is None else str(described.coordinator),
            "members": len(described.members),
            "lag": sum(known) if known else None,
            "partitions_without_lag": len(rows) - len(known),
            "partitions": rows,
        }
        print_json(summary)
        return
    members = plural(len(described.members), "member")
    print(f"{group}  {described.state}, {members}, coordinator {described.coordinator}")
    columns = ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "CLIENT", "HOST"]
    print_table(columns, [list(row.values())[: len(columns)] for row in rows])


@app.command()
def members(
    group: Group,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the group's members, and what each has: partitions, or tasks of Kafka Streams."""
    with admin_client(bootstrap, command_config, setting) as admin:
        described = _described(admin, group)
    columns = ("member_id", "instance_id", "client_id", "host")
    if isinstance(described, GroupDescription):
        rows = [(*_member(each), [str(tp) for tp in each.assignment]) for each in described.members]
        print_rows((*columns, "partitions"), rows, as_json=as_json)
        return
    tasks = [
        (*_member(each), *map(_tasks, (each.assignment.active, each.assignment.standby)))
        for each in described.members
    ]
    print_rows((*columns, "active_tasks", "standby_tasks"), tasks, as_json=as_json)


@app.command("remove-members")
def remove_members(
    group: Group,
    instance_id: Annotated[
        list[str] | None,
        typer.Option("--instance-id", "-i", help="The member of this group.instance.id (may be repeated)."),
    ] = None,
    member_id: Annotated[
        list[str] | None,
        typer.Option("--member-id", "-m", help="The member of this id, as members prints it."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All members.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Put members out of a group; one that is alive joins again."""
    if every == bool(instance_id or member_id):
        raise UsageError("name members by --instance-id or --member-id, or give --all")
    wanted = [MemberToRemove(group_instance_id=each) for each in instance_id or ()]
    wanted += [MemberToRemove(member_id=each) for each in member_id or ()]
    what = f"put {'all members' if every else plural(len(wanted), 'member')} out of {group}"
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            there = _described(admin, group).members
            known = {*(each.group_instance_id for each in there), *(each.member_id for each in there)}
            for name in (*(instance_id or ()), *(member_id or ())):
                if name not in known:
                    raise UsageError(f"group {group!r} has no member {name!r}")
            told_dry_run(what)
            return
        _check_is_no_share_group(admin, group)
        confirm(what, is_sure=yes)
        admin.remove_members(group, None if every else wanted)
    note(what)


@app.command("delete-offsets")
def delete_offsets(
    group: Group,
    topic: Annotated[
        list[str],
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="A topic, or some partitions (may be repeated).",
            autocompletion=completion.topics,
        ),
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Forget what a group has committed of topics that it does not read any more."""
    with admin_client(bootstrap, command_config, setting) as admin:
        _check_is_no_share_group(admin, group)
        committed = _committed(admin, group)
        chosen = _named(committed, topic)
        if not chosen:
            raise UsageError(f"group {group!r} has no committed offsets of {', '.join(topic)}")
        rows = [(tp.topic, tp.partition, committed[tp]) for tp in chosen]
        print_rows(("topic", "partition", "committed"), rows, as_json=as_json)
        if dry_run:
            told_dry_run()
            return
        confirm(f"forget {plural(len(chosen), 'offset')} of {group}", is_sure=yes)
        admin.delete_group_offsets(group, chosen)
    note(f"forgot {plural(len(chosen), 'offset')} of {group}")


@app.command()
def delete(
    groups: Annotated[list[str], typer.Argument(help="The groups.", autocompletion=completion.groups)],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete groups that have no members, with their offsets."""
    what = f"delete {', '.join(groups)} with their offsets"
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            check_may_be_deleted(admin, groups)
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.delete_groups(groups)
    note(f"deleted {', '.join(groups)}")


@app.command("reset-offsets")
def reset_offsets(
    group: Group,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="A topic, or some partitions (may be repeated).",
            autocompletion=completion.topics,
        ),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="The oldest record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="The end.")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", min=0, help="This offset.")] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(
            "--to-datetime", metavar="TIME", help="The first record at or after then: 2h, 2026-01-31T12:00."
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
    time_ms = None if to_datetime is None else timestamp_ms(to_datetime, "--to-datetime")
    with admin_client(bootstrap, command_config, setting) as admin:
        _check_is_no_share_group(admin, group, is_idle=execute)
        committed = _committed(admin, group)
        partitions = partitions_in(admin, topic, "--topic") if topic else sorted(committed)
        if not partitions:
            raise UsageError(f"group {group!r} has no committed offsets; name what to set with --topic")
        earliest, latest = _offsets(admin, partitions, "earliest"), _offsets(admin, partitions, "latest")
        if to_earliest:
            wanted = earliest
        elif to_latest:
            wanted = latest
        elif to_offset is not None:
            wanted = dict.fromkeys(partitions, to_offset)
        elif time_ms is not None:
            found = _offsets(admin, partitions, time_ms)
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
    partition: TopicPartition, committed: int | None, end: int | None, member: MemberDescription | None
) -> dict[str, Any]:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "committed": committed,
        "end_offset": end,
        "lag": None if committed is None or end is None else max(end - committed, 0),
        "client_id": None if member is None else member.client_id,
        "host": None if member is None else member.client_host,
        "member_id": None if member is None else member.member_id,
    }


def _described(admin: Admin, group: str) -> Description:
    """Raises: UsageError for one that is not there, or is a share group."""
    found = admin.describe_groups([group])[group]
    if found.state != "Dead":
        return found
    listed = {each.group_id: each for each in admin.list_groups()}
    if group not in listed:
        raise UsageError(f"there is no group {group!r}{nearest(group, listed)}")
    if listed[group].type == "share":
        raise _is_share_group(group, "describe shows it")
    if listed[group].type == "streams":
        return admin.describe_streams_groups([group])[group]
    return found


def _check_is_no_share_group(admin: Admin, group: str, *, is_idle: bool = False) -> None:
    """One that is not there may be given some. Raises: UsageError for a share group; if `is_idle` is wanted,
    for a group with members."""
    listed = {each.group_id: each for each in admin.list_groups()}.get(group)
    if listed is None:
        return
    if listed.type == "share":
        raise _is_share_group(group, "moves and forgets its offsets")
    if is_idle and listed.state not in ("Empty", "Dead"):
        members = len(_described(admin, group).members)
        raise UsageError(
            f"group {group!r} is live: it is {listed.state} with {plural(members, 'member')}; stop them first"
        )


def _is_share_group(group: str, what_for: str) -> UsageError:
    return UsageError(f"{group!r} is a share group: barnabas share-groups {what_for}")


def _member(member: MemberDescription | StreamsGroupMember) -> tuple[str, str | None, str, str]:
    return member.member_id, member.group_instance_id, member.client_id, member.client_host


def _tasks(by_subtopology: Mapping[str, Sequence[int]]) -> list[str]:
    """As Kafka Streams writes them: the subtopology, and the number of the partition."""
    return [f"{name}_{number}" for name, numbers in sorted(by_subtopology.items()) for number in numbers]


def _named(committed: Iterable[TopicPartition], texts: Sequence[str]) -> list[TopicPartition]:
    """Those that texts such as `flights` and `flights:0,3` name. Raises: UsageError."""
    chosen: list[TopicPartition] = []
    for text in texts:
        topic, colon, numbers = text.partition(":")
        wanted = numbers_in(numbers, "--topic") if colon else None
        chosen += [tp for tp in committed if tp.topic == topic and (wanted is None or tp.partition in wanted)]
    return sorted(chosen)
