"""What is to become of acquired records: those in the caller's hands, and what was decided but not sent yet.

Owns the account of that, from hand-out to the request that tells the broker. Does no I/O. The caller's thread
and the event loop's use it at the same time.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from barnabas.client.share.records import (
    ACKNOWLEDGE_CODES,
    AcknowledgementBatch,
    AcknowledgeType,
    Acquisition,
    ShareRecord,
)
from barnabas.errors import BarnabasError, MisuseError
from barnabas.types import TopicPartition
from barnabas.values import frozen

RENEW = ACKNOWLEDGE_CODES["renew"]


@frozen
class AcknowledgementResult:
    """The outcome of the acknowledgements of one partition that went to its broker together."""

    partition: TopicPartition
    offsets: list[int]
    error: BarnabasError | None


@dataclass(slots=True)
class PartitionAcknowledgements:
    """What one request is to say of one partition."""

    partition: TopicPartition
    topic_id: UUID
    session_number: int
    codes: dict[int, int] = field(default_factory=dict[int, int])
    """By offset, what the caller decided."""
    unreadable: list[AcknowledgementBatch] = field(default_factory=list[AcknowledgementBatch])
    renewed: dict[int, ShareRecord[Any, Any]] = field(default_factory=dict[int, ShareRecord[Any, Any]])

    def batches(self) -> list[tuple[int, int, list[int]]]:
        """(first offset, last offset, codes), in order; one code stands for all offsets of its batch."""
        own = acknowledgement_batches(self.codes)
        return sorted(own + [(r.first, r.last, [r.code]) for r in self.unreadable])

    def result(self, error: BarnabasError | None) -> AcknowledgementResult:
        return AcknowledgementResult(self.partition, sorted(self.codes), error)


def acknowledgement_batches(codes: Mapping[int, int]) -> list[tuple[int, int, list[int]]]:
    """Codes by offset as runs of offsets, with one code for all or one for each."""
    batches: list[tuple[int, int, list[int]]] = []
    run: list[int] = []
    first = last = -1
    for offset in sorted(codes):
        if run and offset == last + 1:
            run.append(codes[offset])
        else:
            if run:
                batches.append((first, last, _shortened(run)))
            first, run = offset, [codes[offset]]
        last = offset
    if run:
        batches.append((first, last, _shortened(run)))
    return batches


def _shortened(codes: list[int]) -> list[int]:
    return codes[:1] if codes.count(codes[0]) == len(codes) else codes


_Key = tuple[TopicPartition, UUID, int]
"""Partition, topic id, and the number of the session in which the records were acquired."""


class ShareLedger:
    """Every record that was handed out is in hand until something is decided of it; what is decided is kept
    for the broker that lent the record, until `take`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_hand: dict[ShareRecord[Any, Any], None] = {}
        self._decided: defaultdict[int, dict[_Key, PartitionAcknowledgements]] = defaultdict(dict)

    def hand_out(self, records: Iterable[ShareRecord[Any, Any]]) -> None:
        with self._lock:
            self._in_hand.update(dict.fromkeys(records))

    def withdraw(self, records: Iterable[ShareRecord[Any, Any]]) -> None:
        """The caller never got these: they are not in hand."""
        with self._lock:
            for record in records:
                self._in_hand.pop(record, None)

    def first_in_hand(self) -> ShareRecord[Any, Any] | None:
        """A record that nothing was decided of, if there is one."""
        with self._lock:
            return next(iter(self._in_hand), None)

    def accept_all(self) -> None:
        """Whatever is in hand was worked off."""
        with self._lock:
            for record in self._in_hand:
                self._decide(record, ACKNOWLEDGE_CODES["accept"])
            self._in_hand.clear()

    def finish(self, record: ShareRecord[Any, Any]) -> None:
        """Accepts a record if it is still in hand."""
        with self._lock:
            if record in self._in_hand:
                del self._in_hand[record]
                self._decide(record, ACKNOWLEDGE_CODES["accept"])

    def decide(self, record: ShareRecord[Any, Any], acknowledge_type: AcknowledgeType) -> None:
        """A later decision replaces an earlier one that was not sent yet. Raises: MisuseError."""
        code = ACKNOWLEDGE_CODES.get(acknowledge_type)
        if code is None:
            kinds = ", ".join(ACKNOWLEDGE_CODES)
            raise MisuseError(f"a record is acknowledged as one of {kinds}, not {acknowledge_type!r}")
        with self._lock:
            if record in self._in_hand:
                del self._in_hand[record]
            elif record.offset not in self._of(record.acquisition).codes:
                raise MisuseError(
                    f"{record.acquisition.partition} at offset {record.offset}: the record was acknowledged "
                    "before, or this consumer did not deliver it"
                )
            self._decide(record, code)

    def add_unreadable(self, acquisition: Acquisition, ranges: Sequence[AcknowledgementBatch]) -> None:
        """Acquired offsets that nobody will be given."""
        if ranges:
            with self._lock:
                self._of(acquisition).unreadable += ranges

    def forget_all(self) -> None:
        """Nothing of what was acquired so far is ours any more."""
        with self._lock:
            self._in_hand.clear()
            self._decided.clear()

    def node_ids(self) -> list[int]:
        """The brokers that have not been told all that was decided."""
        with self._lock:
            return [
                node_id
                for node_id, kept in self._decided.items()
                if any(k.codes or k.unreadable for k in kept.values())
            ]

    def decided(self, node_id: int) -> set[TopicPartition]:
        """The partitions of which the caller decided something that this broker has not been told."""
        with self._lock:
            return {entry.partition for entry in self._decided.get(node_id, {}).values() if entry.codes}

    def take(self, node_id: int) -> list[PartitionAcknowledgements]:
        """All that is to be told to a broker, which is then gone from here."""
        with self._lock:
            kept = self._decided.pop(node_id, {})
        return [entry for entry in kept.values() if entry.codes or entry.unreadable]

    def put_back(self, node_id: int, entries: Iterable[PartitionAcknowledgements]) -> None:
        """What was taken is not going to be told by whoever took it."""
        with self._lock:
            of_node = self._decided[node_id]
            for entry in entries:
                key = (entry.partition, entry.topic_id, entry.session_number)
                later = of_node.get(key)
                if later is not None:
                    entry.codes |= later.codes
                    entry.renewed |= later.renewed
                    entry.unreadable += later.unreadable
                of_node[key] = entry

    def _decide(self, record: ShareRecord[Any, Any], code: int) -> None:
        entry = self._of(record.acquisition)
        entry.codes[record.offset] = code
        if code == RENEW:
            entry.renewed[record.offset] = record
        else:
            entry.renewed.pop(record.offset, None)

    def _of(self, acquisition: Acquisition) -> PartitionAcknowledgements:
        of_node = self._decided[acquisition.node_id]
        key = (acquisition.partition, acquisition.topic_id, acquisition.session_number)
        entry = of_node.get(key)
        if entry is None:
            entry = of_node[key] = PartitionAcknowledgements(*key)
        return entry
