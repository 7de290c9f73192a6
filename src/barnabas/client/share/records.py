"""The records of a share group as they were acquired: which of a fetch's records are ours, and for how long.

Pure functions and plain data; knows nothing of brokers, nor of what becomes of a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, final
from uuid import UUID

from barnabas._kernel import Record, RecordReader, scan_batches
from barnabas.client.deserializing import Deserializing
from barnabas.errors import CorruptBatchError
from barnabas.types import Buffer, K, TopicPartition, V
from barnabas.values import frozen

AcknowledgeType = Literal["accept", "release", "reject", "renew"]
"""`accept`: done with. `release`: to be delivered again, to any member. `reject`: never again.
`renew`: still being worked on; the acquisition lock starts anew (KIP-1222)."""

GAP = 0
ACKNOWLEDGE_CODES: dict[AcknowledgeType, int] = {"accept": 1, "release": 2, "reject": 3, "renew": 4}
"""As a request has them. A gap is an offset without a record: compacted away, or a transaction's marker."""

_RECORDS_AT_ONCE = 10_000


@frozen
class Acquisition:
    """How some records of a partition came to be ours."""

    node_id: int
    session_number: int
    partition: TopicPartition
    topic_id: UUID
    locked_until: float
    """On the clock of `CLOCK.monotonic()`; after that they are delivered again."""


@final
class ShareRecord(Generic[K, V]):
    """A record that a share group has lent to this consumer. `timestamp` in milliseconds since 1970.

    `delivery_count` is 1 the first time that the record is delivered. Equal only to itself, since every
    delivery is acknowledged on its own.
    """

    __slots__ = ("acquisition", "delivery_count", "record")

    def __init__(self, record: Record[K, V], delivery_count: int, acquisition: Acquisition) -> None:
        self.record = record
        self.delivery_count = delivery_count
        self.acquisition = acquisition

    @property
    def raw(self) -> Record:
        """The record with its key and value as bytes."""
        return self.record.raw

    @property
    def topic(self) -> str:
        """Name of the topic."""
        return self.record.topic

    @property
    def partition(self) -> int:
        """Number of the partition."""
        return self.record.partition

    @property
    def offset(self) -> int:
        """The record's number in its partition."""
        return self.record.offset

    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970; -1 where there is none."""
        return self.record.timestamp

    @property
    def timestamp_type(self) -> int:
        """Who set `timestamp`, as a number of `barnabas.TimestampType`."""
        return self.record.timestamp_type

    @property
    def key(self) -> K | None:
        """Bytes are a new object at each access; None where there is none."""
        return self.record.key

    @property
    def value(self) -> V | None:
        """Bytes are a new object at each access; None is a tombstone in a compacted topic."""
        return self.record.value

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Pairs of name and value in the order of the producer; a name may come more than once."""
        return self.record.headers

    @property
    def leader_epoch(self) -> int | None:
        """Epoch of the leader that took the record; None where the broker does not tell."""
        return self.record.leader_epoch

    def __repr__(self) -> str:
        return f"ShareRecord({self.record!r}, delivery_count={self.delivery_count})"


@frozen
class AcknowledgementBatch:
    """Offsets from `first` to `last`, both included, and what the broker is to do with them."""

    first: int
    last: int
    code: int


@dataclass(slots=True)
class AcquiredRecords:
    """What is in a partition's part of an answer."""

    records: list[ShareRecord[Any, Any]] = field(default_factory=list["ShareRecord[Any, Any]"])
    unreadable: list[AcknowledgementBatch] = field(default_factory=list[AcknowledgementBatch])
    """Acquired offsets that no caller will see."""
    error: CorruptBatchError | None = None


@frozen
class _Corruption:
    """Where reading stopped, and the last offset of what cannot be read, if its header tells."""

    first: int
    last: int | None


def read_acquired(
    acquisition: Acquisition,
    data: Buffer,
    acquired: Sequence[tuple[int, int, int]],
    *,
    check_crcs: bool,
    max_decompressed_bytes: int = 1 << 30,
    deserializing: Deserializing | None = None,
) -> AcquiredRecords:
    """The records in `data` within `acquired`: (first offset, last offset, delivery count), in order.

    A batch that cannot be read is rejected, as in Java: it would be as corrupt the next time. What comes
    after it is released.
    """
    topic, partition = acquisition.partition
    result = AcquiredRecords()
    if not acquired:
        return result
    records: list[Record] = []
    corruption: _Corruption | None = None
    reader = RecordReader(
        topic,
        partition,
        data,
        fetch_offset=acquired[0][0],
        check_crcs=check_crcs,
        max_decompressed_bytes=max_decompressed_bytes,
    )
    try:
        while taken := reader.take(_RECORDS_AT_ONCE):
            records += taken
    except CorruptBatchError as error:
        result.error = error
        corruption = _Corruption(reader.next_offset, _end_of_batch(data, reader.next_offset))
    if deserializing is not None:
        records = deserializing.records(records)
    index = 0
    for first, last, delivery_count in acquired:
        expected = first
        while index < len(records) and records[index].offset < first:
            index += 1
        while index < len(records) and (offset := records[index].offset) <= last:
            if offset > expected:
                result.unreadable.append(AcknowledgementBatch(expected, offset - 1, GAP))
            result.records.append(ShareRecord(records[index], delivery_count, acquisition))
            expected = offset + 1
            index += 1
        if expected <= last:
            result.unreadable += _without_records(expected, last, corruption)
    return result


def _without_records(first: int, last: int, corruption: _Corruption | None) -> list[AcknowledgementBatch]:
    if corruption is None:
        return [AcknowledgementBatch(first, last, GAP)]
    end_of_batch = corruption.first - 1 if corruption.last is None else corruption.last
    parts = [
        AcknowledgementBatch(first, min(last, corruption.first - 1), GAP),
        AcknowledgementBatch(
            max(first, corruption.first), min(last, end_of_batch), ACKNOWLEDGE_CODES["reject"]
        ),
        AcknowledgementBatch(
            max(first, corruption.first, end_of_batch + 1), last, ACKNOWLEDGE_CODES["release"]
        ),
    ]
    return [part for part in parts if part.first <= part.last]


def _end_of_batch(data: Buffer, offset: int) -> int | None:
    try:
        batches = scan_batches(data)
    except CorruptBatchError:
        return None
    return next((b.last_offset for b in batches if b.base_offset <= offset <= b.last_offset), None)
