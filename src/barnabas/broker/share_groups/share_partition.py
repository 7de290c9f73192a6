"""The records of a partition as a share group has them: who has which in hand, and what became of them.

Pure. Owns that a record is in one member's hand at a time, that its deliveries are counted and end with the
group's limit, and that the window moves up over what is decided. Must not know time beyond the deadlines it
is given, nor storage, logs or requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from barnabas.broker.share_groups.offset_spans import DECIDED, OffsetSpans, RecordState, Span, merged
from barnabas.broker_errors import InvalidRecordStateError, InvalidRequestError


class Acknowledgement(IntEnum):
    """What a member says of a record, with Kafka's numbers."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


@dataclass(frozen=True, slots=True)
class RecordDecision:
    """Of the records from `first` to `last`."""

    first: int
    last: int
    kind: Acknowledgement


@dataclass(frozen=True, slots=True)
class LendingLimits:
    """How much is lent at once. With `is_exact` no more than `max_records`, else whole batches; what is told
    as one is `batch_size` records at least, where batches let. `max_in_hand` bounds the window."""

    max_records: int
    batch_size: int
    is_exact: bool
    max_in_hand: int


class SharePartition:
    """`start_offset`: the first record that is not decided. `end_offset`: the first that was never lent."""

    def __init__(self, start_offset: int, spans: Iterable[Span] = ()) -> None:
        self.start_offset = self.end_offset = start_offset
        self._spans = OffsetSpans()
        for span in spans:
            if span.last >= start_offset:
                self._fill_up_to(max(span.first, start_offset), RecordState.AVAILABLE)
                self._append(Span(self.end_offset, span.last, span.state, span.delivery_count))
        self.advance()

    @property
    def decided_count(self) -> int:
        """Records in the window that are decided, though others before them are not."""
        return sum(len(span) for span in self._spans if span.state in DECIDED)

    def _append(self, span: Span) -> None:
        self._spans.put(span)
        self.end_offset = span.last + 1

    def _fill_up_to(self, offset: int, state: RecordState) -> None:
        if self.end_offset < offset:
            self._append(Span(self.end_offset, offset - 1, state))

    # Lending

    def next_offset(self, max_in_hand: int) -> int | None:
        """Where to read on; None if nothing may be lent now."""
        for span in self._spans:
            if span.state is RecordState.AVAILABLE:
                return span.first
        return self.end_offset if self.end_offset - self.start_offset < max_in_hand else None

    def lend(
        self, member: str, batches: Sequence[tuple[int, int]], limits: LendingLimits, deadline: float
    ) -> list[Span]:
        """Lends what may be lent of batches that were read: first and last offset of each. As it is told."""
        lent: list[Span] = []
        told: list[Span] = []
        for first, last in batches:
            room = limits.max_records - sum(map(len, lent))
            if room <= 0:
                break
            most = room if limits.is_exact else last - first + 1
            again = self._lend_again(member, max(first, self.start_offset), last, most, deadline)
            lent += again
            told += again
            most -= sum(map(len, again))
            new = self._lend_new(member, first, last, most, limits.max_in_hand, deadline)
            if new is None:
                continue
            lent.append(new)
            is_open = bool(told) and told[-1].last + 1 == new.first and told[-1].delivery_count == 1
            if is_open and len(told[-1]) < limits.batch_size:
                told[-1] = Span(told[-1].first, new.last, new.state, 1)
            else:
                told.append(new)
        return _told(told)

    def _lend_again(self, member: str, first: int, last: int, most: int, deadline: float) -> list[Span]:
        lent: list[Span] = []
        known_last = min(last, self.end_offset - 1)
        for span in self._spans.between(first, known_last) if first <= known_last else ():
            if most <= 0:
                break
            if span.state is not RecordState.AVAILABLE:
                continue
            if len(span) > most:
                [span] = self._spans.between(span.first, span.first + most - 1)
            span.state, span.member, span.deadline = RecordState.ACQUIRED, member, deadline
            span.delivery_count += 1
            lent.append(span)
            most -= len(span)
        return lent

    def _lend_new(
        self, member: str, first: int, last: int, most: int, max_in_hand: int, deadline: float
    ) -> Span | None:
        if last < self.end_offset or most <= 0 or self.end_offset - self.start_offset >= max_in_hand:
            return None
        # Compaction has left offsets out.
        self._fill_up_to(first, RecordState.ARCHIVED)
        last = min(last, self.end_offset + most - 1)
        span = Span(self.end_offset, last, RecordState.ACQUIRED, 1, member, deadline)
        self._append(span)
        return span

    # What becomes of records

    def decide(
        self, member: str, decisions: Sequence[RecordDecision], delivery_limit: int, deadline: float
    ) -> list[Span]:
        """All of it, or none. The spans that are to be kept. `deadline` is for what is renewed.

        Raises: InvalidRequestError, InvalidRecordStateError.
        """
        found: list[tuple[Acknowledgement, list[Span]]] = []
        for decision in decisions:
            first = max(decision.first, self.start_offset)
            if decision.last < first:
                continue
            self._check_range(first, decision.last)
            spans = self._spans.between(first, decision.last)
            for span in spans:
                if span.state is not RecordState.ACQUIRED:
                    raise InvalidRecordStateError(
                        "The offset cannot be acknowledged. The offset is not acquired."
                    )
                if span.member != member:
                    raise InvalidRecordStateError("Member is not the owner of batch record")
            found.append((decision.kind, spans))
        changed: list[Span] = []
        for kind, spans in found:
            for span in spans:
                if kind is Acknowledgement.RENEW:
                    span.deadline = deadline
                    continue
                self._end_loan(span, kind, delivery_limit)
                changed.append(span)
        return merged(changed)

    def _check_range(self, first: int, last: int) -> None:
        for which, offset in (("first", first), ("last", last)):
            if offset >= self.end_offset:
                raise InvalidRequestError(
                    f"Batch record not found. The {which} offset in request is past acquired records."
                )

    @staticmethod
    def _end_loan(span: Span, kind: Acknowledgement, delivery_limit: int) -> None:
        span.member, span.deadline = "", 0.0
        if kind is Acknowledgement.ACCEPT:
            span.state = RecordState.ACKNOWLEDGED
        elif kind is Acknowledgement.RELEASE and span.delivery_count < delivery_limit:
            span.state = RecordState.AVAILABLE
        else:
            span.state = RecordState.ARCHIVED

    def release(self, member: str, delivery_limit: int) -> list[Span]:
        """All that the member has in hand. The spans that are to be kept."""
        return self._release_each(lambda span: span.member == member, delivery_limit)

    def release_expired(self, now: float, delivery_limit: int) -> list[Span]:
        """What was in hand for too long. The spans that are to be kept."""
        return self._release_each(lambda span: span.deadline <= now, delivery_limit)

    def _release_each(self, is_meant: Callable[[Span], bool], delivery_limit: int) -> list[Span]:
        changed = [span for span in self._spans if span.state is RecordState.ACQUIRED and is_meant(span)]
        for span in changed:
            self._end_loan(span, Acknowledgement.RELEASE, delivery_limit)
        return merged(changed)

    def next_deadline(self) -> float | None:
        return min(
            (span.deadline for span in self._spans if span.state is RecordState.ACQUIRED), default=None
        )

    def take_back(self, first: int, last: int) -> list[Span]:
        """Of a transaction that was aborted: nobody is to have these. The spans that are to be kept."""
        first, last = max(first, self.start_offset), min(last, self.end_offset - 1)
        spans = self._spans.between(first, last) if first <= last else []
        for span in spans:
            span.state, span.member, span.deadline = RecordState.ARCHIVED, "", 0.0
        return merged(spans)

    def advance(self) -> None:
        """Moves the window up over what is decided."""
        start = self.end_offset
        for span in self._spans:
            if span.state not in DECIDED:
                start = span.first
                break
        self._start_at(start)

    def skip_to(self, offset: int) -> None:
        """What is before the offset is gone from the log."""
        if offset > self.start_offset:
            self._start_at(offset)
            self.end_offset = max(self.end_offset, offset)

    def _start_at(self, offset: int) -> None:
        self.start_offset = offset
        self._spans.drop_before(offset)


def _told(lent: Iterable[Span]) -> list[Span]:
    """Neighbours that were lent again the same number of times are told as one; new ones stay as they are."""
    found: list[Span] = []
    for span in lent:
        last = found[-1] if found else None
        if (
            last is not None
            and span.delivery_count > 1
            and (last.last + 1, last.delivery_count) == (span.first, span.delivery_count)
        ):
            last.last = span.last
        else:
            found.append(Span(span.first, span.last, span.state, span.delivery_count))
    return found
