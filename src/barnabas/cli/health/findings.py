"""What is wrong with a cluster, found in what its brokers say. Pure; asks for nothing.

Owns what counts as a fault, and how severe it is. Knows nothing of how it is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum

from barnabas.cli.groups.lags import GroupLag
from barnabas.cli.output import plural
from barnabas.client.admin.types import (
    ClusterDescription,
    FeatureMetadata,
    GroupListing,
    LogDirDescription,
    PartitionReassignment,
    ProducerState,
    QuorumInfo,
    TopicDescription,
    VersionRange,
)
from barnabas.types import PartitionInfo, TopicPartition
from barnabas.values import frozen

# A controller that follows fetches at least twice a second.
LATEST_CAUGHT_UP_MS = 30_000
_STATES_WITHOUT_MEMBERS = ("Empty", "Dead")


class Severity(IntEnum):
    """How severe. A check has the highest severity of its findings."""

    OK = 0
    SKIPPED = 1
    """It was not asked for, or these brokers cannot tell."""
    WARNING = 2
    """Something to look at: nobody has lost anything."""
    UNKNOWN = 3
    """It could not be found out."""
    CRITICAL = 4
    """Somebody cannot read or write, or a part of the cluster is down."""

    @property
    def word(self) -> str:
        return self.name.lower()


@frozen
class HealthFinding:
    """`what` is the broker, partition, folder, transaction or group; `problem` is the same text for all with
    the same problem, and `detail` says what belongs to this one alone."""

    status: Severity
    what: str
    problem: str
    detail: str = ""


def brokers(cluster: ClusterDescription, topics: Iterable[TopicDescription]) -> list[HealthFinding]:
    """Brokers that have replicas and do not serve, and those that are registered and fenced."""
    serving = {node.node_id for node in cluster.nodes} - cluster.fenced
    missing = Counter(
        replica
        for topic in topics
        for info in topic.partitions
        for replica in info.replicas
        if replica not in serving
    )
    found = [
        HealthFinding(Severity.CRITICAL, f"broker {node_id}", "does not serve", f"it has {count:,} replicas")
        for node_id, count in sorted(missing.items())
    ]
    found += [
        HealthFinding(Severity.WARNING, f"broker {node_id}", "is fenced")
        for node_id in sorted(cluster.fenced - missing.keys())
    ]
    if cluster.controller is None:
        found.append(HealthFinding(Severity.CRITICAL, "controller", "there is none"))
    return found


def partitions(
    infos: Iterable[PartitionInfo],
    min_in_sync: Mapping[str, int],
    moving: Mapping[TopicPartition, PartitionReassignment],
) -> list[HealthFinding]:
    """Partitions without a leader, with fewer replicas in sync than there are, or than
    min.insync.replicas of their topic (`min_in_sync`, of those topics that lack any)."""
    return [found for info in infos if (found := _of_partition(info, min_in_sync, moving)) is not None]


def lack_replicas(infos: Iterable[PartitionInfo]) -> set[str]:
    """The topics of partitions with replicas that are not in sync."""
    return {info.topic for info in infos if len(info.in_sync_replicas) < len(info.replicas)}


def _of_partition(
    info: PartitionInfo,
    min_in_sync: Mapping[str, int],
    moving: Mapping[TopicPartition, PartitionReassignment],
) -> HealthFinding | None:
    place = f"{info.topic}:{info.partition}"
    replicas = ",".join(map(str, info.replicas))
    in_sync = ",".join(map(str, info.in_sync_replicas)) or "none"
    detail = f"replicas {replicas}, in sync {in_sync}"
    if info.leader < 0:
        return HealthFinding(Severity.CRITICAL, place, "has no leader", detail)
    if len(info.in_sync_replicas) >= len(info.replicas):
        return None
    needed = min_in_sync.get(info.topic, 1)
    if len(info.in_sync_replicas) < needed:
        return HealthFinding(
            Severity.CRITICAL,
            place,
            "takes no records with acks=all",
            f"{detail}, min.insync.replicas {needed}",
        )
    move = moving.get(TopicPartition(info.topic, info.partition))
    if move is not None and set(info.replicas) - set(info.in_sync_replicas) <= set(move.adding_replicas):
        return HealthFinding(Severity.WARNING, place, "is being moved", detail)
    return HealthFinding(Severity.WARNING, place, "has replicas that are not in sync", detail)


def leaders(infos: Iterable[PartitionInfo], moving: Collection[TopicPartition]) -> list[HealthFinding]:
    """Partitions that another replica leads than the preferred one, the first, though that is in sync."""
    return [
        HealthFinding(
            Severity.WARNING,
            f"{info.topic}:{info.partition}",
            "is not led by its preferred replica",
            f"by {info.leader}, preferred {info.replicas[0]}",
        )
        for info in infos
        if info.leader >= 0
        and info.replicas
        and info.leader != info.replicas[0]
        and info.replicas[0] in info.in_sync_replicas
        and TopicPartition(info.topic, info.partition) not in moving
    ]


def log_dirs(
    folders: Mapping[int, Mapping[str, LogDirDescription]], least_free_percent: float
) -> list[HealthFinding]:
    """Folders that are offline, and those of volumes that are nearly full."""
    found: list[HealthFinding] = []
    for node_id, by_path in sorted(folders.items()):
        for path, folder in sorted(by_path.items()):
            where = f"broker {node_id} {path}"
            if folder.error is not None:
                found.append(HealthFinding(Severity.CRITICAL, where, "is offline", str(folder.error)))
            elif folder.total_bytes and folder.usable_bytes is not None:
                free_percent = 100 * folder.usable_bytes / folder.total_bytes
                if free_percent < least_free_percent:
                    found.append(
                        HealthFinding(
                            Severity.WARNING, where, "is nearly full", f"{free_percent:.1f} % are free"
                        )
                    )
    return found


def quorum(info: QuorumInfo) -> list[HealthFinding]:
    """Controllers that are voters and do not keep up; and where there is no leader."""
    if info.leader_id < 0:
        return [HealthFinding(Severity.CRITICAL, "quorum", "has no leader")]
    # A leader tells its own time, so that nothing depends on the clock here.
    now_ms = max((each.last_caught_up_timestamp or 0 for each in info.voters), default=0)
    end = max((each.log_end_offset for each in info.voters if each.replica_id == info.leader_id), default=0)
    return [
        HealthFinding(
            Severity.WARNING,
            f"controller {each.replica_id}",
            "does not follow the leader",
            f"{plural(max(0, end - each.log_end_offset), 'record')} behind",
        )
        for each in info.voters
        if each.replica_id != info.leader_id
        and now_ms - (each.last_caught_up_timestamp or 0) > LATEST_CAUGHT_UP_MS
    ]


def transactions(hanging: Iterable[tuple[TopicPartition, ProducerState]]) -> list[HealthFinding]:
    """Transactions that are open in a partition, and of which no coordinator knows: whoever reads committed
    records only waits there for ever."""
    return [
        HealthFinding(
            Severity.CRITICAL,
            f"{place.topic}:{place.partition}",
            "has a transaction that hangs",
            f"of producer {state.producer_id}, from offset {state.current_transaction_start_offset}",
        )
        for place, state in hanging
    ]


def groups(
    listed: Iterable[GroupListing], lags: Mapping[str, GroupLag], most_lag: int | None
) -> list[HealthFinding]:
    """Groups that are behind and have nobody who reads; and with `most_lag` those that are further behind
    than that."""
    found: list[HealthFinding] = []
    for group in sorted(listed, key=lambda each: each.group_id):
        known = lags.get(group.group_id)
        lag = None if known is None else known.lag
        if not lag:
            continue
        if group.state in _STATES_WITHOUT_MEMBERS:
            problem = "has no members, and has lag"
        elif most_lag is not None and lag > most_lag:
            problem = "has too much lag"
        else:
            continue
        what, detail = f"group {group.group_id}", f"{plural(lag, 'record')} behind"
        found.append(HealthFinding(Severity.WARNING, what, problem, detail))
    return found


def versions(
    features: Mapping[int, FeatureMetadata], apis: Mapping[int, Mapping[str, VersionRange]]
) -> list[HealthFinding]:
    """Features and APIs, by broker, of which brokers have different versions, as while they are upgraded one
    by one."""
    return [
        *_different("feature", {node: each.supported for node, each in features.items()}),
        *_different("API", apis),
    ]


def _different(what: str, by_broker: Mapping[int, Mapping[str, VersionRange]]) -> list[HealthFinding]:
    found: list[HealthFinding] = []
    for name in sorted({name for each in by_broker.values() for name in each}):
        highest = {node: each[name].highest for node, each in by_broker.items() if name in each}
        if len(highest) < len(by_broker) or len(set(highest.values())) > 1:
            told = ", ".join(f"broker {node}: {highest.get(node, '-')}" for node in sorted(by_broker))
            found.append(
                HealthFinding(
                    Severity.WARNING,
                    f"{what} {name}",
                    "is not the same at all brokers",
                    f"highest version of {told}",
                )
            )
    return found
