"""Which replica leads."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.admin.requests.common import Answer, by_topic
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from barnabas.types import TopicPartition


def elect_leaders(
    election_type: int, partitions: Iterable[TopicPartition] | None, *, timeout_ms: int
) -> ElectLeadersRequest:
    """None: of all partitions."""
    return ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=None
        if partitions is None
        else [
            ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[p.partition for p in group])
            for topic, group in by_topic(partitions).items()
        ],
        timeout_ms=timeout_ms,
    )


def elected_leaders(response: ElectLeadersResponse) -> list[Answer[TopicPartition, None]]:
    return [
        Answer(
            TopicPartition(topic.topic, result.partition_id), None, result.error_code, result.error_message
        )
        for topic in response.replica_election_results
        for result in topic.partition_result
    ]
