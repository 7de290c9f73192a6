"""What a cluster is made of, as `list_topics` tells it, and how it is asked for.

Producer, Consumer and AdminClient share it: `list_topics` and `cluster_id` are coroutines for the event loop
of the client that they are given. Knows nothing of these clients.
"""

from __future__ import annotations

from barnabas.client.admin.requests.topics import describe_brokers, describe_topics
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.compat.librdkafka.cluster.broker_requests import (
    TIMED_OUT,
    WAITING_FOR_RESPONSE,
    BrokerRequests,
    DeadlineError,
    broker_error,
)
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.metadata import MetadataResponse

TRANSPORT = -195
NO_BROKER = -1
_PUBLIC_MODULE = "barnabas.compat.confluent_kafka.admin._metadata"


class ClusterMetadata:
    """A cluster: brokers and topics, as one of the brokers sees them.

    cluster_id        the cluster's id
    controller_id     the controller's number, -1 while there is none
    brokers           BrokerMetadata by the brokers' numbers
    topics            TopicMetadata by the topics' names
    orig_broker_id    the number of the broker that was asked
    orig_broker_name  where it was asked
    """

    __module__ = _PUBLIC_MODULE

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.controller_id = NO_BROKER
        self.brokers: dict[int, BrokerMetadata] = {}
        self.topics: dict[str, TopicMetadata] = {}
        self.orig_broker_id = NO_BROKER
        self.orig_broker_name: str | None = None

    def __repr__(self) -> str:
        return f"ClusterMetadata({self.cluster_id})"

    def __str__(self) -> str:
        return str(self.cluster_id)


class BrokerMetadata:
    """A broker: `id`, `host` and `port`."""

    __module__ = _PUBLIC_MODULE

    def __init__(self) -> None:
        self.id = NO_BROKER
        self.host: str | None = None
        self.port = -1

    def __repr__(self) -> str:
        return f"BrokerMetadata({self.id}, {self.host}:{self.port})"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.id}"


class TopicMetadata:
    """A topic: its name as `topic`, PartitionMetadata by number as `partitions`, and the `error` that kept
    the broker from telling more, or None."""

    __module__ = _PUBLIC_MODULE

    def __init__(self) -> None:
        self.topic: str | None = None
        self.partitions: dict[int, PartitionMetadata] = {}
        self.error: KafkaError | None = None

    def __repr__(self) -> str:
        error = "" if self.error is None else f", {self.error}"
        return f"TopicMetadata({self.topic}, {len(self.partitions)} partitions{error})"

    def __str__(self) -> str:
        return str(self.topic)


class PartitionMetadata:
    """A partition: its number as `id`, and the brokers' numbers: the `leader` (-1: none), `replicas`, and
    those in sync as `isrs`. A broker that is down may be among them, and not among the cluster's brokers."""

    __module__ = _PUBLIC_MODULE

    def __init__(self) -> None:
        self.id = -1
        self.leader = NO_BROKER
        self.replicas: list[int] = []
        self.isrs: list[int] = []
        self.error: KafkaError | None = None

    def __repr__(self) -> str:
        error = "" if self.error is None else f", {self.error}"
        return f"PartitionMetadata({self.id}{error})"

    def __str__(self) -> str:
        return str(self.id)


class GroupMember:
    """A member of a group: `id`, `client_id`, `client_host`, and as bytes what its kind of group defines:
    `metadata` and `assignment`."""

    __module__ = _PUBLIC_MODULE

    def __init__(self) -> None:
        self.id: str | None = None
        self.client_id: str | None = None
        self.client_host: str | None = None
        self.metadata: bytes | None = None
        self.assignment: bytes | None = None


class GroupMetadata:
    """A group: its coordinator as `broker`, its name as `id`, `error`, `state`, `protocol_type`, `protocol`
    and GroupMember objects as `members`."""

    __module__ = _PUBLIC_MODULE

    def __init__(self) -> None:
        self.broker: BrokerMetadata | None = None
        self.id: str | None = None
        self.error: KafkaError | None = None
        self.state: str | None = None
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.members: list[GroupMember] = []

    def __repr__(self) -> str:
        error = "" if self.error is None else f", {self.error}"
        return f"GroupMetadata({self.id}{error})"

    def __str__(self) -> str:
        return str(self.id)


def broker_metadata(id: int, host: str, port: int) -> BrokerMetadata:
    """A BrokerMetadata that has all that there is to tell."""
    broker = BrokerMetadata()
    broker.id, broker.host, broker.port = id, host, port
    return broker


def timeout_seconds(timeout: float) -> float | None:
    """A timeout as callers give it; a negative one waits for ever."""
    return None if timeout < 0 else timeout


async def list_topics(
    client: KafkaClient, topic: str | None, timeout: float, *, allow_auto_create: bool
) -> ClusterMetadata:
    """The cluster with all its topics, or with one, which the broker may create if `allow_auto_create` and
    its own auto.create.topics.enable say so. `timeout` in seconds, negative for none.

    Raises: KafkaException (_TRANSPORT while no broker can be reached, _TIMED_OUT).
    """
    request = describe_topics(None if topic is None else [topic])
    request.allow_auto_topic_creation = topic is not None and allow_auto_create
    try:
        node_id, response = await BrokerRequests(client, timeout_seconds(timeout)).ask_any(request)
    except DeadlineError as error:
        code = TIMED_OUT if error.phase == WAITING_FOR_RESPONSE else TRANSPORT
        raise _metadata_error(code) from None
    except BarnabasError as error:
        raise _metadata_error(TRANSPORT) from error
    node = client.node(node_id)
    return _cluster(response, node_id, "" if node is None else f"{node.host}:{node.port}/{node_id}")


async def cluster_id(client: KafkaClient, timeout: float) -> str:
    """The cluster's id. `timeout` in seconds, negative for none. Raises: KafkaException (_TIMED_OUT)."""
    try:
        _, response = await BrokerRequests(client, timeout_seconds(timeout)).ask_any(describe_brokers())
    except BarnabasError as error:
        raise _no_cluster_id() from error
    except DeadlineError:
        raise _no_cluster_id() from None
    if response.cluster_id is None:
        raise _no_cluster_id()
    return response.cluster_id


def _metadata_error(code: int) -> KafkaException:
    return KafkaException(KafkaError(code, f"Failed to get metadata: {KafkaError(code).str()}"))


def _no_cluster_id() -> KafkaException:
    text = (
        "Failed to retrieve cluster id: Local: Timed out. The broker must support KIP-78 (>= 0.10.1) for the "
        "cluster id to be available."
    )
    return KafkaException(KafkaError(TIMED_OUT, text))


def _cluster(response: MetadataResponse, node_id: int, name: str) -> ClusterMetadata:
    cluster = ClusterMetadata()
    cluster.cluster_id = response.cluster_id
    cluster.controller_id = response.controller_id
    cluster.brokers = {b.node_id: broker_metadata(b.node_id, b.host, b.port) for b in response.brokers}
    cluster.topics = {found.name: _topic(found) for found in response.topics if found.name is not None}
    cluster.orig_broker_id = node_id
    cluster.orig_broker_name = name
    return cluster


def _topic(found: MetadataResponse.MetadataResponseTopic) -> TopicMetadata:
    topic = TopicMetadata()
    topic.topic = found.name
    topic.error = broker_error(found.error_code)
    topic.partitions = {partition.partition_index: _partition(partition) for partition in found.partitions}
    return topic


def _partition(found: MetadataResponse.MetadataResponsePartition) -> PartitionMetadata:
    partition = PartitionMetadata()
    partition.id = found.partition_index
    partition.leader = found.leader_id
    partition.replicas = list(found.replica_nodes)
    partition.isrs = list(found.isr_nodes)
    partition.error = broker_error(found.error_code)
    return partition
