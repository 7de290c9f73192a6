"""Topics: making and deleting them, and what brokers tell of them. Knows no shape of answers."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.schema import ZERO_UUID

__all__ = ["TopicSpec", "create_topics", "delete_topics", "metadata", "topic_partitions"]

_NEWEST = 32767
EXPLICIT_UNTIL = 3
"""The last version of CreateTopics that makes no topic without a number of partitions and replicas."""


@dataclass(frozen=True)
class TopicSpec:
    """A topic to be made. -1 leaves a number to the broker."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    configs: Mapping[str, object] = field(default_factory=dict[str, object])


async def metadata(
    session: BrokerSession, topics: Iterable[str | uuid.UUID] | None, *, max_version: int = _NEWEST
) -> BrokerAnswer[MetadataResponse]:
    """What a broker knows of topics, of all for None, and what the caller may do with them."""
    topic = MetadataRequest.MetadataRequestTopic
    wanted = None
    if topics is not None:
        wanted = [
            topic(topic_id=each, name=None) if isinstance(each, uuid.UUID) else topic(name=each)
            for each in topics
        ]
    request = MetadataRequest(
        topics=wanted,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    return await session.ask(request, max_version=max_version)


async def topic_partitions(
    session: BrokerSession, topics: Iterable[str] | None
) -> list[tuple[str, list[int]]]:
    """The numbers of the partitions of topics, of all for None."""
    answer = await metadata(session, topics)
    return [
        (topic.name or "", [partition.partition_index for partition in topic.partitions])
        for topic in answer.message.topics
    ]


async def create_topics(
    session: BrokerSession,
    topics: Iterable[TopicSpec],
    timeout_ms: float,
    *,
    validate_only: bool,
    max_version: int = _NEWEST,
) -> BrokerAnswer[CreateTopicsResponse]:
    """Raises: IncompatibleBrokerVersion where brokers cannot check a topic without making it."""
    assignment, config = (
        CreateTopicsRequest.CreatableReplicaAssignment,
        CreateTopicsRequest.CreatableTopicConfig,
    )
    request = CreateTopicsRequest(
        topics=[
            CreateTopicsRequest.CreatableTopic(
                name=topic.name,
                num_partitions=topic.num_partitions,
                replication_factor=topic.replication_factor,
                assignments=[
                    assignment(partition_index=partition, broker_ids=list(brokers))
                    for partition, brokers in topic.assignments.items()
                ],
                configs=[
                    config(name=name, value=None if value is None else str(value))
                    for name, value in topic.configs.items()
                ],
            )
            for topic in topics
        ],
        timeout_ms=int(timeout_ms),
        validate_only=validate_only,
    )
    return await session.ask_controller(
        request,
        lambda response: [topic.error_code for topic in response.topics],
        min_version=1 if validate_only else 0,
        max_version=max_version,
    )


async def delete_topics(
    session: BrokerSession,
    topics: Iterable[str | uuid.UUID],
    timeout_ms: float,
    *,
    max_version: int = _NEWEST,
) -> BrokerAnswer[DeleteTopicsResponse]:
    """`topics`: their names, or their ids where brokers know such."""
    wanted = list(topics)
    state = DeleteTopicsRequest.DeleteTopicState
    by_id = any(isinstance(topic, uuid.UUID) for topic in wanted)
    request = DeleteTopicsRequest(
        topics=[
            state(topic_id=topic) if isinstance(topic, uuid.UUID) else state(name=topic, topic_id=ZERO_UUID)
            for topic in wanted
        ],
        topic_names=[topic for topic in wanted if isinstance(topic, str)],
        timeout_ms=int(timeout_ms),
    )
    return await session.ask_controller(
        request,
        lambda response: [topic.error_code for topic in response.responses],
        min_version=6 if by_id else 0,
        max_version=max_version,
    )
