"""ShareGroupDescribe, version 1 (KIP-932). A group of another kind is not found."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.cluster import Cluster
from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.consumer_groups.records import by_topic
from barnabas.broker.features import SHARE_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import behind_feature
from barnabas.broker.share_groups import assignor
from barnabas.errors import BrokerError
from barnabas.protocol.messages.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

DescribedGroup = ShareGroupDescribeResponse.DescribedGroup


async def handle(call: Call, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    groups = [_described(call, group_id) for group_id in request.group_ids]
    for group in groups if request.include_authorized_operations else ():
        if not group.error_code:
            group.authorized_operations = call.parts.authorizer.authorized_operations(
                call, ResourceKind.GROUP, group.group_id
            )
    return ShareGroupDescribeResponse(groups=groups)


def _described(call: Call, group_id: str) -> DescribedGroup:
    try:
        call.parts.authorizer.require(call, Operation.DESCRIBE, ResourceKind.GROUP, group_id)
        group = call.parts.share_groups.group(group_id)
    except BrokerError as error:
        return DescribedGroup(error_code=error.code, error_message=error.context, group_id=group_id)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor.NAME,
        members=[
            ShareGroupDescribeResponse.Member(
                member_id=member.member_id,
                rack_id=member.rack_id,
                member_epoch=member.epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=sorted(member.subscribed_topic_names),
                assignment=_assignment(call.parts.cluster, member.assigned),
            )
            for member in group.members.values()
        ],
    )


def _assignment(
    cluster: Cluster, partitions: Iterable[TopicIdPartition]
) -> ShareGroupDescribeResponse.Assignment:
    names = {topic.topic_id: topic.name for topic in cluster.topics.values()}
    return ShareGroupDescribeResponse.Assignment(
        topic_partitions=[
            ShareGroupDescribeResponse.TopicPartitions(topic_id, names[topic_id], indexes)
            for topic_id, indexes in by_topic(partitions)
            if topic_id in names
        ]
    )


def _refuse(request: ShareGroupDescribeRequest, code: int) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=[DescribedGroup(code, group_id=name) for name in request.group_ids]
    )


HANDLER = Handler(ShareGroupDescribeRequest, 1, 1, behind_feature(SHARE_VERSION, handle, _refuse))
