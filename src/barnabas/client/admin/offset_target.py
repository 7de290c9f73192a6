"""Where a group is moved to: the ways to say it, and the offsets that come of it.

What the command line and the page have in common. Pure; must not know how the cluster is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.client.admin.types import OffsetSpec
from barnabas.types import TopicPartition
from barnabas.values import frozen

Offsets = Mapping[TopicPartition, int]


@frozen
class OffsetTarget:
    """One of the ways is given; without any, a group stays where it is."""

    spec: OffsetSpec | None = None
    """The oldest record, the end, or the first record at or after a time in milliseconds since 1970."""
    offset: int | None = None
    shift: int | None = None
    listed: Offsets | None = None
    """By partition, as a file has it."""

    @property
    def needs_positions(self) -> bool:
        """Whether it counts from where the group is."""
        return self.spec is None and self.offset is None and self.listed is None

    def partitions(self, named: Sequence[TopicPartition] | None, now: Offsets) -> list[TopicPartition]:
        """Those that are listed, else those in which the group is; of them the ones that are named, if some
        are. A group may get offsets where it has none."""
        if self.listed is not None:
            return [tp for tp in sorted(self.listed) if named is None or tp in named]
        return sorted(now if named is None else named)

    def offsets(
        self,
        partitions: Sequence[TopicPartition],
        now: Offsets,
        *,
        first: Offsets,
        end: Offsets,
        found: Offsets | None,
    ) -> dict[TopicPartition, int]:
        """The new offset of each partition. `now`: where the group is, in each of them if `needs_positions`;
        `first` and `end`: of their logs; `found`: what the brokers say to `spec`. An offset outside the log
        becomes the nearest end of the log, as in Kafka's own tool."""
        if found is not None:
            # -1: no record is that late.
            wanted = {tp: end[tp] if found[tp] < 0 else found[tp] for tp in partitions}
        elif self.offset is not None:
            wanted = dict.fromkeys(partitions, self.offset)
        elif self.listed is not None:
            wanted = {tp: self.listed[tp] for tp in partitions}
        else:
            wanted = {tp: now[tp] + (self.shift or 0) for tp in partitions}
        return {tp: min(max(wanted[tp], first[tp]), end[tp]) for tp in partitions}
