"""What a partition remembers of producers (KIP-98): epochs, the last five batches of each, the transactions
that are open, and which ones were aborted.

Owns the rules on sequence numbers, and where the data ends that is decided. Knows nothing of files but the
shape of its own snapshot.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas._kernel import BatchInfo
from barnabas.broker.log.markers import EndMarker
from barnabas.broker_errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    TransactionCoordinatorFencedError,
)

# A producer may have five requests in flight, so that many may come again.
REMEMBERED_BATCHES = 5
SEQUENCES = 1 << 31
NO_SEQUENCE = -1
SNAPSHOT_VERSION = 2


class AppendedBatch(NamedTuple):
    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int
    """The batch's greatest timestamp, in milliseconds."""


class AbortedSpan(NamedTuple):
    """A transaction that was aborted in this partition, from its first record to its marker.

    What lies below `last_stable_offset` was decided when the marker came.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(slots=True)
class PartitionProducer:
    """A producer as a partition knows it. `first_offset` is where its open transaction begins."""

    epoch: int
    last_append_ms: int
    batches: deque[AppendedBatch] = field(
        default_factory=lambda: deque[AppendedBatch](maxlen=REMEMBERED_BATCHES)
    )
    first_offset: int | None = None
    coordinator_epoch: int = -1
    last_timestamp: int = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def begin_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


def last_sequence(batch: BatchInfo) -> int:
    """The sequence number of a batch's last record; they wrap around at 2^31."""
    return (batch.base_sequence + batch.last_offset - batch.base_offset) % SEQUENCES


class ProducerStates:
    """The producers of one partition by producer id."""

    def __init__(self) -> None:
        self.by_id: dict[int, PartitionProducer] = {}
        self.aborted: list[AbortedSpan] = []
        """In the order of their markers."""
        self._open: dict[int, int] = {}
        """Where open transactions begin, by producer id, the earliest first."""

    def __len__(self) -> int:
        return len(self.by_id)

    # Before an append

    def check(self, batch: BatchInfo) -> AppendedBatch | None:
        """Whether the batch may be appended; the earlier batch if it is a repetition of that.

        Raises: InvalidProducerEpochError, OutOfOrderSequenceNumberError, InvalidTxnStateError.
        """
        known = self.by_id.get(batch.producer_id)
        # An unknown producer may begin anywhere: retention may have removed what we knew of it (KIP-360).
        if batch.producer_id < 0 or known is None:
            return None
        self._check_epoch(known, batch.producer_id, batch.producer_epoch)
        if batch.base_sequence >= 0:
            earlier = self._check_sequence(known, batch)
            if earlier is not None:
                return earlier
        if known.first_offset is not None and not batch.is_transactional:
            raise InvalidTxnStateError(
                f"producer {batch.producer_id} has an open transaction, but its batch belongs to none"
            )
        return None

    @staticmethod
    def _check_epoch(known: PartitionProducer, producer_id: int, epoch: int) -> None:
        if epoch < known.epoch:
            raise InvalidProducerEpochError(
                f"producer {producer_id} has epoch {epoch}, the partition knows {known.epoch}"
            )

    @staticmethod
    def _check_sequence(known: PartitionProducer, batch: BatchInfo) -> AppendedBatch | None:
        if batch.producer_epoch > known.epoch:
            if batch.base_sequence != 0:
                raise OutOfOrderSequenceNumberError(
                    f"producer {batch.producer_id} begins epoch {batch.producer_epoch} "
                    f"with sequence {batch.base_sequence} instead of 0"
                )
            return None
        last = last_sequence(batch)
        for earlier in known.batches:
            if earlier.base_sequence == batch.base_sequence and earlier.last_sequence == last:
                return earlier
        if batch.base_sequence != (known.last_sequence + 1) % SEQUENCES:
            raise OutOfOrderSequenceNumberError(
                f"producer {batch.producer_id} sent sequence {batch.base_sequence}, "
                f"{known.last_sequence} was the last"
            )
        return None

    def check_marker(self, marker: EndMarker, *, needs_newer_epoch: bool) -> None:
        """Whether a transaction may be ended so; with `needs_newer_epoch` (KIP-890) each end has an epoch of
        its own. Raises: InvalidProducerEpochError, TransactionCoordinatorFencedError."""
        known = self.by_id.get(marker.producer_id)
        if known is None:
            return
        self._check_epoch(known, marker.producer_id, marker.producer_epoch)
        if needs_newer_epoch and marker.producer_epoch == known.epoch:
            raise InvalidProducerEpochError(
                f"producer {marker.producer_id} is in epoch {known.epoch} already, in which no transaction "
                "can end that began before"
            )
        if marker.coordinator_epoch < known.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"a coordinator of epoch {marker.coordinator_epoch} ends a transaction of producer "
                f"{marker.producer_id}, after one of epoch {known.coordinator_epoch}"
            )

    def has_open(self, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of this epoch is open."""
        known = self.by_id.get(producer_id)
        return known is not None and known.epoch == epoch and known.first_offset is not None

    # After an append

    def update(self, batches: Iterable[BatchInfo], now_ms: int) -> None:
        """Notes batches of records that are in the log."""
        for batch in batches:
            if batch.producer_id < 0:
                continue
            known = self._known(batch.producer_id, batch.producer_epoch, now_ms)
            known.last_timestamp = batch.max_timestamp
            if batch.is_transactional and known.first_offset is None:
                known.first_offset = self._open[batch.producer_id] = batch.base_offset
            if batch.base_sequence >= 0:
                known.batches.append(
                    AppendedBatch(
                        batch.base_sequence,
                        last_sequence(batch),
                        batch.base_offset,
                        batch.last_offset,
                        batch.max_timestamp,
                    )
                )

    def end(self, marker: EndMarker, offset: int, timestamp: int, now_ms: int) -> None:
        """Notes a marker that is in the log at `offset`."""
        known = self._known(marker.producer_id, marker.producer_epoch, now_ms)
        known.coordinator_epoch = marker.coordinator_epoch
        known.last_timestamp = timestamp
        first_offset, known.first_offset = known.first_offset, None
        self._open.pop(marker.producer_id, None)
        if first_offset is not None and not marker.is_commit:
            stable = offset + 1 if self.first_unstable_offset is None else self.first_unstable_offset
            self.aborted.append(AbortedSpan(marker.producer_id, first_offset, offset, stable))

    def _known(self, producer_id: int, epoch: int, now_ms: int) -> PartitionProducer:
        known = self.by_id.get(producer_id)
        if known is None:
            known = self.by_id[producer_id] = PartitionProducer(epoch, now_ms)
        known.begin_epoch(epoch)
        known.last_append_ms = now_ms
        return known

    def last_batches(self) -> dict[int, tuple[int | None, int]]:
        """By producer id where its records end, None where its epoch has none, and its epoch."""
        return {
            producer_id: (producer.batches[-1].last_offset if producer.batches else None, producer.epoch)
            for producer_id, producer in self.by_id.items()
        }

    def expire(self, before_ms: int) -> None:
        """Forgets producers that appended nothing since, and have no open transaction. Counts by the broker's
        clock, not by the records' timestamps as Kafka does: whoever replays old events must be protected from
        duplicates too."""
        expired = [
            key
            for key, producer in self.by_id.items()
            if producer.last_append_ms < before_ms and producer.first_offset is None
        ]
        for producer_id in expired:
            del self.by_id[producer_id]

    def forget_before(self, log_start_offset: int) -> None:
        """Drops aborted transactions of which nothing is left."""
        del self.aborted[: bisect_left(self.aborted, log_start_offset, key=lambda span: span.last_offset)]

    # Transactions

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the earliest open transaction begins."""
        return next(iter(self._open.values()), None)

    def aborted_between(self, start: int, end: int) -> list[AbortedSpan]:
        """Those with a record or the marker at or after `start`, and a record before `end`."""
        found: list[AbortedSpan] = []
        for span in self.aborted[bisect_left(self.aborted, start, key=lambda span: span.last_offset) :]:
            if span.first_offset < end:
                found.append(span)
            if span.last_stable_offset >= end:
                break
        return found

    def to_bytes(self) -> bytes:
        rows = [
            [
                producer_id,
                producer.epoch,
                producer.last_append_ms,
                list(producer.batches),
                producer.first_offset,
                producer.coordinator_epoch,
                producer.last_timestamp,
            ]
            for producer_id, producer in self.by_id.items()
        ]
        content = {"version": SNAPSHOT_VERSION, "producers": rows, "aborted": self.aborted}
        return json.dumps(content).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> ProducerStates:
        """Raises: ValueError, KeyError or TypeError on anything that `to_bytes` did not write."""
        states = cls()
        snapshot = json.loads(content)
        if snapshot["version"] not in (1, SNAPSHOT_VERSION):
            raise ValueError(f"snapshot version {snapshot['version']}")
        for producer_id, epoch, last_append_ms, batches, *transaction in snapshot["producers"]:
            producer = PartitionProducer(epoch, last_append_ms)
            producer.batches.extend(AppendedBatch(*batch) for batch in batches)
            if transaction:
                producer.first_offset, producer.coordinator_epoch, producer.last_timestamp = transaction
            states.by_id[producer_id] = producer
        states.aborted = [AbortedSpan(*span) for span in snapshot.get("aborted", ())]
        open_ones = [
            (producer.first_offset, key)
            for key, producer in states.by_id.items()
            if producer.first_offset is not None
        ]
        states._open = {key: first_offset for first_offset, key in sorted(open_ones)}
        return states
