"""What somebody looks for in a topic, and which of what was found comes first. Does no I/O."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from barnabas import Record
from barnabas.types import TopicPartition
from barnabas.ui.records.conditions import CelCondition
from barnabas.ui.records.decoding import AS_THEY_ARE, ChosenForms, ShownRecord
from barnabas.values import frozen

Place = Literal["newest", "beginning", "offset", "time"]
PRUNED_AT = 4
"""Times the limit: so many records are kept at most, and those of one poll."""


@frozen
class Until:
    """The end of a search, exclusive: an offset, or a time in milliseconds since 1970."""

    at: int
    is_offset: bool


@frozen
class RecordSearch:
    """`at` is an offset or a time in milliseconds since 1970, as `place` says. `resumes`: where an earlier
    search stopped; partitions that it does not have are done. Towards older records these are the ends."""

    place: Place = "newest"
    at: int = 0
    until: Until | None = None
    wanted: str = ""
    where: str = ""
    condition: CelCondition | None = None
    limit: int = 50
    forms: ChosenForms = AS_THEY_ARE
    resumes: Mapping[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])

    @property
    def is_newest(self) -> bool:
        return self.place == "newest"

    @property
    def is_filtered(self) -> bool:
        return bool(self.wanted) or self.condition is not None


@frozen
class FoundRecords:
    """`is_whole`: the search came to its end, or to its limit, and not to that of its time. `left`: where it
    goes on, empty where nothing is left."""

    records: Sequence[ShownRecord]
    searched: int
    seconds: float
    is_whole: bool
    left: Mapping[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])


NOTHING_FOUND = FoundRecords((), 0, 0.0, True)


Hit = Record | ShownRecord
"""A record that was found: one that is not read yet, where all are found."""


class Hits:
    """The first `limit` of what was found, in the order of time across partitions, and of offsets within
    each. A search can go on behind it: `cut` has by partition the first offset that is left out, or the last
    one where the newest come first. It takes records in the order of their offsets."""

    def __init__(self, limit: int, *, is_newest: bool) -> None:
        self._limit = limit
        self._is_newest = is_newest
        self._of: dict[TopicPartition, list[Hit]] = {}
        self._count = 0
        self.cut: dict[TopicPartition, int] = {}

    def add(self, record: Hit) -> None:
        partition = TopicPartition(record.topic, record.partition)
        found = self._of.setdefault(partition, [])
        if self._is_newest:
            found.append(record)
            self._count += 1
        elif partition in self.cut or len(found) >= self._limit:
            self.cut.setdefault(partition, record.offset)
        else:
            found.append(record)
            self._count += 1
        if self._count > PRUNED_AT * self._limit:
            self.first()

    def is_full(self, partition: TopicPartition) -> bool:
        """Whether no later record of this partition can be among the first."""
        return partition in self.cut or len(self._of.get(partition, ())) >= self._limit

    @property
    def has_enough(self) -> bool:
        return self._count >= self._limit

    def take_older(self, older: Hits, partition: TopicPartition) -> None:
        """Puts what `older` found in this partition before what is there."""
        found = older._of.get(partition, [])
        self._of[partition] = [*found, *self._of.get(partition, [])]
        self._count += len(found)
        if partition in older.cut:
            self.cut[partition] = max(older.cut[partition], self.cut.get(partition, -1))

    def first(self) -> list[Hit]:
        """In their order. What is beyond them is forgotten, and counts as cut."""
        if self._is_newest:
            merged = heapq.merge(*(found[::-1] for found in self._of.values()), key=lambda r: -r.timestamp)
        else:
            merged = heapq.merge(*self._of.values(), key=lambda r: r.timestamp)
        chosen = [record for record, _ in zip(merged, range(self._limit), strict=False)]
        taken: dict[TopicPartition, int] = dict.fromkeys(self._of, 0)
        for record in chosen:
            taken[TopicPartition(record.topic, record.partition)] += 1
        for partition, found in self._of.items():
            count = taken[partition]
            if count == len(found):
                continue
            if self._is_newest:
                dropped = found[len(found) - count - 1].offset
                self.cut[partition] = max(dropped, self.cut.get(partition, -1))
                self._of[partition] = found[len(found) - count :]
            else:
                dropped = found[count].offset
                self.cut[partition] = min(dropped, self.cut.get(partition, dropped))
                self._of[partition] = found[:count]
        self._count = len(chosen)
        return chosen
