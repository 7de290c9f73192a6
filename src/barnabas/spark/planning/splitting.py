"""Cutting planned ranges so that more tasks share the work: `minPartitions`, `maxRecordsPerPartition`,
`maxBytesPerPartition`.

Pure arithmetic, with the meaning the options have in Spark's own connector, which has none for bytes. The
parts of a range cover it exactly once, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from barnabas.spark.planning.limits import BytesPerOffset
from barnabas.spark.planning.ranges import OffsetRange


def split_ranges(
    ranges: Sequence[OffsetRange],
    min_partitions: int | None,
    max_records: int | None,
    max_bytes: int | None = None,
    bytes_per_offset: BytesPerOffset | None = None,
) -> list[OffsetRange]:
    """No part has more than `max_records` offsets, nor by its mean size more than `max_bytes`, but that each
    has an offset; and there are about `min_partitions` parts, or more.

    Large ranges are cut in proportion to their sizes; one whose share is less than one and a half parts stays
    whole, and is not counted when the others are cut. As in Spark's own connector, but where that would leave
    parts that are two shares or more: they are cut down to one share, and there are more parts.
    """
    if max_records is not None:
        ranges = [part for each in ranges for part in _cut(each, _parts(each, max_records))]
    if max_bytes is not None and bytes_per_offset is not None:
        ranges = [
            part
            for each in ranges
            for part in _cut(each, _parts(each, max(1, int(max_bytes / bytes_per_offset[each.partition]))))
        ]
    if min_partitions is None:
        return list(ranges)
    total = max(1, sum(each.end - each.start for each in ranges))
    whole = [each for each in ranges if _part_count(each, total, min_partitions) == 1]
    total_to_cut = total - sum(each.end - each.start for each in whole)
    parts_left = max(1, min_partitions - len(whole))
    kept = set(whole)
    to_cut = [each for each in ranges if each not in kept]
    if any(
        _is_two_shares(each, _part_count(each, total_to_cut, parts_left), total, min_partitions)
        for each in to_cut
    ):
        parts_left = -(-total_to_cut * min_partitions // total)
    return [
        part
        for each in ranges
        for part in ([each] if each in kept else _cut(each, _part_count(each, total_to_cut, parts_left)))
    ]


def _parts(offset_range: OffsetRange, most: int) -> int:
    """Into how many a range has to be cut so that none has more than `most` offsets."""
    return -(-(offset_range.end - offset_range.start) // most)


def _part_count(offset_range: OffsetRange, total: int, parts: int) -> int:
    """The share of `parts` that belongs to a range, rounded half up, at least 1."""
    size = offset_range.end - offset_range.start
    return max(1, (2 * size * parts + total) // (2 * total))


def _is_two_shares(offset_range: OffsetRange, parts: int, total: int, min_partitions: int) -> bool:
    """Whether each of so many parts of it is."""
    return (offset_range.end - offset_range.start) * min_partitions >= 2 * total * parts


def _cut(offset_range: OffsetRange, count: int) -> list[OffsetRange]:
    size = offset_range.end - offset_range.start
    count = min(count, size)
    # As Spark's connector cuts: the larger parts come last.
    each, left_over = divmod(size, count)
    edges = [
        offset_range.start + each * number + max(0, number - (count - left_over))
        for number in range(count + 1)
    ]
    parts = [replace(offset_range, start=start, end=end) for start, end in pairwise(edges)]
    # What is known of the log holds for where the range starts.
    return [parts[0], *(replace(part, leader_epoch=None) for part in parts[1:])]
