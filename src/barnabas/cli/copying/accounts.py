"""How far a copy is, kept so that one that is broken off goes on from there. Knows nothing of records."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import barnabas
from barnabas import NewTopic, TopicPartition
from barnabas.broker_errors import TopicAlreadyExistsError
from barnabas.client.admin.types import BROKER_DEFAULT
from barnabas.errors import KafkaTimeoutError
from barnabas.types import GroupIdentity

if TYPE_CHECKING:
    from barnabas import Admin, Consumer, Producer

OFFSETS_TOPIC = "barnabas-copy-offsets"
"""Where a target keeps offsets of other clusters: compacted, one record for each partition of a copy."""

# Transactions of other copies end by then, or are aborted by the broker.
_READ_SECONDS = 90.0

Offsets = dict[TopicPartition, int]


class CopyAccount(Protocol):
    """Where the offsets of a copy are."""

    is_in_transaction: bool

    def offsets(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Of those partitions that it has anything of: the next record to copy."""
        ...

    def keep(self, offsets: Mapping[TopicPartition, int]) -> None: ...


class NoAccount:
    """A copy that begins anew each time."""

    is_in_transaction = False

    def offsets(self, partitions: Sequence[TopicPartition]) -> Offsets:
        return {}

    def keep(self, offsets: Mapping[TopicPartition, int]) -> None: ...


class SourceGroup:
    """A group of the source's cluster, to which offsets are committed after records were delivered."""

    is_in_transaction = False

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def offsets(self, partitions: Sequence[TopicPartition]) -> Offsets:
        return _committed(self._consumer, partitions)

    def keep(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._consumer.commit(dict(offsets))


class TransactionGroup:
    """A group of the one cluster, whose offsets are committed with the records in one transaction."""

    is_in_transaction = True

    def __init__(self, consumer: Consumer, producer: Producer, group: str) -> None:
        self._consumer = consumer
        self._producer = producer
        self._group = GroupIdentity(group)

    def offsets(self, partitions: Sequence[TopicPartition]) -> Offsets:
        return _committed(self._consumer, partitions)

    def keep(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._producer.send_offsets_to_transaction(dict(offsets), self._group)


class TargetTopic:
    """A topic of the target's cluster, written in the transaction of the records. A group cannot keep them:
    a broker refuses offsets of topics that it does not have."""

    is_in_transaction = True

    def __init__(
        self,
        admin: Admin,
        producer: Producer | None,
        settings: Mapping[str, Any],
        source: str,
        group: str,
    ) -> None:
        """`settings` are those of a consumer of the target; `source` is the id of the other cluster. Without
        a producer it can only be read."""
        self._producer = producer
        self._settings: dict[str, Any] = dict(settings)
        self._settings |= {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
        self._settings |= {"enable_auto_commit": False, "allow_auto_create_topics": False}
        self._settings.pop("group_id", None)
        self._source = source
        self._group = group
        self._admin = admin

    def offsets(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Raises: KafkaTimeoutError while another copy's transaction is open for too long."""
        if OFFSETS_TOPIC not in self._admin.list_topics():
            if self._producer is not None:
                self._make_topic()
            return {}
        place = TopicPartition(OFFSETS_TOPIC, 0)
        end = self._admin.list_offsets({place: "latest"})[place].offset
        found: Offsets = {}
        deadline = time.monotonic() + _READ_SECONDS
        with barnabas.Consumer(**self._settings) as consumer:
            consumer.assign([place])
            while consumer.position(place) < end:
                for record in consumer.poll(0.2):
                    group, source, topic, partition = json.loads(record.key or b"[0,0,0,0]")
                    if (group, source) == (self._group, self._source) and record.value is not None:
                        found[TopicPartition(topic, partition)] = int(record.value)
                if time.monotonic() > deadline:
                    raise KafkaTimeoutError(
                        f"{OFFSETS_TOPIC} cannot be read to its end {end}: a transaction that writes to it "
                        "stays open (barnabas transactions list shows it)"
                    )
        return {partition: offset for partition, offset in found.items() if partition in set(partitions)}

    def keep(self, offsets: Mapping[TopicPartition, int]) -> None:
        assert self._producer is not None
        for (topic, partition), offset in offsets.items():
            key = json.dumps([self._group, self._source, topic, partition])
            self._producer.send(OFFSETS_TOPIC, str(offset).encode(), key=key.encode(), partition=0)

    def _make_topic(self) -> None:
        configs = {"cleanup.policy": "compact"}
        with contextlib.suppress(TopicAlreadyExistsError):
            self._admin.create_topics([NewTopic(OFFSETS_TOPIC, 1, BROKER_DEFAULT, configs)])


def _committed(consumer: Consumer, partitions: Sequence[TopicPartition]) -> Offsets:
    found = consumer.committed(partitions)
    return {partition: kept.offset for partition, kept in found.items() if kept is not None}
