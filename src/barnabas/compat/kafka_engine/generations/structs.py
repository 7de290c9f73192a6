"""The named tuples of `kafka.structs` in each generation: their fields, and what these are where left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["STRUCTS_OF_1", "STRUCTS_OF_2", "STRUCTS_OF_3", "StructFields"]


@dataclass(frozen=True)
class StructFields:
    """One named tuple."""

    name: str
    fields: tuple[str, ...]
    defaults: tuple[Any, ...] = ()
    """Of the last fields."""


def _struct(name: str, fields: str, *defaults: Any) -> StructFields:
    return StructFields(name, tuple(fields.split()), defaults)


_TOPIC_PARTITION = _struct("TopicPartition", "topic partition")
_RETRY_OPTIONS = _struct("RetryOptions", "limit backoff_ms retry_on_timeouts")
_OFFSET_AND_TIMESTAMP = _struct("OffsetAndTimestamp", "offset timestamp leader_epoch")

STRUCTS_OF_1 = (
    _struct("MetadataRequest", "topics"),
    _struct("MetadataResponse", "brokers topics"),
    _struct("ConsumerMetadataRequest", "groups"),
    _struct("ConsumerMetadataResponse", "error nodeId host port"),
    _struct("ProduceRequestPayload", "topic partition messages"),
    _struct("ProduceResponsePayload", "topic partition error offset"),
    _struct("FetchRequestPayload", "topic partition offset max_bytes"),
    _struct("FetchResponsePayload", "topic partition error highwaterMark messages"),
    _struct("OffsetRequestPayload", "topic partition time max_offsets"),
    _struct("OffsetResponsePayload", "topic partition error offsets"),
    _struct("OffsetCommitRequestPayload", "topic partition offset metadata"),
    _struct("OffsetCommitResponsePayload", "topic partition error"),
    _struct("OffsetFetchRequestPayload", "topic partition"),
    _struct("OffsetFetchResponsePayload", "topic partition offset metadata error"),
    _TOPIC_PARTITION,
    _struct("BrokerMetadata", "nodeId host port"),
    _struct("PartitionMetadata", "topic partition leader replicas isr error"),
    _struct("OffsetAndMetadata", "offset metadata"),
    _struct("OffsetAndMessage", "offset message"),
    _struct("Message", "magic attributes key value"),
    _struct("KafkaMessage", "topic partition offset key value"),
    _RETRY_OPTIONS,
)

STRUCTS_OF_2 = (
    _TOPIC_PARTITION,
    _struct("BrokerMetadata", "nodeId host port rack"),
    _struct("PartitionMetadata", "topic partition leader leader_epoch replicas isr offline_replicas error"),
    _struct("OffsetAndMetadata", "offset metadata leader_epoch"),
    _OFFSET_AND_TIMESTAMP,
    _struct("MemberInformation", "member_id client_id client_host member_metadata member_assignment"),
    _struct(
        "GroupInformation", "error_code group state protocol_type protocol members authorized_operations"
    ),
    _RETRY_OPTIONS,
)

STRUCTS_OF_3 = (
    _TOPIC_PARTITION,
    _struct("TopicPartitionReplica", "topic partition broker_id"),
    _struct("OffsetAndMetadata", "offset metadata leader_epoch", None, "", -1),
    _OFFSET_AND_TIMESTAMP,
    _struct(
        *("ConsumerGroupMetadata", "group_id generation_id member_id group_instance_id state"),
        *(None, -1, "", None, "<unjoined>"),
    ),
)
