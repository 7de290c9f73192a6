"""What a topology asks for (KIP-1071): how many partitions its internal topics have, how many tasks there
are, and what is amiss with the topics, in Kafka's words.

Pure: of the topics there are it is told the numbers of partitions. Must not know groups and members.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from barnabas.broker_errors import StreamsInvalidTopologyError
from barnabas.protocol.messages.streams_group_topology_value import StreamsGroupTopologyValue

Topology = StreamsGroupTopologyValue
"""As it is kept."""
Subtopology = StreamsGroupTopologyValue.Subtopology
_SHOWN_TOPICS = 3


class Status(IntEnum):
    """What members are told beside errors, with Kafka's numbers."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


@dataclass(frozen=True, slots=True)
class Problem:
    status: Status
    detail: str


class _ProblemError(Exception):
    """The topics do not fit the topology."""

    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.problem = Problem(status, detail)


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """`replication_factor` 0 is the broker's default."""

    name: str
    partition_count: int
    replication_factor: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConfiguredSubtopology:
    task_count: int
    source_topics: Collection[str]
    repartition_sink_topics: Collection[str]
    repartition_source_topics: Collection[InternalTopic]
    changelog_topics: Collection[InternalTopic]

    @property
    def is_stateful(self) -> bool:
        return bool(self.changelog_topics)

    @property
    def all_source_topics(self) -> list[str]:
        """Those between its parts, too."""
        return sorted({*self.source_topics, *(topic.name for topic in self.repartition_source_topics)})


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """A topology with the topics as they are. Where there is a problem no tasks are given out."""

    subtopologies: Mapping[str, ConfiguredSubtopology] = field(
        default_factory=dict[str, ConfiguredSubtopology]
    )
    missing: Collection[InternalTopic] = ()
    """Internal topics that are to be created."""
    problem: Problem | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


def required_topics(topology: Topology) -> set[str]:
    return {
        name
        for part in topology.subtopologies
        for name in (*part.source_topics, *_names(part.repartition_source_topics), *_changelogs(part))
    }


def source_subtopologies(topology: Topology) -> dict[str, str]:
    """By source topic, who reads it."""
    return {
        name: part.subtopology_id
        for part in topology.subtopologies
        for name in (*part.source_topics, *_names(part.repartition_source_topics))
    }


def is_same(topology: Topology, other: Topology) -> bool:
    def parts(one: Topology) -> list[Subtopology]:
        return sorted(one.subtopologies, key=lambda part: part.subtopology_id)

    return topology.epoch == other.epoch and parts(topology) == parts(other)


def configure(topology: Topology, partition_counts: Mapping[str, int]) -> ConfiguredTopology:
    """`partition_counts`: of the topics that there are. Raises: StreamsInvalidTopologyError."""
    parts = topology.subtopologies
    try:
        _check_source_topics(parts, partition_counts)
        decided = _repartition_counts(parts, partition_counts)
        _make_copartitioned(parts, decided, partition_counts)
        _count_changelogs(parts, decided, partition_counts)
        configured = {
            part.subtopology_id: _configured(part, decided, partition_counts)
            for part in sorted(parts, key=lambda part: part.subtopology_id)
        }
        missing = _missing(configured, partition_counts)
    except _ProblemError as error:
        return ConfiguredTopology(problem=error.problem)
    if not missing:
        return ConfiguredTopology(configured)
    names = _summary([topic.name for topic in missing])
    problem = Problem(Status.MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {names}")
    return ConfiguredTopology(configured, missing, problem)


def _names(topics: Iterable[StreamsGroupTopologyValue.TopicInfo]) -> Iterator[str]:
    return (topic.name for topic in topics)


def _changelogs(part: Subtopology) -> Iterator[str]:
    return _names(part.state_changelog_topics)


def _sources(part: Subtopology) -> list[str]:
    return [*part.source_topics, *_names(part.repartition_source_topics)]


def _count(name: str, decided: Mapping[str, int], partition_counts: Mapping[str, int]) -> int:
    """A topic that is there has as many partitions as it has, whatever was decided."""
    return partition_counts[name] if name in partition_counts else decided[name]


def _summary(names: list[str]) -> str:
    more = len(names) - _SHOWN_TOPICS
    return ", ".join(names[:_SHOWN_TOPICS]) + (f" and {more} additional topics" if more > 0 else "")


def _check_source_topics(parts: Iterable[Subtopology], partition_counts: Mapping[str, int]) -> None:
    missing = {name for part in parts for name in part.source_topics if name not in partition_counts}
    if missing:
        detail = f"Source topics {_summary(sorted(missing))} are missing."
        raise _ProblemError(Status.MISSING_SOURCE_TOPICS, detail)


def _repartition_counts(parts: list[Subtopology], partition_counts: Mapping[str, int]) -> dict[str, int]:
    """A repartition topic has as many partitions as the widest source of whoever writes it, or its own."""
    decided = {
        topic.name: topic.partitions
        for part in parts
        for topic in part.repartition_source_topics
        if topic.partitions
    }
    waiting = [(name, part) for part in parts for name in part.repartition_sink_topics if name not in decided]
    while waiting:
        rest: list[tuple[str, Subtopology]] = []
        for name, part in waiting:
            counts = [
                *(decided[each] for each in _names(part.repartition_source_topics) if each in decided),
                *(partition_counts[each] for each in part.source_topics if each in partition_counts),
            ]
            if name in decided:
                continue
            if counts:
                decided[name] = max(counts)
            else:
                rest.append((name, part))
        if len(rest) == len(waiting):
            raise StreamsInvalidTopologyError(
                "Failed to compute number of partitions for all repartition topics. There may be loops in "
                "the topology that cannot be resolved."
            )
        waiting = rest
    if any(name not in decided for part in parts for name in _names(part.repartition_source_topics)):
        raise StreamsInvalidTopologyError(
            "Failed to compute number of partitions for all repartition topics, because a repartition source "
            "topic is never used as a sink topic."
        )
    return decided


def _make_copartitioned(
    parts: list[Subtopology], decided: dict[str, int], partition_counts: Mapping[str, int]
) -> None:
    """Topics that are joined have equally many partitions."""
    repartition = [topic for part in parts for topic in part.repartition_source_topics]
    fixed = {topic.name for topic in repartition if topic.partitions}
    internal = {topic.name for topic in repartition}
    for part in parts:
        for group in part.copartition_groups:
            names = {
                *(part.source_topics[index] for index in group.source_topics),
                *(part.repartition_source_topics[index].name for index in group.repartition_source_topics),
            }
            counts = {name: _count(name, decided, partition_counts) for name in sorted(names)}
            ours = {name: count for name, count in counts.items() if name in internal}
            others = {name: count for name, count in counts.items() if name not in internal}
            if not counts:
                continue
            if others:
                wanted = _same(others, others)
            elif fixed:
                wanted = _same({name: _count(name, decided, partition_counts) for name in fixed}, ours)
            else:
                wanted = max(ours.values())
            for name, count in ours.items():
                if name in fixed and count != wanted:
                    raise _ProblemError(
                        Status.INCORRECTLY_PARTITIONED_TOPICS,
                        f"Number of partitions [{count}] of repartition topic [{name}] doesn't match number "
                        f"of partitions [{wanted}] of the source topic.",
                    )
                decided[name] = wanted


def _same(counts: Mapping[str, int], told: Mapping[str, int]) -> int:
    if len(set(counts.values())) > 1:
        names = ", ".join(f"{name}={count}" for name, count in sorted(told.items()))
        raise _ProblemError(
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{{{names}}}]",
        )
    return next(iter(counts.values()))


def _count_changelogs(
    parts: Iterable[Subtopology], decided: dict[str, int], partition_counts: Mapping[str, int]
) -> None:
    for part in parts:
        counts = [_count(name, decided, partition_counts) for name in _sources(part)]
        if not counts:
            raise StreamsInvalidTopologyError(f"No source topics found for subtopology {part.subtopology_id}")
        for name in _changelogs(part):
            decided[name] = max(counts)


def _configured(
    part: Subtopology, decided: Mapping[str, int], partition_counts: Mapping[str, int]
) -> ConfiguredSubtopology:
    def internal(topics: Iterable[StreamsGroupTopologyValue.TopicInfo]) -> list[InternalTopic]:
        return [
            InternalTopic(
                topic.name,
                topic.partitions or decided[topic.name],
                topic.replication_factor,
                {config.key: config.value for config in topic.topic_configs},
            )
            for topic in sorted(topics, key=lambda topic: topic.name)
        ]

    return ConfiguredSubtopology(
        max(_count(name, decided, partition_counts) for name in _sources(part)),
        sorted(part.source_topics),
        sorted(part.repartition_sink_topics),
        internal(part.repartition_source_topics),
        internal(part.state_changelog_topics),
    )


def _missing(
    configured: Mapping[str, ConfiguredSubtopology], partition_counts: Mapping[str, int]
) -> list[InternalTopic]:
    wanted = {
        topic.name: topic
        for part in configured.values()
        for topic in (*part.repartition_source_topics, *part.changelog_topics)
    }
    for name, topic in wanted.items():
        found = partition_counts.get(name, topic.partition_count)
        if found != topic.partition_count:
            raise _ProblemError(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: expected "
                f"{topic.partition_count}, found {found}",
            )
    return [topic for name, topic in sorted(wanted.items()) if name not in partition_counts]
