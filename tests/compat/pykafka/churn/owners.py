"""Who owned which partition when, as ZooKeeper's own log has it, and for how long nobody that lived did.

Owns the timeline and its figures. It is fed changes of nodes, of a log or made up by a test; it knows neither
ZooKeeper nor processes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.compat.pykafka.churn.transactions import NodeChange

Span = tuple[float, float]
FOREVER = float("inf")


@dataclass(frozen=True)
class Gap:
    """A time in which nobody that lived owned the partition. `disturbed_at`: when members came or went last
    before its end, or ZooKeeper came back, if that was in it; else its beginning. `owed_to`: whose the
    partition was to be, of the members that there were then."""

    partition: int
    begin: float
    end: float
    disturbed_at: float
    owed_to: str | None

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    @property
    def seconds_undisturbed(self) -> float:
        return self.end - self.disturbed_at


@dataclass
class OwnerTimeline:
    """The group `group` on a topic of so many partitions, whose members claim them by pykafka's range."""

    group: str
    partitions: int
    _spans: dict[int, list[tuple[float, float, str]]] = field(default_factory=dict)
    _members: list[tuple[float, frozenset[str]]] = field(default_factory=list)

    @classmethod
    def of(cls, changes: Iterable[NodeChange], group: str, partitions: int) -> OwnerTimeline:
        timeline = cls(group, partitions)
        held: dict[str, tuple[float, str]] = {}
        members: frozenset[str] = frozenset()
        for change in changes:
            folder, _, name = change.path.rpartition("/")
            if folder == f"/consumers/{group}/ids":
                members = members - {name} if change.data is None else members | {name}
                timeline._members.append((change.at, members))
            elif folder.startswith(f"/consumers/{group}/owners/"):
                if change.path in held:
                    begin, owner = held.pop(change.path)
                    timeline._add(name, begin, change.at, owner)
                if change.data is not None:
                    held[change.path] = (change.at, change.data.decode())
        for path, (begin, owner) in held.items():
            timeline._add(path, begin, FOREVER, owner)
        for spans in timeline._spans.values():
            spans.sort()
        return timeline

    def _add(self, path: str, begin: float, end: float, owner: str) -> None:
        self._spans.setdefault(int(path.rpartition("-")[2]), []).append((begin, end, owner))

    def owned_twice(self) -> list[tuple[float, int, str, str]]:
        """When, which, and by whom: claims of one partition, by different members, that overlap."""
        return [
            (later[0], partition, earlier[2], later[2])
            for partition, spans in self._spans.items()
            for index, earlier in enumerate(spans)
            for later in spans[index + 1 :]
            if later[0] < earlier[1] and later[2] != earlier[2]
        ]

    def owned_within(self, partition: int, member: str, begin: float, end: float) -> bool:
        """Whether it was `member`'s at any moment of this time."""
        return any(
            owner == member and since <= end and until >= begin
            for since, until, owner in self._spans.get(partition, ())
        )

    def gaps(
        self, begin: float, end: float, asleep: Mapping[str, Sequence[Span]], away: Sequence[Span] = ()
    ) -> Iterator[Gap]:
        """Between these times. `asleep`: when each member was dead or paused; `away`: when ZooKeeper was."""
        disturbed = sorted([at for at, _ in self._members] + [back for _, back in away])
        for partition in range(self.partitions):
            awake = [
                span
                for since, until, owner in self._spans.get(partition, ())
                for span in _without((since, until), asleep.get(owner, ()))
            ]
            for since, until in _without((begin, end), sorted(awake)):
                last = bisect_left(disturbed, until) - 1
                disturbed_at = max(disturbed[last], since) if last >= 0 else since
                yield Gap(partition, since, until, disturbed_at, self._owed_to(partition, disturbed_at))

    def unnoticed(
        self, asleep: Mapping[str, Sequence[Span]], away: Sequence[Span] = ()
    ) -> Iterator[tuple[float, int, str]]:
        """For how many seconds each partition was that of a member which was dead or paused. ZooKeeper gives
        sessions all of their time again when it comes back."""
        for partition, spans in self._spans.items():
            for since, until, owner in spans:
                for begin, end in asleep.get(owner, ()):
                    for piece in _without((max(since, begin), min(until, end)), away):
                        yield piece[1] - piece[0], partition, owner

    def _owed_to(self, partition: int, at: float) -> str | None:
        index = bisect_right([when for when, _ in self._members], at)
        members = sorted(self._members[index - 1][1]) if index else []
        each, left_over = divmod(self.partitions, len(members) or 1)
        shares = [member for place, member in enumerate(members) for _ in range(each + (place < left_over))]
        return shares[partition] if shares else None


def _without(span: Span, others: Iterable[Span]) -> list[Span]:
    """What is left of a time without other times, which are in order of their beginning."""
    begin, end = span
    left: list[Span] = []
    for since, until in others:
        if since > begin:
            left.append((begin, min(since, end)))
        begin = max(begin, until)
        if begin >= end:
            return [each for each in left if each[0] < each[1]]
    left.append((begin, end))
    return [each for each in left if each[0] < each[1]]
