"""DeleteTopics, versions 1 to 6 (by id from version 6 on). Committed offsets of the topic go with it."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import InvalidRequestError, TopicDeletionDisabledError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.schema import ZERO_UUID

Result = DeleteTopicsResponse.DeletableTopicResult
State = DeleteTopicsRequest.DeleteTopicState


async def handle(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    asked: Iterable[State] = request.topics or (State(name=name) for name in request.topic_names)
    return DeleteTopicsResponse(responses=[_delete(call, state) for state in asked])


def _delete(call: Call, state: State) -> Result:
    cluster = call.parts.cluster
    try:
        if not cluster.settings.flag("delete.topic.enable"):
            raise TopicDeletionDisabledError("delete.topic.enable=false")
        if state.name is not None and state.topic_id != ZERO_UUID:
            raise InvalidRequestError(f"topic {state.name}: give its name or its id, not both")
        topic = cluster.resolve(state.name or "", state.topic_id)
        cluster.delete_topic(topic)
        return Result(name=topic.name, topic_id=topic.topic_id)
    except BrokerError as error:
        return Result(
            name=state.name, topic_id=state.topic_id, error_code=error.code, error_message=error.context
        )


HANDLER = Handler(DeleteTopicsRequest, 1, 6, handle)
