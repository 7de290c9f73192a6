"""DescribeQuorum, versions 0 to 2 (KIP-595, KIP-836, KIP-853): every node is a controller, one of them leads.

The offsets are those of a log of metadata that is not there: how many changes of metadata were kept.
"""

from __future__ import annotations

import uuid

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.cluster import Cluster
from barnabas.broker.features import KRAFT_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.nodes import controller_id, endpoint
from barnabas.broker_errors import ErrorCode
from barnabas.clock import now_ms
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.protocol.schema import ZERO_UUID

METADATA_TOPIC = "__cluster_metadata"
FIRST_VERSION_WITH_NODES = 2
_NOT_HEARD_OF = -1
PartitionData = DescribeQuorumResponse.PartitionData


async def handle(call: Call, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    cluster = call.parts.cluster
    try:
        call.parts.authorizer.require_cluster(call, Operation.DESCRIBE)
    except BrokerError as error:
        return DescribeQuorumResponse(error_code=error.code, error_message="Cluster authorization failed.")
    response = DescribeQuorumResponse(
        error_message="",
        topics=[
            DescribeQuorumResponse.TopicData(
                topic.topic_name,
                [
                    _describe(cluster, asked.partition_index)
                    if (topic.topic_name, asked.partition_index) == (METADATA_TOPIC, 0)
                    else _unknown(asked.partition_index)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
    if call.version >= FIRST_VERSION_WITH_NODES and any(
        partition.error_code == 0 for topic in response.topics for partition in topic.partitions
    ):
        response.nodes = [_voter(call, node_id) for node_id in sorted(cluster.nodes)]
    return response


def _voter(call: Call, node_id: int) -> DescribeQuorumResponse.Node:
    found = endpoint(call, node_id)
    return DescribeQuorumResponse.Node(
        node_id, [DescribeQuorumResponse.Listener("CONTROLLER", found.host, found.port)]
    )


def _describe(cluster: Cluster, index: int) -> PartitionData:
    now = now_ms()
    changes = cluster.metadata.content.changes
    voters = [
        DescribeQuorumResponse.ReplicaState(
            node_id,
            _directory_id(cluster, node_id),
            log_end_offset=changes,
            last_fetch_timestamp=now,
            last_caught_up_timestamp=now,
        )
        if node_id in cluster.alive
        else DescribeQuorumResponse.ReplicaState(
            node_id, _directory_id(cluster, node_id), log_end_offset=_NOT_HEARD_OF
        )
        for node_id in sorted(cluster.nodes)
    ]
    return PartitionData(
        index,
        error_message="",
        leader_id=controller_id(cluster),
        leader_epoch=cluster.leader_epoch,
        high_watermark=changes,
        current_voters=voters,
    )


def _directory_id(cluster: Cluster, node_id: int) -> uuid.UUID:
    """By which voters are told apart from kraft.version 1 on."""
    if not cluster.features.level(KRAFT_VERSION):
        return ZERO_UUID
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{cluster.cluster_id}/{node_id}")


def _unknown(index: int) -> PartitionData:
    return PartitionData(
        index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
    )


HANDLER = Handler(DescribeQuorumRequest, 0, 2, handle)
