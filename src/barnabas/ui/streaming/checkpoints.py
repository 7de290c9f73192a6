"""What is in the checkpoints of streaming queries that the page was given, and how far that is from the
brokers' ends. Knows nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath

from barnabas.checkpoints.checkpoint import Checkpoint
from barnabas.checkpoints.folders import folder_at
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition
from barnabas.values import frozen


@frozen
class ReadCheckpoint:
    """`place` as the page was told it. Either it could be read, or something was in the way."""

    place: str
    content: Checkpoint | None
    problem: str | None = None


@frozen
class SeenPosition:
    """Of one partition that a source reads. `committed`: where the last committed batch ends; `planned`: the
    last one that was planned. None where that batch knows nothing of the partition."""

    source: int
    partition: TopicPartition
    committed: int | None
    planned: int | None
    end: int | None

    @property
    def lag(self) -> int | None:
        """From what is committed to the brokers' end."""
        done = self.committed
        return None if self.end is None or done is None else max(self.end - done, 0)

    @property
    def in_work(self) -> int:
        """What was planned and is not committed."""
        return 0 if self.committed is None or self.planned is None else self.planned - self.committed


@frozen
class SeenCheckpoint:
    """A checkpoint beside the cluster. `name`: the query's, where a listener tells it."""

    place: str
    problem: str | None
    query_id: str | None = None
    name: str | None = None
    last_committed: int | None = None
    last_planned: int | None = None
    planned_at_ms: int | None = None
    unfinished: tuple[int, ...] = ()
    """Batches that were planned and not committed."""
    positions: tuple[SeenPosition, ...] = ()

    @property
    def title(self) -> str:
        return self.name or PurePath(self.place).name or self.place

    @property
    def topics(self) -> list[str]:
        return sorted({each.partition.topic for each in self.positions})

    @property
    def sources(self) -> list[int]:
        return sorted({each.source for each in self.positions})

    @property
    def lag(self) -> int | None:
        known = [each.lag for each in self.positions if each.lag is not None]
        return sum(known) if known else None

    @property
    def in_work(self) -> int:
        return sum(each.in_work for each in self.positions)


def read_checkpoints(places: Iterable[str]) -> list[ReadCheckpoint]:
    """Waits for files."""
    return [_read(place) for place in places]


def partitions_of(read: Iterable[ReadCheckpoint]) -> set[TopicPartition]:
    return {each.partition for found in read if found.content for each in _positions(found.content, {})}


def seen_checkpoint(
    read: ReadCheckpoint, ends: Mapping[TopicPartition, int], names: Mapping[str, str | None]
) -> SeenCheckpoint:
    """`names`: of queries, by their ids."""
    content = read.content
    if content is None:
        return SeenCheckpoint(read.place, read.problem)
    return SeenCheckpoint(
        read.place,
        None,
        content.query_id,
        names.get(content.query_id),
        content.last_committed,
        content.last_batch,
        content.planned_at_ms,
        tuple(content.unfinished),
        tuple(_positions(content, ends)),
    )


def _read(place: str) -> ReadCheckpoint:
    try:
        return ReadCheckpoint(place, Checkpoint(folder_at(place)))
    except (BarnabasError, OSError) as error:
        return ReadCheckpoint(place, None, str(error))


def _positions(content: Checkpoint, ends: Mapping[TopicPartition, int]) -> list[SeenPosition]:
    found: list[SeenPosition] = []
    for source in content.sources:
        topics = sorted(source.position.keys() | source.planned.keys())
        for topic in topics:
            committed, planned = source.position.get(topic, {}), source.planned.get(topic, {})
            for number in sorted(committed.keys() | planned.keys(), key=int):
                partition = TopicPartition(topic, int(number))
                found.append(
                    SeenPosition(
                        source.number,
                        partition,
                        committed.get(number),
                        planned.get(number),
                        ends.get(partition),
                    )
                )
    return found
