"""`barnabas share-groups`: groups whose members share the records of partitions (KIP-932)."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import nearest, note, plural, print_json, print_rows, print_table
from barnabas.cli.times import timestamp_ms

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
        typer.Option("--topic", "-t", help="Which (repeatable).", autocompletion=completion.topics),
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Forget where a share group without members stands in topics."""
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
        list[str],
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="Where (repeatable).",
            autocompletion=completion.topics,
        ),
    ],
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="The oldest record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="The end.")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", min=0, help="This offset.")] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option("--to-datetime", metavar="TIME", help="The first record since then: 2h, 2026-01-31."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Move where a share group without members goes on."""
    if sum((to_earliest, to_latest, to_offset is not None, to_datetime is not None)) != 1:
        raise UsageError("give one of --to-earliest, --to-latest, --to-offset and --to-datetime")
    time_ms = None if to_datetime is None else timestamp_ms(to_datetime, "--to-datetime")
    with admin_client(bootstrap, command_config, setting) as admin:
        chosen = partitions_in(admin, topic, "--topic")
        first = admin.list_offsets(dict.fromkeys(chosen, "earliest"))
        end = admin.list_offsets(dict.fromkeys(chosen, "latest"))
        wanted = {tp: (first if to_earliest else end)[tp].offset for tp in chosen}
        if to_offset is not None:
            wanted = {tp: min(max(to_offset, first[tp].offset), end[tp].offset) for tp in chosen}
        if time_ms is not None:
            at = admin.list_offsets(dict.fromkeys(chosen, time_ms))
            wanted |= {tp: found.offset for tp, found in at.items() if found.offset >= 0}
        print_rows(
            ("topic", "partition", "new_offset"), [(*tp, wanted[tp]) for tp in chosen], as_json=as_json
        )
        if dry_run:
            told_dry_run()
            return
        confirm(f"move {group} in {plural(len(chosen), 'partition')}", is_sure=yes)
        admin.alter_share_group_offsets(group, wanted)
