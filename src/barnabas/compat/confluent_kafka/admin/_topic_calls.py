"""What AdminClient asks brokers about topics and about the cluster.

Owns the requests and what their answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.broker_errors import ErrorCode
from barnabas.client.admin.types.acls import authorized_operations
from barnabas.compat.confluent_kafka._model import Node, TopicPartitionInfo
from barnabas.compat.confluent_kafka.admin._acl import AclOperation
from barnabas.compat.confluent_kafka.admin._cluster import DescribeClusterResult
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._topic import TopicDescription
from barnabas.compat.librdkafka.ask.new_topics import NewPartitions, NewTopic
from barnabas.compat.librdkafka.ask.requests import (
    WAITING_FOR_CONTROLLER,
    BrokerRequests,
    broker_error,
    invalid_argument,
    not_understood,
)
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.compat.librdkafka.values.uuid import Uuid
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse

HIGHEST_DELETE_TOPICS_WITH_NAMES_ALONE = 5
LAST_METADATA_WITH_CLUSTER_OPERATIONS = 10
ASSIGNED_BY_HAND = -1
NO_HOST: Any = None
NO_PORT = 0


async def create_topics(
    requests: BrokerRequests, topics: list[NewTopic], options: CallOptions
) -> dict[str, KafkaError | None]:
    """What became of each topic."""
    request = CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics],
        timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
        validate_only=options.validate_only,
    )
    response = await requests.ask_controller(
        request, code=lambda response: _first(topic.error_code for topic in response.topics)
    )
    answers = [(topic.name, topic.error_code, topic.error_message) for topic in response.topics]
    return _outcomes(answers, "CreateTopics", options)


async def delete_topics(
    requests: BrokerRequests, names: list[str], options: CallOptions
) -> dict[str, KafkaError | None]:
    """What became of each topic."""
    request = DeleteTopicsRequest(
        topics=[],
        topic_names=names,
        timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
    )
    response = await requests.ask_controller(
        request,
        code=lambda response: _first(topic.error_code for topic in response.responses),
        max_version=HIGHEST_DELETE_TOPICS_WITH_NAMES_ALONE,
    )
    # librdkafka asks in a version in which brokers do not say more than the code.
    answers = [(topic.name or "", topic.error_code, None) for topic in response.responses]
    return _outcomes(answers, "DeleteTopics", options)


async def create_partitions(
    requests: BrokerRequests, wanted: list[NewPartitions], options: CallOptions
) -> dict[str, KafkaError | None]:
    """What became of each topic."""
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsRequest.CreatePartitionsTopic(
                name=topic.topic,
                count=topic.new_total_count,
                assignments=None
                if topic.replica_assignment is None
                else [
                    CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=list(brokers))
                    for brokers in topic.replica_assignment
                ],
            )
            for topic in wanted
        ],
        timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
        validate_only=options.validate_only,
    )
    response = await requests.ask_controller(
        request, code=lambda response: _first(topic.error_code for topic in response.results)
    )
    answers = [(topic.name, topic.error_code, topic.error_message) for topic in response.results]
    return _outcomes(answers, "CreatePartitions", options)


async def describe_topics(
    requests: BrokerRequests, names: list[str], options: CallOptions
) -> dict[str, TopicDescription | KafkaError]:
    """Each topic, or why it cannot be described."""
    if len(set(names)) != len(names):
        raise invalid_argument("Duplicate topics not allowed")
    if not names:
        return {}
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=options.include_operations,
    )
    _, response = await requests.ask(requests.client.controller, request, waiting_for=WAITING_FOR_CONTROLLER)
    nodes = _nodes(response)
    return {topic.name: _description(topic, nodes) for topic in response.topics if topic.name is not None}


async def describe_cluster(requests: BrokerRequests, options: CallOptions) -> DescribeClusterResult:
    """The cluster as one of its brokers sees it."""
    request = MetadataRequest(
        topics=[],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=options.include_operations,
    )
    _, response = await requests.ask(
        requests.client.controller,
        request,
        waiting_for=WAITING_FOR_CONTROLLER,
        max_version=LAST_METADATA_WITH_CLUSTER_OPERATIONS,
    )
    nodes = _nodes(response)
    return DescribeClusterResult(
        _node(response.controller_id, nodes),
        list(nodes.values()),
        response.cluster_id,
        operations_in(response.cluster_authorized_operations),
    )


def operations_in(bits: int) -> list[str | int | AclOperation]:
    """The operations that a broker packs into an integer, as far as librdkafka knows them."""
    known = {operation.value for operation in AclOperation}
    return [AclOperation(bit) for bit in sorted(authorized_operations(bits) or ()) if bit in known]


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    by_hand = topic.replica_assignment
    settings: dict[Any, Any] = topic.config or {}
    return CreateTopicsRequest.CreatableTopic(
        name=topic.topic,
        num_partitions=topic.num_partitions if by_hand is None else ASSIGNED_BY_HAND,
        replication_factor=topic.replication_factor if by_hand is None else ASSIGNED_BY_HAND,
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in enumerate(by_hand or ())
        ],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=str(name), value=str(value))
            for name, value in settings.items()
        ],
    )


def _outcomes(
    answers: Sequence[tuple[str, int, str | None]], request_name: str, options: CallOptions
) -> dict[str, KafkaError | None]:
    """What became of topics, by name, code and message. One that a broker names twice is not understood."""
    outcomes: dict[str, KafkaError | None] = {}
    for name, code, message in answers:
        if name in outcomes:
            raise not_understood(request_name)
        # Whoever does not wait takes a broker's word that it has begun.
        has_begun = code == ErrorCode.REQUEST_TIMED_OUT and not options.is_waited_for
        outcomes[name] = None if has_begun else broker_error(code, message)
    return outcomes


def _first(codes: Iterable[int]) -> int:
    return next((code for code in codes if code), 0)


def _nodes(response: MetadataResponse) -> dict[int, Node]:
    return {
        broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack)
        for broker in response.brokers
    }


def _node(node_id: int, nodes: dict[int, Node]) -> Any:
    """A broker, without an address where it is down; None where there is no broker at all."""
    return None if node_id < 0 else nodes.get(node_id) or Node(node_id, NO_HOST, NO_PORT)


def _description(
    topic: MetadataResponse.MetadataResponseTopic, nodes: dict[int, Node]
) -> TopicDescription | KafkaError:
    error = broker_error(topic.error_code)
    if error is not None:
        return error
    return TopicDescription(
        topic.name or "",
        uuid_of(topic.topic_id),
        topic.is_internal,
        [
            TopicPartitionInfo(
                partition.partition_index,
                _node(partition.leader_id, nodes),
                [_node(node_id, nodes) for node_id in partition.replica_nodes],
                [_node(node_id, nodes) for node_id in partition.isr_nodes],
            )
            for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
        ],
        operations_in(topic.topic_authorized_operations),
    )


def uuid_of(topic_id: uuid.UUID) -> Uuid:
    """Kafka's ids as librdkafka's."""
    halves = (topic_id.bytes[:8], topic_id.bytes[8:])
    return Uuid(*(int.from_bytes(half, "big", signed=True) for half in halves))
