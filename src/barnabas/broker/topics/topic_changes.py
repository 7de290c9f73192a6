"""Makes and deletes topics, for one request at a time, and in turns: a topic may have thousands of
partitions, each of which is a file or more, and others are not held up meanwhile.

Owns who may change topics. What becomes visible, and when it is on the disk, is `cluster`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from barnabas import background
from barnabas.broker.cluster import Cluster
from barnabas.broker.topic import Partition, Topic
from barnabas.errors import BrokerError
from barnabas.net.server import DisconnectError
from barnabas.turns import in_turns

T = TypeVar("T")

Place = Callable[[], Sequence[Sequence[int]]]
"""Gives the replicas of new partitions. It is asked again when nodes have come or gone meanwhile."""


class TopicChanges:
    """All but `alone` and `close` are for work that `alone` does."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = asyncio.Lock()
        self._is_closed = False

    async def alone(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `work` returns, while no other work changes topics. Once begun it goes on to its end, also
        when the client hangs up meanwhile. Raises: a BrokerError that `work` raises; DisconnectError when
        the broker stops."""
        await self._lock.acquire()
        if self._is_closed:
            self._lock.release()
            raise DisconnectError("the broker stops")
        task = background.start(_outcome(work), what="a change of topics")
        task.add_done_callback(lambda _: self._lock.release())
        outcome = await asyncio.shield(task)
        if isinstance(outcome, BrokerError):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Waits for the work that has begun, and lets none begin."""
        self._is_closed = True
        async with self._lock:
            pass

    async def create(self, name: str, own_settings: Mapping[str, str | None], place: Place) -> Topic:
        """Raises: as `Cluster.create_topic` and `place`."""
        topic = self._cluster.new_topic(name, len(place()), own_settings)
        self._cluster.add_topic(topic, await self._make_partitions(topic, place))
        return topic

    async def add_partitions(self, topic: Topic, place: Place) -> None:
        """Raises: KafkaStorageError, and what `place` raises."""
        self._cluster.add_partitions(topic, await self._make_partitions(topic, place))

    async def delete(self, topic: Topic) -> None:
        """Raises: KafkaStorageError, and then the topic stays."""
        self._cluster.delete_topic(topic)
        await self._delete_logs(topic.partitions)

    async def _make_partitions(self, topic: Topic, place: Place) -> list[Partition]:
        """Raises: KafkaStorageError, and what `place` raises."""
        while True:
            states = self._cluster.node_logs.states
            making = self._cluster.make_partitions(topic, place())
            partitions = [partition async for partition in in_turns(making, 1)]
            if self._cluster.node_logs.states == states:
                return partitions
            # Who may lead, and who is in sync, is another now.
            await self._delete_logs(partitions)

    async def _delete_logs(self, partitions: Sequence[Partition]) -> None:
        async for partition in in_turns(partitions, 1):
            self._cluster.node_logs.delete(partition)


async def _outcome(work: Callable[[], Coroutine[Any, Any, T]]) -> T | BrokerError:
    try:
        return await work()
    except BrokerError as error:
        return error
