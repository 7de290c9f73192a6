"""`barnabas share-groups`: groups whose members share the records of partitions (KIP-932)."""

from __future__ import annotations

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
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import nearest, note, plural, print_json, print_rows, print_table

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(help="List, describe, delete and reset share groups.", no_args_is_help=True)

Group = Annotated[str, typer.Argument(help="The group.", autocompletion=completion.share_groups)]


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
    group: Group,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the group's state, its members, and where it stands in each partition."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_share_groups([group])[group]
        offsets = admin.list_share_group_offsets({group: None})[group]
    stand: list[tuple[Any, ...]] = [
        (tp.topic, tp.partition, offsets[tp].start_offset, offsets[tp].lag) for tp in sorted(offsets)
    ]
    members = [
        (each.member_id, each.client_id, each.client_host, [str(tp) for tp in each.assignment])
        for each in found.members
    ]
    stand_columns = ("topic", "partition", "start_offset", "lag")
    member_columns = ("member_id", "client_id", "host", "partitions")
    if as_json:
        summary = {
            "group": group,
            "state": found.state,
            "members": [dict(zip(member_columns, row, strict=True)) for row in members],
            "partitions": [dict(zip(stand_columns, row, strict=True)) for row in stand],
        }
        print_json(summary)
        return
    print(f"{group}  {found.state}, {plural(len(members), 'member')}, coordinator {found.coordinator}")
    if members:
        print_rows(member_columns, members, as_json=False)
    print_table([column.upper().replace("_", " ") for column in stand_columns], stand)


@app.command()
def delete(
    groups: Annotated[list[str], typer.Argument(help="The groups.", autocompletion=completion.share_groups)],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete share groups that have no members, with where they stand."""
    what = f"delete {', '.join(groups)}"
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            check_may_be_deleted(admin, groups, types=["share"])
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.delete_groups(groups)
    note(f"deleted {', '.join(groups)}")


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
            help="A topic, or some partitions (repeatable); all in which the group stands if left out.",
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
    """Move where a share group without members goes on."""
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
