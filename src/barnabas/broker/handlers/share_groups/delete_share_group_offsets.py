"""DeleteShareGroupOffsets, version 0 (KIP-932): a group without members forgets topics."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.features import SHARE_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import UNSUPPORTED, behind_feature
from barnabas.broker.handlers.share_groups.acknowledgements import until_kept
from barnabas.broker_errors import NonEmptyGroupError, UnknownTopicOrPartitionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from barnabas.protocol.schema import ZERO_UUID

ForgottenTopic = DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic


async def handle(call: Call, request: DeleteShareGroupOffsetsRequest) -> DeleteShareGroupOffsetsResponse:
    try:
        call.parts.authorizer.require(call, Operation.DELETE, ResourceKind.GROUP, request.group_id)
        if not call.parts.share_groups.group(request.group_id).is_empty:
            raise NonEmptyGroupError("The group is not empty.")
    except BrokerError as error:
        return DeleteShareGroupOffsetsResponse(error_code=error.code, error_message=error.context or None)
    return DeleteShareGroupOffsetsResponse(
        responses=[await _forget(call, request.group_id, topic.topic_name) for topic in request.topics]
    )


async def _forget(call: Call, group_id: str, name: str) -> ForgottenTopic:
    topic = call.parts.cluster.topics.get(name)
    answer = ForgottenTopic(name, ZERO_UUID if topic is None else topic.topic_id)
    try:
        call.parts.authorizer.require(call, Operation.READ, ResourceKind.TOPIC, name)
        if topic is None:
            raise UnknownTopicOrPartitionError("This server does not host this topic-partition.")
        known = call.parts.share_states.of_group(group_id)
        keys = [key for key in known if key.topic_id == topic.topic_id]
        if not keys:
            raise UnknownTopicOrPartitionError("There is no offset information to delete.")
        call.parts.share_lending.forget(keys)
        for key in keys:
            await until_kept(call, key)
    except BrokerError as error:
        answer.error_code, answer.error_message = error.code, error.context or None
    return answer


def _refuse(request: DeleteShareGroupOffsetsRequest, code: int) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=code, error_message=UNSUPPORTED)


HANDLER = Handler(DeleteShareGroupOffsetsRequest, 0, 0, behind_feature(SHARE_VERSION, handle, _refuse))
