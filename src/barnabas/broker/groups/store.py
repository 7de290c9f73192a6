"""The topic __consumer_offsets, where groups and their offsets are kept.

Owns how entries are written and read back. Must not know what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.broker.cluster import Cluster
from barnabas.broker.groups.records import Entry, Key, decoded_entry, encoded_key, encoded_value
from barnabas.broker.topic import OFFSETS_TOPIC, Partition
from barnabas.broker.topics.state_topic import KeptEnd, KeptRecord, Producer, StateTopic, kept_in
from barnabas.protocol.schema import Message


class KeptEntry(NamedTuple):
    """An entry as it was kept. `producer_id` is that of the transaction it belongs to, or -1."""

    key: Key
    value: Message | None
    producer_id: int


class GroupStore:
    """Reads all groups at the start, and appends each change. Raises: KafkaStorageError when that fails."""

    def __init__(self, cluster: Cluster) -> None:
        self.topic = StateTopic(
            cluster, OFFSETS_TOPIC, "offsets.topic.num.partitions", "offsets.topic.segment.bytes"
        )

    def partition_for(self, group_id: str) -> Partition:
        """Raises: KafkaStorageError."""
        return self.topic.partition_for(group_id)

    def append(self, group_id: str, entries: Sequence[Entry], producer: Producer | None = None) -> None:
        """Raises: KafkaStorageError, with a producer also what its epoch is refused for."""
        records = (
            (encoded_key(key), None if value is None else encoded_value(value)) for key, value in entries
        )
        self.topic.append(group_id, records, producer)

    def load(self, partition: Partition | None = None) -> Iterator[KeptEntry | KeptEnd]:
        """All records, or those of a partition, oldest first.

        Raises: KafkaStorageError, CorruptBatchError, BrokenProtocolError.
        """
        found: Iterator[KeptRecord | KeptEnd] = self.topic.read() if partition is None else kept_in(partition)
        for kept in found:
            if isinstance(kept, KeptEnd):
                yield kept
                continue
            entry = decoded_entry(kept)
            if entry is not None:
                yield KeptEntry(*entry, kept.producer_id)
