"""ShareGroupHeartbeat, version 1 (KIP-932): joining, staying and leaving, all in one.

Partitions are assigned at once, where Kafka first makes their state ready by and by.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.consumer_groups.records import by_topic
from barnabas.broker.features import SHARE_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import behind_feature
from barnabas.broker.heartbeat_groups.group import JOINING_EPOCH, LEAVING_EPOCH
from barnabas.broker.share_groups.coordinator import ShareHeartbeat
from barnabas.broker_errors import InvalidRequestError, TopicAuthorizationFailedError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

MEMBER_ID_LENGTH = 36


async def handle(call: Call, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
    try:
        _authorize(call, request)
        for complaint in _complaints(request):
            raise InvalidRequestError(complaint)
        names = request.subscribed_topic_names
        answer = call.parts.share_groups.heartbeat(
            ShareHeartbeat(
                group_id=request.group_id,
                member_id=request.member_id,
                member_epoch=request.member_epoch,
                client_id=call.client_id,
                client_host=f"/{call.client_host}",
                rack_id=request.rack_id,
                subscribed_topic_names=None if names is None else frozenset(names),
            )
        )
    except BrokerError as error:
        return ShareGroupHeartbeatResponse(error_code=error.code, error_message=error.context or None)
    assignment = None
    if answer.assigned is not None:
        assignment = ShareGroupHeartbeatResponse.Assignment(
            topic_partitions=[
                ShareGroupHeartbeatResponse.TopicPartitions(topic_id, indexes)
                for topic_id, indexes in by_topic(answer.assigned)
            ]
        )
    return ShareGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )


def _authorize(call: Call, request: ShareGroupHeartbeatRequest) -> None:
    authorizer = call.parts.authorizer
    authorizer.require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
    for name in request.subscribed_topic_names or ():
        if not authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TOPIC, name):
            raise TopicAuthorizationFailedError


def _complaints(request: ShareGroupHeartbeatRequest) -> Iterator[str]:
    """In Kafka's words, and its order."""
    if not request.member_id.strip() or len(request.member_id) > MEMBER_ID_LENGTH:
        yield ""
    if not request.group_id.strip():
        yield "GroupId can't be empty."
    if request.rack_id is not None and not request.rack_id.strip():
        yield "RackId can't be empty."
    if request.member_epoch == JOINING_EPOCH and not request.subscribed_topic_names:
        yield "SubscribedTopicNames must be set in first request."
    if request.member_epoch < LEAVING_EPOCH:
        yield "MemberEpoch is invalid."


def _refuse(request: ShareGroupHeartbeatRequest, code: int) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=code)


HANDLER = Handler(ShareGroupHeartbeatRequest, 1, 1, behind_feature(SHARE_VERSION, handle, _refuse))
