"""DescribeCluster, versions 0 to 2 (KIP-700, KIP-919; KIP-1073: nodes that are away as well). There are no
controllers to be asked for as such.
"""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.nodes import controller_id, endpoint
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

BROKERS, CONTROLLERS = 1, 2


async def handle(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    parts = call.parts
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type BROKER, but we wanted an endpoint of "
            "type CONTROLLER",
        )
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    alive = parts.cluster.alive_at(call.node)
    shown = parts.cluster.registered if request.include_fenced_brokers else alive
    response = DescribeClusterResponse(
        cluster_id=parts.cluster.cluster_id,
        controller_id=controller_id(parts.cluster),
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(
                node.node_id, node.host, node.port, node.rack, node.node_id not in alive
            )
            for node in (endpoint(call, node_id) for node_id in sorted(shown))
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = parts.authorizer.cluster_operations(call)
    return response


HANDLER = Handler(DescribeClusterRequest, 0, 2, handle)
