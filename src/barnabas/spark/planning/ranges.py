"""Which offsets a batch or micro-batch reads from each partition: pure arithmetic on offsets.

A range is [start, end). Planned ranges cover what was asked for exactly once; whatever cannot be covered is
told to the caller's `lost` function, which raises or warns. This module must not know Spark or a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.planning.losses import DELETED, FOUND_LATER, Available, Loss, ReportLoss, cause_of
from barnabas.spark.planning.offsets import Offsets, name_partitions
from barnabas.types import EARLIEST_OFFSET, LATEST_OFFSET, TopicPartition
from barnabas.values import frozen


@frozen
class AtTime:
    """The first offset of each partition whose record is not older than a time.

    `timestamps`: milliseconds since 1970, for all partitions or for each. `option` is where they come from.
    `is_required`: a partition without such a record is an error; its end is meant otherwise.
    """

    timestamps: int | dict[TopicPartition, int]
    option: str
    is_required: bool


OffsetSpec = Literal["earliest", "latest"] | Offsets | AtTime
"""What the options for start and end say; in JSON of offsets, -2 is earliest and -1 latest."""

FindOffsets = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, int | None]]
"""The first offsets at or after times; None where there is none."""


@frozen
class OffsetRange:
    """Offsets [start, end) of one partition.

    `starts_at_earliest`: the start was asked for as "earliest", so when retention moves the beginning of the
    partition before the range is read, reading from the new beginning is no loss.
    `leader_epoch`: that of the log when it was seen to reach `start`, to tell whether it was truncated since.
    """

    partition: TopicPartition
    start: int
    end: int
    starts_at_earliest: bool = False
    leader_epoch: int | None = None

    def __str__(self) -> str:
        return f"{self.partition} [{self.start}, {self.end})"


def resolve(
    spec: OffsetSpec, available: Mapping[TopicPartition, Available], option: str, find_offsets: FindOffsets
) -> Offsets:
    """The offset of each partition that a specification means. Numbers are taken as they are.

    Raises: InvalidOptionError if the specification leaves a partition out, names one that is not there, or
    requires a record of a time after which there is none.
    """
    if isinstance(spec, AtTime):
        return _resolve_time(spec, available, find_offsets)
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


def depends_on_latest(spec: OffsetSpec) -> bool:
    """Whether a specification means another offset whenever something is written."""
    if isinstance(spec, AtTime):
        return not spec.is_required
    return spec == "latest" or (isinstance(spec, dict) and LATEST_OFFSET in spec.values())


def _resolve_time(
    spec: AtTime, available: Mapping[TopicPartition, Available], find_offsets: FindOffsets
) -> Offsets:
    if isinstance(spec.timestamps, dict):
        _check_names(spec.timestamps, available, spec.option)
        timestamps = spec.timestamps
    else:
        timestamps = dict.fromkeys(available, spec.timestamps)
    found = find_offsets(timestamps)
    unmatched = sorted(partition for partition in available if found.get(partition) is None)
    if unmatched and spec.is_required:
        partition = unmatched[0]
        others = f" (and {len(unmatched) - 1} more)" if len(unmatched) > 1 else ""
        raise InvalidOptionError(
            f"{spec.option}: {partition} has no record at or after {timestamps[partition]}{others}; set "
            "startingOffsetsByTimestampStrategy to latest to begin at the end of such partitions"
        )
    offsets: Offsets = {}
    for partition, held in available.items():
        offset = found.get(partition)
        offsets[partition] = held.latest if offset is None else offset
    return offsets


def batch_ranges(
    starting: OffsetSpec,
    ending: OffsetSpec,
    available: Mapping[TopicPartition, Available],
    lost: ReportLoss,
    find_offsets: FindOffsets,
) -> list[OffsetRange]:
    """What a batch query reads, without empty ranges.

    Raises: InvalidOptionError (partitions missing or not there, a start after its end).
    """
    starts = resolve(starting, available, "startingOffsets", find_offsets)
    ends = resolve(ending, available, "endingOffsets", find_offsets)
    ranges: list[OffsetRange] = []
    for partition in sorted(available):
        start, end, held = starts[partition], ends[partition], available[partition]
        asked_from_earliest = starting == "earliest" or (
            isinstance(starting, dict) and starting[partition] == EARLIEST_OFFSET
        )
        if start > end and not asked_from_earliest:
            raise InvalidOptionError(
                f"{partition}: {_name_of(starting, 'startingOffsets')} says {start}, which is after "
                f"{_name_of(ending, 'endingOffsets')}, {end}"
            )
        if start < held.earliest or end > held.latest or end < held.earliest:
            lost(Loss(partition, start, end, held, cause_of(start, end, held, is_same_topic=None)))
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
            lost(Loss(partition, offset, None, held, cause_of(offset, None, held, is_same_topic=None)))
        checked[partition] = min(max(offset, held.earliest), held.latest)
    return checked


def stream_ranges(
    start: Offsets,
    end: Offsets,
    earliest: Offsets,
    lost: ReportLoss,
    *,
    leader_epochs: Mapping[TopicPartition, int] | None = None,
    same_topics: Collection[str] = (),
) -> list[OffsetRange]:
    """What a micro-batch reads, without empty ranges. Partitions found later begin at earliest.

    `earliest` has the beginning of those found later, and of those that end before `start`. `leader_epochs`
    is what is known of the logs since the query stood at `start`, and `same_topics` are those known
    to be the same since.
    """
    for partition in sorted(start.keys() - end.keys()):
        lost(Loss(partition, start[partition], None, None, DELETED))
    ranges: list[OffsetRange] = []
    for partition in sorted(end):
        begin = start.get(partition)
        if begin is None:
            begin = earliest[partition]
            if begin > 0:
                lost(Loss(partition, 0, end[partition], Available(begin, end[partition]), FOUND_LATER))
        if end[partition] < begin:
            held = Available(earliest[partition], end[partition])
            is_same = True if partition.topic in same_topics else None
            lost(Loss(partition, begin, None, held, cause_of(begin, None, held, is_same_topic=is_same)))
        if begin < end[partition]:
            epoch = None if leader_epochs is None else leader_epochs.get(partition)
            ranges.append(OffsetRange(partition, begin, end[partition], leader_epoch=epoch))
    return ranges


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


def _name_of(spec: OffsetSpec, option: str) -> str:
    """The option that a specification comes from."""
    return spec.option if isinstance(spec, AtTime) else option
