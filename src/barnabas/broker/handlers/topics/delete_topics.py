"""DeleteTopics, versions 1 to 6 (by id from version 6 on). Committed offsets of the topic go with it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from functools import partial

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.within_quotas import charge_mutations
from barnabas.broker_errors import (
    InvalidRequestError,
    TopicAuthorizationFailedError,
    TopicDeletionDisabledError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.schema import ZERO_UUID
from barnabas.turns import in_turns

Result = DeleteTopicsResponse.DeletableTopicResult
FIRST_VERSION_WITH_STRICT_QUOTA = 5
REFUSED = "Topic authorization failed."
UNKNOWN_NAME = "This server does not host this topic-partition."
UNKNOWN_ID = "This server does not host this topic ID."
State = DeleteTopicsRequest.DeleteTopicState


async def handle(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    return await call.parts.topic_changes.alone(partial(_delete_all, call, request))


async def _delete_all(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    asked = request.topics or [State(name=name) for name in request.topic_names]
    refused = _refused(call, asked)
    good = [state for state in asked if not any(_names_same(state, result) for result in refused)]
    deleted = [await _delete(call, state) async for state in in_turns(good, 1)]
    return DeleteTopicsResponse(responses=[*refused, *deleted])


def _refused(call: Call, asked: Sequence[State]) -> list[Result]:
    """One answer for all that names a topic twice, or not as it should."""
    refused: list[Result] = []

    def refuse(state: State, reason: str, name: str | None, topic_id: uuid.UUID) -> None:
        result = _refusal(name, topic_id, InvalidRequestError(reason))
        if result not in refused:
            refused.append(result)

    names = Counter(state.name for state in asked if state.topic_id == ZERO_UUID)
    ids = Counter(state.topic_id for state in asked if state.name is None)
    for state in asked:
        if state.name is not None and state.topic_id != ZERO_UUID:
            refuse(state, "You may not specify both topic name and topic id.", state.name, state.topic_id)
        elif state.name is None and state.topic_id == ZERO_UUID:
            refuse(state, "Neither topic name nor id were specified.", None, ZERO_UUID)
        elif state.name is None and ids[state.topic_id] > 1:
            refuse(state, "Duplicate topic id.", None, state.topic_id)
        elif state.name is not None and names[state.name] > 1:
            refuse(state, "Duplicate topic name.", state.name, ZERO_UUID)
        elif state.name in call.parts.cluster.topics and _may(call, Operation.DELETE, state.name):
            topic_id = call.parts.cluster.topics[state.name].topic_id
            if ids[topic_id]:
                reason = "The provided topic name maps to an ID that was already supplied."
                refuse(state, reason, state.name, topic_id)
    return refused


def _names_same(state: State, refused: Result) -> bool:
    if state.name is not None:
        return state.name == refused.name
    return state.topic_id == refused.topic_id


async def _delete(call: Call, state: State) -> Result:
    cluster = call.parts.cluster
    try:
        if not cluster.settings.flag("delete.topic.enable"):
            raise TopicDeletionDisabledError("delete.topic.enable=false")
        if state.name is not None:
            _check_named(call, state.name)
            if state.name not in cluster.topics:
                raise UnknownTopicOrPartitionError(UNKNOWN_NAME)
            topic = cluster.topics[state.name]
        else:
            try:
                topic = cluster.topic_by_id(state.topic_id)
            except UnknownTopicIdError:
                raise UnknownTopicIdError(UNKNOWN_ID) from None
            if not _may(call, Operation.DELETE, topic.name):
                described = topic.name if _may(call, Operation.DESCRIBE, topic.name) else None
                return _refusal(described, state.topic_id, TopicAuthorizationFailedError(REFUSED))
        charge_mutations(call, len(topic.partitions), strict_from=FIRST_VERSION_WITH_STRICT_QUOTA)
        await call.parts.topic_changes.delete(topic)
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
