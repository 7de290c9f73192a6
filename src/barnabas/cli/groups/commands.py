"""`barnabas groups`: consumer groups, how far they are, and where they go on from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.admin.common import (
    DryRun,
    Yes,
    admin_client,
    check_may_be_deleted,
    confirm,
    numbers_in,
    partitions_in,
    told_dry_run,
)
from barnabas.cli.groups.looks import committed_of, described, described_group, is_share_group, listed
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
from barnabas.cli.names import Groups, Pattern, chosen
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, client_settings
from barnabas.cli.output import note, plural, print_rows
from barnabas.cli.running.watching import DEFAULT_INTERVAL, Interval, Looks, Watch, show
from barnabas.client.admin.types import (
    GroupDescription,
    MemberDescription,
    MemberToRemove,
    StreamsGroupMember,
)
from barnabas.settings.table import ConsumerConfig

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(
    help="Show groups of consumers and of Kafka Streams, their lag and members, and change their offsets.",
    no_args_is_help=True,
)

Group = Annotated[str, typer.Argument(help="The group.", autocompletion=completion.groups)]


@app.command("list")
def list_groups(
    state: Annotated[
        list[str] | None, typer.Option("--state", help="Only in this state: Stable, Empty, ... (repeatable).")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--type", help="Only classic, consumer, share or streams groups (repeatable)."),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            help="Only those that have read this topic (repeatable).",
            autocompletion=completion.topics,
        ),
    ] = None,
    lag: Annotated[
        bool, typer.Option("--lag", "-l", help="Print members, idle members, topics and lag as well.")
    ] = False,
    seconds: Annotated[
        bool,
        typer.Option(
            "--seconds", help="With --lag, which this implies: how old the oldest unread record is, too."
        ),
    ] = False,
    watch: Watch = False,
    interval: Interval = DEFAULT_INTERVAL,
    looks: Looks = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print all groups; with --lag how far behind each is, with --topic those that read a topic."""
    consumer_settings = (
        client_settings(ConsumerConfig, bootstrap, command_config, setting) if seconds else None
    )
    with admin_client(bootstrap, command_config, setting) as admin:
        show(
            lambda: listed(
                admin,
                states=state,
                types=kind,
                topics=topic,
                with_lag=lag or seconds,
                consumer_settings=consumer_settings,
            ),
            as_json=as_json,
            watch=watch,
            interval=interval,
            looks=looks,
        )


@app.command()
def describe(
    groups: Groups = None,
    pattern: Pattern = None,
    seconds: Annotated[
        bool,
        typer.Option(
            "--seconds",
            help="Print how old the oldest unread record is as well; it is fetched for that.",
        ),
    ] = False,
    watch: Watch = False,
    interval: Interval = DEFAULT_INTERVAL,
    looks: Looks = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the state of groups, and each partition's committed offset, end, lag and owner."""
    consumer_settings = (
        client_settings(ConsumerConfig, bootstrap, command_config, setting) if seconds else None
    )
    with admin_client(bootstrap, command_config, setting) as admin:
        show(
            lambda: described(admin, chosen("group", groups, pattern, _names(admin)), consumer_settings),
            as_json=as_json,
            watch=watch,
            interval=interval,
            looks=looks,
        )


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
        found = described_group(admin, group)
    columns = ("member_id", "instance_id", "client_id", "host")
    if isinstance(found, GroupDescription):
        rows = [(*_member(each), [str(tp) for tp in each.assignment]) for each in found.members]
        print_rows((*columns, "partitions"), rows, as_json=as_json)
        return
    tasks = [
        (*_member(each), *map(_tasks, (each.assignment.active, each.assignment.standby)))
        for each in found.members
    ]
    print_rows((*columns, "active_tasks", "standby_tasks"), tasks, as_json=as_json)


@app.command("remove-members")
def remove_members(
    group: Group,
    instance_id: Annotated[
        list[str] | None,
        typer.Option("--instance-id", "-i", help="The member with this group.instance.id (repeatable)."),
    ] = None,
    member_id: Annotated[
        list[str] | None,
        typer.Option("--member-id", "-m", help="The member with this id, as members prints it (repeatable)."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All members.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Remove members from a group; one that still runs joins again."""
    if every == bool(instance_id or member_id):
        raise UsageError("name members by --instance-id or --member-id, or give --all")
    wanted = [MemberToRemove(group_instance_id=each) for each in instance_id or ()]
    wanted += [MemberToRemove(member_id=each) for each in member_id or ()]
    what = f"put {'all members' if every else plural(len(wanted), 'member')} out of {group}"
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            there = described_group(admin, group).members
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
            help="A topic, or some partitions (repeatable).",
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
    """Delete a group's committed offsets of topics that it does not read any more."""
    with admin_client(bootstrap, command_config, setting) as admin:
        _check_is_no_share_group(admin, group)
        committed = committed_of(admin, group)
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
    groups: Groups = None,
    pattern: Pattern = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete groups that have no members, with their offsets."""
    with admin_client(bootstrap, command_config, setting) as admin:
        names = chosen("group", groups, pattern, _names(admin))
        what = f"delete {', '.join(names)} with their offsets"
        if dry_run:
            check_may_be_deleted(admin, names)
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.delete_groups(names)
    note(f"deleted {', '.join(names)}")


@app.command("reset-offsets")
def reset_offsets(
    group: Group,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="A topic, or some partitions (repeatable); all that the group has committed if left out.",
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
    """Move the committed offsets of a group without members.

    For example: barnabas groups reset-offsets billing --topic orders --to-datetime 2h --dry-run
    """
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
        _check_is_no_share_group(admin, group, is_idle=not dry_run)
        named = partitions_in(admin, topic, "--topic") if topic else None
        move(
            admin,
            group,
            target,
            named,
            committed_of(admin, group),
            lambda wanted: admin.alter_group_offsets(group, wanted),
            now_column="committed",
            export=export,
            dry_run=dry_run,
            yes=yes,
            as_json=as_json,
        )


def _names(admin: Admin) -> Callable[[], list[str]]:
    """Of all groups but share groups, which have commands of their own."""
    return lambda: [group.group_id for group in admin.list_groups() if group.type != "share"]


def _check_is_no_share_group(admin: Admin, group: str, *, is_idle: bool = False) -> None:
    """One that is not there may be given some. Raises: UsageError for a share group; if `is_idle` is wanted,
    for a group with members."""
    known = {each.group_id: each for each in admin.list_groups()}.get(group)
    if known is None:
        return
    if known.type == "share":
        raise is_share_group(group, "moves and forgets its offsets")
    if is_idle and known.state not in ("Empty", "Dead"):
        members = len(described_group(admin, group).members)
        raise UsageError(
            f"group {group!r} is live: it is {known.state} with {plural(members, 'member')}; stop them first"
        )


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
