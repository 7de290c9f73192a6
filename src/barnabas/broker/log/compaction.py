"""Compaction: of every key only the last record stays (cleanup.policy=compact).

Owns the choice of what to compact and the writing of the surviving batches, which may run on another thread,
since closed segments do not change. The log itself puts the result in place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from barnabas import _kernel
from barnabas.broker.log.files import open_new
from barnabas.broker.log.memory_files import AnyPath
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.segment import MAX_RELATIVE_OFFSET, Segment


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """`groups` are neighbouring segments that become one each; all of them end at `end_offset`.

    Keys come from `dirty` only: what lies before has been compacted and can replace nothing that came later.
    """

    groups: list[list[Segment]]
    dirty: list[Segment]
    end_offset: int
    cleaner: _kernel.LogCleaner
    """Knows which transactions were aborted, whose records count for nothing."""


def plan_compaction(log: PartitionLog, now_ms: int) -> CompactionPlan | None:
    """What to compact now; None while too little is new, or it is too young."""
    segments = _old_enough(log, now_ms)
    dirty = [segment for segment in segments if segment.base_offset >= log.first_dirty_offset]
    if not dirty:
        return None
    dirty_bytes = sum(segment.size for segment in dirty)
    total_bytes = sum(segment.size for segment in segments)
    overdue = any(
        0 <= segment.max_timestamp < now_ms - log.settings.max_compaction_lag_ms for segment in dirty
    )
    if dirty_bytes < log.settings.min_cleanable_dirty_ratio * total_bytes and not overdue:
        return None
    end_offset = log.segments[len(segments)].base_offset
    groups = list(_groups(segments, log.settings.segment_bytes, end_offset))
    cleaner = _kernel.LogCleaner(
        now_ms=now_ms,
        delete_retention_ms=log.settings.delete_retention_ms,
        last_batches=log.producers.last_batches(),
        aborted=[(span.producer_id, span.first_offset, span.last_offset) for span in log.producers.aborted],
    )
    return CompactionPlan(groups, dirty, end_offset, cleaner)


def _old_enough(log: PartitionLog, now_ms: int) -> list[Segment]:
    """Closed segments up to the first that is not decided, or has a record younger than
    min.compaction.lag.ms."""
    closed = [
        segment
        for segment, following in pairwise(log.segments)
        if following.base_offset <= log.last_stable_offset
    ]
    youngest = now_ms - log.settings.min_compaction_lag_ms
    for count, segment in enumerate(closed):
        if log.settings.min_compaction_lag_ms > 0 and segment.max_timestamp > youngest:
            return closed[:count]
    return closed


def _groups(segments: Sequence[Segment], max_bytes: int, end_offset: int) -> Iterator[list[Segment]]:
    group: list[Segment] = []
    ends = [*[segment.base_offset for segment in segments[1:]], end_offset]
    for segment, end in zip(segments, ends, strict=True):
        too_large = sum(other.size for other in group) + segment.size > max_bytes
        if group and (too_large or end - group[0].base_offset > MAX_RELATIVE_OFFSET):
            yield group
            group = []
        group.append(segment)
    if group:
        yield group


def collect_keys(plan: CompactionPlan) -> _kernel.KeyOffsets:
    """The last offset of each key among the new records. May run on any thread."""
    keys = _kernel.KeyOffsets()
    for segment in plan.dirty:
        for chunk in segment.chunks():
            keys.add(plan.cleaner.decided(chunk))
    return keys


def write_survivors(
    directory: AnyPath, group: Sequence[Segment], keys: _kernel.KeyOffsets, cleaner: _kernel.LogCleaner
) -> AnyPath:
    """Writes what stays of a group to a file that is on disk when this returns. May run on any thread; the
    groups of a plan one after the other."""
    path = directory / f"{group[0].base_offset:020d}.cleaned"
    with open_new(path) as file:
        for segment in group:
            for chunk in segment.chunks():
                file.write(cleaner.clean(chunk, keys))
        file.flush()
        os.fsync(file.fileno())
    return path


def compact(log: PartitionLog, now_ms: int) -> bool:
    """The whole of it on one thread; False if there was nothing to do."""
    plan = plan_compaction(log, now_ms)
    if plan is None:
        return False
    keys = collect_keys(plan)
    for group in plan.groups:
        survivors = write_survivors(log.directory, group, keys, plan.cleaner)
        log.replace_segments(group, survivors)
    log.first_dirty_offset = plan.end_offset
    return True
