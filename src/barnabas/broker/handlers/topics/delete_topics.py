"""DeleteTopics, versions 1 to 6 (by id from version 6 on). Committed offsets of the topic go with it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.within_quotas import charge_mutations
from barnabas.broker_errors import (
    InvalidRequestError,
    TopicAuthorizationFailedError,
    TopicDeletionDisabledError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.schema import ZERO_UUID

Result = DeleteTopicsResponse.DeletableTopicResult
FIRST_VERSION_WITH_STRICT_QUOTA = 5
REFUSED = "Topic authorization failed."
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
        if state.name is not None:
            _check_named(call, state.name)
            topic = cluster.topic(state.name)
        else:
            topic = cluster.topic_by_id(state.topic_id)
            if not _may(call, Operation.DELETE, topic.name):
                described = topic.name if _may(call, Operation.DESCRIBE, topic.name) else None
                return _refusal(described, state.topic_id, TopicAuthorizationFailedError(REFUSED))
        charge_mutations(call, len(topic.partitions), strict_from=FIRST_VERSION_WITH_STRICT_QUOTA)
        cluster.delete_topic(topic)
        return Result(name=topic.name, topic_id=topic.topic_id)
    except BrokerError as error:
        return _refusal(state.name, state.topic_id, error)


def _check_named(call: Call, name: str) -> None:
    """Tells whether the topic is there only to who may see it. Raises: TopicAuthorizationFailedError."""
    if not _may(call, Operation.DESCRIBE, name) or (
        name in call.parts.cluster.topics and not _may(call, Operation.DELETE, name)
    ):
        raise TopicAuthorizationFailedError(REFUSED)


def _may(call: Call, operation: Operation, name: str) -> bool:
    authorizer = call.parts.authorizer
    return authorizer.authorize(
        call, Operation.DELETE, ResourceKind.CLUSTER, CLUSTER_NAME
    ) or authorizer.authorize(call, operation, ResourceKind.TOPIC, name)


def _refusal(name: str | None, topic_id: uuid.UUID, error: BrokerError) -> Result:
    return Result(name=name, topic_id=topic_id, error_code=error.code, error_message=error.context or None)


HANDLER = Handler(DeleteTopicsRequest, 1, 6, handle)
