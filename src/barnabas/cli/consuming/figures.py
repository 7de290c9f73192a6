"""`--stats`: how many records there are, how large they are, and whose keys take the most. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from barnabas import Record, TopicPartition

PERCENTILES = (50, 90, 99)
KEYS_SHOWN = 10
# Of so many different keys each is counted for itself; those that come later only count in all.
MOST_KEYS = 1_000_000


@dataclass
class _Partition:
    records: int = 0
    size_bytes: int = 0
    nulls: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    sizes: Counter[int] = field(default_factory=Counter[int])
    keys: set[bytes] = field(default_factory=set[bytes])


class RecordFigures:
    """Sizes are those of key and value, headers included, without what Kafka writes around them."""

    def __init__(self) -> None:
        self._partitions: defaultdict[TopicPartition, _Partition] = defaultdict(_Partition)
        self._records_by_key: Counter[bytes] = Counter()
        self._bytes_by_key: Counter[bytes] = Counter()
        self.has_more_keys = False

    def count(self, records: Iterable[Record]) -> None:
        for record in records:
            found = self._partitions[TopicPartition(record.topic, record.partition)]
            size = record.serialized_size
            found.records += 1
            found.size_bytes += size
            found.nulls += record.value is None
            found.sizes[size] += 1
            if record.timestamp >= 0:
                known = (found.first_timestamp, found.last_timestamp, record.timestamp)
                times = [each for each in known if each is not None]
                found.first_timestamp, found.last_timestamp = min(times), max(times)
            if record.key is not None:
                self._count_key(found, record.key, size)

    def _count_key(self, partition: _Partition, key: bytes, size: int) -> None:
        if key not in self._records_by_key and len(self._records_by_key) >= MOST_KEYS:
            self.has_more_keys = True
            return
        partition.keys.add(key)
        self._records_by_key[key] += 1
        self._bytes_by_key[key] += size

    def partitions(self) -> list[dict[str, Any]]:
        """In order, and all of them in the last row, where the partition is None, if there are several."""
        found = [_row(place.topic, place.partition, each) for place, each in sorted(self._partitions.items())]
        if len(found) > 1:
            found.append(_row("all", None, _together(self._partitions.values())))
        return found

    def largest_keys(self, most: int = KEYS_SHOWN) -> list[dict[str, Any]]:
        return [
            {
                "key": key.decode(errors="backslashreplace"),
                "records": self._records_by_key[key],
                "bytes": size,
            }
            for key, size in self._bytes_by_key.most_common(most)
        ]


def _row(topic: str, partition: int | None, found: _Partition) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic": topic,
        "partition": partition,
        "records": found.records,
        "bytes": found.size_bytes,
        "nulls": found.nulls,
        "keys": len(found.keys),
        "min_bytes": min(found.sizes, default=None),
    }
    row |= {f"p{percent}_bytes": _percentile(found.sizes, percent) for percent in PERCENTILES}
    return row | {
        "max_bytes": max(found.sizes, default=None),
        "first_timestamp_ms": found.first_timestamp,
        "last_timestamp_ms": found.last_timestamp,
    }


def _together(partitions: Iterable[_Partition]) -> _Partition:
    whole = _Partition()
    for each in partitions:
        whole.records += each.records
        whole.size_bytes += each.size_bytes
        whole.nulls += each.nulls
        whole.sizes += each.sizes
        whole.keys |= each.keys
        times = [whole.first_timestamp, whole.last_timestamp, each.first_timestamp, each.last_timestamp]
        known = [time for time in times if time is not None]
        whole.first_timestamp, whole.last_timestamp = min(known, default=None), max(known, default=None)
    return whole


def _percentile(sizes: Counter[int], percent: int) -> int | None:
    """The smallest size that at least so many of a hundred records do not exceed."""
    wanted = sizes.total() * percent
    passed = 0
    for size in sorted(sizes):
        passed += sizes[size] * 100
        if passed >= wanted:
            return size
    return None
