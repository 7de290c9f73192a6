"""ShareAcknowledge, versions 1 and 2 (KIP-932, KIP-1222: renewing): what became of records, without fetching.

The epoch -1 closes the session, and gives back all that the member has in hand.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.features import SHARE_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import behind_feature
from barnabas.broker.handlers.nodes import Endpoint
from barnabas.broker.handlers.share_groups.acknowledgements import (
    acknowledge,
    check_names,
    decisions_of,
    name_leader,
    until_kept,
)
from barnabas.broker.share_groups.share_sessions import CLOSING_EPOCH
from barnabas.broker.share_groups.share_state_store import ShareKey
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse

PartitionData = ShareAcknowledgeResponse.PartitionData
TopicResponse = ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse


async def handle(call: Call, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    lending = call.parts.share_lending
    try:
        group_id, member_id = check_names(request.group_id, request.member_id)
        call.parts.authorizer.require(call, Operation.READ, ResourceKind.GROUP, group_id)
        lending.sessions[call.node].enter(group_id, member_id, request.share_session_epoch)
    except BrokerError as error:
        return ShareAcknowledgeResponse(error_code=error.code)
    nodes: dict[int, Endpoint] = {}
    responses = [
        TopicResponse(
            topic.topic_id,
            [
                await _acknowledge(
                    call,
                    ShareKey(group_id, topic.topic_id, asked.partition_index),
                    member_id,
                    asked,
                    request,
                    nodes,
                )
                for asked in topic.partitions
                if asked.acknowledgement_batches
            ],
        )
        for topic in request.topics
    ]
    if request.share_session_epoch == CLOSING_EPOCH:
        lending.release_member(group_id, call.node, member_id)
    settings = call.parts.share_groups.settings(group_id)
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=settings.number("share.record.lock.duration.ms"),
        responses=[topic for topic in responses if topic.partitions],
        node_endpoints=[
            ShareAcknowledgeResponse.NodeEndpoint(node.node_id, node.host, node.port, node.rack)
            for node in nodes.values()
        ],
    )


async def _acknowledge(
    call: Call,
    key: ShareKey,
    member_id: str,
    asked: ShareAcknowledgeRequest.AcknowledgePartition,
    request: ShareAcknowledgeRequest,
    nodes: dict[int, Endpoint],
) -> PartitionData:
    try:
        decisions = decisions_of(asked.acknowledgement_batches, may_renew=request.is_renew_ack)
        acknowledge(call, key, member_id, decisions)
        await until_kept(call, key)
    except BrokerError as error:
        data = PartitionData(asked.partition_index, error.code, error.context or None)
        if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            found = name_leader(call, key, data.current_leader)
            if found is not None:
                nodes[found.node_id] = found
        return data
    return PartitionData(asked.partition_index)


def _refuse(request: ShareAcknowledgeRequest, code: int) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=code)


HANDLER = Handler(ShareAcknowledgeRequest, 1, 2, behind_feature(SHARE_VERSION, handle, _refuse))
