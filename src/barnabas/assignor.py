"""What an assignor of a classic group is: the base of ours, and of one's own.

    class ByWeight(Assignor):
        name = "by-weight"
        def assign(self, partition_counts, members, racks): ...

    Consumer(..., group_id="g", partition_assignment_strategy=[ByWeight(), "range"])

Every member of a group has to offer the assignor by the same name; the coordinator chooses one that all
offer, and the group's leader runs it. Pure data: knows nothing of brokers, requests or time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from barnabas.types import TopicPartition
from barnabas.values import frozen

NO_GENERATION = -1

Assignment = dict[str, list[TopicPartition]]
"""Partitions of each member, by member id."""

PartitionRacks = Mapping[TopicPartition, frozenset[str]]
"""The racks that hold a replica of a partition; without an entry where that is not known."""

NO_RACKS: PartitionRacks = MappingProxyType({})


@frozen
class GroupMember:
    """A member as it described itself when it joined."""

    member_id: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    user_data: bytes | None = None
    rack: str | None = None
    """The member's client_rack (KIP-881)."""

    @property
    def order(self) -> tuple[bool, str]:
        """Static members first, by instance id, so that a restart changes nothing (as in Java)."""
        static = self.group_instance_id is not None
        return not static, self.group_instance_id or self.member_id


class Assignor(ABC):
    """One way to divide partitions. `cooperative` members keep what they own during a rebalance (KIP-429)."""

    name: str
    """What the members of a group know it by."""
    cooperative = False

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """What a member that owned these partitions in that generation tells the leader besides."""
        return None

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:  # noqa: B027
        """Told, on the event loop, what this member was given in a generation of its group."""

    @abstractmethod
    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[GroupMember],
        racks: PartitionRacks = NO_RACKS,
    ) -> Assignment:
        """Every partition of every subscribed topic in `partition_counts` to one of its subscribers; called
        on the event loop, so it should not wait for anything.

        A member without an entry gets nothing. A cooperative assignor leaves out, for one rebalance, what its
        present owner has to give up first.
        """
