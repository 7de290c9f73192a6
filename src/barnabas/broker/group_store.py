"""Groups and their offsets in the topic __consumer_offsets.

Owns what is written of a group. Must not know what a group's states mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from barnabas.broker.cluster import Cluster
from barnabas.broker.group import CommittedOffset, Group
from barnabas.broker.group_records import Entry, Key, decoded_entry, encoded_key, encoded_value
from barnabas.broker.topic import OFFSETS_TOPIC, Partition
from barnabas.broker.topics.state_topic import KeptEnd, KeptRecord, Producer, StateTopic, kept_in
from barnabas.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.protocol.messages.group_metadata_value import GroupMetadataValue
from barnabas.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.protocol.schema import Message
from barnabas.types import TopicPartition


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


def offset_entry(group_id: str, partition: TopicPartition, committed: CommittedOffset | None) -> Entry:
    key = OffsetCommitKey(group_id, partition.topic, partition.partition)
    if committed is None:
        return key, None
    return key, OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
    )


def committed_offset(value: OffsetCommitValue) -> CommittedOffset:
    return CommittedOffset(value.offset, value.leader_epoch, value.metadata, value.commit_timestamp)


def group_entry(group: Group) -> Entry:
    members = [
        GroupMetadataValue.MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol),
            assignment=member.assignment,
        )
        for member in group.members.values()
    ]
    return GroupMetadataKey(group.group_id), GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol or None,
        leader=group.leader or None,
        current_state_timestamp=group.changed_ms,
        members=members,
    )


def removal_entries(group: Group) -> list[Entry]:
    """What takes back all that was written of a group."""
    partitions = group.partitions_with_offsets()
    offsets: Iterable[Entry] = (offset_entry(group.group_id, partition, None) for partition in partitions)
    consumers = () if group.consumers is None else group.consumers.removal_entries()
    return [*offsets, (GroupMetadataKey(group.group_id), None), *consumers]
