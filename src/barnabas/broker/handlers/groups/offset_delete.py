"""OffsetDelete, version 0 (KIP-496): forgets committed offsets of topics that no member is subscribed to."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.consumer_protocol import decoded_subscription
from barnabas.broker.coordinator import CONSUMER_TYPE
from barnabas.broker.group import Group, GroupState
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import (
    ErrorCode,
    GroupIdNotFoundError,
    GroupSubscribedToTopicError,
    NonEmptyGroupError,
)
from barnabas.errors import BrokenProtocolError, BrokerError
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from barnabas.types import TopicPartition

_SUBSCRIBING = (CONSUMER_TYPE, "streams")
"""Of groups with members of these types, offsets of other topics may be deleted."""


async def handle(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    groups = call.parts.groups
    try:
        call.parts.authorizer.require(call, Operation.DELETE, ResourceKind.GROUP, request.group_id)
        group = groups.groups.get(request.group_id)
        if group is None or (group.consumers is not None and not group.consumers.takes_offsets):
            raise GroupIdNotFoundError(f"group {request.group_id} does not exist")
        if group.state is not GroupState.EMPTY and group.protocol_type not in _SUBSCRIBING:
            raise NonEmptyGroupError(f"group {request.group_id} has members")
        return OffsetDeleteResponse(
            topics=[_delete(call, group, topic) for topic in request.topics],
        )
    except BrokerError as error:
        return OffsetDeleteResponse(error_code=error.code)


def _delete(
    call: Call, group: Group, topic: OffsetDeleteRequest.OffsetDeleteRequestTopic
) -> OffsetDeleteResponse.OffsetDeleteResponseTopic:
    indexes = [partition.partition_index for partition in topic.partitions]
    code: int = ErrorCode.NONE
    consumers = group.consumers
    if not call.parts.authorizer.authorize(call, Operation.READ, ResourceKind.TOPIC, topic.name):
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif topic.name in _subscribed_topics(group) or (consumers and consumers.subscribes_to(topic.name)):
        code = GroupSubscribedToTopicError.code
    else:
        call.parts.groups.delete_offsets(group, [TopicPartition(topic.name, index) for index in indexes])
    return OffsetDeleteResponse.OffsetDeleteResponseTopic(
        name=topic.name,
        partitions=[OffsetDeleteResponse.OffsetDeleteResponsePartition(index, code) for index in indexes],
    )


def _subscribed_topics(group: Group) -> set[str]:
    topics: set[str] = set()
    for member in group.members.values():
        for _, metadata in member.protocols:
            topics.update(_topics_of(metadata))
    return topics


def _topics_of(subscription: bytes) -> list[str]:
    try:
        return decoded_subscription(subscription).topics
    except BrokenProtocolError:
        return []


HANDLER = Handler(OffsetDeleteRequest, 0, 0, handle)
