"""DescribeCluster, versions 0 to 2 (KIP-700, KIP-919). There are no controllers to be asked for as such."""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.nodes import controller_id, living_endpoints
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
        controller_id=controller_id(parts.cluster),
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(node.node_id, node.host, node.port, node.rack)
            for node in living_endpoints(call)
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = parts.authorizer.cluster_operations(call)
    return response


HANDLER = Handler(DescribeClusterRequest, 0, 2, handle)
