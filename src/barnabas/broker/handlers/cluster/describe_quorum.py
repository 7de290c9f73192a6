"""DescribeQuorum, versions 0 to 2 (KIP-595, KIP-836, KIP-853): one node is the only controller, and leads.

The offsets are those of a log of metadata that is not there: how many changes of metadata were kept.
"""

from __future__ import annotations

import time

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.cluster import Cluster
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.nodes import controller_id, endpoint
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse

METADATA_TOPIC = "__cluster_metadata"
FIRST_VERSION_WITH_NODES = 2
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
        leader = endpoint(call, controller_id(cluster))
        listener = DescribeQuorumResponse.Listener("CONTROLLER", leader.host, leader.port)
        response.nodes = [DescribeQuorumResponse.Node(leader.node_id, [listener])]
    return response


def _describe(cluster: Cluster, index: int) -> PartitionData:
    now = time.time_ns() // 1_000_000
    changes = cluster.metadata_changes
    leader = controller_id(cluster)
    voter = DescribeQuorumResponse.ReplicaState(
        leader, log_end_offset=changes, last_fetch_timestamp=now, last_caught_up_timestamp=now
    )
    return PartitionData(
        index,
        error_message="",
        leader_id=leader,
        leader_epoch=cluster.leader_epoch,
        high_watermark=changes,
        current_voters=[voter],
    )


def _unknown(index: int) -> PartitionData:
    return PartitionData(
        index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
    )


HANDLER = Handler(DescribeQuorumRequest, 0, 2, handle)
