"""ConsumerGroupHeartbeat, versions 0 and 1 (KIP-848): joining, staying and leaving, all in one.

From version 1 on the member brings its id, and may subscribe by a regular expression (RE2's).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.consumer_groups.assignors import ASSIGNORS
from barnabas.broker.consumer_groups.coordinator import Heartbeat
from barnabas.broker.consumer_groups.records import by_topic, partitions_of
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.heartbeat_groups.group import JOINING_EPOCH, STATIC_LEAVING_EPOCH
from barnabas.broker.name_pattern import NamePatternError, read_name_pattern
from barnabas.broker_errors import InvalidRequestError, UnsupportedAssignorError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

FIRST_VERSION_WITH_MEMBER_ID = 1


async def handle(call: Call, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    authorizer = call.parts.authorizer
    try:
        authorizer.require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
        for name in request.subscribed_topic_names or ():
            authorizer.require(call, Operation.DESCRIBE, ResourceKind.TOPIC, name)
        _check(call.version, request)
        if request.subscribed_topic_regex:
            # Of one that is refused the coordinator speaks, when its turn has come.
            with contextlib.suppress(NamePatternError):
                await read_name_pattern(request.subscribed_topic_regex)
        names, owned = request.subscribed_topic_names, request.topic_partitions
        answer = call.parts.consumer_groups.heartbeat(
            Heartbeat(
                group_id=request.group_id,
                member_id=request.member_id,
                member_epoch=request.member_epoch,
                client_id=call.client_id,
                client_host=f"/{call.client_host}",
                instance_id=request.instance_id,
                rack_id=request.rack_id,
                rebalance_timeout_ms=request.rebalance_timeout_ms,
                subscribed_topic_names=None if names is None else frozenset(names),
                subscribed_topic_regex=request.subscribed_topic_regex,
                server_assignor=request.server_assignor,
                owned=None if owned is None else partitions_of(owned),
                may_see=partial(authorizer.authorize, call, Operation.DESCRIBE, ResourceKind.TOPIC)
                if authorizer.is_on
                else None,
            )
        )
    except BrokerError as error:
        return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.context or None)
    assignment = None
    if answer.assigned is not None:
        assignment = ConsumerGroupHeartbeatResponse.Assignment(
            topic_partitions=[
                ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id, indexes)
                for topic_id, indexes in by_topic(answer.assigned)
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )


def _check(version: int, request: ConsumerGroupHeartbeatRequest) -> None:
    """Raises: InvalidRequestError, UnsupportedAssignorError."""
    for complaint in _complaints(version, request):
        raise InvalidRequestError(complaint)
    if request.server_assignor is not None and request.server_assignor not in ASSIGNORS:
        raise UnsupportedAssignorError(
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(ASSIGNORS)}."
        )


def _complaints(version: int, request: ConsumerGroupHeartbeatRequest) -> Iterator[str]:
    """In Kafka's words, and its order."""
    joins = request.member_epoch == JOINING_EPOCH
    if not request.group_id.strip():
        yield "GroupId can't be empty."
    if request.instance_id is not None and not request.instance_id.strip():
        yield "InstanceId can't be empty."
    if request.rack_id is not None and not request.rack_id.strip():
        yield "RackId can't be empty."
    if not request.member_id.strip() and (version >= FIRST_VERSION_WITH_MEMBER_ID or not joins):
        yield "MemberId can't be empty."
    if joins:
        if request.rebalance_timeout_ms < 0:
            yield "RebalanceTimeoutMs must be provided in first request."
        if request.topic_partitions is None or request.topic_partitions:
            yield "TopicPartitions must be empty when (re-)joining."
        if not request.subscribed_topic_regex and not request.subscribed_topic_names:
            yield "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    elif request.member_epoch == STATIC_LEAVING_EPOCH:
        if request.instance_id is None:
            yield "InstanceId can't be null."
    elif request.member_epoch < STATIC_LEAVING_EPOCH:
        yield "MemberEpoch is invalid."


HANDLER = Handler(ConsumerGroupHeartbeatRequest, 0, 1, handle)
