"""Groups of all types: what Admin takes and gives. Plain data."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.admin.types.acls import AclOperation
from barnabas.types import Node, TopicPartition
from barnabas.values import frozen


@frozen
class GroupListing:
    """`type` ("classic", "consumer", "share", "streams") and `state` are "" from brokers that do not tell."""

    group_id: str
    protocol_type: str
    state: str
    type: str


@frozen
class MemberDescription:
    """`client_host` is the member's address as the broker saw it. What follows the assignment is known of
    members of a group of the consumer protocol (KIP-848) and of share groups; `is_classic` tells that a
    member of the former speaks the classic protocol still (None: unknown)."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...] | None = None
    member_epoch: int | None = None
    rack: str | None = None
    subscribed_topics: tuple[str, ...] = ()
    subscribed_pattern: str | None = None
    is_classic: bool | None = None


@frozen
class GroupDescription:
    """`state` is Kafka's word: Stable, Empty, PreparingRebalance, CompletingRebalance, Assigning,
    Reconciling, Dead. `assignor` is "" while the group has none. `coordinator` is the broker that keeps the
    group. `type` is "classic", "consumer" or "share"; epochs are None in classic groups.
    `authorized_operations`: what this client may do with the group; None unless asked for."""

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    members: tuple[MemberDescription, ...]
    coordinator: Node | None
    type: str = "classic"
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None
    authorized_operations: frozenset[AclOperation] | None = None


@frozen
class ClassicGroupMember:
    """A member of any group of the classic protocol, Kafka Connect's for instance, with the bytes that the
    protocol of its kind defines."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@frozen
class ClassicGroupDescription:
    """`protocol_type` is "consumer", "connect", ...; `protocol_data` the protocol that members agreed on."""

    group_id: str
    state: str
    protocol_type: str
    protocol_data: str
    members: tuple[ClassicGroupMember, ...]
    coordinator: Node | None
    authorized_operations: frozenset[AclOperation] | None = None


@frozen
class StreamsTopic:
    """A topic that Kafka Streams makes for itself. -1 partitions: as many as its source has."""

    name: str
    num_partitions: int
    replication_factor: int
    configs: Mapping[str, str]


@frozen
class StreamsSubtopology:
    """A part of a Kafka Streams program whose tasks are placed on their own, by the topics that it reads and
    writes."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[StreamsTopic, ...]
    repartition_source_topics: tuple[StreamsTopic, ...]


@frozen
class StreamsTasks:
    """Partitions by subtopology id."""

    active: Mapping[str, tuple[int, ...]]
    standby: Mapping[str, tuple[int, ...]]
    warmup: Mapping[str, tuple[int, ...]]


@frozen
class StreamsGroupMember:
    """`task_offsets` and `task_end_offsets` are by subtopology id and partition."""

    member_id: str
    member_epoch: int
    group_instance_id: str | None
    rack: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: tuple[str, int] | None
    client_tags: Mapping[str, str]
    task_offsets: Mapping[tuple[str, int], int]
    task_end_offsets: Mapping[tuple[str, int], int]
    assignment: StreamsTasks
    target_assignment: StreamsTasks
    is_classic: bool


@frozen
class StreamsGroupDescription:
    """A group of the streams protocol (KIP-1071). `topology_epoch` is None while it has no topology."""

    group_id: str
    state: str
    group_epoch: int
    target_assignment_epoch: int
    topology_epoch: int | None
    subtopologies: tuple[StreamsSubtopology, ...]
    members: tuple[StreamsGroupMember, ...]
    coordinator: Node | None
    authorized_operations: frozenset[AclOperation] | None = None


@frozen
class MemberToRemove:
    """A member by what it is called: a static one by its group_instance_id, any other by its member id."""

    group_instance_id: str | None = None
    member_id: str = ""


@frozen
class SharePartitionOffset:
    """The position of a share group in a partition (KIP-932): the first offset that is not done with; its
    lag, None where the broker does not tell (KIP-1226)."""

    start_offset: int
    leader_epoch: int | None
    lag: int | None
