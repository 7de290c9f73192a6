"""The algorithm of the range assignor: each topic in contiguous shares, with racks matched first (KIP-881).

Divides exactly as Java does, so that members of both can lead one group. Pure functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from barnabas.assignor import Assignment, GroupMember, PartitionRacks
from barnabas.types import TopicPartition


class _Topic:
    """One topic while it is divided among its subscribers, who come in order."""

    def __init__(
        self, name: str, partition_count: int, subscribers: Sequence[GroupMember], racks: PartitionRacks
    ) -> None:
        self.name = name
        self.partition_count = partition_count
        self.racks_of = {member.member_id: member.rack for member in subscribers}
        self.unassigned = dict.fromkeys(range(partition_count))
        self._racks = racks
        self._share, self._larger_shares = divmod(partition_count, len(subscribers))
        self._given: defaultdict[str, int] = defaultdict(int)

    @property
    def needs_racks(self) -> bool:
        """Whether it makes a difference who gets what."""
        member_racks = set(self.racks_of.values()) - {None}
        by_partition = [self._partition_racks(number) for number in range(self.partition_count)]
        all_racks = frozenset[str]().union(*by_partition)
        return bool(member_racks & all_racks) and any(racks != all_racks for racks in by_partition)

    def room(self, member_id: str) -> int:
        """How many more partitions the member may get."""
        return max(0, self._share + (self._larger_shares > 0) - self._given[member_id])

    def matches(self, member_id: str, number: int) -> bool:
        rack = self.racks_of[member_id]
        return rack is None or rack in self._partition_racks(number)

    def give(self, member_id: str, numbers: Sequence[int], assignment: Assignment) -> None:
        if not numbers:
            return
        for number in numbers:
            del self.unassigned[number]
            assignment[member_id].append(TopicPartition(self.name, number))
        self._given[member_id] += len(numbers)
        if self._given[member_id] > self._share:
            self._larger_shares -= 1

    def give_ranges(self, assignment: Assignment, may_get: Callable[[str, int], bool] | None = None) -> None:
        """To each member in turn as many as it may have of those that are left."""
        for member_id in self.racks_of:
            numbers = [n for n in self.unassigned if may_get is None or may_get(member_id, n)]
            self.give(member_id, numbers[: self.room(member_id)], assignment)

    def _partition_racks(self, number: int) -> frozenset[str]:
        return self._racks.get(TopicPartition(self.name, number), frozenset())


def assign_ranges(
    partition_counts: Mapping[str, int],
    subscribers: Mapping[str, Sequence[GroupMember]],
    members: Sequence[GroupMember],
    racks: PartitionRacks,
) -> Assignment:
    """`subscribers`: of each topic, in order. Topics with as many partitions and the same subscribers are
    divided alike, so that one member gets the same partitions of each."""
    assignment: Assignment = {member.member_id: [] for member in members}
    topics = [_Topic(name, partition_counts[name], of, racks) for name, of in subscribers.items()]
    if any(topic.needs_racks for topic in topics):
        alike: defaultdict[tuple[tuple[str, ...], int], list[_Topic]] = defaultdict(list)
        for topic in topics:
            alike[tuple(topic.racks_of), topic.partition_count].append(topic)
        for group in alike.values():
            if len(group) > 1:
                _match_together(group, assignment)
            elif group[0].needs_racks:
                group[0].give_ranges(assignment, group[0].matches)
    for topic in topics:
        topic.give_ranges(assignment)
    return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}


def _match_together(topics: Sequence[_Topic], assignment: Assignment) -> None:
    """Partitions of one number to one member whose rack has a replica of each."""
    remaining = list(topics[0].racks_of)
    for number in range(topics[0].partition_count):
        member_id = next(
            (m for m in remaining if all(t.matches(m, number) and t.room(m) > 0 for t in topics)), None
        )
        if member_id is None:
            continue
        for topic in topics:
            topic.give(member_id, [number], assignment)
        if not any(topic.room(member_id) for topic in topics):
            remaining.remove(member_id)
