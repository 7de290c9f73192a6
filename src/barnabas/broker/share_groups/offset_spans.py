"""Neighbouring offsets that have the same state, as spans: how what became of records is held and kept.

Pure. Owns that spans do not overlap and are in order. Must not know what a state means.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum


class RecordState(IntEnum):
    """Of a record in a share partition, with Kafka's numbers."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


DECIDED = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
"""What is not delivered any more."""


@dataclass(slots=True)
class Span:
    """Offsets from `first` to `last`. `member` has them until `deadline` where they are acquired."""

    first: int
    last: int
    state: RecordState = RecordState.AVAILABLE
    delivery_count: int = 0
    member: str = ""
    deadline: float = 0.0

    def __len__(self) -> int:
        return self.last - self.first + 1


class OffsetSpans:
    """Spans by offset, with no two of them over one offset."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._spans: list[Span] = []
        for span in spans:
            self.put(span)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetSpans) and self._spans == other._spans

    def __iter__(self) -> Iterator[Span]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def end(self) -> int:
        """The offset after the last one; -1 where there is none."""
        return self._spans[-1].last + 1 if self._spans else -1

    def between(self, first: int, last: int) -> list[Span]:
        """The spans within both offsets, cut there so that they may be changed."""
        self._cut(first)
        self._cut(last + 1)
        return self._spans[self._place(first) : self._place(last + 1)]

    def put(self, span: Span) -> None:
        """In the place of all that was there."""
        self._cut(span.first)
        self._cut(span.last + 1)
        self._spans[self._place(span.first) : self._place(span.last + 1)] = [span]

    def drop_before(self, offset: int) -> None:
        self._cut(offset)
        del self._spans[: self._place(offset)]

    def _place(self, offset: int) -> int:
        """Of the first span that begins at the offset or later."""
        return bisect_right(self._spans, offset - 1, key=_first)

    def _cut(self, offset: int) -> None:
        place = self._place(offset)
        if place and self._spans[place - 1].last >= offset:
            before = self._spans[place - 1]
            self._spans.insert(place, replace(before, first=offset))
            before.last = offset - 1


def _first(span: Span) -> int:
    return span.first


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same with neighbours of the same state and count in one; of members nothing is left."""
    found: list[Span] = []
    for span in spans:
        last = found[-1] if found else None
        if last is not None and (last.last + 1, last.state, last.delivery_count) == (
            span.first,
            span.state,
            span.delivery_count,
        ):
            last.last = span.last
        else:
            found.append(Span(span.first, span.last, span.state, span.delivery_count))
    return found
