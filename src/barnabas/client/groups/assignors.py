"""Which member of a group reads which partition: range, roundrobin, sticky and cooperative-sticky.

Owns the assignors, which the leader of a classic group runs, and the user data of the sticky ones, which
Java's members read and write too. Pure functions of the members and the topics' partition counts: knows
nothing of brokers, requests or time.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from barnabas.assignor import (
    NO_GENERATION,
    NO_RACKS,
    Assignment,
    Assignor,
    GroupMember,
    PartitionRacks,
)
from barnabas.client.groups.range_assignment import assign_ranges
from barnabas.client.groups.sticky_assignment import Claim, RackMatch, assign_sticky
from barnabas.settings.table import AssignorName
from barnabas.types import TopicPartition


class RangeAssignor(Assignor):
    """Topic by topic, a contiguous range for each member; topics of equal size are divided alike. Members get
    partitions with a replica in their rack where that keeps the shares (KIP-881)."""

    name = "range"

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[GroupMember],
        racks: PartitionRacks = NO_RACKS,
    ) -> Assignment:
        subscribers = _subscribers(partition_counts, members)
        return assign_ranges(partition_counts, subscribers, members, racks)


class RoundRobinAssignor(Assignor):
    """All partitions in order, one to each member in turn, past members without the topic."""

    name = "roundrobin"

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[GroupMember],
        racks: PartitionRacks = NO_RACKS,
    ) -> Assignment:
        assignment: Assignment = {member.member_id: [] for member in members}
        turns = cycle(sorted(members, key=lambda member: member.order))
        for topic in _subscribers(partition_counts, members):
            for partition in range(partition_counts[topic]):
                member = next(turns)
                while topic not in member.topics:
                    member = next(turns)
                assignment[member.member_id].append(TopicPartition(topic, partition))
        return assignment


class StickyAssignor(Assignor):
    """As even as can be with few changes of owner (KIP-54), and within that in the members' racks (KIP-881).
    Members tell what they owned as user data."""

    name = "sticky"

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        if not owned:
            return None
        return encode_sticky_user_data(owned, generation)

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[GroupMember],
        racks: PartitionRacks = NO_RACKS,
    ) -> Assignment:
        return assign_sticky(
            partition_counts,
            {member.member_id: member.topics for member in _in_order(members)},
            [self._claim(member) for member in members],
            RackMatch(racks, {member.member_id: member.rack for member in members}),
        )

    def _claim(self, member: GroupMember) -> Claim:
        if member.owned and member.generation != NO_GENERATION:
            return Claim(member.member_id, member.generation, member.owned)
        owned, generation = decode_sticky_user_data(member.user_data)
        return Claim(member.member_id, generation, owned)


class CooperativeStickyAssignor(Assignor):
    """The sticky assignor for members that give up only what another one will get (KIP-429).

    A partition that changes hands is assigned to nobody until its owner has joined again without it.
    """

    name = "cooperative-sticky"
    cooperative = True

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return _GENERATION.pack(generation)

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[GroupMember],
        racks: PartitionRacks = NO_RACKS,
    ) -> Assignment:
        assignment = assign_sticky(
            partition_counts,
            {member.member_id: member.topics for member in _in_order(members)},
            [Claim(m.member_id, self._generation(m), m.owned) for m in members],
            RackMatch(racks, {member.member_id: member.rack for member in members}),
        )
        owners: defaultdict[TopicPartition, set[str]] = defaultdict(set)
        for member in members:
            for partition in member.owned:
                owners[partition].add(member.member_id)
        return {
            member_id: [p for p in partitions if not owners[p] - {member_id}]
            for member_id, partitions in assignment.items()
        }

    def _generation(self, member: GroupMember) -> int:
        """Members that speak version 0 or 1 of the subscription carry the generation as user data only."""
        if member.generation != NO_GENERATION:
            return member.generation
        if member.user_data is None or len(member.user_data) < _GENERATION.size:
            return NO_GENERATION
        return _GENERATION.unpack_from(member.user_data)[0]


ASSIGNORS: dict[AssignorName, type[Assignor]] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def make_assignors(strategies: Iterable[AssignorName | Assignor]) -> list[Assignor]:
    """The assignors behind the names in partition_assignment_strategy; those that are objects stay."""
    return [ASSIGNORS[s]() if isinstance(s, str) else s for s in strategies]


def _in_order(members: Iterable[GroupMember]) -> list[GroupMember]:
    return sorted(members, key=lambda member: member.order)


def _subscribers(
    partition_counts: Mapping[str, int], members: Sequence[GroupMember]
) -> dict[str, list[GroupMember]]:
    """Topics that exist and that somebody subscribed to, in order, each with its members in order."""
    ordered = _in_order(members)
    topics = sorted({topic for member in members for topic in member.topics})
    return {t: [m for m in ordered if t in m.topics] for t in topics if partition_counts.get(t, 0) > 0}


_GENERATION = struct.Struct(">i")
_LENGTH = struct.Struct(">h")
_COUNT = struct.Struct(">i")


def encode_sticky_user_data(owned: Iterable[TopicPartition], generation: int) -> bytes:
    """Java's StickyAssignor, schema 1: [topic [partition int32]] and the generation."""
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in owned:
        by_topic[topic].append(partition)
    parts = [_COUNT.pack(len(by_topic))]
    for topic, partitions in by_topic.items():
        name = topic.encode()
        parts += [
            _LENGTH.pack(len(name)),
            name,
            struct.pack(f">i{len(partitions)}i", len(partitions), *partitions),
        ]
    parts.append(_GENERATION.pack(generation))
    return b"".join(parts)


def decode_sticky_user_data(user_data: bytes | None) -> tuple[tuple[TopicPartition, ...], int]:
    """What a sticky member owned, and in which generation. Schema 0 has no generation.

    User data that cannot be read counts as none (as in Java): it comes from another member, and must not keep
    this group from being balanced.
    """
    if not user_data:
        return (), NO_GENERATION
    owned: list[TopicPartition] = []
    try:
        topic_count = _COUNT.unpack_from(user_data)[0]
        position = _COUNT.size
        for _ in range(topic_count):
            length = _LENGTH.unpack_from(user_data, position)[0]
            position += _LENGTH.size
            topic = user_data[position : position + length].decode()
            position += length
            count = _COUNT.unpack_from(user_data, position)[0]
            position += _COUNT.size
            partitions = struct.unpack_from(f">{count}i", user_data, position)
            position += 4 * count
            owned += [TopicPartition(topic, partition) for partition in partitions]
        if position == len(user_data):
            return tuple(owned), NO_GENERATION
        return tuple(owned), _GENERATION.unpack_from(user_data, position)[0]
    except (struct.error, UnicodeDecodeError):
        return (), NO_GENERATION
