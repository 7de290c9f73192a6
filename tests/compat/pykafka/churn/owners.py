"""Who owned which partition when, as ZooKeeper had it, and for how long nobody that lives did.

Owns the timeline and its figures. It is fed what a watcher sees, or what a test makes up; it knows neither
ZooKeeper nor processes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass
class OwnerTimeline:
    """Fed with `see`, in order of time."""

    partitions: int
    owned_twice: list[tuple[float, int, tuple[str, ...]]] = field(default_factory=list)
    longest_without_node: float = 0.0
    longest_without_living_owner: float = 0.0
    changes: dict[int, list[tuple[float, str | None]]] = field(default_factory=dict)
    _without_node: dict[int, float] = field(default_factory=dict)
    _without_living: dict[int, float] = field(default_factory=dict)

    def see(self, now: float, owners: Mapping[int, Collection[str]], living: Collection[str]) -> None:
        """`owners`: of each partition that has one; `living`: consumers that neither died nor are paused."""
        for partition in range(self.partitions):
            owned_by = sorted(set(owners.get(partition, ())))
            if len(owned_by) > 1:
                self.owned_twice.append((now, partition, tuple(owned_by)))
            owner = owned_by[0] if owned_by else None
            known = self.changes.setdefault(partition, [])
            if not known or known[-1][1] != owner:
                known.append((now, owner))
            self.longest_without_node = max(
                self.longest_without_node, _lasting(self._without_node, partition, now, owner is None)
            )
            self.longest_without_living_owner = max(
                self.longest_without_living_owner,
                _lasting(self._without_living, partition, now, owner not in living),
            )

    def see_nothing(self, now: float) -> None:
        """ZooKeeper was away: owners are not known, and gaps begin anew."""
        self._without_node.clear()
        self._without_living.clear()
        for known in self.changes.values():
            known.append((now, None))

    def given_to_others(
        self, messages: Iterable[tuple[float, int, int]], consumer: str, grace_seconds: float
    ) -> list[tuple[float, int, int]]:
        """Messages that `consumer` was given while it had not owned the partition for the grace, nor came to
        own it within that: what is seen is seen late."""
        return [
            (at, partition, offset)
            for at, partition, offset in messages
            if not self._owners_between(partition, at - grace_seconds, at + grace_seconds) & {consumer, None}
        ]

    def _owners_between(self, partition: int, begin: float, end: float) -> set[str | None]:
        owners: set[str | None] = set()
        before: str | None = None
        for time, owner in self.changes.get(partition, ()):
            if time <= begin:
                before = owner
            elif time <= end:
                owners.add(owner)
        return owners | {before}


def _lasting(since: dict[int, float], partition: int, now: float, is_so: bool) -> float:
    """For how long it has been so, from what `since` remembers."""
    if not is_so:
        since.pop(partition, None)
        return 0.0
    return now - since.setdefault(partition, now)
