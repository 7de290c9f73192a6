"""Groups and their offsets in the topic __consumer_offsets, in Kafka's own record formats.

Owns keys, values and where they go. Must not know what a group's states mean.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from barnabas import _kernel
from barnabas.broker.cluster import OFFSETS_TOPIC, Cluster, Partition
from barnabas.broker.group import CommittedOffset, Group
from barnabas.broker.log.manager import now_ms
from barnabas.protocol.codec import decode_prefix, encode
from barnabas.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from barnabas.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from barnabas.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from barnabas.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from barnabas.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from barnabas.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from barnabas.protocol.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from barnabas.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from barnabas.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from barnabas.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from barnabas.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.protocol.messages.group_metadata_value import GroupMetadataValue
from barnabas.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.protocol.schema import Message
from barnabas.types import TopicPartition

READ_BYTES = 8 << 20
MAX_BATCH_BYTES = 1 << 20
# The newest versions that Kafka itself writes without tagged fields, so that older tools read them too.
VALUE_VERSION = 3
# OffsetCommitKey came in two versions under one shape, numbered 0 and 1 (RECORD_TYPE is the one written).
_OFFSET_KEY_TYPES = (0, OffsetCommitKey.RECORD_TYPE)
_SHORT = struct.Struct(">h")

V = TypeVar("V", bound=Message)
ConsumerGroupKey = (
    ConsumerGroupMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
)
Key = OffsetCommitKey | GroupMetadataKey | ConsumerGroupKey
Entry = tuple[Key, Message | None]
"""Key and value of a record; without a value it takes back the earlier one."""

_CONSUMER_GROUP_RECORDS: Mapping[int, tuple[type[ConsumerGroupKey], type[Message]]] = {
    key.RECORD_TYPE: (key, value)
    for key, value in (
        (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
        (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
        (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
        (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    )
}


class GroupStore:
    """Reads all groups at the start, and appends each change. Raises: KafkaStorageError when that fails."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def ensure_topic(self) -> None:
        """Makes the topic if it is not there. Raises: KafkaStorageError."""
        if OFFSETS_TOPIC not in self._cluster.topics:
            settings = self._cluster.settings
            self._cluster.create_topic(
                OFFSETS_TOPIC,
                settings.number("offsets.topic.num.partitions"),
                {
                    "cleanup.policy": "compact",
                    "compression.type": "producer",
                    "segment.bytes": settings.get("offsets.topic.segment.bytes").value,
                },
            )

    def partition_for(self, group_id: str) -> Partition:
        """Raises: KafkaStorageError."""
        self.ensure_topic()
        partitions = self._cluster.topic(OFFSETS_TOPIC).partitions
        return partitions[(_java_hash(group_id) & 0x7FFFFFFF) % len(partitions)]

    def append(self, group_id: str, entries: Sequence[Entry]) -> None:
        """Raises: KafkaStorageError."""
        partition = self.partition_for(group_id)
        timestamp = now_ms()
        builder = _kernel.BatchBuilder(max_bytes=MAX_BATCH_BYTES)
        for key, value in entries:
            record = (encoded_key(key), None if value is None else encoded_value(value))
            if not builder.append(timestamp, *record):
                self._write(partition, builder)
                builder = _kernel.BatchBuilder(max_bytes=MAX_BATCH_BYTES)
                builder.append(timestamp, *record)
        if builder.record_count:
            self._write(partition, builder)

    @staticmethod
    def _write(partition: Partition, builder: _kernel.BatchBuilder) -> None:
        batch = builder.build()
        partition.append(batch, _kernel.scan_batches(batch))

    def load(self) -> Iterator[Entry]:
        """All records, oldest first. Raises: KafkaStorageError, CorruptBatchError, BrokenProtocolError."""
        topic = self._cluster.topics.get(OFFSETS_TOPIC)
        for partition in topic.partitions if topic else ():
            for record in _records(partition):
                entry = _decode(record.key, record.value)
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
    offsets: Iterable[Entry] = (offset_entry(group.group_id, partition, None) for partition in group.offsets)
    consumers = () if group.consumers is None else group.consumers.removal_entries()
    return [*offsets, (GroupMetadataKey(group.group_id), None), *consumers]


def _records(partition: Partition) -> Iterator[_kernel.Record]:
    log = partition.log
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, READ_BYTES, at_least_one=True)
        reader = _kernel.RecordReader(partition.topic.name, partition.index, data, fetch_offset=offset)
        yield from reader
        if reader.next_offset <= offset:
            return
        offset = reader.next_offset


def encoded_key(key: Key) -> bytes:
    return _encode(key.RECORD_TYPE, key, 0)


def encoded_value(value: Message) -> bytes:
    version = VALUE_VERSION if isinstance(value, (OffsetCommitValue, GroupMetadataValue)) else 0
    return _encode(version, value, version)


def _encode(prefix: int, message: Message, version: int) -> bytes:
    return _SHORT.pack(prefix) + encode(message, version)


def _decode(key: bytes | None, value: bytes | None) -> Entry | None:
    if key is None:
        return None
    (record_type,) = _SHORT.unpack_from(key)
    if record_type in _OFFSET_KEY_TYPES:
        return _decoded(OffsetCommitKey, OffsetCommitValue, key, value)
    if record_type == GroupMetadataKey.RECORD_TYPE:
        return _decoded(GroupMetadataKey, GroupMetadataValue, key, value)
    kinds = _CONSUMER_GROUP_RECORDS.get(record_type)
    return None if kinds is None else _decoded(*kinds, key, value)


def _decoded(key_type: type[Key], value_type: type[Message], key: bytes, value: bytes | None) -> Entry:
    decoded_key, _ = decode_prefix(key_type, 0, key, _SHORT.size)
    return decoded_key, None if value is None else _decode_value(value_type, value)


def _decode_value(kind: type[V], value: bytes) -> V:
    (version,) = _SHORT.unpack_from(value)
    return decode_prefix(kind, version, value, _SHORT.size)[0]


def _java_hash(text: str) -> int:
    """Java's String.hashCode, by which Kafka spreads groups over the partitions."""
    hashed = 0
    encoded = text.encode("utf-16-be")
    for (unit,) in struct.iter_unpack(">H", encoded):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    return hashed
