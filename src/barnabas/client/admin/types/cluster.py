"""The cluster, its quorum, features, replicas and disks: what Admin takes and gives. Plain data."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from barnabas.client.admin.types.acls import AclOperation
from barnabas.errors import BrokerError
from barnabas.types import Node, TopicPartition
from barnabas.values import frozen


@frozen
class ClusterDescription:
    """`authorized_operations`: what this client may do with the cluster; None unless asked for. `fenced`:
    node ids of those brokers that are registered but do not serve, if asked for (KIP-1073)."""

    cluster_id: str | None
    controller: Node | None
    nodes: tuple[Node, ...]
    authorized_operations: frozenset[AclOperation] | None = None
    fenced: frozenset[int] = frozenset()


class VersionRange(NamedTuple):
    """The lowest and the highest version of a feature."""

    lowest: int
    highest: int


@frozen
class FeatureMetadata:
    """Features by name (KIP-584): what the cluster has settled on, as of `finalized_features_epoch` (None:
    unknown), and what the broker that was asked supports."""

    finalized: Mapping[str, VersionRange]
    finalized_features_epoch: int | None
    supported: Mapping[str, VersionRange]


class UpgradeType(IntEnum):
    """UPGRADE refuses lower levels; SAFE_DOWNGRADE those that would lose metadata."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@frozen
class FeatureUpdate:
    """The level that a feature is to have; 0, with a downgrade, ends its use."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


@frozen
class RaftVoterEndpoint:
    """A listener of a controller: its name, host and port."""

    listener: str
    host: str
    port: int


@frozen
class QuorumReplica:
    """A voter or observer of the metadata. Times are in milliseconds since 1970, None where they are not
    known; the directory id is all zeros before KIP-853."""

    replica_id: int
    replica_directory_id: uuid.UUID
    log_end_offset: int
    last_fetch_timestamp: int | None
    last_caught_up_timestamp: int | None


@frozen
class QuorumInfo:
    """The controllers' quorum (KIP-595). `endpoints` has those of each controller by node id."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    endpoints: Mapping[int, tuple[RaftVoterEndpoint, ...]]


class ElectionType(IntEnum):
    """PREFERRED: the first replica. UNCLEAN: any replica if none is in sync, which may lose records."""

    PREFERRED = 0
    UNCLEAN = 1


@frozen
class PartitionReassignment:
    """A move of replicas that is under way, by node ids."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class TopicPartitionReplica(NamedTuple):
    """One replica of a partition: that on the broker `node_id`."""

    topic: str
    partition: int
    node_id: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on node {self.node_id}"


@frozen
class ReplicaInfo:
    """A replica on disk. `offset_lag`: how many records it is behind the high watermark, or, if it moves,
    behind the replica that it will replace."""

    size_bytes: int
    offset_lag: int


@frozen
class LogDirDescription:
    """One folder of log.dirs. `error` if it is offline. Sizes are of its volume, None where the broker does
    not tell (KIP-827). A cordoned one takes no new replicas (KIP-1066). A partition that moves into this
    folder from another one of the broker is in `future_replicas`."""

    error: BrokerError | None
    replicas: Mapping[TopicPartition, ReplicaInfo]
    future_replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool


@frozen
class ReplicaLogDirs:
    """The folder of a replica, and the one that it moves to, if any. All None where the broker has no such
    replica."""

    current_log_dir: str | None
    current_offset_lag: int | None
    future_log_dir: str | None
    future_offset_lag: int | None
