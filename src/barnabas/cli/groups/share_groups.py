"""`barnabas share-groups`: groups whose members share the records of partitions (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas import TopicPartition
from barnabas.broker_errors import GroupIdNotFoundError
from barnabas.cli import completion
from barnabas.cli.admin.common import (
    DryRun,
    Yes,
    admin_client,
    check_may_be_deleted,
    confirm,
    partitions_in,
    told_dry_run,
)
from barnabas.cli.groups.moving import move
from barnabas.cli.groups.targets import (
    Export,
    FromFile,
    ShiftBy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffset,
    target_of,
)
from barnabas.cli.names import Pattern, chosen
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import nearest, note, plural, print_json, print_rows, print_table

if TYPE_CHECKING:
    from barnabas import Admin
    from barnabas.client.admin.types import GroupDescription, SharePartitionOffset

    Stand = Mapping[TopicPartition, SharePartitionOffset]

app = typer.Typer(help="List, describe, delete and reset share groups.", no_args_is_help=True)

Group = Annotated[str, typer.Argument(help="The group.", autocompletion=completion.share_groups)]

ShareGroups = Annotated[
    list[str] | None,
    typer.Argument(metavar="[GROUP]...", help="The groups.", autocompletion=completion.share_groups),
]


@app.command("list")
def list_share_groups(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print all share groups."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.list_groups(types=["share"])
    print_rows(("group", "state"), [(each.group_id, each.state) for each in found], as_json=as_json)


@app.command()
def describe(
    groups: ShareGroups = None,
    pattern: Pattern = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the state of share groups, their members, and their start offset and lag in each partition.

    With --json, one group that is named is an object; of several, or with --pattern, there is a list.
    """
    with admin_client(bootstrap, command_config, setting) as admin:
        names = chosen("group", groups, pattern, _names(admin))
        found = admin.describe_share_groups(names)
        offsets = admin.list_share_group_offsets(dict.fromkeys(names))
    if as_json:
        documents = [_as_json(name, found[name], offsets[name]) for name in names]
        print_json(documents if len(documents) > 1 or pattern is not None else documents[0])
        return
    for number, name in enumerate(names):
        if number > 0:
            print()
        _tell(name, found[name], offsets[name])


_STAND_COLUMNS = ("topic", "partition", "start_offset", "lag")
_MEMBER_COLUMNS = ("member_id", "client_id", "host", "partitions")


def _as_json(group: str, found: GroupDescription, offsets: Stand) -> dict[str, Any]:
    return {
        "group": group,
        "state": found.state,
        "members": [dict(zip(_MEMBER_COLUMNS, row, strict=True)) for row in _members(found)],
        "partitions": [dict(zip(_STAND_COLUMNS, row, strict=True)) for row in _stand(offsets)],
    }


def _tell(group: str, found: GroupDescription, offsets: Stand) -> None:
    members = _members(found)
    print(f"{group}  {found.state}, {plural(len(members), 'member')}, coordinator {found.coordinator}")
    if members:
        print_rows(_MEMBER_COLUMNS, members, as_json=False)
    print_table([column.upper().replace("_", " ") for column in _STAND_COLUMNS], _stand(offsets))


def _stand(offsets: Stand) -> list[tuple[Any, ...]]:
    return [(tp.topic, tp.partition, offsets[tp].start_offset, offsets[tp].lag) for tp in sorted(offsets)]


def _members(found: GroupDescription) -> list[tuple[Any, ...]]:
    return [
        (each.member_id, each.client_id, each.client_host, [str(tp) for tp in each.assignment])
        for each in found.members
    ]


def _names(admin: Admin) -> Callable[[], list[str]]:
    return lambda: [group.group_id for group in admin.list_groups(types=["share"])]


@app.command()
def delete(
    groups: ShareGroups = None,
    pattern: Pattern = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete share groups that have no members, with their offsets."""
    with admin_client(bootstrap, command_config, setting) as admin:
        names = chosen("group", groups, pattern, _names(admin))
        what = f"delete {', '.join(names)}"
        if dry_run:
            check_may_be_deleted(admin, names, types=["share"])
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.delete_groups(names)
    note(f"deleted {', '.join(names)}")


@app.command("delete-offsets")
def delete_offsets(
    group: Group,
    topic: Annotated[
        list[str],
        typer.Option("--topic", "-t", help="A topic (repeatable).", autocompletion=completion.topics),
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete the offsets of a share group without members in topics."""
    what = f"forget where {group} stands in {', '.join(topic)}"
    with admin_client(bootstrap, command_config, setting) as admin:
        known = {tp.topic for tp in admin.list_share_group_offsets({group: None})[group]}
        for name in topic:
            if name not in known:
                raise UsageError(f"share group {group!r} stands nowhere in {name!r}{nearest(name, known)}")
        if dry_run:
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.delete_share_group_offsets(group, topic)
    note(f"{group} stands nowhere in {', '.join(topic)} any more")


@app.command("reset-offsets")
def reset_offsets(
    group: Group,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="A topic, or some partitions (repeatable); all that the group has offsets of if left out.",
            autocompletion=completion.topics,
        ),
    ] = None,
    to_earliest: ToEarliest = False,
    to_latest: ToLatest = False,
    to_current: ToCurrent = False,
    to_offset: ToOffset = None,
    to_datetime: ToDatetime = None,
    shift_by: ShiftBy = None,
    from_file: FromFile = None,
    export: Export = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Move the start offsets of a share group without members."""
    target = target_of(
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_current=to_current,
        to_offset=to_offset,
        to_datetime=to_datetime,
        shift_by=shift_by,
        from_file=from_file,
    )
    with admin_client(bootstrap, command_config, setting) as admin:
        named = partitions_in(admin, topic, "--topic") if topic else None
        move(
            admin,
            group,
            target,
            named,
            _where(admin, group),
            lambda wanted: admin.alter_share_group_offsets(group, wanted),
            now_column="start_offset",
            export=export,
            dry_run=dry_run,
            yes=yes,
            as_json=as_json,
        )


def _where(admin: Admin, group: str) -> dict[TopicPartition, int]:
    """Where a group goes on, which may be one that is not there yet."""
    try:
        return {
            tp: at.start_offset for tp, at in admin.list_share_group_offsets({group: None})[group].items()
        }
    except GroupIdNotFoundError:
        return {}
