"""Payloads of a SimpleClient by what they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

__all__ = ["group_by_topic_and_partition"]


def group_by_topic_and_partition(tuples: Iterable[Any]) -> dict[Any, dict[Any, Any]]:
    """By topic and by partition. Raises: AssertionError where two are about the same partition."""
    grouped: dict[Any, dict[Any, Any]] = defaultdict(dict)
    for each in tuples:
        assert each.partition not in grouped[each.topic], (
            f"Duplicate {type(each).__name__}s for {each.topic} {each.partition}"
        )
        grouped[each.topic][each.partition] = each
    return grouped
