"""Groups and their offsets in the topic __consumer_offsets, in Kafka's own record formats.

Owns keys and values. Must not know what a group's states mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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

# The newest versions that Kafka itself writes without tagged fields, so that older tools read them too.
VALUE_VERSION = 3
# OffsetCommitKey came in two versions under one shape, numbered 0 and 1 (RECORD_TYPE is the one written).
_OFFSET_KEY_TYPES = (0, OffsetCommitKey.RECORD_TYPE)

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

_OTHER_RECORDS: Mapping[int, tuple[type[Key], type[Message]]] = {
    key.RECORD_TYPE: (key, value)
    for key, value in (
        (GroupMetadataKey, GroupMetadataValue),
        (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
        (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
        (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
        (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    )
}


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
    consumers = () if group.consumers is None else group.consumers.removal_entries()
    return [*offsets, (GroupMetadataKey(group.group_id), None), *consumers]


def encoded_key(key: Key) -> bytes:
    return encode_numbered(key.RECORD_TYPE, key, 0)


def encoded_value(value: Message) -> bytes:
    version = VALUE_VERSION if isinstance(value, (OffsetCommitValue, GroupMetadataValue)) else 0
    return encode_numbered(version, value, version)


def _decode(kept: KeptRecord) -> KeptEntry | None:
    kind = record_type(kept.key)
    if kind in _OFFSET_KEY_TYPES:
        return _decoded(OffsetCommitKey, OffsetCommitValue, kept)
    types = _OTHER_RECORDS.get(kind)
    return None if types is None else _decoded(*types, kept)


def _decoded(key_type: type[Key], value_type: type[Message], kept: KeptRecord) -> KeptEntry:
    value = None if kept.value is None else decode_value(value_type, kept.value)
    return KeptEntry(decode_key(key_type, kept.key), value, kept.producer_id)
