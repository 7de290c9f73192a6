"""The closed batches of one partition on their way: their order, and the sequence numbers of idempotence.

Owns what may be sent next and what a failure means for the batches behind it (KIP-98, KIP-360). Does no I/O;
knows nothing of requests, brokers or error codes.

A batch keeps its sequence through every retry, so that the broker tells a duplicate. While a batch is tried
again, the ones behind it wait, which keeps the order. When it is certain that a sequence will never arrive
(a batch failed for good, or the broker lost its state), the rest of the partition's batches go on under the
next epoch, from sequence 0: epochs of an idempotent producer count for each partition by itself. Those of a
transactional one are the coordinator's: there the transaction is lost, and a new epoch comes from outside.

A broker takes any first sequence from a producer that it does not know. Were the first batch of an epoch
refused and the one behind it taken, that one would be out of order and, under the next epoch, sent twice.
So until the first batch is acknowledged, and with that known to every later leader, it is the only one.
"""

from __future__ import annotations

from bisect import insort

from barnabas._kernel import ProducerBatch
from barnabas.client.produce.counters import PartitionCounters
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition
from barnabas.values import mutable

NO_PRODUCER_ID = -1
HIGHEST_EPOCH = 32_767
SEQUENCES = 2**31


@mutable
class PendingBatch:
    """A closed batch until it is delivered or has failed."""

    batch: ProducerBatch
    order: tuple[int, ...]
    """Its place among the batches of the partition; the parts of a split batch go in its place."""
    record_count: int
    size: int
    sequence: int | None = None
    """Sequence of its first record, counted without the wrap at 2**31. None before it was first sent."""
    attempts: int = 0
    hang_ups: int = 0
    """How often the broker closed the connection instead of answering its request."""
    last_error: BarnabasError | None = None
    is_done: bool = False

    @property
    def broken_because(self) -> str | None:
        """Why it can never be sent."""
        return self.batch.broken_because

    def __lt__(self, other: PendingBatch) -> bool:
        return self.order < other.order


class PartitionQueue:
    """`is_idempotent`: batches carry sequences, and none overtakes one that is tried again.
    `is_transactional`: batches belong to transactions, too."""

    def __init__(
        self, partition: TopicPartition, *, is_idempotent: bool, is_transactional: bool = False
    ) -> None:
        self.partition = partition
        self.counters = PartitionCounters()
        self.waiting: list[PendingBatch] = []
        self.in_flight: list[PendingBatch] = []
        self.not_before = 0.0
        """No batch is sent before this moment of `CLOCK.monotonic()`."""
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = -1
        self.exhausted_producer_id: int | None = None
        """A producer id that has no epoch left for this partition."""
        self.is_known_to_brokers = False
        """Whether a batch of the present producer id and epoch was acknowledged."""
        self._is_idempotent = is_idempotent
        self._is_transactional = is_transactional
        self._next_sequence = 0
        self._gap_end: int | None = None
        self._needs_new_epoch = False
        self._next_order = 0

    def add(self, batch: ProducerBatch) -> PendingBatch:
        """A batch that was just closed, behind all others."""
        pending = self._pending(batch)
        self.waiting.append(pending)
        return pending

    def _pending(self, batch: ProducerBatch) -> PendingBatch:
        pending = PendingBatch(batch, (self._next_order,), batch.record_count, batch.size)
        self._next_order += 1
        return pending

    @property
    def needs_producer_id(self) -> bool:
        return self._is_idempotent and self.producer_id == NO_PRODUCER_ID

    def set_producer_id(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.is_known_to_brokers = False
        self._next_sequence = 0
        self._gap_end = None
        self._needs_new_epoch = False

    @property
    def has_used_epoch(self) -> bool:
        """Whether sequences of the present epoch were used."""
        return self._next_sequence > 0

    @property
    def can_be_forgotten(self) -> bool:
        """Whether nothing is on its way, and another queue may begin anew: with a later epoch, if this one's
        is used, which a transactional producer cannot choose."""
        return not (self.waiting or self.in_flight or (self._is_transactional and self.has_used_epoch))

    def next_to_send(self, max_in_flight: int) -> PendingBatch | None:
        """The batch that may be sent now, if its time (`not_before`) has come."""
        if not self.waiting or len(self.in_flight) >= max_in_flight:
            return None
        head = self.waiting[0]
        if self._is_idempotent:
            self._resolve_gap()
            if self._needs_new_epoch or self.needs_producer_id:
                return None
            if self.in_flight and (head.sequence is not None or not self.is_known_to_brokers):
                return None
        return head if head.batch.is_sealed else None

    def sent(self, pending: PendingBatch) -> memoryview:
        """The bytes of the batch that `next_to_send` gave, which is in flight from now on."""
        self.waiting.remove(pending)
        self._depart(pending)
        if pending.sequence is None:
            return pending.batch.encode()
        return pending.batch.encode(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=pending.sequence % SEQUENCES,
            is_transactional=self._is_transactional,
        )

    def next_place(self) -> tuple[int, int, int] | None:
        """Producer id, epoch and first sequence of a batch that is sent before anything else happens here.
        None where there is something to be done first, or on its way."""
        if self.waiting or self.in_flight or self._is_transactional:
            return None
        if not self._is_idempotent:
            return NO_PRODUCER_ID, -1, -1
        if self._needs_new_epoch or self._gap_end is not None or not self.is_known_to_brokers:
            return None
        return self.producer_id, self.producer_epoch, self._next_sequence % SEQUENCES

    def sent_directly(self, batch: ProducerBatch) -> PendingBatch:
        """A batch that has left with what `next_place` said."""
        pending = self._pending(batch)
        self._depart(pending)
        return pending

    def delivered_directly(self, records: int) -> None:
        """Batches of so many records left, the first with what `next_place` said, and were delivered."""
        if self._is_idempotent:
            self._next_sequence += records

    def _depart(self, pending: PendingBatch) -> None:
        insort(self.in_flight, pending)
        pending.attempts += 1
        if self._is_idempotent and pending.sequence is None:
            pending.sequence = self._next_sequence
            self._next_sequence += pending.record_count

    def succeeded(self, pending: PendingBatch) -> None:
        self._remove(pending)
        self.is_known_to_brokers = True
        # The broker takes sequences only without gaps: one behind the gap means that there is none.
        if self._gap_end is not None and pending.sequence is not None and pending.sequence >= self._gap_end:
            self._gap_end = None

    def failed(self, pending: PendingBatch) -> None:
        """Given up for good; whether the broker has it may not be known."""
        self._remove(pending)
        if not any(waiting.attempts for waiting in self.waiting):
            # The back-off was that of batches which are not tried again.
            self.not_before = 0.0
        if pending.sequence is not None:
            self._gap_end = max(self._gap_end or 0, pending.sequence + pending.record_count)

    def retry(self, pending: PendingBatch, not_before: float) -> None:
        """To be sent again, in its place, with its sequence."""
        self._remove(pending)
        insort(self.waiting, pending)
        self.not_before = max(self.not_before, not_before)

    def sequence_refused(self, pending: PendingBatch, not_before: float) -> bool:
        """The broker did not expect this sequence, so it has not stored the batch. Whether it is sent again.

        The batch behind one that has not arrived yet only has to wait for it. The first of those under way
        says that the broker and we disagree for good: a new epoch begins, or the transaction is lost.
        """
        is_first = not any(other < pending for other in (*self.in_flight, *self.waiting))
        if is_first and self._is_transactional:
            return False
        self.retry(pending, not_before)
        if is_first:
            self._needs_new_epoch = True
            self._resolve_gap()
        return True

    def give_up_sent(self) -> list[PendingBatch]:
        """Nobody knows which sequences were used. All batches that may have been sent leave the queue; the
        others, which are returned, go on under a new epoch. That of a transactional producer comes with the
        end of its transaction, which fails with the first of those that leave."""
        self.in_flight.clear()
        self.waiting = [pending for pending in self.waiting if not pending.attempts]
        self.not_before = 0.0
        may_go_on = self._is_idempotent and not self._is_transactional
        self._needs_new_epoch = may_go_on and self.producer_id != NO_PRODUCER_ID
        return self.waiting

    def replace(self, pending: PendingBatch, parts: list[ProducerBatch]) -> list[PendingBatch]:
        """The parts of a batch that was too large take its place and, together, its sequences."""
        self._remove(pending)
        replacements: list[PendingBatch] = []
        sequence = pending.sequence
        for number, part in enumerate(parts):
            replacement = PendingBatch(part, (*pending.order, number), part.record_count, part.size)
            if sequence is not None:
                replacement.sequence = sequence
                sequence += part.record_count
            replacements.append(replacement)
            insort(self.waiting, replacement)
        return replacements

    def _remove(self, pending: PendingBatch) -> None:
        if pending in self.in_flight:
            self.in_flight.remove(pending)
        elif pending in self.waiting:
            self.waiting.remove(pending)

    def _resolve_gap(self) -> None:
        """Begins a new epoch when it is due and no answer is outstanding that could tell otherwise."""
        if self.in_flight or self._is_transactional:
            return
        if self._gap_end is not None and not any(p.sequence is not None for p in self.waiting):
            self._needs_new_epoch = True
        if not self._needs_new_epoch:
            return
        self._needs_new_epoch = False
        self._gap_end = None
        self.is_known_to_brokers = False
        self._next_sequence = 0
        for pending in self.waiting:
            pending.sequence = None
        if self.producer_epoch < HIGHEST_EPOCH:
            self.producer_epoch += 1
        else:
            self.exhausted_producer_id = self.producer_id
            self.producer_id = NO_PRODUCER_ID
