"""What AdminClient asks brokers about topics and about the cluster.

Owns what answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from barnabas.broker_errors import ErrorCode
from barnabas.client.admin import types
from barnabas.client.admin.requests import topics as topic_requests
from barnabas.client.admin.requests.common import Answer, first_code
from barnabas.client.admin.types.acls import authorized_operations
from barnabas.compat.confluent_kafka._model import Node, TopicPartitionInfo
from barnabas.compat.confluent_kafka.admin._acl import AclOperation
from barnabas.compat.confluent_kafka.admin._cluster import DescribeClusterResult
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._topic import TopicDescription
from barnabas.compat.librdkafka.cluster.broker_requests import (
    WAITING_FOR_CONTROLLER,
    BrokerRequests,
    broker_error,
    invalid_argument,
    not_understood,
)
from barnabas.compat.librdkafka.cluster.new_topics import NewPartitions, NewTopic
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.compat.librdkafka.values.uuid import Uuid
from barnabas.protocol.messages.metadata import MetadataResponse

NO_HOST: Any = None
NO_PORT = 0


async def create_topics(
    requests: BrokerRequests, topics: list[NewTopic], options: CallOptions
) -> dict[str, KafkaError | None]:
    """The outcome of each topic."""
    request = topic_requests.create_topics(
        map(_core_topic, topics),
        timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
        validate_only=options.validate_only,
    )
    response = await requests.ask_controller(
        request, code=lambda response: first_code(topic.error_code for topic in response.topics)
    )
    return _outcomes(topic_requests.created_topics(response), "CreateTopics", options)


async def delete_topics(
    requests: BrokerRequests, names: list[str], options: CallOptions
) -> dict[str, KafkaError | None]:
    """The outcome of each topic."""
    request = topic_requests.delete_topics(
        names, timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms)
    )
    response = await requests.ask_controller(
        request,
        code=lambda response: first_code(topic.error_code for topic in response.responses),
        max_version=topic_requests.HIGHEST_DELETE_TOPICS_WITH_NAMES_ALONE,
    )
    # librdkafka asks in a version in which brokers do not say more than the code.
    answers = [answer._replace(message=None) for answer in topic_requests.deleted_topics(response)]
    return _outcomes(answers, "DeleteTopics", options)


async def create_partitions(
    requests: BrokerRequests, wanted: list[NewPartitions], options: CallOptions
) -> dict[str, KafkaError | None]:
    """The outcome of each topic."""
    request = topic_requests.create_partitions(
        (
            (topic.topic, types.NewPartitions(topic.new_total_count, topic.replica_assignment))
            for topic in wanted
        ),
        timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
        validate_only=options.validate_only,
    )
    response = await requests.ask_controller(
        request, code=lambda response: first_code(topic.error_code for topic in response.results)
    )
    return _outcomes(topic_requests.created_partitions(response), "CreatePartitions", options)


async def describe_topics(
    requests: BrokerRequests, names: list[str], options: CallOptions
) -> dict[str, TopicDescription | KafkaError]:
    """Each topic, or why it cannot be described."""
    if len(set(names)) != len(names):
        raise invalid_argument("Duplicate topics not allowed")
    if not names:
        return {}
    request = topic_requests.describe_topics(names, include_operations=options.include_operations)
    _, response = await requests.ask(requests.client.controller, request, waiting_for=WAITING_FOR_CONTROLLER)
    nodes = _nodes(response)
    return {
        name: KafkaError(code) if code else _description(topic, nodes)
        for name, topic, code, _ in topic_requests.described_topics(response)
    }


async def describe_cluster(requests: BrokerRequests, options: CallOptions) -> DescribeClusterResult:
    """The cluster as one of its brokers sees it."""
    request = topic_requests.describe_brokers(include_operations=options.include_operations)
    _, response = await requests.ask(
        requests.client.controller,
        request,
        waiting_for=WAITING_FOR_CONTROLLER,
        max_version=topic_requests.LAST_METADATA_WITH_CLUSTER_OPERATIONS,
    )
    nodes = _nodes(response)
    return DescribeClusterResult(
        _node(response.controller_id, nodes),
        list(nodes.values()),
        response.cluster_id,
        operations_in(authorized_operations(response.cluster_authorized_operations)),
    )


def operations_in(operations: frozenset[types.AclOperation] | None) -> list[str | int | AclOperation]:
    """Operations, as far as librdkafka knows them."""
    known = {operation.value for operation in AclOperation}
    return [AclOperation(number) for number in sorted(operations or ()) if number in known]


def _core_topic(topic: NewTopic) -> types.NewTopic:
    by_hand: list[list[int]] | None = topic.replica_assignment
    settings: dict[Any, Any] = topic.config or {}
    return types.NewTopic(
        topic.topic,
        topic.num_partitions,
        topic.replication_factor,
        {str(name): str(value) for name, value in settings.items()},
        None if by_hand is None else dict(enumerate(by_hand)),
    )


def _outcomes(
    answers: Iterable[Answer[str, object]], request_name: str, options: CallOptions
) -> dict[str, KafkaError | None]:
    """The outcome of topics, by name. One that a broker names twice is not understood."""
    outcomes: dict[str, KafkaError | None] = {}
    for name, _, code, message in answers:
        if name in outcomes:
            raise not_understood(request_name)
        # Whoever does not wait takes a broker's word that it has begun.
        has_begun = code == ErrorCode.REQUEST_TIMED_OUT and not options.is_waited_for
        outcomes[name] = None if has_begun else broker_error(code, message)
    return outcomes


def _nodes(response: MetadataResponse) -> dict[int, Node]:
    return {
        broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack)
        for broker in response.brokers
    }


def _node(node_id: int, nodes: dict[int, Node]) -> Any:
    """A broker, without an address where it is down; None where there is no broker at all."""
    return None if node_id < 0 else nodes.get(node_id) or Node(node_id, NO_HOST, NO_PORT)


def _description(topic: types.TopicDescription, nodes: dict[int, Node]) -> TopicDescription:
    return TopicDescription(
        topic.name,
        uuid_of(topic.topic_id),
        topic.is_internal,
        [
            TopicPartitionInfo(
                partition.partition,
                _node(partition.leader, nodes),
                [_node(node_id, nodes) for node_id in partition.replicas],
                [_node(node_id, nodes) for node_id in partition.in_sync_replicas],
            )
            for partition in topic.partitions
        ],
        operations_in(topic.authorized_operations),
    )


def uuid_of(topic_id: uuid.UUID) -> Uuid:
    """Kafka's ids as librdkafka's."""
    halves = (topic_id.bytes[:8], topic_id.bytes[8:])
    return Uuid(*(int.from_bytes(half, "big", signed=True) for half in halves))
