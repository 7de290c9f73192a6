"""What a partition remembers of idempotent producers (KIP-98): their epoch and their last five batches.

Owns the rules on sequence numbers. Knows nothing of files but the shape of its own snapshot.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas._kernel import BatchInfo
from barnabas.broker_errors import InvalidProducerEpochError, OutOfOrderSequenceNumberError

# A producer may have five requests in flight, so that many may come again.
REMEMBERED_BATCHES = 5
SEQUENCES = 1 << 31


class AppendedBatch(NamedTuple):
    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int
    """The batch's greatest timestamp, in milliseconds."""


@dataclass(slots=True)
class _Producer:
    epoch: int
    last_append_ms: int
    batches: deque[AppendedBatch] = field(
        default_factory=lambda: deque[AppendedBatch](maxlen=REMEMBERED_BATCHES)
    )


def last_sequence(batch: BatchInfo) -> int:
    """The sequence number of a batch's last record; they wrap around at 2^31."""
    return (batch.base_sequence + batch.last_offset - batch.base_offset) % SEQUENCES


class ProducerStates:
    """The producers of one partition by producer id."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def check(self, batch: BatchInfo) -> AppendedBatch | None:
        """Whether the batch may be appended; the earlier batch if it is a repetition of that.

        Raises: InvalidProducerEpochError, OutOfOrderSequenceNumberError.
        """
        known = self._producers.get(batch.producer_id)
        # An unknown producer may begin anywhere: retention may have removed what we knew of it (KIP-360).
        if batch.producer_id < 0 or known is None:
            return None
        if batch.producer_epoch < known.epoch:
            raise InvalidProducerEpochError(
                f"producer {batch.producer_id} has epoch {batch.producer_epoch}, "
                f"the partition knows {known.epoch}"
            )
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
        if known.batches and batch.base_sequence != (known.batches[-1].last_sequence + 1) % SEQUENCES:
            raise OutOfOrderSequenceNumberError(
                f"producer {batch.producer_id} sent sequence {batch.base_sequence}, "
                f"{known.batches[-1].last_sequence} was the last"
            )
        return None

    def update(self, batches: Iterable[BatchInfo], now_ms: int) -> None:
        """Notes batches that are in the log."""
        for batch in batches:
            if batch.producer_id < 0 or batch.base_sequence < 0:
                continue
            known = self._producers.get(batch.producer_id)
            if known is None or known.epoch != batch.producer_epoch:
                known = self._producers[batch.producer_id] = _Producer(batch.producer_epoch, now_ms)
            known.last_append_ms = now_ms
            known.batches.append(
                AppendedBatch(
                    batch.base_sequence,
                    last_sequence(batch),
                    batch.base_offset,
                    batch.last_offset,
                    batch.max_timestamp,
                )
            )

    def expire(self, before_ms: int) -> None:
        """Forgets producers that appended nothing since. Counts by the broker's clock, not by the records'
        timestamps as Kafka does: whoever replays old events must be protected from duplicates too."""
        expired = [key for key, producer in self._producers.items() if producer.last_append_ms < before_ms]
        for producer_id in expired:
            del self._producers[producer_id]

    def to_bytes(self) -> bytes:
        rows = [
            [producer_id, producer.epoch, producer.last_append_ms, list(producer.batches)]
            for producer_id, producer in self._producers.items()
        ]
        return json.dumps({"version": 1, "producers": rows}).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> ProducerStates:
        """Raises: ValueError, KeyError or TypeError on anything that `to_bytes` did not write."""
        states = cls()
        snapshot = json.loads(content)
        if snapshot["version"] != 1:
            raise ValueError(f"snapshot version {snapshot['version']}")
        for producer_id, epoch, last_append_ms, batches in snapshot["producers"]:
            producer = _Producer(epoch, last_append_ms)
            producer.batches.extend(AppendedBatch(*batch) for batch in batches)
            states._producers[producer_id] = producer
        return states
