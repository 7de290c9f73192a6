"""The base of assignors, those of a program too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import Any


class RebalanceProtocol(IntEnum):
    """Whether members give up all partitions before a rebalance, or only those that move (KIP-429)."""

    EAGER = 0
    COOPERATIVE = 1


class AbstractPartitionAssignor(ABC):
    """One way to divide partitions. KafkaConsumer takes classes and objects of it as
    partition_assignment_strategy; all members of a group have to offer it by the same name."""

    @property
    @abstractmethod
    def name(self) -> Any:
        """What the members of a group know it by."""

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """EAGER, unless members keep their partitions during a rebalance."""
        return [RebalanceProtocol.EAGER]

    @abstractmethod
    def assign(self, cluster: Any, members: Any) -> Any:
        """Partitions of each member, by its id. Asked of the group's leader."""

    @abstractmethod
    def metadata(self, topics: Any) -> Any:
        """What this member tells the leader, as it subscribes to `topics`."""

    @abstractmethod
    def on_assignment(self, assignment: Any, generation: int = -1) -> None:
        """Told what this member was given; in generation 3 with the group's generation."""
