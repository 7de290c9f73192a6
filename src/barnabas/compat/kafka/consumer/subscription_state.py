"""What a program hears by of partitions that come and go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from typing import Any


class ConsumerRebalanceListener(ABC):
    """Given to KafkaConsumer.subscribe(). Its methods are called in the calls that poll and close, and get a
    set of TopicPartition."""

    @abstractmethod
    def on_partitions_revoked(self, revoked: AbstractSet[Any]) -> None:
        """Before partitions are given up: the last moment to commit what was done of them."""

    @abstractmethod
    def on_partitions_assigned(self, assigned: AbstractSet[Any]) -> None:
        """After partitions were assigned, before the first record of them."""

    def on_partitions_lost(self, lost: AbstractSet[Any]) -> None:
        """When another member may have the partitions already: they cannot be committed any more."""
        return self.on_partitions_revoked(lost)


class AsyncConsumerRebalanceListener(ABC):
    """A ConsumerRebalanceListener whose methods are coroutines."""

    @abstractmethod
    async def on_partitions_revoked(self, revoked: AbstractSet[Any]) -> None:
        """As ConsumerRebalanceListener.on_partitions_revoked."""

    @abstractmethod
    async def on_partitions_assigned(self, assigned: AbstractSet[Any]) -> None:
        """As ConsumerRebalanceListener.on_partitions_assigned."""

    async def on_partitions_lost(self, lost: AbstractSet[Any]) -> None:
        """As ConsumerRebalanceListener.on_partitions_lost."""
        await self.on_partitions_revoked(lost)
