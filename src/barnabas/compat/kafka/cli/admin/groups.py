"""`python -m kafka.admin groups`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from barnabas.compat.kafka.admin._groups import GroupState, GroupType, MemberToRemove
from barnabas.compat.kafka.cli._argument import OneOf, number, switch, text, texts
from barnabas.compat.kafka.cli.admin._command import (
    COORDINATOR,
    GROUP_ID,
    GROUP_IDS,
    CommandGroup,
    command,
    partition_and_offset_of,
    partition_of,
)
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetSpec, OffsetTimestamp
from barnabas.compat.kafka_engine.values.structs import STRUCTS

_WITHOUT_MEMBERS = ("Empty", "Dead")
_DURATION = re.compile(r"^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$")
_STATES, _TYPES = (", ".join(sorted(each.value for each in kind)) for kind in (GroupState, GroupType))


def _names_of(errors: dict[Any, Any]) -> dict[str, str]:
    return {f"{each.topic}:{each.partition}": error.__name__ for each, error in errors.items()}


@command(
    *("list", "List Groups"),
    texts(
        *("--state", "states_filter"),
        f"Filter by group state (repeatable). One of: {_STATES}. Case-insensitive; names also accepted. "
        "Requires broker >= 3.0 (KIP-518).",
    ),
    texts(
        *("--type", "types_filter"),
        f"Filter by group type (repeatable). One of: {_TYPES}. Requires broker >= 4.0 (KIP-848).",
    ),
)
def list_groups(client: Any, args: Any) -> Any:
    return client.list_groups(
        states_filter=args.states_filter or None, types_filter=args.types_filter or None
    )


@command("describe", "Describe Groups", GROUP_IDS)
def describe_groups(client: Any, args: Any) -> Any:
    return client.describe_groups(args.groups)


@command("delete", "Delete Groups", GROUP_IDS)
def delete_groups(client: Any, args: Any) -> Any:
    return client.delete_groups(args.groups)


@command("list-offsets", "List Offsets for Group", GROUP_ID)
def list_group_offsets(client: Any, args: Any) -> Any:
    offsets = client.list_group_offsets(args.group_id)[args.group_id]
    latest = client.list_partition_offsets(dict.fromkeys(offsets, OffsetSpec.LATEST))
    found: dict[str, dict[int, Any]] = {}
    for partition, end in latest.items():
        committed = offsets[partition]
        found.setdefault(partition.topic, {})[partition.partition] = {
            "offset": committed.offset,
            "leader_epoch": committed.leader_epoch,
            "metadata": committed.metadata,
            "latest_offset": end.offset,
            "lag": end.offset - committed.offset,
        }
    return found


@command(
    *("alter-offsets", "Alter committed offsets for a consumer group"),
    GROUP_ID,
    texts("-o --offset", "offsets", "TOPIC:PARTITION:OFFSET triple (repeatable).", required=True),
    COORDINATOR,
)
def alter_group_offsets(client: Any, args: Any) -> Any:
    offsets = {
        partition: STRUCTS["OffsetAndMetadata"](offset, "", None)
        for partition, offset in map(partition_and_offset_of, args.offsets)
    }
    return _names_of(
        client.alter_group_offsets(args.group_id, offsets, group_coordinator_id=args.group_coordinator_id)
    )


_TARGETS = (
    text(
        "-s --spec",
        "Spec may be one of earliest, latest, max-timestamp, earliest-local, latest-tiered, or a "
        "millisecond timestamp.",
    ),
    number(
        "--to-offset",
        "Reset all in-scope partitions to this explicit offset (clamped to [earliest, latest]).",
    ),
    number(
        "--shift-by",
        "Shift each in-scope committed offset by N positions (may be negative); clamped to [earliest, "
        "latest]. Requires a current commit for each in-scope partition.",
    ),
    text(
        "--by-duration",
        "Reset to the offset at (now - DURATION). DURATION is ISO-8601, e.g. P7D, PT1H, PT30M.",
    ),
    text(
        "--to-datetime",
        "Reset to the offset at the given ISO-8601 datetime (UTC assumed if no tz offset is provided).",
    ),
    switch(
        "--to-current",
        "Re-commit the current committed offsets, clamped to [earliest, latest]. Useful to heal "
        "out-of-range offsets. Requires a current commit for each in-scope partition.",
    ),
)


@command(
    *("reset-offsets", "Reset committed offsets for a consumer group"),
    GROUP_ID,
    texts(
        *("-p --partition", "partitions"),
        "TOPIC:PARTITION pair (repeatable). Scopes the reset to these partitions. If omitted, the reset "
        "applies to every partition currently committed by the group.",
    ),
    OneOf(_TARGETS, required=True),
)
def reset_group_offsets(client: Any, args: Any) -> Any:
    state = client.describe_groups([args.group_id])[args.group_id]["group_state"]
    if state not in _WITHOUT_MEMBERS:
        raise RuntimeError(f"Group {args.group_id} is {state}, expecting Empty or Dead!")
    found: dict[str, dict[int, Any]] = {}
    for partition, result in client.reset_group_offsets(args.group_id, _targets(client, args)).items():
        result["error"] = result["error"].__name__
        found.setdefault(partition.topic, {})[partition.partition] = result
    return found


def _targets(client: Any, args: Any) -> dict[Any, Any]:
    committed = client.list_group_offsets(args.group_id)[args.group_id]
    scope = [partition_of(given) for given in args.partitions] or list(committed)
    if args.spec is not None:
        return dict.fromkeys(scope, _spec(args.spec))
    if args.to_offset is not None:
        return dict.fromkeys(scope, args.to_offset)
    if args.by_duration:
        return dict.fromkeys(scope, _timestamp(datetime.now(UTC) - _duration(args.by_duration)))
    if args.to_datetime:
        return dict.fromkeys(scope, _timestamp(_datetime(args.to_datetime)))
    missing = [partition for partition in scope if partition not in committed]
    if missing:
        raise ValueError(
            f"No committed offset for {missing}; --shift-by / --to-current require a current commit per "
            "in-scope partition"
        )
    return {partition: committed[partition].offset + (args.shift_by or 0) for partition in scope}


def _spec(given: str) -> Any:
    try:
        return OffsetSpec.build_from(given)
    except ValueError:
        return OffsetTimestamp(int(given))


def _timestamp(moment: datetime) -> OffsetTimestamp:
    return OffsetTimestamp(int(moment.timestamp() * 1000))


def _duration(given: str) -> timedelta:
    found = _DURATION.match(given)
    if found is None or not any(found.groups()):
        raise ValueError(f"Invalid ISO-8601 duration: {given}")
    days, hours, minutes, seconds = (float(each or 0) for each in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _datetime(given: str) -> datetime:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise ValueError(f"Invalid ISO-8601 datetime: {given}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@command(
    *("delete-offsets", "Delete committed offsets for a consumer group"),
    GROUP_ID,
    texts("-p --partition", "partitions", "TOPIC:PARTITION pair (repeatable).", required=True),
    COORDINATOR,
)
def delete_group_offsets(client: Any, args: Any) -> Any:
    partitions = [partition_of(given) for given in args.partitions]
    return _names_of(
        client.delete_group_offsets(args.group_id, partitions, group_coordinator_id=args.group_coordinator_id)
    )


@command(
    *("remove-members", "Remove members from a consumer group"),
    GROUP_ID,
    texts("-m --member-id", "member_ids", "Dynamic member id to remove (repeatable)."),
    texts(
        *("-i --group-instance-id", "group_instance_ids"),
        "Static group.instance.id to remove (repeatable; requires broker LeaveGroup v3+).",
    ),
    text("--reason", "Optional reason; sent to broker on LeaveGroup v5+ (KIP-800). Applied to all members."),
    COORDINATOR,
)
def remove_group_members(client: Any, args: Any) -> Any:
    members = [
        *(MemberToRemove(member_id=each, reason=args.reason) for each in args.member_ids),
        *(MemberToRemove(group_instance_id=each, reason=args.reason) for each in args.group_instance_ids),
    ]
    if not members:
        raise ValueError("At least one --member-id or --group-instance-id is required.")
    errors = client.remove_group_members(
        args.group_id, members, group_coordinator_id=args.group_coordinator_id
    )
    return {member: error.__name__ for member, error in errors.items()}


GROUPS = CommandGroup(
    *("groups", "Manage Kafka Groups"),
    (
        *(list_groups, describe_groups, delete_groups, list_group_offsets, alter_group_offsets),
        *(reset_group_offsets, delete_group_offsets, remove_group_members),
    ),
)
