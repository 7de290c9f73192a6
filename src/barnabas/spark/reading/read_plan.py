"""What a query would read, without running it: `barnabas pipeline plan`.

Plans as the source does, with the same code, and counts. Must not know the command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from barnabas.spark.options import SourceOptions
from barnabas.spark.planning.limits import BytesPerOffset
from barnabas.spark.planning.losses import Available
from barnabas.spark.planning.offsets import Document
from barnabas.spark.planning.packing import TaskRanges
from barnabas.spark.reading.cluster import SourceCluster
from barnabas.spark.reading.source import KafkaReader, tasks_of
from barnabas.spark.reading.stream_source import KafkaStreamReader
from barnabas.types import TopicPartition
from barnabas.values import frozen

Mode = Literal["batch", "stream"]


@frozen
class PlannedRange:
    """Offsets [start, end) of a partition, read by one task. There are no more rows than offsets; `bytes` is
    an estimate by the size of the partition's log. `leader` is -1 where there is none."""

    task: int
    topic: str
    partition: int
    start: int
    end: int
    offsets: int
    bytes: int
    leader: int


@frozen
class ReadPlan:
    """A batch query, or the next micro-batch of a streaming query."""

    mode: Mode
    ranges: tuple[PlannedRange, ...]

    @property
    def task_sizes(self) -> list[int]:
        """The offsets of each task."""
        sizes: dict[int, int] = {}
        for each in self.ranges:
            sizes[each.task] = sizes.get(each.task, 0) + each.offsets
        return list(sizes.values())

    @property
    def offsets(self) -> int:
        return sum(each.offsets for each in self.ranges)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.ranges)

    @property
    def skew(self) -> float:
        """How many times the mean task the largest one is: 1.0 where all are equal, and where there is
        nothing to read."""
        sizes = self.task_sizes
        return max(sizes) * len(sizes) / sum(sizes) if sizes else 1.0


def plan_batch(options: SourceOptions) -> ReadPlan:
    """What a batch query would read now. Raises: as the query."""
    reader = KafkaReader(options)
    with SourceCluster(options) as cluster:
        tasks = [task.value for task in tasks_of(reader.ranges(cluster), options, cluster)]
        return _plan("batch", tasks, cluster)


def plan_micro_batch(options: SourceOptions, position: Document | None = None) -> ReadPlan:
    """What the next micro-batch of a streaming query would read now: of one that stands at `position`, as its
    checkpoint has it, or else of a new one. Raises: as the query."""
    reader = KafkaStreamReader(options)
    try:
        start = reader.initialOffset() if position is None else position
        end = reader.latestOffset(start, reader.getDefaultReadLimit())
        tasks = [task.value for task in reader.partitions(start, end)]
        return _plan("stream", tasks, reader.connected())
    finally:
        reader.stop()


def _plan(mode: Mode, tasks: Sequence[TaskRanges], cluster: SourceCluster) -> ReadPlan:
    wanted = {each.partition: Available(each.start, each.end) for task in tasks for each in task}
    sizes = cluster.bytes_per_offset(wanted)
    return ReadPlan(mode, tuple(_ranges(tasks, sizes, cluster.leaders)))


def _ranges(
    tasks: Sequence[TaskRanges], sizes: BytesPerOffset, leaders: Mapping[TopicPartition, int]
) -> Iterator[PlannedRange]:
    for number, task in enumerate(tasks):
        for each in task:
            offsets = each.end - each.start
            yield PlannedRange(
                task=number,
                topic=each.partition.topic,
                partition=each.partition.partition,
                start=each.start,
                end=each.end,
                offsets=offsets,
                bytes=round(offsets * sizes[each.partition]),
                leader=leaders.get(each.partition, -1),
            )
