"""DescribeCluster, versions 0 to 2 (KIP-700, KIP-919). There are no controllers to be asked for as such."""

from __future__ import annotations

from barnabas.broker.cluster import NODE_ID
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

BROKERS = 1


async def handle(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    parts = call.parts
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="this is a broker, there is no controller of its own",
            endpoint_type=BROKERS,
        )
    response = DescribeClusterResponse(
        cluster_id=parts.cluster.cluster_id,
        controller_id=NODE_ID,
        brokers=[DescribeClusterResponse.DescribeClusterBroker(NODE_ID, parts.host, parts.port)],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = parts.authorizer.cluster_operations(call)
    return response


HANDLER = Handler(DescribeClusterRequest, 0, 2, handle)
