"""What balanced consumers ask of the objects they are given: topics, partitions, the cluster, a coordinator.

Owns these shapes alone, so that topics can make balanced consumers, which then know topics by shape.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

__all__ = [
    "GroupBroker",
    "GroupCluster",
    "GroupCoordinator",
    "GroupPartition",
    "GroupTopic",
    "WorkerHandler",
]


class GroupBroker(Protocol):
    @property
    def id(self) -> int: ...


class GroupTopic(Protocol):
    @property
    def name(self) -> bytes: ...

    @property
    def partitions(self) -> Mapping[int, GroupPartition]: ...


class GroupPartition(Protocol):
    @property
    def id(self) -> int: ...

    @property
    def leader(self) -> GroupBroker: ...

    @property
    def topic(self) -> Any: ...


class WorkerHandler(Protocol):
    """A handler of pykafka: threads and locks, or gevent's."""

    @property
    def Event(self) -> Callable[[], threading.Event]: ...

    def RLock(self) -> Any: ...

    def sleep(self, seconds: float = 0) -> None: ...

    def spawn(self, target: Callable[[], None], *args: Any, **kwargs: Any) -> Any: ...


class GroupCluster(Protocol):
    @property
    def handler(self) -> WorkerHandler: ...

    def get_group_coordinator(self, consumer_group: bytes) -> GroupCoordinator: ...


class GroupCoordinator(Protocol):
    """A broker, as a member of a group sees its coordinator."""

    def join_group(
        self,
        connection_id: object,
        consumer_group: bytes,
        member_id: bytes,
        topic_name: bytes,
        membership_protocol: Any,
    ) -> Any: ...

    def sync_group(
        self,
        connection_id: object,
        consumer_group: bytes,
        generation_id: int,
        member_id: bytes,
        group_assignment: Iterable[Any],
    ) -> Any: ...

    def heartbeat(
        self, connection_id: object, consumer_group: bytes, generation_id: int, member_id: bytes
    ) -> Any: ...

    def leave_group(self, connection_id: object, consumer_group: bytes, member_id: bytes) -> Any: ...
