"""Groups and their members as their coordinators describe them, all types of groups in one form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from barnabas.aio import Admin
from barnabas.client.admin.types import (
    ClassicGroupDescription,
    GroupDescription,
    MemberDescription,
    StreamsGroupDescription,
    StreamsGroupMember,
    StreamsSubtopology,
    StreamsTasks,
)
from barnabas.errors import BarnabasError
from barnabas.types import Node, TopicPartition
from barnabas.ui.figures import GroupSummary
from barnabas.values import frozen

PROTOCOL_OF_CONSUMERS = "consumer"
NO_MEMBERS = ("Empty", "Dead", "NotReady")

Description = GroupDescription | ClassicGroupDescription | StreamsGroupDescription
Way = Literal["consumer", "share", "streams", "classic"]
Assigned = tuple[str, ...]
"""A line for each topic, or for each kind of tasks."""


@frozen
class ShownMember:
    """`assigned`: None where the coordinator cannot tell, as in groups of Kafka Connect; `target`: what the
    member is to have, None where that is not known apart from it. `details`: names and values."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: Assigned | None
    target: Assigned | None = None
    epoch: int | None = None
    details: tuple[tuple[str, str], ...] = ()

    @property
    def is_moving(self) -> bool:
        """Whether it has not yet what it is to have."""
        return self.target is not None and self.target != self.assigned


@frozen
class ShownGroup:
    """`facts`: names and values. `owners`: client ids."""

    state: str
    coordinator: Node | None = None
    facts: tuple[tuple[str, str], ...] = ()
    members: tuple[ShownMember, ...] = ()
    owners: Mapping[TopicPartition, str] | None = None
    subtopologies: tuple[StreamsSubtopology, ...] = ()
    problem: str | None = None
    """Why the coordinator does not tell."""

    @property
    def is_idle(self) -> bool:
        """Whether it can be moved: it has no members."""
        return self.state in NO_MEMBERS and not self.members

    @property
    def has_epochs(self) -> bool:
        return any(member.epoch is not None for member in self.members)

    @property
    def has_targets(self) -> bool:
        return any(member.target is not None for member in self.members)


async def shown_group(admin: Admin, group: GroupSummary) -> ShownGroup:
    """Asks the group's coordinator."""
    try:
        described = await _described(admin, group)
    except BarnabasError as error:
        return ShownGroup(group.state, problem=str(error))
    if isinstance(described, StreamsGroupDescription):
        return _of_streams(described)
    if isinstance(described, ClassicGroupDescription):
        facts = (("Protocol", described.protocol_type), ("Assignor", described.protocol_data))
        return ShownGroup(
            described.state,
            described.coordinator,
            _told(facts),
            tuple(
                ShownMember(
                    each.member_id, each.group_instance_id, each.client_id, _host(each.client_host), None
                )
                for each in described.members
            ),
        )
    facts = (
        ("Assignor", described.assignor),
        ("Group epoch", described.group_epoch),
        ("Epoch of the target", described.target_assignment_epoch),
    )
    return ShownGroup(
        described.state,
        described.coordinator,
        _told(facts),
        tuple(map(_member, described.members)),
        {p: member.client_id for member in described.members for p in member.assignment},
    )


async def _described(admin: Admin, group: GroupSummary) -> Description:
    return (await describe(admin, way_of(group), [group.group_id]))[group.group_id]


def way_of(group: GroupSummary) -> Way:
    """How its coordinator is asked for it."""
    if group.type == "share":
        return "share"
    if group.type == "streams":
        return "streams"
    if group.type == "classic" and group.protocol_type not in ("", PROTOCOL_OF_CONSUMERS):
        return "classic"
    return "consumer"


async def describe(admin: Admin, way: Way, group_ids: Sequence[str]) -> dict[str, Description]:
    """Groups that are asked for in the same way. Raises: BarnabasError."""
    match way:
        case "share":
            return {**await admin.describe_share_groups(group_ids)}
        case "streams":
            return {**await admin.describe_streams_groups(group_ids)}
        case "classic":
            return {**await admin.describe_classic_groups(group_ids)}
        case "consumer":
            return {**await admin.describe_groups(group_ids)}


def _member(member: MemberDescription) -> ShownMember:
    protocol = None if member.is_classic is None else "classic" if member.is_classic else "consumer"
    details = (
        ("Rack", member.rack),
        ("Protocol", protocol),
        ("Subscribed", ", ".join(member.subscribed_topics)),
        ("Pattern", member.subscribed_pattern),
    )
    target = None if member.target_assignment is None else partitions_told(member.target_assignment)
    return ShownMember(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        _host(member.client_host),
        partitions_told(member.assignment),
        target,
        member.member_epoch,
        _told(details),
    )


def _of_streams(described: StreamsGroupDescription) -> ShownGroup:
    facts = (
        ("Group epoch", described.group_epoch),
        ("Epoch of the target", described.target_assignment_epoch),
        ("Topology epoch", described.topology_epoch),
    )
    return ShownGroup(
        described.state,
        described.coordinator,
        _told(facts),
        tuple(map(_streams_member, described.members)),
        _owners_of_tasks(described),
        described.subtopologies,
    )


def _streams_member(member: StreamsGroupMember) -> ShownMember:
    endpoint = member.user_endpoint
    details = (
        ("Process", member.process_id),
        ("Rack", member.rack),
        ("Endpoint", None if endpoint is None else f"{endpoint[0]}:{endpoint[1]}"),
        ("Topology epoch", member.topology_epoch),
        ("Tags", ", ".join(f"{name}={value}" for name, value in sorted(member.client_tags.items()))),
    )
    return ShownMember(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        _host(member.client_host),
        _tasks(member.assignment),
        _tasks(member.target_assignment),
        member.member_epoch,
        _told(details),
    )


def _owners_of_tasks(described: StreamsGroupDescription) -> dict[TopicPartition, str]:
    """A task has the partition of its number of every topic that its subtopology reads."""
    topics = {
        each.subtopology_id: (*each.source_topics, *(topic.name for topic in each.repartition_source_topics))
        for each in described.subtopologies
    }
    return {
        TopicPartition(topic, number): member.client_id
        for member in described.members
        for subtopology, numbers in member.assignment.active.items()
        for number in numbers
        for topic in topics.get(subtopology, ())
    }


def partitions_told(partitions: Iterable[TopicPartition]) -> Assigned:
    """A line for each topic: `flights 0–3, 7`."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for partition in sorted(partitions):
        numbers[partition.topic].append(partition.partition)
    return tuple(f"{topic} {_ranges(found)}" for topic, found in numbers.items())


def _tasks(tasks: StreamsTasks) -> Assigned:
    """As Kafka Streams writes them: the subtopology, and the number of the partition."""
    kinds = (("active", tasks.active), ("standby", tasks.standby), ("warm-up", tasks.warmup))
    return tuple(
        f"{kind} {', '.join(f'{name}_{number}' for name in sorted(found) for number in sorted(found[name]))}"
        for kind, found in kinds
        if any(found.values())
    )


def _ranges(numbers: list[int]) -> str:
    pieces: list[list[int]] = []
    for number in numbers:
        if pieces and number == pieces[-1][1] + 1:
            pieces[-1][1] = number
        else:
            pieces.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in pieces)


def _told(facts: Iterable[tuple[str, object]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in facts if value not in (None, ""))


def _host(text: str) -> str:
    """The JVM writes addresses with a slash before them."""
    return text.removeprefix("/")
