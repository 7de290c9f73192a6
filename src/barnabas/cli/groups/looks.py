"""What `groups list` and `groups describe` show, as of one moment.

Owns the questions to the cluster and the shape of the JSON. Knows nothing of options and terminals.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from barnabas import TopicPartition
from barnabas.cli.admin.common import ends_of
from barnabas.cli.groups.lags import GroupLag, answered, lags_of
from barnabas.cli.groups.unread import written_at
from barnabas.cli.options import UsageError
from barnabas.cli.output import nearest, plural
from barnabas.cli.running.watching import WatchedTable
from barnabas.client.admin.types import (
    GroupDescription,
    GroupListing,
    MemberDescription,
    StreamsGroupDescription,
)

if TYPE_CHECKING:
    from barnabas import Admin

Description = GroupDescription | StreamsGroupDescription
_CONSUMER_TYPES = ("", "classic", "consumer")
# Of the columns of `listed`.
_TOPICS = 5


def listed(
    admin: Admin,
    *,
    states: Sequence[str] | None,
    types: Sequence[str] | None,
    topics: Sequence[str] | None,
    with_lag: bool,
    consumer_settings: Mapping[str, Any] | None = None,
) -> WatchedTable:
    """Groups in one of these states, of one of these types, that have read one of these topics; None: any.
    `consumer_settings`: as for `described`, together with `with_lag`."""
    wanted_states = None if states is None else {state.casefold() for state in states}
    wanted_types = None if types is None else {kind.casefold() for kind in types}
    groups = [
        group
        for group in sorted(admin.list_groups(), key=lambda group: group.group_id)
        if (wanted_states is None or group.state.casefold() in wanted_states)
        and (wanted_types is None or group.type.casefold() in wanted_types)
    ]
    lags: Mapping[str, GroupLag] = lags_of(admin, groups) if with_lag or topics else {}
    if topics:
        groups = [
            group
            for group in groups
            if group.group_id in lags and set(topics) & set(lags[group.group_id].topics)
        ]
    found: list[dict[str, Any]] = [
        {"group": group.group_id, "state": group.state, "type": group.type} for group in groups
    ]
    if not with_lag:
        rows = [tuple(each.values()) for each in found]
        return WatchedTable(("GROUP", "STATE", "TYPE"), rows, found)
    members = _members_of(admin, groups)
    for each in found:
        known = lags.get(each["group"])
        counts = members.get(each["group"])
        each["members"], each["idle_members"] = counts if counts is not None else (None, None)
        each["topics"] = known.topics if known is not None else []
        each["lag"] = None if known is None else known.lag
    columns = ["GROUP", "STATE", "TYPE", "MEMBERS", "IDLE", "TOPICS", "LAG"]
    if consumer_settings is not None:
        columns.append("LAG SECONDS")
        seconds = _seconds_behind(
            consumer_settings, {each["group"]: lags.get(each["group"]) for each in found}
        )
        for each in found:
            each["lag_seconds"] = seconds[each["group"]]
    rows = [[*each.values()] for each in found]
    for row in rows:
        row[_TOPICS] = ",".join(row[_TOPICS]) or None
    behind = sum(each["lag"] or 0 for each in found)
    title = f"{plural(len(found), 'group')}, {plural(behind, 'record')} behind"
    return WatchedTable(columns, rows, found, title)


def _seconds_behind(
    consumer_settings: Mapping[str, Any], lags: Mapping[str, GroupLag | None]
) -> dict[str, int | None]:
    """How old the oldest unread record of each group is."""
    behind = {
        group: [(tp, known.positions[tp]) for tp, lag in known.lags.items() if lag]
        for group, known in lags.items()
        if known is not None
    }
    waiting = {place for places in behind.values() for place in places}
    written: dict[tuple[TopicPartition, int], int] = {}
    while waiting:
        # Of each partition one record is fetched at a time.
        together = dict(sorted(waiting, reverse=True))
        written |= {(tp, together[tp]): at for tp, at in written_at(consumer_settings, together).items()}
        waiting -= set(together.items())
    now = time.time()
    found: dict[str, int | None] = {}
    for group, known in lags.items():
        ages = [
            max(round(now - written[place] / 1000), 0) for place in behind.get(group, ()) if place in written
        ]
        found[group] = 0 if known is not None and known.lag == 0 else max(ages, default=None)
    return found


def _members_of(admin: Admin, groups: Sequence[GroupListing]) -> dict[str, tuple[int, int]]:
    """How many members each group has, and how many of these have nothing to read. One that is gone by now,
    or that this client may not see, is left out."""
    counts: dict[str, tuple[int, int]] = {}
    consumers = [group.group_id for group in groups if group.type in _CONSUMER_TYPES]
    shared = [group.group_id for group in groups if group.type == "share"]
    streams = [group.group_id for group in groups if group.type == "streams"]
    described = answered(lambda: admin.describe_groups(consumers))
    of_share_groups = answered(lambda: admin.describe_share_groups(shared))
    for name, group in (*described.items(), *of_share_groups.items()):
        idle = [member for member in group.members if not member.assignment]
        counts[name] = len(group.members), len(idle)
    of_streams = answered(lambda: admin.describe_streams_groups(streams))
    for name, group in of_streams.items():
        idle_ones = [
            each for each in group.members if not (each.assignment.active or each.assignment.standby)
        ]
        counts[name] = len(group.members), len(idle_ones)
    return counts


def described(admin: Admin, groups: Sequence[str], consumer_settings: dict[str, Any] | None) -> WatchedTable:
    """`consumer_settings`: of a consumer that looks how old the first unread records are; None: it is not
    wanted."""
    found = [_as_json(admin, group, consumer_settings) for group in groups]
    columns = ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "CLIENT", "HOST"]
    keys = ["topic", "partition", "committed", "end_offset", "lag", "client_id", "host"]
    if consumer_settings is not None:
        columns.insert(5, "LAG SECONDS")
        keys.insert(5, "lag_seconds")
    rows = [[row[key] for key in keys] for each in found for row in each["partitions"]]
    if len(found) > 1:
        columns.insert(0, "GROUP")
        names = [each["group"] for each in found for _ in each["partitions"]]
        rows = [[name, *row] for name, row in zip(names, rows, strict=True)]
    titles = [
        f"{each['group']}  {each['state']}, {plural(each['members'], 'member')}, "
        f"coordinator {each['coordinator']}"
        for each in found
    ]
    return WatchedTable(columns, rows, found, "\n".join(titles))


def _as_json(admin: Admin, group: str, consumer_settings: dict[str, Any] | None) -> dict[str, Any]:
    description = described_group(admin, group)
    committed = committed_of(admin, group)
    owners: dict[TopicPartition, MemberDescription] = {}
    # Streams tell who has which task, and not which partition.
    if isinstance(description, GroupDescription):
        owners = {partition: member for member in description.members for partition in member.assignment}
    partitions = sorted({*committed, *owners})
    ends = ends_of(admin, partitions)
    rows = [_progress(tp, committed.get(tp), ends.get(tp), owners.get(tp)) for tp in partitions]
    known = [row["lag"] for row in rows if row["lag"] is not None]
    summary: dict[str, Any] = {
        "group": group,
        "state": description.state,
        "assignor": description.assignor if isinstance(description, GroupDescription) else None,
        "coordinator": None if description.coordinator is None else str(description.coordinator),
        "members": len(description.members),
        "lag": sum(known) if known else None,
        "partitions_without_lag": len(rows) - len(known),
        "partitions": rows,
    }
    if consumer_settings is not None:
        behind = {tp: committed[tp] for tp, row in zip(partitions, rows, strict=True) if row["lag"]}
        written = written_at(consumer_settings, behind)
        now = time.time()
        for tp, row in zip(partitions, rows, strict=True):
            at_ms = written.get(tp)
            row["lag_seconds"] = (
                0 if row["lag"] == 0 else None if at_ms is None else max(round(now - at_ms / 1000), 0)
            )
        summary["lag_seconds"] = max((row["lag_seconds"] or 0 for row in rows), default=None)
    return summary


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


def committed_of(admin: Admin, group: str) -> dict[TopicPartition, int]:
    return {tp: committed.offset for tp, committed in admin.list_group_offsets(group).items()}


def described_group(admin: Admin, group: str) -> Description:
    """Raises: UsageError for one that is not there, or is a share group."""
    found = admin.describe_groups([group])[group]
    if found.state != "Dead":
        return found
    known = {each.group_id: each for each in admin.list_groups()}
    if group not in known:
        raise UsageError(f"there is no group {group!r}{nearest(group, known)}")
    if known[group].type == "share":
        raise is_share_group(group, "describe shows it")
    if known[group].type == "streams":
        return admin.describe_streams_groups([group])[group]
    return found


def is_share_group(group: str, what_for: str) -> UsageError:
    return UsageError(f"{group!r} is a share group: barnabas share-groups {what_for}")
