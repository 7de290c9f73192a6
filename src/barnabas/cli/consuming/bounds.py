"""Which topics `consume` reads, where it begins in them and where it ends. Knows nothing of output."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from barnabas import Record, TopicPartition
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.cli.names import matching
from barnabas.cli.options import UsageError
from barnabas.cli.output import nearest
from barnabas.records.times import is_time, timestamp_ms

if TYPE_CHECKING:
    from barnabas import Consumer


class Since(NamedTuple):
    """The first record at or after this time, which is in milliseconds since 1970."""

    timestamp_ms: int


Start = int | Since | Literal["beginning", "end"]
"""An offset, one counted back from the end if it is negative, a time, or an end of a partition."""

# A topic that was created a moment ago is known everywhere by then.
_NEW_TOPIC_SECONDS = 1.0
_POLL_SECONDS = 0.2
_RECORDS_A_POLL = 10_000
# How often a member without partitions looks whether others have read all.
_COMMITTED_SECONDS = 1.0


def start_of(offset: str | None, since: str | None, *, default: Start) -> Start:
    """What --offset says, or --since, of which one at most is given. Raises: UsageError."""
    if since is not None:
        return Since(timestamp_ms(since, "--since"))
    if offset is None:
        return default
    if offset in ("beginning", "end"):
        return offset
    kcats, at, time_of_kcat = offset.partition("@")
    if at and kcats == "s":
        return Since(timestamp_ms(time_of_kcat, "--offset"))
    if at and kcats == "e":
        raise UsageError(f"--offset says where to begin: for {offset!r} give --until {time_of_kcat}")
    try:
        return int(offset)
    except ValueError:
        if is_time(offset):
            return Since(timestamp_ms(offset, "--offset"))
        raise UsageError(
            f"--offset {offset!r} is none of beginning, end, an offset, -N for the last N, and a time (2h, "
            "2026-01-31T12:00, s@ and milliseconds since 1970)"
        ) from None


def matching_topics(consumer: Consumer, pattern: str) -> list[str]:
    """The topics whose whole name matches. Raises: UsageError if there is none."""
    found = matching(consumer.topics(), pattern)
    if not found:
        raise UsageError(f"no topic matches {pattern!r}")
    return found


def check_topics(consumer: Consumer, topics: Sequence[str]) -> None:
    """Raises: UsageError for one that is not there. Nothing is created."""
    existing = consumer.topics()
    for topic in topics:
        if topic in existing:
            continue
        try:
            # Kafka's own topics are not listed, nor may one be that is new.
            consumer.partitions_for(topic, timeout=_NEW_TOPIC_SECONDS)
        except UnknownTopicOrPartitionError:
            raise UsageError(f"there is no topic {topic!r}{nearest(topic, existing)}") from None


def partitions_of(
    consumer: Consumer, topics: Sequence[str], chosen: Sequence[int] | None
) -> list[TopicPartition]:
    """All partitions of the topics, or those of the chosen numbers. Raises: UsageError."""
    found: list[TopicPartition] = []
    for topic in topics:
        existing = {info.partition for info in consumer.partitions_for(topic)}
        for number in chosen or ():
            if number not in existing:
                raise UsageError(f"topic {topic!r} has no partition {number}, only 0 to {len(existing) - 1}")
        found += [TopicPartition(topic, number) for number in sorted(chosen or existing)]
    return found


def seek(consumer: Consumer, partitions: Sequence[TopicPartition], start: Start) -> None:
    """Where no record is as late as a time, the end."""
    if isinstance(start, Since):
        ends = consumer.end_offsets(partitions)
        for partition, found in _offsets_at(consumer, partitions, start.timestamp_ms).items():
            consumer.seek(partition, ends[partition] if found is None else found)
    elif start == "beginning":
        consumer.seek_to_beginning(*partitions)
    elif start == "end":
        consumer.seek_to_end(*partitions)
    elif start >= 0:
        for partition in partitions:
            consumer.seek(partition, start)
    else:
        first = consumer.beginning_offsets(partitions)
        for partition, end in consumer.end_offsets(partitions).items():
            consumer.seek(partition, max(end + start, first[partition]))


def seek_to_last(consumer: Consumer, partitions: Sequence[TopicPartition], count: int) -> None:
    """So that the last `count` records of each partition come, however many offsets these take: where a topic
    is compacted, or has transactions, there are fewer records than offsets."""
    first, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    starts: dict[TopicPartition, int] = {}
    # Of each partition the offsets of the last records that are known, and from where on they are.
    known: dict[TopicPartition, list[int]] = {partition: [] for partition in partitions}
    reached = dict(ends)
    window = count
    while open_ones := [p for p in partitions if p not in starts]:
        begins = {p: max(first[p], ends[p] - window) for p in open_ones}
        for partition, offsets in _offsets_between(consumer, begins, reached).items():
            known[partition] = (offsets + known[partition])[-count:]
        for partition in open_ones:
            reached[partition] = begins[partition]
            if len(known[partition]) == count or begins[partition] == first[partition]:
                found = known[partition]
                starts[partition] = found[0] if found else ends[partition]
        window *= 4
    consumer.assign(list(partitions))
    for partition, offset in starts.items():
        consumer.seek(partition, offset)


def _offsets_between(
    consumer: Consumer, begins: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, list[int]]:
    """The offsets at which there are records, of each partition from the first one to before the second."""
    found: dict[TopicPartition, list[int]] = {partition: [] for partition in begins}
    left = {partition for partition, offset in begins.items() if offset < ends[partition]}
    consumer.assign(sorted(left))
    for partition in left:
        consumer.seek(partition, begins[partition])
    while left:
        for record in consumer.poll(timeout=_POLL_SECONDS, max_records=_RECORDS_A_POLL):
            place = TopicPartition(record.topic, record.partition)
            if record.offset < ends[place]:
                found[place].append(record.offset)
        done = {partition for partition in left if consumer.position(partition) >= ends[partition]}
        if done:
            left -= done
            # The others go on where they are.
            at = {partition: consumer.position(partition) for partition in left}
            consumer.assign(sorted(left))
            for partition, offset in at.items():
                consumer.seek(partition, offset)
    return found


class GroupEnds:
    """The ends that topics had when a member of a group began. Others may read some of the partitions, so
    they are reached where this member is there in all that it has, or the group has committed them all."""

    def __init__(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._consumer = consumer
        self._offsets = {tp: end for tp, end in consumer.end_offsets(partitions).items() if end > 0}
        self._looked_at = time.monotonic()

    def are_reached(self) -> bool:
        mine = [partition for partition in self._consumer.assignment() if partition in self._offsets]
        if mine:
            return all(self._consumer.position(tp) >= self._offsets[tp] for tp in mine)
        if time.monotonic() - self._looked_at < _COMMITTED_SECONDS:
            return False
        self._looked_at = time.monotonic()
        committed = self._consumer.committed(list(self._offsets))
        return all(
            (at := committed.get(tp)) is not None and at.offset >= end for tp, end in self._offsets.items()
        )

    def within(self, records: list[Record]) -> list[Record]:
        """All: what was given to this member is committed."""
        return records

    def records_left(self) -> int | None:
        return None


class Ends:
    """The offsets before which reading ends: those that the partitions have now, or those of the first
    record at or after a time, which may be yet to come."""

    def __init__(
        self,
        consumer: Consumer,
        partitions: Sequence[TopicPartition],
        *,
        is_at_end: bool,
        until_ms: int | None,
    ) -> None:
        self._consumer = consumer
        self._partitions = list(partitions)
        self._until_ms = until_ms
        self._offsets: Mapping[TopicPartition, int] | None = None
        self._open = set(partitions)
        if is_at_end:
            self._find()

    def add(self, partitions: Sequence[TopicPartition]) -> None:
        """They end where the others do. Not once the ends are known."""
        self._partitions += partitions
        self._open.update(partitions)

    def are_reached(self) -> bool:
        """Partitions that have reached theirs are not fetched any more."""
        if self._offsets is None:
            if self._until_ms is None or time.time() * 1000 < self._until_ms:
                return False
            self._find()
            assert self._offsets is not None
        for partition in list(self._open):
            if self._consumer.position(partition) >= self._offsets[partition]:
                self._consumer.pause(partition)
                self._open.discard(partition)
        return not self._open

    @property
    def offsets(self) -> Mapping[TopicPartition, int] | None:
        """None while they are not known."""
        return self._offsets

    def within(self, records: list[Record]) -> list[Record]:
        offsets = self._offsets
        if offsets is None:
            return records
        return [r for r in records if r.offset < offsets[TopicPartition(r.topic, r.partition)]]

    def records_left(self) -> int | None:
        """How many records there are at most until the ends, None while these are not known."""
        if self._offsets is None:
            return None
        return sum(max(0, end - self._consumer.position(p)) for p, end in self._offsets.items())

    def _find(self) -> None:
        ends = self._consumer.end_offsets(self._partitions)
        if self._until_ms is not None:
            found = _offsets_at(self._consumer, self._partitions, self._until_ms)
            ends = {p: end if (at := found[p]) is None else min(at, end) for p, end in ends.items()}
        self._offsets = ends


def _offsets_at(
    consumer: Consumer, partitions: Sequence[TopicPartition], timestamp_ms: int
) -> dict[TopicPartition, int | None]:
    found = consumer.offsets_for_times(dict.fromkeys(partitions, timestamp_ms))
    return {p: None if (at := found[p]) is None else at.offset for p in partitions}
