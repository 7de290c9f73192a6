"""Which partitions of a topic are whose: the two strategies that every member works out for itself.

Owns the arithmetic alone. Members agree because each of them sorts the same participants and partitions; a
member that sorted in its own way would claim what is another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

__all__ = ["range_share", "round_robin_share"]

P = TypeVar("P")


def range_share(participants: Iterable[bytes], partitions: Sequence[P], member: bytes) -> list[P]:
    """The run of `partitions` that is `member`'s; the first members get the ones that are left over.

    Raises: ValueError if `member` is no participant.
    """
    ordered = sorted(participants)
    place = ordered.index(member)
    each, left_over = divmod(len(partitions), len(ordered))
    start = each * place + min(place, left_over)
    return list(partitions[start : start + each + (place < left_over)])


def round_robin_share(participants: Iterable[bytes], partitions: Sequence[P], member: bytes) -> list[P]:
    """Every n-th of `partitions`, of n participants. Nothing for a member that does not participate."""
    ordered = sorted(participants)
    return [partition for turn, partition in enumerate(partitions) if ordered[turn % len(ordered)] == member]
