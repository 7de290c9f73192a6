"""What lists show of topics and groups. Pure; asks for nothing."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import field

from barnabas.client.admin.types import ClusterDescription, GroupListing, LogDirDescription, TopicDescription
from barnabas.types import PartitionInfo, TopicPartition
from barnabas.values import frozen

RATE_WINDOW_SECONDS = 30.0
# Looks at a topic that are no older make a rate.
OLDEST_LOOK_SECONDS = 2 * RATE_WINDOW_SECONDS


@frozen
class Topics:
    """All topics and brokers. `leads` and `keeps` count partitions and replicas by node id."""

    cluster: ClusterDescription
    described: Mapping[str, TopicDescription]
    names: tuple[str, ...]
    """Sorted."""
    leads: Mapping[int, int]
    keeps: Mapping[int, int]

    def has(self, partition: TopicPartition) -> bool:
        topic = self.described.get(partition.topic)
        if topic is None:
            return False
        # Brokers tell of them in their order. A search for each of a thousand would be felt.
        at = partition.partition
        found = topic.partitions[at : at + 1] if at >= 0 else ()
        if not found or found[0].partition != at:
            found = [info for info in topic.partitions if info.partition == at]
        return any(info.leader >= 0 for info in found)


@frozen
class TopicFigures:
    """`end_offsets` is the sum of those of all partitions; `size_bytes` is that of one replica of each
    partition. None: the brokers do not tell, or have not been asked long enough. `lag`: of all groups
    together."""

    name: str
    partitions: int
    under_replicated: int
    leaderless: int
    size_bytes: int | None
    records_per_second: float | None
    groups: tuple[str, ...]
    lag: int | None


@frozen
class GroupSummary:
    """`positions`: where the group goes on in each partition."""

    group_id: str
    type: str
    state: str
    protocol_type: str
    positions: Mapping[TopicPartition, int]
    lags: Mapping[TopicPartition, int]

    @property
    def topics(self) -> list[str]:
        return sorted({partition.topic for partition in self.positions})

    @property
    def lag(self) -> int | None:
        """None: the group has committed nothing."""
        return sum(self.lags.values()) if self.lags else None


@frozen
class Groups:
    """All groups, and by topic which of them have committed in it, and their lag there together."""

    by_id: Mapping[str, GroupSummary]
    readers: Mapping[str, tuple[str, ...]]
    lags: Mapping[str, int]


@frozen
class Folder:
    """One of a broker's log.dirs, with what its replicas take together."""

    error: str | None
    replicas: int
    size_bytes: int
    usable_bytes: int | None
    total_bytes: int | None
    is_cordoned: bool = False


@frozen
class Sizes:
    """`of_topics`: of one replica of each partition, the largest, as others may be behind. `folders` by node
    id and path."""

    of_topics: Mapping[str, int]
    of_partitions: Mapping[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    folders: Mapping[int, Mapping[str, Folder]] = field(default_factory=dict[int, Mapping[str, Folder]])


class Looks:
    """What was seen of topics' ends at which times, and the rates that are made of it."""

    def __init__(self) -> None:
        self._ends: dict[str, deque[tuple[float, int]]] = {}

    def saw_ends(self, now: float, ends: Mapping[str, int]) -> None:
        """By topic the sum of its partitions' ends. In the order of time."""
        for topic, end in ends.items():
            seen = self._ends.setdefault(topic, deque())
            seen.append((now, end))
            while len(seen) > 2 and seen[1][0] <= now - RATE_WINDOW_SECONDS:
                seen.popleft()
            while seen[0][0] < now - OLDEST_LOOK_SECONDS:
                seen.popleft()
        if len(self._ends) > 2 * len(ends):
            self._ends = {
                topic: seen for topic, seen in self._ends.items() if seen[-1][0] >= now - OLDEST_LOOK_SECONDS
            }

    def rate(self, topic: str) -> float | None:
        """Records a second over the last half minute; None while it is not known."""
        seen = self._ends.get(topic, ())
        if len(seen) < 2 or seen[-1][0] <= seen[0][0]:
            return None
        (then, before), (now, end) = seen[0], seen[-1]
        # A topic that was made anew has fewer than before.
        return max(end - before, 0) / (now - then)


def topics_of(cluster: ClusterDescription, described: Mapping[str, TopicDescription]) -> Topics:
    partitions = [info for topic in described.values() for info in topic.partitions]
    return Topics(
        cluster,
        described,
        tuple(sorted(described)),
        Counter(info.leader for info in partitions),
        Counter(node_id for info in partitions for node_id in info.replicas),
    )


def has_problem(topic: TopicDescription) -> bool:
    """Whether a partition has no leader, or lacks replicas."""
    return any(p.leader < 0 or len(p.in_sync_replicas) < len(p.replicas) for p in topic.partitions)


def partition_marks(info: PartitionInfo, min_in_sync: int) -> tuple[str, ...]:
    """What is wrong with a partition, the worst first, in the words of kafka-topics. `min_in_sync`: 0 where
    it is not known."""
    in_sync = len(info.in_sync_replicas)
    found = ["no leader"] if info.leader < 0 else []
    if info.offline_replicas:
        found.append("offline replicas")
    if in_sync < len(info.replicas):
        if in_sync < min_in_sync:
            found.append("under min ISR")
        elif in_sync == min_in_sync:
            found.append("at min ISR")
        found.append("under-replicated")
    return tuple(found)


def topic_figures(
    topic: TopicDescription, size_bytes: int | None, rate: float | None, groups: Groups | None
) -> TopicFigures:
    return TopicFigures(
        name=topic.name,
        partitions=len(topic.partitions),
        under_replicated=sum(len(p.in_sync_replicas) < len(p.replicas) for p in topic.partitions),
        leaderless=sum(p.leader < 0 for p in topic.partitions),
        size_bytes=size_bytes,
        records_per_second=rate,
        groups=() if groups is None else groups.readers.get(topic.name, ()),
        lag=None if groups is None else groups.lags.get(topic.name),
    )


def groups_of(
    listings: Iterable[GroupListing],
    positions: Mapping[str, Mapping[TopicPartition, int]],
    ends: Mapping[TopicPartition, int],
) -> Groups:
    by_id: dict[str, GroupSummary] = {}
    readers: dict[str, list[str]] = defaultdict(list)
    lags: dict[str, int] = defaultdict(int)
    for listing in sorted(listings, key=lambda listing: listing.group_id):
        of_group = positions.get(listing.group_id, {})
        behind = {p: max(ends[p] - at, 0) for p, at in of_group.items() if p in ends}
        group = GroupSummary(
            listing.group_id,
            listing.type or "classic",
            listing.state,
            listing.protocol_type,
            of_group,
            behind,
        )
        by_id[group.group_id] = group
        for topic in group.topics:
            readers[topic].append(group.group_id)
        for partition, lag in behind.items():
            lags[partition.topic] += lag
    return Groups(by_id, {topic: tuple(found) for topic, found in readers.items()}, lags)


def sizes_of(pieces: Iterable[Mapping[int, Mapping[str, LogDirDescription]]]) -> Sizes:
    """Of answers that tell of different partitions each."""
    largest: dict[TopicPartition, int] = {}
    folders: dict[int, dict[str, Folder]] = {}
    for piece in pieces:
        for node_id, log_dirs in piece.items():
            for path, log_dir in log_dirs.items():
                size = 0
                for partition, replica in log_dir.replicas.items():
                    size += replica.size_bytes
                    largest[partition] = max(largest.get(partition, 0), replica.size_bytes)
                before = folders.setdefault(node_id, {}).get(path)
                folders[node_id][path] = Folder(
                    None if log_dir.error is None else str(log_dir.error),
                    len(log_dir.replicas) + (before.replicas if before else 0),
                    size + (before.size_bytes if before else 0),
                    log_dir.usable_bytes,
                    log_dir.total_bytes,
                    log_dir.is_cordoned,
                )
    of_topics: dict[str, int] = defaultdict(int)
    for partition, size in largest.items():
        of_topics[partition.topic] += size
    return Sizes(of_topics, largest, folders)
