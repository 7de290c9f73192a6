"""AlterShareGroupOffsets, version 0 (KIP-932): where a group without members goes on; one that is not there
is made. What it had decided of the partition is forgotten, where Kafka may go by it until it restarts.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.features import SHARE_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import UNSUPPORTED, behind_feature
from barnabas.broker.handlers.share_groups.acknowledgements import until_kept
from barnabas.broker.share_groups.share_state_store import ShareKey
from barnabas.broker_errors import NonEmptyGroupError, UnknownTopicOrPartitionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from barnabas.protocol.schema import ZERO_UUID

AskedTopic = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
AlteredTopic = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic
AlteredPartition = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition


async def handle(call: Call, request: AlterShareGroupOffsetsRequest) -> AlterShareGroupOffsetsResponse:
    try:
        call.parts.authorizer.require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
        if not call.parts.share_groups.group_to_change(request.group_id).is_empty:
            raise NonEmptyGroupError("The group is not empty.")
    except BrokerError as error:
        return AlterShareGroupOffsetsResponse(error_code=error.code, error_message=error.context or None)
    return AlterShareGroupOffsetsResponse(
        responses=[await _alter(call, request.group_id, topic) for topic in request.topics]
    )


async def _alter(call: Call, group_id: str, asked: AskedTopic) -> AlteredTopic:
    topic = call.parts.cluster.topics.get(asked.topic_name)
    altered = AlteredTopic(asked.topic_name, ZERO_UUID if topic is None else topic.topic_id)
    for wanted in asked.partitions:
        answer = AlteredPartition(wanted.partition_index)
        try:
            call.parts.authorizer.require(call, Operation.READ, ResourceKind.TOPIC, asked.topic_name)
            if topic is None or not 0 <= wanted.partition_index < len(topic.partitions):
                raise UnknownTopicOrPartitionError("This server does not host this topic-partition.")
            key = ShareKey(group_id, topic.topic_id, wanted.partition_index)
            call.parts.share_lending.begin_anew(key, wanted.start_offset)
            await until_kept(call, key)
        except BrokerError as error:
            answer.error_code, answer.error_message = error.code, error.context or None
        altered.partitions.append(answer)
    return altered


def _refuse(request: AlterShareGroupOffsetsRequest, code: int) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=code, error_message=UNSUPPORTED)


HANDLER = Handler(AlterShareGroupOffsetsRequest, 0, 0, behind_feature(SHARE_VERSION, handle, _refuse))
