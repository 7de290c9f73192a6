"""Payloads of a SimpleClient as requests that brokers of today take, and what they answer as payloads again.

Owns what calls of Kafka 0.8 mean in today's protocol. Asks nobody.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from barnabas.compat.kafka_engine.simple.grouping import group_by_topic_and_partition
from barnabas.compat.kafka_engine.simple.records import batch_of, messages_in
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.compat.kafka_engine.wire.struct_classes import struct_class
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse

__all__ = [
    "EARLIEST",
    "HIGHEST_VERSIONS",
    "LATEST",
    "committed",
    "continued",
    "fetch_request",
    "fetched",
    "last_committed",
    "metadata_request",
    "metadata_struct",
    "offset_commit_request",
    "offset_fetch_request",
    "offsets",
    "offsets_request",
    "produce_request",
    "produced",
    "text_of",
]

LATEST = -1
EARLIEST = -2
HIGHEST_VERSIONS: dict[type[Any], int] = {
    ProduceRequest: 12,
    FetchRequest: 12,
    OffsetCommitRequest: 9,
    OffsetFetchRequest: 7,
}
"""The last ones that name topics, or a single group."""

_UNKNOWN_TOPIC_OR_PARTITION = 3
_LEADER_NOT_AVAILABLE = 5
_NO_OFFSET = -1
_EVERY_BYTE = 2**31 - 1


def text_of(name: Any) -> str:
    """The name of a topic or group, which programs for Python 2 may give as bytes."""
    return name.decode() if isinstance(name, bytes) else str(name)


def metadata_request(topics: Iterable[Any]) -> MetadataRequest:
    """Of all topics where none are named. Brokers may create those that are."""
    wanted = [MetadataRequest.MetadataRequestTopic(name=text_of(topic)) for topic in topics]
    return MetadataRequest(topics=wanted or None)


def metadata_struct(response: MetadataResponse, *, creates_topics: bool) -> Any:
    """A MetadataResponse of version 0. `creates_topics`: whether a topic that is not there is being made, of
    which brokers of old said that it has no leader yet."""

    def code_of(topic: MetadataResponse.MetadataResponseTopic) -> int:
        if creates_topics and topic.error_code == _UNKNOWN_TOPIC_OR_PARTITION:
            return _LEADER_NOT_AVAILABLE
        return topic.error_code

    return struct_class("metadata", "MetadataResponse_v0")(
        [(broker.node_id, broker.host, broker.port) for broker in response.brokers],
        [
            (
                code_of(topic),
                topic.name,
                [
                    (
                        *(each.error_code, each.partition_index, each.leader_id),
                        *(list(each.replica_nodes), list(each.isr_nodes)),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in response.topics
        ],
    )


def produce_request(payloads: Iterable[Any], acks: int, timeout_ms: int) -> ProduceRequest:
    """Of payloads with messages. Raises: CorruptBatchError."""
    data = ProduceRequest.PartitionProduceData
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=text_of(topic),
                partition_data=[
                    data(index=partition, records=batch_of(payload.messages))
                    for partition, payload in partitions.items()
                ],
            )
            for topic, partitions in group_by_topic_and_partition(payloads).items()
        ],
    )


def produced(response: ProduceResponse) -> list[Any]:
    return [
        STRUCTS["ProduceResponsePayload"](topic.name, each.index, each.error_code, each.base_offset)
        for topic in response.responses
        for each in topic.partition_responses
    ]


def fetch_request(payloads: Iterable[Any], max_wait_ms: int, min_bytes: int) -> FetchRequest:
    part = FetchRequest.FetchPartition
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        topics=[
            FetchRequest.FetchTopic(
                topic=text_of(topic),
                partitions=[
                    part(
                        partition=partition,
                        fetch_offset=payload.offset,
                        partition_max_bytes=min(payload.max_bytes, _EVERY_BYTE),
                    )
                    for partition, payload in partitions.items()
                ],
            )
            for topic, partitions in group_by_topic_and_partition(payloads).items()
        ],
    )


def fetched(response: FetchResponse, payloads: Iterable[Any]) -> list[tuple[Any, int]]:
    """Each answer, and the offset behind what it has. Raises: CorruptBatchError."""
    asked = {(text_of(each.topic), each.partition): each for each in payloads}
    found: list[tuple[Any, int]] = []
    for topic in response.responses:
        for part in topic.partitions:
            payload = asked[topic.topic, part.partition_index]
            messages, next_offset = messages_in(
                *(topic.topic, part.partition_index, part.records or b""),
                offset=payload.offset,
                max_bytes=payload.max_bytes,
            )
            answer = STRUCTS["FetchResponsePayload"](
                topic.topic, part.partition_index, part.error_code, part.high_watermark, messages
            )
            found.append((answer, next_offset))
    return found


def continued(payloads: Iterable[Any], answers: Iterable[tuple[Any, int]]) -> list[Any]:
    """Those to be asked again from further on: there was something, and no message in it, but what a
    transaction leaves behind."""
    asked = {(text_of(each.topic), each.partition): each for each in payloads}
    return [
        asked[answer.topic, answer.partition]._replace(offset=next_offset)
        for answer, next_offset in answers
        if not answer.error
        and not answer.messages
        and next_offset > asked[answer.topic, answer.partition].offset
    ]


def offsets_request(payloads: Iterable[Any], time_ms: int | None = None) -> ListOffsetsRequest:
    """`time_ms`: in place of the payloads' own."""
    part = ListOffsetsRequest.ListOffsetsPartition
    return ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsRequest.ListOffsetsTopic(
                name=text_of(topic),
                partitions=[
                    part(
                        partition_index=partition,
                        timestamp=_time_of(payload.time) if time_ms is None else time_ms,
                    )
                    for partition, payload in partitions.items()
                ],
            )
            for topic, partitions in group_by_topic_and_partition(payloads).items()
        ],
    )


def _time_of(time_ms: int) -> int:
    # There is no message yet of a time to come, but the end was there before it.
    return LATEST if time_ms >= time.time() * 1000 else time_ms


def offsets(
    response: ListOffsetsResponse,
    latest: ListOffsetsResponse,
    earliest: ListOffsetsResponse,
    payloads: Iterable[Any],
) -> list[Any]:
    """Brokers of old gave the beginnings of segments that were there at that time, the last one first, and
    at most `max_offsets`. Today they tell of one offset for a time; what lies before it begins with the
    first that is there."""
    most = {(text_of(each.topic), each.partition): each.max_offsets for each in payloads}
    at_end, at_start = _offsets_in(latest), _offsets_in(earliest)
    answers: list[Any] = []
    for key, (code, offset) in _offsets_in(response).items():
        if not code and offset == _NO_OFFSET:
            code, offset = at_end.get(key, (code, offset))
        found = [] if code else list(dict.fromkeys([offset, at_start.get(key, (0, offset))[1]]))
        answers.append(STRUCTS["OffsetResponsePayload"](*key, code, tuple(found[: most[key]])))
    return answers


def _offsets_in(response: ListOffsetsResponse) -> Mapping[tuple[str, int], tuple[int, int]]:
    return {
        (topic.name, each.partition_index): (each.error_code, each.offset)
        for topic in response.topics
        for each in topic.partitions
    }


def offset_commit_request(group: str, payloads: Iterable[Any]) -> OffsetCommitRequest:
    part = OffsetCommitRequest.OffsetCommitRequestPartition
    return OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=text_of(topic),
                partitions=[
                    part(
                        partition_index=partition,
                        committed_offset=payload.offset,
                        committed_metadata=None if payload.metadata is None else text_of(payload.metadata),
                    )
                    for partition, payload in partitions.items()
                ],
            )
            for topic, partitions in group_by_topic_and_partition(payloads).items()
        ],
    )


def committed(response: OffsetCommitResponse) -> list[Any]:
    return [
        STRUCTS["OffsetCommitResponsePayload"](topic.name, each.partition_index, each.error_code)
        for topic in response.topics
        for each in topic.partitions
    ]


def offset_fetch_request(group: str, payloads: Iterable[Any]) -> OffsetFetchRequest:
    return OffsetFetchRequest(
        group_id=group,
        topics=[
            OffsetFetchRequest.OffsetFetchRequestTopic(name=text_of(topic), partition_indexes=[*partitions])
            for topic, partitions in group_by_topic_and_partition(payloads).items()
        ],
    )


def last_committed(response: OffsetFetchResponse, *, as_zookeeper: bool) -> list[Any]:
    """`as_zookeeper`: nothing committed is an error, as it was while ZooKeeper kept offsets."""
    return [
        STRUCTS["OffsetFetchResponsePayload"](
            *(topic.name, each.partition_index, each.committed_offset, each.metadata or ""),
            _UNKNOWN_TOPIC_OR_PARTITION
            if as_zookeeper and not each.error_code and each.committed_offset == _NO_OFFSET
            else each.error_code or response.error_code,
        )
        for topic in response.topics
        for each in topic.partitions
    ]
