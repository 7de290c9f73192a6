"""What a run under faults has seen, and whether that keeps the promises a user relies on.

Pure: no client and no broker. A check gives one sentence for each fault, and none when all is well.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Log = Mapping[int, Sequence[tuple[int, bytes]]]
"""What stands in a topic in the end: offset and value, in order, by partition."""


class Stored(NamedTuple):
    """A record with the place that the cluster acknowledged, or that it was read from."""

    partition: int
    offset: int
    value: bytes


@dataclass(slots=True)
class Ownership:
    """The time in which one member of a group had one partition, in seconds of `time.monotonic()`."""

    member: str
    partition: int
    generation: int
    begin: float
    end: float | None = None
    ended_by: Literal["revoked", "lost", None] = None
    offsets: list[int] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """Everything that producers and members noted, in the order it happened."""

    acknowledged: list[Stored] = field(default_factory=list)
    failed: list[tuple[bytes, str]] = field(default_factory=list)
    consumed: list[Stored] = field(default_factory=list)
    ownerships: list[Ownership] = field(default_factory=list)
    commit_errors: list[str] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)


def faults(history: History, log: Log) -> list[str]:
    """All checks in a row, for a run that was read to the end."""
    return [
        *history.surprises,
        *lost(history, log),
        *duplicated(log),
        *out_of_order(log),
        *contradictory(history, log),
        *not_delivered(history, log),
        *skipped_or_repeated(history),
        *owned_twice(history),
    ]


def lost(history: History, log: Log) -> list[str]:
    """Records that the cluster acknowledged and that are not where it said."""
    stored = {(partition, offset): value for partition, rows in log.items() for offset, value in rows}
    found: list[str] = []
    for record in history.acknowledged:
        there = stored.get((record.partition, record.offset))
        if there != record.value:
            found.append(
                f"acknowledged and lost: {record.value!r} was to be at {record.partition}:{record.offset}, "
                f"where there is {there!r}"
            )
    return found


def duplicated(log: Log) -> list[str]:
    """Values, each of which was sent once, that stand in the log twice."""
    places: dict[bytes, list[str]] = defaultdict(list)
    for partition, rows in log.items():
        for offset, value in rows:
            places[value].append(f"{partition}:{offset}")
    return [f"duplicated: {value!r} at {', '.join(at)}" for value, at in places.items() if len(at) > 1]


def out_of_order(log: Log) -> list[str]:
    """Values `source:number` whose number is not above the last one of their source in the partition."""
    found: list[str] = []
    for partition, rows in log.items():
        last: dict[bytes, int] = {}
        for offset, value in rows:
            source, _, number = value.partition(b":")
            if int(number) < last.get(source, -1):
                found.append(f"out of order: {value!r} at {partition}:{offset} follows number {last[source]}")
            last[source] = int(number)
    return found


def contradictory(history: History, log: Log) -> list[str]:
    """Records that a member read where something else stands."""
    stored = {(partition, offset): value for partition, rows in log.items() for offset, value in rows}
    found: list[str] = []
    for record in history.consumed:
        there = stored.get((record.partition, record.offset))
        if there != record.value:
            found.append(
                f"read {record.value!r} at {record.partition}:{record.offset}, where there is {there!r}"
            )
    return found


def not_delivered(history: History, log: Log) -> list[str]:
    """Records that are in the log and that no member read."""
    read = {(record.partition, record.offset) for record in history.consumed}
    return [
        f"never delivered: {value!r} at {partition}:{offset}"
        for partition, rows in log.items()
        for offset, value in rows
        if (partition, offset) not in read
    ]


def skipped_or_repeated(history: History) -> list[str]:
    """Offsets that do not follow one another while a member keeps a partition, and owners that begin beyond
    what was read before them."""
    found: list[str] = []
    read_up_to: dict[int, int] = defaultdict(int)
    for ownership in history.ownerships:
        offsets = ownership.offsets
        for before, after in itertools.pairwise(offsets):
            if after != before + 1:
                found.append(
                    f"{ownership.member} read {ownership.partition}:{after} right after offset {before}"
                )
        if offsets:
            reached = read_up_to[ownership.partition]
            if offsets[0] > reached:
                found.append(
                    f"{ownership.member} began {ownership.partition} at {offsets[0]}, read only to {reached}"
                )
            read_up_to[ownership.partition] = max(reached, offsets[-1] + 1)
    return found


def owned_twice(history: History) -> list[str]:
    """Partitions with two owners in one generation, or at the same time unless one of them was told that it
    had lost the partition. A member that is gone for long is replaced before it can know."""
    found: list[str] = []
    by_partition: dict[int, list[Ownership]] = defaultdict(list)
    for ownership in history.ownerships:
        by_partition[ownership.partition].append(ownership)
    for partition, ownerships in by_partition.items():
        ordered = sorted(ownerships, key=lambda ownership: ownership.begin)
        owners: dict[int, str] = {}
        for ownership in ordered:
            other = owners.setdefault(ownership.generation, ownership.member)
            if other != ownership.member:
                found.append(
                    f"partition {partition} had two owners in generation {ownership.generation}: "
                    f"{other} and {ownership.member}"
                )
        for index, first in enumerate(ordered):
            for second in ordered[index + 1 :]:
                is_over = first.end is not None and first.end <= second.begin
                if not is_over and first.ended_by != "lost" and first.member != second.member:
                    found.append(
                        f"{second.member} got partition {partition} while {first.member} still had it"
                    )
    return found


def longest_without_owner_seconds(history: History, partitions: int, begin: float, end: float) -> float:
    """The longest time between `begin` and `end` in which some partition was nobody's."""
    longest = 0.0
    for partition in range(partitions):
        covered_to = begin
        spans = [
            (ownership.begin, end if ownership.end is None else ownership.end)
            for ownership in history.ownerships
            if ownership.partition == partition
        ]
        for start, finish in [*sorted(spans), (end, end)]:
            longest = max(longest, min(start, end) - covered_to)
            covered_to = max(covered_to, finish)
    return longest
