"""How much a micro-batch takes of what there is: maxOffsetsPerTrigger, maxBytesPerTrigger.

Pure arithmetic. A batch is limited by offsets alone; bytes are brought down to offsets by the mean size of
what lies in a partition, so that they are an estimate. This module must not know Spark or a broker.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.spark.planning.offsets import Offsets
from barnabas.types import TopicPartition

BytesPerOffset = Mapping[TopicPartition, float]
"""The mean size of records; offsets that hold none, after compaction, count in it."""


def limit_offsets(start: Offsets, latest: Offsets, max_offsets: int) -> Offsets:
    """`latest`, cut so that about `max_offsets` lie above `start`, split in proportion to what each has.

    A partition with anything to read gets at least one offset, so that none starves behind greater ones; with
    more such partitions than `max_offsets` the result exceeds it.
    """
    return _limit(start, latest, max_offsets, sum(_sizes(start, latest).values()))


def limit_bytes(start: Offsets, latest: Offsets, max_bytes: int, bytes_per_offset: BytesPerOffset) -> Offsets:
    """The same with bytes in place of offsets: each partition gives the same part of what it has."""
    sizes = _sizes(start, latest)
    return _limit(
        start, latest, max_bytes, round(sum(size * bytes_per_offset[p] for p, size in sizes.items()))
    )


def _limit(start: Offsets, latest: Offsets, most: int, total: int) -> Offsets:
    if total <= most:
        return dict(latest)
    return latest | {
        partition: start[partition] + max(1, size * most // total)
        for partition, size in _sizes(start, latest).items()
    }


def _sizes(start: Offsets, latest: Offsets) -> Offsets:
    """What there is to read, of partitions that have anything."""
    return {
        partition: latest[partition] - offset
        for partition, offset in start.items()
        if latest.get(partition, offset) > offset
    }
