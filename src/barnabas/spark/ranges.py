"""Which offsets a batch or micro-batch reads from each partition: pure arithmetic on offsets.

A range is [start, end). Planned ranges cover what was asked for exactly once; whatever cannot be covered is
told to the caller's `lost` function, which raises or warns. This module must not know Spark or a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.offsets import Offsets, name_partitions
from barnabas.types import EARLIEST_OFFSET, LATEST_OFFSET, TopicPartition

OffsetSpec = Literal["earliest", "latest"] | Offsets
"""What `startingOffsets` and `endingOffsets` say; in JSON, -2 is earliest and -1 latest."""

ReportLoss = Callable[[str], None]


class Available(NamedTuple):
    """What a partition holds: [earliest, latest)."""

    earliest: int
    latest: int

    def __str__(self) -> str:
        return f"[{self.earliest}, {self.latest})"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets [start, end) of one partition.

    `starts_at_earliest`: the start was asked for as "earliest", so when retention moves the beginning of the
    partition before the range is read, reading from the new beginning is no loss.
    """

    partition: TopicPartition
    start: int
    end: int
    starts_at_earliest: bool = False

    def __str__(self) -> str:
        return f"{self.partition} [{self.start}, {self.end})"


def resolve(spec: OffsetSpec, available: Mapping[TopicPartition, Available], option: str) -> Offsets:
    """The offset of each partition that a specification means. Numbers are taken as they are.

    Raises: InvalidOptionError if the specification leaves a partition out or names one that is not there.
    """
    if spec == "earliest":
        return {partition: held.earliest for partition, held in available.items()}
    if spec == "latest":
        return {partition: held.latest for partition, held in available.items()}
    _check_names(spec, available, option)
    symbols = {EARLIEST_OFFSET: 0, LATEST_OFFSET: 1}
    return {
        partition: available[partition][symbols[offset]] if offset in symbols else offset
        for partition, offset in spec.items()
    }


def batch_ranges(
    starting: OffsetSpec, ending: OffsetSpec, available: Mapping[TopicPartition, Available], lost: ReportLoss
) -> list[OffsetRange]:
    """What a batch query reads, without empty ranges.

    Raises: InvalidOptionError (partitions missing or not there, a start after its end).
    """
    starts = resolve(starting, available, "startingOffsets")
    ends = resolve(ending, available, "endingOffsets")
    ranges: list[OffsetRange] = []
    for partition in sorted(available):
        start, end, held = starts[partition], ends[partition], available[partition]
        asked_from_earliest = starting == "earliest" or (
            isinstance(starting, dict) and starting[partition] == EARLIEST_OFFSET
        )
        if start > end and not asked_from_earliest:
            raise InvalidOptionError(
                f"{partition}: startingOffsets says {start}, which is after endingOffsets, {end}"
            )
        if start < held.earliest or end > held.latest or end < held.earliest:
            lost(f"{partition}: offsets [{start}, {end}) were asked for, {held} are available")
        start, end = max(start, held.earliest), min(end, held.latest)
        if start < end:
            ranges.append(OffsetRange(partition, start, end, asked_from_earliest))
    return ranges


def check_initial_offsets(
    initial: Offsets, available: Mapping[TopicPartition, Available], lost: ReportLoss
) -> Offsets:
    """The offsets a new streaming query begins at, inside of what the partitions hold."""
    checked: Offsets = {}
    for partition, offset in initial.items():
        held = available[partition]
        if not held.earliest <= offset <= held.latest:
            lost(f"{partition}: startingOffsets says {offset}, offsets {held} are available")
        checked[partition] = min(max(offset, held.earliest), held.latest)
    return checked


def stream_ranges(
    start: Offsets, end: Offsets, earliest_of_new: Offsets, lost: ReportLoss
) -> list[OffsetRange]:
    """What a micro-batch reads, without empty ranges. Partitions found later begin at earliest."""
    gone = start.keys() - end.keys()
    if gone:
        lost(f"{name_partitions(gone)}: not there any more; the query stood at {_name_offsets(start, gone)}")
    ranges: list[OffsetRange] = []
    for partition in sorted(end):
        begin = start.get(partition)
        if begin is None:
            begin = earliest_of_new[partition]
            if begin > 0:
                lost(f"{partition}: found after the query began, starts at offset {begin} instead of 0")
        if end[partition] < begin:
            lost(
                f"{partition}: the query stood at offset {begin}, the partition now ends at "
                f"{end[partition]}; was the topic deleted and created again?"
            )
        if begin < end[partition]:
            ranges.append(OffsetRange(partition, begin, end[partition]))
    return ranges


def limit_offsets(start: Offsets, latest: Offsets, max_offsets: int) -> Offsets:
    """`latest`, cut so that about `max_offsets` lie above `start`, split in proportion to what each has.

    A partition with anything to read gets at least one offset, so that none starves behind greater ones; with
    more such partitions than `max_offsets` the result exceeds it.
    """
    sizes = {partition: latest[partition] - start[partition] for partition in latest if partition in start}
    total = sum(size for size in sizes.values() if size > 0)
    if total <= max_offsets:
        return dict(latest)
    limited = dict(latest)
    for partition, size in sizes.items():
        if size > 0:
            limited[partition] = start[partition] + max(1, max_offsets * size // total)
    return limited


def _check_names(spec: Offsets, available: Mapping[TopicPartition, Available], option: str) -> None:
    missing = available.keys() - spec.keys()
    if missing:
        raise InvalidOptionError(
            f"{option} must name every partition; it leaves out {name_partitions(missing)}. "
            "Use -2 for earliest or -1 for latest where it does not matter"
        )
    extra = spec.keys() - available.keys()
    if extra:
        raise InvalidOptionError(
            f"{option} names {name_partitions(extra)}, which this query does not read or which do not exist; "
            f"it reads {name_partitions(available)}"
        )


def _name_offsets(offsets: Offsets, partitions: set[TopicPartition]) -> str:
    return ", ".join(str(offsets[partition]) for partition in sorted(partitions)[:10])
