"""Metadata, versions 0 to 13 (KIP-516 topic ids).

Names the one broker and the topics asked for, all of them for null (version 0: for none). A topic that
does not exist is created if the client allows it and auto.create.topics.enable is set. Ids of topics are
looked up from version 12 on. Operations that are allowed are never given, as there is no authorizer.
"""

from __future__ import annotations

from barnabas.broker.cluster import NODE_ID, OFFSETS_TOPIC, TRANSACTIONS_TOPIC, Topic
from barnabas.broker.handlers.api import BrokerParts, Call, Handler
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.schema import ZERO_UUID


async def handle(call: Call, request: MetadataRequest) -> MetadataResponse:
    parts = call.parts
    if request.topics is None or (call.version == 0 and not request.topics):
        topics = [describe(parts, topic) for topic in parts.cluster.topics.values()]
    else:
        may_create = request.allow_auto_topic_creation and parts.cluster.settings.flag(
            "auto.create.topics.enable"
        )
        topics = [_look_up(parts, asked, may_create) for asked in request.topics]
    return MetadataResponse(
        brokers=[MetadataResponse.MetadataResponseBroker(NODE_ID, parts.host, parts.port)],
        cluster_id=parts.cluster.cluster_id,
        controller_id=NODE_ID,
        topics=topics,
    )


def _look_up(
    parts: BrokerParts, asked: MetadataRequest.MetadataRequestTopic, may_create: bool
) -> MetadataResponse.MetadataResponseTopic:
    cluster = parts.cluster
    try:
        if asked.topic_id != ZERO_UUID:
            return describe(parts, cluster.topic_by_id(asked.topic_id))
        name = asked.name or ""
        if name not in cluster.topics and may_create:
            if name == OFFSETS_TOPIC:
                parts.group_store.topic.ensure()
            elif name == TRANSACTIONS_TOPIC:
                parts.transaction_store.topic.ensure()
            else:
                cluster.create_topic(name, cluster.settings.number("num.partitions"), {})
        elif name not in cluster.topics:
            # Tells a name that can never be from one that is not there.
            cluster.check_new_topic(name, 1, {})
            raise UnknownTopicOrPartitionError(name)
        return describe(parts, cluster.topic(name))
    except BrokerError as error:
        # A name may be null from version 12 on only, and is not given before that where an id was asked for.
        return MetadataResponse.MetadataResponseTopic(
            error_code=error.code,
            name=asked.name if asked.topic_id == ZERO_UUID else None,
            topic_id=asked.topic_id,
        )


def describe(parts: BrokerParts, topic: Topic) -> MetadataResponse.MetadataResponseTopic:
    epoch = parts.cluster.leader_epoch
    return MetadataResponse.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            MetadataResponse.MetadataResponsePartition(
                partition_index=partition.index,
                leader_id=NODE_ID,
                leader_epoch=epoch,
                replica_nodes=[NODE_ID],
                isr_nodes=[NODE_ID],
            )
            for partition in topic.partitions
        ],
    )


HANDLER = Handler(MetadataRequest, 0, 13, handle)
