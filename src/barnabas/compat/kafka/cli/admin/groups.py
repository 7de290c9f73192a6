"""`python -m kafka.admin groups`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from barnabas.compat.kafka.admin._groups import GroupState, GroupType, MemberToRemove
from barnabas.compat.kafka.cli.admin._command import (
    Command,
    CommandGroup,
    Parser,
    add_coordinator_argument,
    add_group_argument,
    partition_and_offset_of,
    partition_of,
)
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetSpec, OffsetTimestamp
from barnabas.compat.kafka_python.values.structs import STRUCTS

_WITHOUT_MEMBERS = ("Empty", "Dead")
_DURATION = re.compile(r"^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$")


def _add_groups_argument(parser: Parser) -> None:
    parser.add_argument("-g", "--group-id", type=str, action="append", dest="groups", required=True)


def _names_of(errors: dict[Any, Any]) -> dict[str, str]:
    return {f"{each.topic}:{each.partition}": error.__name__ for each, error in errors.items()}


class ListGroups(Command):
    COMMAND = "list"
    HELP = "List Groups"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        states, types = (", ".join(sorted(each.value for each in kind)) for kind in (GroupState, GroupType))
        parser.add_argument(
            "--state",
            type=str,
            action="append",
            dest="states_filter",
            default=[],
            help=f"Filter by group state (repeatable). One of: {states}. Case-insensitive; names also "
            "accepted. Requires broker >= 3.0 (KIP-518).",
        )
        parser.add_argument(
            "--type",
            type=str,
            action="append",
            dest="types_filter",
            default=[],
            help=f"Filter by group type (repeatable). One of: {types}. Requires broker >= 4.0 (KIP-848).",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.list_groups(
            states_filter=args.states_filter or None, types_filter=args.types_filter or None
        )


class DescribeGroups(Command):
    COMMAND = "describe"
    HELP = "Describe Groups"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        _add_groups_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_groups(args.groups)


class DeleteGroups(Command):
    COMMAND = "delete"
    HELP = "Delete Groups"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        _add_groups_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.delete_groups(args.groups)


class ListGroupOffsets(Command):
    COMMAND = "list-offsets"
    HELP = "List Offsets for Group"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_group_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
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


class AlterGroupOffsets(Command):
    COMMAND = "alter-offsets"
    HELP = "Alter committed offsets for a consumer group"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_group_argument(parser)
        parser.add_argument(
            *("-o", "--offset"),
            type=str,
            action="append",
            dest="offsets",
            default=[],
            required=True,
            help="TOPIC:PARTITION:OFFSET triple (repeatable).",
        )
        add_coordinator_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        offsets = {
            partition: STRUCTS["OffsetAndMetadata"](offset, "", None)
            for partition, offset in map(partition_and_offset_of, args.offsets)
        }
        return _names_of(
            client.alter_group_offsets(args.group_id, offsets, group_coordinator_id=args.group_coordinator_id)
        )


class ResetGroupOffsets(Command):
    COMMAND = "reset-offsets"
    HELP = "Reset committed offsets for a consumer group"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_group_argument(parser)
        parser.add_argument(
            *("-p", "--partition"),
            type=str,
            action="append",
            dest="partitions",
            default=[],
            help="TOPIC:PARTITION pair (repeatable). Scopes the reset to these partitions. If omitted, the "
            "reset applies to every partition currently committed by the group.",
        )
        mode = parser.add_mutually_exclusive_group(required=True)
        mode.add_argument(
            *("-s", "--spec"),
            type=str,
            help="Spec may be one of earliest, latest, max-timestamp, earliest-local, latest-tiered, or a "
            "millisecond timestamp.",
        )
        mode.add_argument(
            "--to-offset",
            type=int,
            dest="to_offset",
            help="Reset all in-scope partitions to this explicit offset (clamped to [earliest, latest]).",
        )
        mode.add_argument(
            "--shift-by",
            type=int,
            dest="shift_by",
            help="Shift each in-scope committed offset by N positions (may be negative); clamped to "
            "[earliest, latest]. Requires a current commit for each in-scope partition.",
        )
        mode.add_argument(
            "--by-duration",
            type=str,
            dest="by_duration",
            help="Reset to the offset at (now - DURATION). DURATION is ISO-8601, e.g. P7D, PT1H, PT30M.",
        )
        mode.add_argument(
            "--to-datetime",
            type=str,
            dest="to_datetime",
            help="Reset to the offset at the given ISO-8601 datetime (UTC assumed if no tz offset is "
            "provided).",
        )
        mode.add_argument(
            "--to-current",
            action="store_true",
            dest="to_current",
            help="Re-commit the current committed offsets, clamped to [earliest, latest]. Useful to heal "
            "out-of-range offsets. Requires a current commit for each in-scope partition.",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        state = client.describe_groups([args.group_id])[args.group_id]["group_state"]
        if state not in _WITHOUT_MEMBERS:
            raise RuntimeError(f"Group {args.group_id} is {state}, expecting Empty or Dead!")
        found: dict[str, dict[int, Any]] = {}
        for partition, result in client.reset_group_offsets(
            args.group_id, cls._targets(client, args)
        ).items():
            result["error"] = result["error"].__name__
            found.setdefault(partition.topic, {})[partition.partition] = result
        return found

    @classmethod
    def _targets(cls, client: Any, args: Any) -> dict[Any, Any]:
        committed = client.list_group_offsets(args.group_id)[args.group_id]
        scope = [partition_of(text) for text in args.partitions] or list(committed)
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


def _spec(text: str) -> Any:
    try:
        return OffsetSpec.build_from(text)
    except ValueError:
        return OffsetTimestamp(int(text))


def _timestamp(moment: datetime) -> OffsetTimestamp:
    return OffsetTimestamp(int(moment.timestamp() * 1000))


def _duration(text: str) -> timedelta:
    found = _DURATION.match(text)
    if found is None or not any(found.groups()):
        raise ValueError(f"Invalid ISO-8601 duration: {text}")
    days, hours, minutes, seconds = (float(each or 0) for each in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _datetime(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"Invalid ISO-8601 datetime: {text}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class DeleteGroupOffsets(Command):
    COMMAND = "delete-offsets"
    HELP = "Delete committed offsets for a consumer group"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_group_argument(parser)
        parser.add_argument(
            *("-p", "--partition"),
            type=str,
            action="append",
            dest="partitions",
            default=[],
            required=True,
            help="TOPIC:PARTITION pair (repeatable).",
        )
        add_coordinator_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return _names_of(
            client.delete_group_offsets(
                args.group_id,
                [partition_of(text) for text in args.partitions],
                group_coordinator_id=args.group_coordinator_id,
            )
        )


class RemoveGroupMembers(Command):
    COMMAND = "remove-members"
    HELP = "Remove members from a consumer group"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_group_argument(parser)
        parser.add_argument(
            *("-m", "--member-id"),
            type=str,
            action="append",
            dest="member_ids",
            default=[],
            help="Dynamic member id to remove (repeatable).",
        )
        parser.add_argument(
            *("-i", "--group-instance-id"),
            type=str,
            action="append",
            dest="group_instance_ids",
            default=[],
            help="Static group.instance.id to remove (repeatable; requires broker LeaveGroup v3+).",
        )
        parser.add_argument(
            "--reason",
            type=str,
            default=None,
            help="Optional reason; sent to broker on LeaveGroup v5+ (KIP-800). Applied to all members.",
        )
        add_coordinator_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
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


class GroupsCommandGroup(CommandGroup):
    GROUP = "groups"
    HELP = "Manage Kafka Groups"
    COMMANDS = (
        *(ListGroups, DescribeGroups, DeleteGroups, ListGroupOffsets, AlterGroupOffsets),
        *(ResetGroupOffsets, DeleteGroupOffsets, RemoveGroupMembers),
    )
