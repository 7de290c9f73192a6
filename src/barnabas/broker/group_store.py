"""Groups and their offsets in the topic __consumer_offsets, in Kafka's own record formats.

Owns keys and values. Must not know what a group's states mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from barnabas.broker.cluster import OFFSETS_TOPIC, Cluster, Partition
from barnabas.broker.group import CommittedOffset, Group
from barnabas.broker.state_topic import (
    KeptEnd,
    KeptRecord,
    Producer,
    StateTopic,
    decode_key,
    decode_value,
    encode_numbered,
    record_type,
)
from barnabas.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.protocol.messages.group_metadata_value import GroupMetadataValue
from barnabas.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.types import TopicPartition

# The newest versions that Kafka itself writes without tagged fields, so that older tools read them too.
VALUE_VERSION = 3
# OffsetCommitKey came in two versions under one shape, numbered 0 and 1 (RECORD_TYPE is the one written).
_OFFSET_KEY_TYPES = (0, OffsetCommitKey.RECORD_TYPE)

Key = OffsetCommitKey | GroupMetadataKey
Value = OffsetCommitValue | GroupMetadataValue
Entry = tuple[Key, Value | None]
"""A record; without a value it takes back the earlier one."""


class KeptEntry(NamedTuple):
    """An entry as it was kept. `producer_id` is that of the transaction it belongs to, or -1."""

    key: Key
    value: Value | None
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
            (
                encode_numbered(key.RECORD_TYPE, key, 0),
                None if value is None else encode_numbered(VALUE_VERSION, value, VALUE_VERSION),
            )
            for key, value in entries
        )
        self.topic.append(group_id, records, producer)

    def load(self) -> Iterator[KeptEntry | KeptEnd]:
        """All records, oldest first. Raises: KafkaStorageError, CorruptBatchError, BrokenProtocolError."""
        for kept in self.topic.read():
            if isinstance(kept, KeptEnd):
                yield kept
                continue
            entry = _decode(kept)
            if entry is not None:
                yield entry


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
    return [*offsets, (GroupMetadataKey(group.group_id), None)]


def _decode(kept: KeptRecord) -> KeptEntry | None:
    kind, value = record_type(kept.key), kept.value
    if kind in _OFFSET_KEY_TYPES:
        offset = None if value is None else decode_value(OffsetCommitValue, value)
        return KeptEntry(decode_key(OffsetCommitKey, kept.key), offset, kept.producer_id)
    if kind == GroupMetadataKey.RECORD_TYPE:
        group = None if value is None else decode_value(GroupMetadataValue, value)
        return KeptEntry(decode_key(GroupMetadataKey, kept.key), group, kept.producer_id)
    return None
