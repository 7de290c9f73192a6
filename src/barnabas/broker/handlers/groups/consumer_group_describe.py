"""ConsumerGroupDescribe, versions 0 and 1 (KIP-848). A group of another kind is not found."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.cluster import Cluster
from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.consumer_groups.group import ConsumerGroup
from barnabas.broker.consumer_groups.records import by_topic
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)

DescribedGroup = ConsumerGroupDescribeResponse.DescribedGroup
CONSUMER_MEMBER = 1


async def handle(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[
            _described(call, group_id, with_operations=request.include_authorized_operations)
            for group_id in request.group_ids
        ]
    )


def _described(call: Call, group_id: str, *, with_operations: bool) -> DescribedGroup:
    authorizer = call.parts.authorizer
    try:
        authorizer.require(call, Operation.DESCRIBE, ResourceKind.GROUP, group_id)
        group = call.parts.consumer_groups.group(group_id)
    except BrokerError as error:
        return DescribedGroup(error_code=error.code, error_message=error.context or None, group_id=group_id)
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor_name,
        members=_members(call.parts.cluster, group),
    )
    if not _may_see_topics(call, described):
        described.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        described.error_message = (
            "The group has described topic(s) that the client is not authorized to describe."
        )
        described.members = []
    elif with_operations:
        described.authorized_operations = authorizer.authorized_operations(call, ResourceKind.GROUP, group_id)
    return described


def _may_see_topics(call: Call, group: DescribedGroup) -> bool:
    names: set[str] = set()
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            names.update(topic.topic_name for topic in assignment.topic_partitions)
    authorizer = call.parts.authorizer
    return all(authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TOPIC, name) for name in names)


def _members(cluster: Cluster, group: ConsumerGroup) -> list[ConsumerGroupDescribeResponse.Member]:
    return [
        ConsumerGroupDescribeResponse.Member(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            member_epoch=member.epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex or "",
            assignment=_assignment(cluster, member.assigned | member.pending_revocation),
            target_assignment=_assignment(cluster, group.target.get(member.member_id, ())),
            member_type=CONSUMER_MEMBER,
        )
        for member in group.members.values()
    ]


def _assignment(
    cluster: Cluster, partitions: Iterable[TopicIdPartition]
) -> ConsumerGroupDescribeResponse.Assignment:
    names = {topic.topic_id: topic.name for topic in cluster.topics.values()}
    return ConsumerGroupDescribeResponse.Assignment(
        topic_partitions=[
            ConsumerGroupDescribeResponse.TopicPartitions(topic_id, names[topic_id], indexes)
            for topic_id, indexes in by_topic(partitions)
            if topic_id in names
        ]
    )


HANDLER = Handler(ConsumerGroupDescribeRequest, 0, 1, handle)
