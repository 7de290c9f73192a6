"""Committed offsets of groups of consumers or of Kafka Streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.client.admin.requests.common import Answer, by_topic
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.types import OffsetAndMetadata, TopicPartition

FIRST_OFFSET_FETCH_WITH_GROUPS = 8
HIGHEST_VERSION_WITH_NAMES = 9
"""Later versions name topics by id, which nobody who manages a group needs to know."""
NO_OFFSET = -1


def fetch_offsets(
    groups: Mapping[str, Iterable[TopicPartition] | None], *, require_stable: bool
) -> OffsetFetchRequest:
    """From FIRST_OFFSET_FETCH_WITH_GROUPS on (KIP-709). None: all partitions of a group."""
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequest.OffsetFetchRequestGroup(
                group_id=group_id,
                topics=None
                if partitions is None
                else [
                    OffsetFetchRequest.OffsetFetchRequestTopics(
                        name=topic, partition_indexes=[p.partition for p in group]
                    )
                    for topic, group in by_topic(partitions).items()
                ],
            )
            for group_id, partitions in groups.items()
        ],
        require_stable=require_stable,
    )


def fetch_offsets_of_one_group(
    group_id: str, partitions: Iterable[TopicPartition] | None, *, require_stable: bool
) -> OffsetFetchRequest:
    """Before FIRST_OFFSET_FETCH_WITH_GROUPS."""
    return OffsetFetchRequest(
        group_id=group_id,
        topics=None
        if partitions is None
        else [
            OffsetFetchRequest.OffsetFetchRequestTopic(
                name=topic, partition_indexes=[p.partition for p in group]
            )
            for topic, group in by_topic(partitions).items()
        ],
        require_stable=require_stable,
    )


def fetched_offsets(
    topics: list[OffsetFetchResponse.OffsetFetchResponseTopics]
    | list[OffsetFetchResponse.OffsetFetchResponseTopic],
) -> list[Answer[TopicPartition, OffsetAndMetadata | None]]:
    """None where nothing was committed."""
    return [
        Answer(
            TopicPartition(topic.name, found.partition_index),
            None
            if found.committed_offset == NO_OFFSET
            else OffsetAndMetadata(
                found.committed_offset,
                found.metadata or "",
                None if found.committed_leader_epoch < 0 else found.committed_leader_epoch,
            ),
            found.error_code,
        )
        for topic in topics
        for found in topic.partitions
    ]


def commit_offsets(
    group_id: str, positions: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    """On behalf of a group without members."""
    return OffsetCommitRequest(
        group_id=group_id,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=topic, partitions=[_committed(p, positions[p]) for p in partitions]
            )
            for topic, partitions in by_topic(positions).items()
        ],
    )


def committed_offsets(response: OffsetCommitResponse) -> list[Answer[TopicPartition, None]]:
    return [
        Answer(TopicPartition(topic.name, result.partition_index), None, result.error_code)
        for topic in response.topics
        for result in topic.partitions
    ]


def _committed(
    partition: TopicPartition, position: OffsetAndMetadata
) -> OffsetCommitRequest.OffsetCommitRequestPartition:
    return OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=partition.partition,
        committed_offset=position.offset,
        committed_leader_epoch=-1 if position.leader_epoch is None else position.leader_epoch,
        committed_metadata=position.metadata,
    )
