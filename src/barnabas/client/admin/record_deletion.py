"""What a deletion of the oldest records comes to. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.admin.types import ListedOffset
from barnabas.types import TopicPartition


def new_first_offsets(
    first: Mapping[TopicPartition, ListedOffset],
    end: Mapping[TopicPartition, ListedOffset],
    *,
    offset: int | None = None,
    at: Mapping[TopicPartition, ListedOffset] | None = None,
) -> dict[TopicPartition, int]:
    """Where partitions would begin: at `offset`, at what `at` has found by time, or at their ends. Never
    before where they begin now."""
    wanted = {tp: end[tp].offset if offset is None else offset for tp in first}
    if at is not None:
        # -1: no record is that late.
        wanted |= {tp: found.offset for tp, found in at.items() if found.offset >= 0}
    return {tp: max(first[tp].offset, to) for tp, to in wanted.items()}


def most_deleted(
    wanted: Mapping[TopicPartition, int],
    first: Mapping[TopicPartition, ListedOffset],
    end: Mapping[TopicPartition, ListedOffset],
) -> int:
    """How many records go at most: by offsets, of which compaction and transactions leave some unused."""
    return sum(min(to, end[tp].offset) - first[tp].offset for tp, to in wanted.items())
