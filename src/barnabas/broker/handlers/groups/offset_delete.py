"""OffsetDelete, version 0 (KIP-496): forgets committed offsets of topics that no member is subscribed to."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.classic_groups.consumer_protocol import decoded_subscription
from barnabas.broker.classic_groups.coordinator import CONSUMER_TYPE
from barnabas.broker.groups.group import Group, GroupState
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import (
    ErrorCode,
    GroupIdNotFoundError,
    InvalidGroupIdError,
    NonEmptyGroupError,
)
from barnabas.errors import BrokenProtocolError, BrokerError
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from barnabas.types import TopicPartition

_SUBSCRIBING = (CONSUMER_TYPE, "streams")
"""Of groups with members of these types, offsets of other topics may be deleted."""


async def handle(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    try:
        call.parts.authorizer.require(call, Operation.DELETE, ResourceKind.GROUP, request.group_id)
        group = _group(call, request.group_id)
    except BrokerError as error:
        return OffsetDeleteResponse(error_code=error.code)
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponse.OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponse.OffsetDeleteResponsePartition(
                        asked.partition_index,
                        _delete(call, group, TopicPartition(topic.name, asked.partition_index)),
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
            if topic.partitions
        ]
    )


def _group(call: Call, name: str) -> Group:
    """Raises: InvalidGroupIdError, GroupIdNotFoundError, NonEmptyGroupError."""
    if not name:
        raise InvalidGroupIdError("a group needs a name")
    group = call.parts.groups.by_name.get(name)
    if group is None or (group.consumers is not None and not group.consumers.takes_offsets):
        raise GroupIdNotFoundError(f"group {name} does not exist")
    if group.state is not GroupState.EMPTY and group.protocol_type not in _SUBSCRIBING:
        raise NonEmptyGroupError(f"group {name} has members")
    return group


def _delete(call: Call, group: Group, partition: TopicPartition) -> int:
    cluster, consumers = call.parts.cluster, group.consumers
    if not call.parts.authorizer.authorize(call, Operation.READ, ResourceKind.TOPIC, partition.topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic = cluster.topics.get(partition.topic)
    if topic is None or not 0 <= partition.partition < cluster.partition_count_at(topic, call.node):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition.topic in _subscribed_topics(group) or (
        consumers and consumers.subscribes_to(partition.topic)
    ):
        return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    call.parts.offsets.delete(group, [partition])
    return ErrorCode.NONE


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
