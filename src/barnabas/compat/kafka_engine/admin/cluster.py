"""The cluster as a whole: its brokers, directories, quorum and features. Knows no shape of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

_NEWEST = 32767
_FEATURES_SINCE = 3


async def describe_cluster(session: BrokerSession) -> BrokerAnswer[DescribeClusterResponse]:
    """Raises: IncompatibleBrokerVersion of brokers before 2.8."""
    return await session.ask(
        DescribeClusterRequest(include_cluster_authorized_operations=True, include_fenced_brokers=True)
    )


async def describe_log_dirs(
    session: BrokerSession,
    topics: Iterable[tuple[str, Iterable[int]]] | None,
    broker_ids: Iterable[int] | None,
    *,
    max_version: int = _NEWEST,
) -> dict[int, BrokerAnswer[DescribeLogDirsResponse]]:
    """By broker, of all for None. `topics`: with the numbers of their partitions; None for all."""
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    request = DescribeLogDirsRequest(
        topics=None
        if topics is None
        else [topic(topic=name, partitions=list(numbers)) for name, numbers in topics]
    )
    brokers = await session.nodes() if broker_ids is None else broker_ids
    return {broker: await session.ask(request, broker, max_version=max_version) for broker in brokers}


async def alter_log_dirs(
    session: BrokerSession, paths: Mapping[tuple[str, int, int], str]
) -> dict[int, BrokerAnswer[AlterReplicaLogDirsResponse]]:
    """By broker. `paths`: where the replica of a topic and partition on a broker is to be."""
    brokers: dict[int, dict[str, dict[str, list[int]]]] = {}
    for (topic, partition, broker), path in paths.items():
        brokers.setdefault(broker, {}).setdefault(path, {}).setdefault(topic, []).append(partition)
    of_topic = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic
    return {
        broker: await session.ask(
            AlterReplicaLogDirsRequest(
                dirs=[
                    AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                        path=path,
                        topics=[
                            of_topic(name=topic, partitions=numbers) for topic, numbers in topics.items()
                        ],
                    )
                    for path, topics in directories.items()
                ]
            ),
            broker,
        )
        for broker, directories in brokers.items()
    }


async def describe_quorum(
    session: BrokerSession, topic: str, partition: int
) -> BrokerAnswer[DescribeQuorumResponse]:
    """The quorum of a topic that is replicated by Raft."""
    partitions = [DescribeQuorumRequest.PartitionData(partition_index=partition)]
    return await session.ask(
        DescribeQuorumRequest(
            topics=[DescribeQuorumRequest.TopicData(topic_name=topic, partitions=partitions)]
        )
    )


async def describe_features(
    session: BrokerSession, *, of_controller: bool
) -> BrokerAnswer[ApiVersionsResponse]:
    """What a broker, or the controller, says of features beside the versions that it speaks."""
    request = ApiVersionsRequest(client_software_name="barnabas", client_software_version="1")
    if of_controller:
        return await session.ask_controller(
            request, lambda response: [response.error_code], min_version=_FEATURES_SINCE
        )
    return await session.ask(request, min_version=_FEATURES_SINCE)


async def update_features(
    session: BrokerSession,
    updates: Iterable[tuple[str, int, int, bool]],
    timeout_ms: float,
    *,
    validate_only: bool,
) -> BrokerAnswer[UpdateFeaturesResponse]:
    """`updates`: a feature, its level, Kafka's number for the way of the change, and whether the level may go
    down."""
    update = UpdateFeaturesRequest.FeatureUpdateKey
    request = UpdateFeaturesRequest(
        timeout_ms=int(timeout_ms),
        feature_updates=[
            update(feature=feature, max_version_level=level, allow_downgrade=may_go_down, upgrade_type=way)
            for feature, level, way, may_go_down in updates
        ],
        validate_only=validate_only,
    )
    return await session.ask_controller(
        request, lambda response: [response.error_code], min_version=1 if validate_only else 0
    )
