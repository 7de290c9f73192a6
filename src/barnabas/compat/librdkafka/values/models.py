"""Plain data that the clients hand out and take, and the enumerations that go with it. Knows no client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, IntEnum
from typing import Any, overload

from barnabas.compat.librdkafka.values import constants
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition


class Node:
    """A broker. `id_string` is its `id` as text, `rack` is None where it has none."""

    def __init__(self, id: int, host: str, port: int, rack: str | None = None) -> None:
        self.id = id
        self.id_string = str(id)
        self.host = host
        self.port = port
        self.rack = rack

    def __str__(self) -> str:
        return f"({self.id}) {self.host}:{self.port} {f'(Rack - {self.rack})' if self.rack else ''}"


class ConsumerGroupTopicPartitions:
    """A group with partitions, to ask for its offsets or to alter them. None stands for all partitions."""

    def __init__(self, group_id: str, topic_partitions: list[TopicPartition] | None = None) -> None:
        self.group_id = group_id
        self.topic_partitions = topic_partitions


class OrderedEnum(Enum):
    """An enumeration whose members sort by their values."""

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.value < other.value


class ConsumerGroupState(OrderedEnum):
    """The state of a consumer group. `UNKOWN` is an old misspelling of `UNKNOWN`."""

    UNKNOWN = constants.CONSUMER_GROUP_STATE_UNKNOWN
    UNKOWN = UNKNOWN
    PREPARING_REBALANCING = constants.CONSUMER_GROUP_STATE_PREPARING_REBALANCE
    COMPLETING_REBALANCING = constants.CONSUMER_GROUP_STATE_COMPLETING_REBALANCE
    STABLE = constants.CONSUMER_GROUP_STATE_STABLE
    DEAD = constants.CONSUMER_GROUP_STATE_DEAD
    EMPTY = constants.CONSUMER_GROUP_STATE_EMPTY


class ConsumerGroupType(OrderedEnum):
    """Which protocol a consumer group speaks."""

    UNKNOWN = constants.CONSUMER_GROUP_TYPE_UNKNOWN
    CONSUMER = constants.CONSUMER_GROUP_TYPE_CONSUMER
    CLASSIC = constants.CONSUMER_GROUP_TYPE_CLASSIC


class TopicCollection:
    """Topics by their names."""

    def __init__(self, topic_names: list[str]) -> None:
        self.topic_names = topic_names


class TopicPartitionInfo:
    """A partition of a described topic: its number, its leader, its replicas and those in sync."""

    def __init__(self, id: int, leader: Node, replicas: list[Node], isr: list[Node]) -> None:
        self.id = id
        self.leader = leader
        self.replicas = replicas
        self.isr = isr


class IsolationLevel(OrderedEnum):
    """Whether the offsets of records of open and aborted transactions count."""

    READ_UNCOMMITTED = constants.ISOLATION_LEVEL_READ_UNCOMMITTED
    READ_COMMITTED = constants.ISOLATION_LEVEL_READ_COMMITTED


class ElectionType(OrderedEnum):
    """Who may be elected the leader: the preferred replica, or any that lives, at the price of records."""

    PREFERRED = constants.ELECTION_TYPE_PREFERRED
    UNCLEAN = constants.ELECTION_TYPE_UNCLEAN


class AcknowledgeType(IntEnum):
    """What is to become of a record of a share group: it is done, comes again, or never again."""

    ACCEPT = constants.SHARE_ACKNOWLEDGE_TYPE_ACCEPT
    RELEASE = constants.SHARE_ACKNOWLEDGE_TYPE_RELEASE
    REJECT = constants.SHARE_ACKNOWLEDGE_TYPE_REJECT


class Messages:
    """The messages of one `ShareConsumer.poll`, in order: a sequence that cannot be changed."""

    def __init__(self, messages: Iterable[Any] = ()) -> None:
        self._records = list(messages)

    @classmethod
    def _from_list(cls, records: list[Any]) -> Messages:
        """Takes over a list, without a copy."""
        made = cls.__new__(cls)
        made._records = records
        return made

    def records(self) -> list[Any]:
        """The messages, in a list of the caller's own."""
        return list(self._records)

    def count(self) -> int:
        """How many messages there are."""
        return len(self._records)

    def is_empty(self) -> bool:
        """Whether there are none."""
        return not self._records

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> Messages: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._from_list(self._records[index])
        return self._records[index]

    def __repr__(self) -> str:
        return f"Messages({self._records!r})"


class ThrottleEvent:
    """A broker has delayed an answer, as a quota was exceeded: `throttle_time` is in seconds."""

    def __init__(self, broker_name: str, broker_id: int, throttle_time: float) -> None:
        self.broker_name = broker_name
        self.broker_id = broker_id
        self.throttle_time = throttle_time

    def __str__(self) -> str:
        return f"{self.broker_name}/{self.broker_id} throttled for {int(self.throttle_time * 1000)} ms"


# Where the original has them, and so where pickles look for them.
for _model in (
    Node,
    ConsumerGroupTopicPartitions,
    ConsumerGroupState,
    ConsumerGroupType,
    TopicCollection,
    TopicPartitionInfo,
    IsolationLevel,
    ElectionType,
    AcknowledgeType,
    Messages,
):
    _model.__module__ = "barnabas.compat.confluent_kafka._model"
ThrottleEvent.__module__ = "barnabas.compat.confluent_kafka"
