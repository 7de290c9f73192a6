"""Offsets that a query wants and that are not there any more: which, what there is instead, and why.

Pure: whether a loss ends the query is for whoever gets the report. Must not know Spark or a broker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from barnabas.types import TopicPartition
from barnabas.values import frozen


class Available(NamedTuple):
    """What a partition holds: [earliest, latest)."""

    earliest: int
    latest: int

    def __str__(self) -> str:
        return f"[{self.earliest}, {self.latest})"


@frozen
class Loss:
    """Offsets [start, end) of a partition; `end` is None where the query only stands at `start`. `available`
    is None where the partition does not exist."""

    partition: TopicPartition
    start: int
    end: int | None
    available: Available | None
    cause: str

    def __str__(self) -> str:
        wanted = (
            f"offset {self.start} was" if self.end is None else f"offsets [{self.start}, {self.end}) were"
        )
        available = "nothing is" if self.available is None else f"{self.available} are"
        return f"{self.partition}: {wanted} wanted, {available} available: {self.cause}"


ReportLoss = Callable[[Loss], None]

DELETED = "the partition does not exist any more: its topic was deleted"
FOUND_LATER = "the partition was found after the query began, and its first records are gone already"
CREATED_AGAIN = "the topic was deleted and created again: other records have these offsets now"
TRUNCATED = "the partition's log was truncated, as by an unclean election of its leader"
ENDS_BEFORE = "the partition ends before that: was its log truncated, or its topic created again?"


def cause_of(start: int, end: int | None, available: Available, *, is_same_topic: bool | None) -> str:
    """Why [start, end) is not to be had of what a partition holds. `is_same_topic`: whether the topic is the
    one that the offsets are of; None where that is not known."""
    if is_same_topic is False:
        return CREATED_AGAIN
    if end is not None and end <= start:
        return "nothing of it is there any more"
    if start < available.earliest:
        lost_end = available.earliest if end is None else min(end, available.earliest)
        return f"[{start}, {lost_end}) has expired or was deleted"
    is_within = (start if end is None else end) <= available.latest
    return TRUNCATED if is_same_topic or is_within else ENDS_BEFORE
