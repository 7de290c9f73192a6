"""Metadata, versions 0 to 13 (KIP-516 topic ids).

Names the living nodes and the topics asked for, all of them for null (version 0: for none). A topic that
does not exist is created if the client allows it and auto.create.topics.enable is set. Ids of topics are
looked up from version 12 on. Of all topics those that the client may see are named.
"""

from __future__ import annotations

from functools import partial

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import BrokerParts, Call, Handler
from barnabas.broker.handlers.nodes import controller_id, living_endpoints
from barnabas.broker.handlers.topics.create_topics import may_create as client_may_create
from barnabas.broker.replication.registration import NO_LEADER
from barnabas.broker.topic import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC, Topic
from barnabas.broker_errors import ErrorCode, TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.schema import ZERO_UUID
from barnabas.turns import in_turns


async def handle(call: Call, request: MetadataRequest) -> MetadataResponse:
    parts = call.parts
    if request.topics is None or (call.version == 0 and not request.topics):
        topics = [
            describe(call, topic)
            async for topic in in_turns(list(parts.cluster.topics.values()), 1)
            if parts.cluster.knows(topic, call.node)
            and parts.authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TOPIC, topic.name)
        ]
    else:
        may_create = request.allow_auto_topic_creation and parts.cluster.settings.flag(
            "auto.create.topics.enable"
        )
        # One answer for what is asked for twice.
        by_name = {
            asked.name if asked.topic_id == ZERO_UUID else asked.topic_id: asked for asked in request.topics
        }
        topics = [await _look_up(call, asked, may_create) async for asked in in_turns(by_name.values(), 1)]
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED and topic.name is not None:
                topic.topic_authorized_operations = parts.authorizer.authorized_operations(
                    call, ResourceKind.TOPIC, topic.name
                )
    response = MetadataResponse(
        brokers=[
            MetadataResponse.MetadataResponseBroker(node.node_id, node.host, node.port, node.rack)
            for node in living_endpoints(call)
        ],
        cluster_id=parts.cluster.cluster_id,
        controller_id=controller_id(parts.cluster),
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = parts.authorizer.cluster_operations(call)
    return response


async def _look_up(
    call: Call, asked: MetadataRequest.MetadataRequestTopic, may_create: bool
) -> MetadataResponse.MetadataResponseTopic:
    parts, cluster = call.parts, call.parts.cluster
    require = parts.authorizer.require
    try:
        if asked.topic_id != ZERO_UUID:
            topic = cluster.topic_by_id(asked.topic_id)
            require(call, Operation.DESCRIBE, ResourceKind.TOPIC, topic.name)
            return describe(call, _known(call, topic))
        name = asked.name or ""
        require(call, Operation.DESCRIBE, ResourceKind.TOPIC, name)
        if name not in cluster.topics and may_create and call.node not in cluster.parted:
            if not client_may_create(call, name):
                raise TopicAuthorizationFailedError
            if name == OFFSETS_TOPIC:
                parts.group_store.topic.ensure()
            elif name == SHARE_STATE_TOPIC:
                parts.share_states.topic.ensure()
            elif name == TRANSACTIONS_TOPIC:
                parts.transaction_store.topic.ensure()
            else:
                await parts.topic_changes.alone(partial(_create, parts, name))
        elif name not in cluster.topics:
            # Tells a name that can never be from one that is not there.
            cluster.check_new_topic(name, 1, {})
            raise UnknownTopicOrPartitionError(name)
        return describe(call, _known(call, cluster.topic(name)))
    except BrokerError as error:
        # A name may be null from version 12 on only, and is not given before that where an id was asked for.
        return MetadataResponse.MetadataResponseTopic(
            error_code=error.code,
            name=asked.name if asked.topic_id == ZERO_UUID else None,
            topic_id=asked.topic_id,
        )


async def _create(parts: BrokerParts, name: str) -> None:
    """Raises: what a topic cannot be created for."""
    cluster = parts.cluster
    if name not in cluster.topics:
        place = partial(cluster.place, cluster.settings.number("num.partitions"))
        await parts.topic_changes.create(name, {}, place)


def _known(call: Call, topic: Topic) -> Topic:
    """Raises: UnknownTopicOrPartitionError."""
    if not call.parts.cluster.knows(topic, call.node):
        raise UnknownTopicOrPartitionError(topic.name)
    return topic


def describe(call: Call, topic: Topic) -> MetadataResponse.MetadataResponseTopic:
    cluster = call.parts.cluster
    alive = cluster.alive_at(call.node)
    partitions = topic.partitions[: cluster.partition_count_at(topic, call.node)]
    registrations = [cluster.registration_at(partition, call.node) for partition in partitions]
    return MetadataResponse.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            MetadataResponse.MetadataResponsePartition(
                error_code=ErrorCode.LEADER_NOT_AVAILABLE if known.leader == NO_LEADER else 0,
                partition_index=index,
                leader_id=known.leader,
                leader_epoch=known.leader_epoch,
                replica_nodes=list(known.replicas),
                isr_nodes=list(known.in_sync),
                offline_replicas=[replica for replica in known.replicas if replica not in alive],
            )
            for index, known in enumerate(registrations)
        ],
    )


HANDLER = Handler(MetadataRequest, 0, 13, handle)
