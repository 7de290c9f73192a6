"""What partition_assignment_strategy has, as assignors of the core; and those of kafka-python, as programs
call them themselves.

Owns the translation. How partitions are divided is the core's, or a program's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from barnabas.assignor import NO_RACKS, Assignment, Assignor, GroupMember, PartitionRacks
from barnabas.client.groups.assignors import ASSIGNORS
from barnabas.compat.kafka_engine.consume.membership import assigned, core_members, shown_members
from barnabas.compat.kafka_engine.generations import generation
from barnabas.settings.table import AssignorName
from barnabas.types import TopicPartition

COOPERATIVE = 1
"""RebalanceProtocol.COOPERATIVE."""


class CountedPartitions:
    """The cluster, as far as an assignor is told of it."""

    def __init__(self, partition_counts: Mapping[str, int]) -> None:
        self._counts = partition_counts

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The numbers of a topic's partitions; None for one that is not known."""
        return set(range(self._counts[topic])) if topic in self._counts else None

    def topics(self, exclude_internal_topics: bool = True) -> set[str]:
        """Those that the members of the group subscribe to."""
        return set(self._counts)


class ProgramAssignor(Assignor):
    """An assignor of a program's own. `topics`: those that its consumer subscribes to at present."""

    def __init__(self, own: Any, topics: Callable[[], Iterable[str]]) -> None:
        self.name = own.name
        self._own = own
        self._topics = topics
        protocols = getattr(own, "supported_protocols", list[int])()
        self.cooperative = COOPERATIVE in protocols

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return self._own.metadata(set(self._topics())).user_data

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        shown = assigned(_by_topic(partitions))
        if _assignors_hear_of_generations():
            self._own.on_assignment(shown, generation)
        else:
            self._own.on_assignment(shown)

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[GroupMember],
        racks: PartitionRacks = NO_RACKS,
    ) -> Assignment:
        divided = self._own.assign(CountedPartitions(partition_counts), shown_members(members))
        return {
            member_id: [TopicPartition(*partition) for partition in assignment.partitions()]
            for member_id, assignment in divided.items()
        }


def _assignors_hear_of_generations() -> bool:
    return generation().assignors_see_members == "list"


def core_assignor(given: Any, topics: Callable[[], Iterable[str]]) -> AssignorName | Assignor:
    """An entry of partition_assignment_strategy, a class or an object. `topics`: those that its consumer
    subscribes to at present."""
    own = given() if isinstance(given, type) else given
    return getattr(own, "core_name", None) or ProgramAssignor(own, topics)


def divide(name: AssignorName, cluster: Any, members: Any) -> dict[str, Any]:
    """What the core's assignor of that name gives each member, in the structs of this generation, of members
    in them."""
    described = core_members(members)
    topics = {topic for member in described for topic in member.topics}
    counts = {topic: len(numbers) for topic in topics if (numbers := cluster.partitions_for_topic(topic))}
    divided = ASSIGNORS[name]().assign(counts, described)
    return {member.member_id: assigned(_by_topic(divided.get(member.member_id, ()))) for member in described}


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return sorted(by_topic.items())
