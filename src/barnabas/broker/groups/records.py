"""Which records of __consumer_offsets there are, and their bytes, in Kafka's own formats.

Owns the kinds of keys and values. Must not know groups, nor where records are kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.topics.state_topic import (
    KeptRecord,
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
from barnabas.protocol.messages.share_group_current_member_assignment_key import (
    ShareGroupCurrentMemberAssignmentKey,
)
from barnabas.protocol.messages.share_group_current_member_assignment_value import (
    ShareGroupCurrentMemberAssignmentValue,
)
from barnabas.protocol.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from barnabas.protocol.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from barnabas.protocol.messages.share_group_metadata_key import ShareGroupMetadataKey
from barnabas.protocol.messages.share_group_metadata_value import ShareGroupMetadataValue
from barnabas.protocol.messages.share_group_target_assignment_member_key import (
    ShareGroupTargetAssignmentMemberKey,
)
from barnabas.protocol.messages.share_group_target_assignment_member_value import (
    ShareGroupTargetAssignmentMemberValue,
)
from barnabas.protocol.messages.share_group_target_assignment_metadata_key import (
    ShareGroupTargetAssignmentMetadataKey,
)
from barnabas.protocol.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)
from barnabas.protocol.messages.streams_group_current_member_assignment_key import (
    StreamsGroupCurrentMemberAssignmentKey,
)
from barnabas.protocol.messages.streams_group_current_member_assignment_value import (
    StreamsGroupCurrentMemberAssignmentValue,
)
from barnabas.protocol.messages.streams_group_member_metadata_key import StreamsGroupMemberMetadataKey
from barnabas.protocol.messages.streams_group_member_metadata_value import StreamsGroupMemberMetadataValue
from barnabas.protocol.messages.streams_group_metadata_key import StreamsGroupMetadataKey
from barnabas.protocol.messages.streams_group_metadata_value import StreamsGroupMetadataValue
from barnabas.protocol.messages.streams_group_target_assignment_member_key import (
    StreamsGroupTargetAssignmentMemberKey,
)
from barnabas.protocol.messages.streams_group_target_assignment_member_value import (
    StreamsGroupTargetAssignmentMemberValue,
)
from barnabas.protocol.messages.streams_group_target_assignment_metadata_key import (
    StreamsGroupTargetAssignmentMetadataKey,
)
from barnabas.protocol.messages.streams_group_target_assignment_metadata_value import (
    StreamsGroupTargetAssignmentMetadataValue,
)
from barnabas.protocol.messages.streams_group_topology_key import StreamsGroupTopologyKey
from barnabas.protocol.messages.streams_group_topology_value import StreamsGroupTopologyValue
from barnabas.protocol.schema import Message

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
ShareGroupKey = (
    ShareGroupMetadataKey
    | ShareGroupMemberMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
)
StreamsGroupKey = (
    StreamsGroupMetadataKey
    | StreamsGroupMemberMetadataKey
    | StreamsGroupTopologyKey
    | StreamsGroupTargetAssignmentMetadataKey
    | StreamsGroupTargetAssignmentMemberKey
    | StreamsGroupCurrentMemberAssignmentKey
)
Key = OffsetCommitKey | GroupMetadataKey | ConsumerGroupKey | ShareGroupKey | StreamsGroupKey
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
        (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
        (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
        (ShareGroupMetadataKey, ShareGroupMetadataValue),
        (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
        (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
        (StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue),
        (StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
        (StreamsGroupMetadataKey, StreamsGroupMetadataValue),
        (StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue),
        (StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue),
        (StreamsGroupTopologyKey, StreamsGroupTopologyValue),
    )
}


def encoded_key(key: Key) -> bytes:
    return encode_numbered(key.RECORD_TYPE, key, 0)


def encoded_value(value: Message) -> bytes:
    version = VALUE_VERSION if isinstance(value, (OffsetCommitValue, GroupMetadataValue)) else 0
    return encode_numbered(version, value, version)


def decoded_entry(kept: KeptRecord) -> Entry | None:
    """None of a kind that is not known."""
    kind = record_type(kept.key)
    if kind in _OFFSET_KEY_TYPES:
        return _decoded(OffsetCommitKey, OffsetCommitValue, kept)
    types = _OTHER_RECORDS.get(kind)
    return None if types is None else _decoded(*types, kept)


def _decoded(key_type: type[Key], value_type: type[Message], kept: KeptRecord) -> Entry:
    value = None if kept.value is None else decode_value(value_type, kept.value)
    return decode_key(key_type, kept.key), value
