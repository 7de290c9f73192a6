"""How far groups are behind in what they read: of all groups in few requests.

Knows nothing of how it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from barnabas import TopicPartition
from barnabas.cli.admin.common import ends_of
from barnabas.errors import BarnabasError
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Admin
    from barnabas.client.admin.types import GroupListing

V = TypeVar("V")


@frozen
class GroupLag:
    """Of each partition that a group reads, where it goes on, and how many records lie between there and the
    end; None where the partition has no leader that tells."""

    positions: Mapping[TopicPartition, int]
    lags: Mapping[TopicPartition, int | None]

    @property
    def topics(self) -> list[str]:
        return sorted({partition.topic for partition in self.positions})

    @property
    def lag(self) -> int | None:
        """None where nothing is known: the group has committed nothing, or no partition has a leader."""
        known = [lag for lag in self.lags.values() if lag is not None]
        return sum(known) if known else None


def lags_of(admin: Admin, groups: Sequence[GroupListing]) -> dict[str, GroupLag]:
    """By group. One that is gone by now, or that this client may not see, is left out."""
    share = [group.group_id for group in groups if group.type == "share"]
    others = [group.group_id for group in groups if group.type != "share"]
    committed = answered(lambda: admin.list_offsets_of_groups(dict.fromkeys(others)))
    positions = {
        name: {tp: found.offset for tp, found in offsets.items()} for name, offsets in committed.items()
    }
    ends = ends_of(admin, {tp for offsets in positions.values() for tp in offsets})
    found = {
        name: GroupLag(offsets, {tp: _lag(offset, ends.get(tp)) for tp, offset in offsets.items()})
        for name, offsets in positions.items()
    }
    shared = answered(lambda: admin.list_share_group_offsets(dict.fromkeys(share)))
    for name, offsets in shared.items():
        found[name] = GroupLag(
            {tp: each.start_offset for tp, each in offsets.items()},
            {tp: each.lag for tp, each in offsets.items()},
        )
    return found


def _lag(position: int, end: int | None) -> int | None:
    return None if end is None else max(end - position, 0)


def answered(call: Callable[[], dict[str, V]]) -> Mapping[str, V]:
    """What a call gives for those groups for which it succeeds."""
    try:
        return call()
    except BarnabasError as error:
        if error.outcome is None:
            raise
        return error.outcome.results
