"""What is taken of a producer's batch: that it is one and whole, keeps to its topic's settings, and is in the
codec that the topic asks for.

Owns the order of checks, which is Kafka's, and what of them is done on another thread: a batch that is large
once it is unpacked, or is packed anew, holds nobody up. Must not know requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.broker.recompression import needs_recompression, recompress
from barnabas.broker.topic import Partition
from barnabas.broker_errors import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    UnsupportedForMessageFormatError,
)
from barnabas.clock import now_ms
from barnabas.errors import BrokerError, CorruptBatchError
from barnabas.net.addresses import in_thread
from barnabas.protocol.schema import Records

AT_ONCE_BYTES = 4 << 20
"""Records that take no more are unpacked and looked at by the loop itself, in a few milliseconds."""
MOST_UNPACKED_BYTES = 1 << 30
"""As large as a batch's records may be; they are looked at in pieces."""
MOST_PACKED_ANEW_BYTES = 100 << 20
"""As large as they may be where their topic wants another codec, for which they have to be in memory."""
PACKED_AT_ONCE_BYTES = 16_384
RECORDS_AT_ONCE = 1_000
MOST_RECORD_ERRORS = 1_000
MOST_RECORD_ERRORS_SHOWN = 3
NO_TIMESTAMP = -1

T = TypeVar("T")


class RejectedRecordsError(BrokerError):
    """`rejected`: what is wrong with records, in Kafka's words, by their places in the batch; of very many
    the first."""

    def __init__(self, context: str, rejected: Mapping[int, str], log_start_offset: int) -> None:
        super().__init__(context)
        self.rejected = rejected
        self.log_start_offset = log_start_offset


class UntimelyRecordsError(RejectedRecordsError, InvalidTimestampError):
    """Timestamps too far from the broker's time."""


class KeylessRecordsError(RejectedRecordsError, InvalidRecordError):
    """Records without a key for a compacted topic."""


class ProducedBatch:
    """The one batch of a partition in a request. `has_waited`: whether other requests may have been answered
    while this one was looked at."""

    def __init__(self, partition: Partition, records: Records) -> None:
        self._partition = partition
        self._limit = partition.topic.rules.max_message_bytes
        self.records = records
        self.batches: Sequence[BatchInfo] = ()
        self._is_large = False
        self.has_waited = False

    @property
    def info(self) -> BatchInfo:
        return self.batches[0]

    async def check(self) -> None:
        """Raises: the errors of a broken batch, MessageTooLargeError."""
        name = self._partition.name
        try:
            batches = _kernel.scan_batches(self.records)
            if len(batches) != 1 or batches[0].size != len(self.records):
                raise InvalidRecordError(
                    f"{name}: one whole record batch is taken for each partition, "
                    f"{len(self.records)} bytes hold {len(batches)}"
                )
            self._check_size(batches[0].size)
            checked = self._checked(AT_ONCE_BYTES)
            if checked is None:
                self._is_large = True
                checked = await self._beside(lambda: self._checked(MOST_UNPACKED_BYTES))
        except CorruptBatchError as error:
            raise CorruptMessageError(f"{name}: {error.reason}") from None
        if checked is None:
            raise MessageTooLargeError(f"{name}: the batch unpacks to more than {MOST_UNPACKED_BYTES} bytes")
        self.batches = checked
        _check_header(name, self.info)

    def _checked(self, max_bytes: int) -> list[BatchInfo] | None:
        return _kernel.check_batches(self.records, max_decompressed_bytes=max_bytes)

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise MessageTooLargeError(
                f"record batch of {size} bytes is larger than max.message.bytes={self._limit} of topic "
                f"{self._partition.topic.name}"
            )

    async def prepare(self) -> None:
        """For the log. Raises: UntimelyRecordsError, KeylessRecordsError, MessageTooLargeError."""
        rules, batch = self._partition.topic.rules, self.info
        if not rules.set_append_time:
            await self._check_times()
        if rules.needs_keys and not batch.has_all_keys:
            await self._refuse_keyless()
        if not rules.set_append_time and batch.latest_timestamp != batch.max_timestamp:
            # As Kafka does: lookups by time and retention go by the header.
            self.records = _kernel.with_max_timestamp(self.records, batch.latest_timestamp)
            self.batches = _kernel.scan_batches(self.records)
        codec, level = rules.compression_type, rules.compression_level
        if needs_recompression(batch, codec):
            await self._recompress(codec, level)

    async def _check_times(self) -> None:
        rules, batch = self._partition.topic.rules, self.info
        now = now_ms()
        earliest, latest = now - rules.timestamp_before_max_ms, now + rules.timestamp_after_max_ms
        is_early = batch.earliest_timestamp != NO_TIMESTAMP and batch.earliest_timestamp < earliest
        if not is_early and batch.latest_timestamp <= latest:
            return
        raise UntimelyRecordsError(
            "One or more records have been rejected due to invalid timestamp",
            await self._rejected(
                lambda record: (
                    None
                    if record.timestamp == NO_TIMESTAMP or earliest <= record.timestamp <= latest
                    else f"Timestamp {record.timestamp} of message with offset {record.offset} is "
                    f"out of range. The timestamp should be within [{earliest}, {latest}]"
                )
            ),
            self._partition.log.log_start_offset,
        )

    async def _refuse_keyless(self) -> None:
        wrong = f"Compacted topic cannot accept message without key in topic partition {self._partition.name}"
        rejected = await self._rejected(lambda record: wrong if record.key is None else None)
        shown = ", ".join(
            f"RecordError(batchIndex={place}, message='{text}')"
            for place, text in islice(rejected.items(), MOST_RECORD_ERRORS_SHOWN)
        )
        raise KeylessRecordsError(
            f"One or more records have been rejected due to {len(rejected)} record errors in total, and only "
            f"showing the first three errors at most: [{shown}]",
            rejected,
            self._partition.log.log_start_offset,
        )

    async def _rejected(self, wrong: Callable[[_kernel.Record], str | None]) -> dict[int, str]:
        """What is wrong with records, by their places; of records that are large not told."""

        def found() -> Iterator[tuple[int, str]]:
            for place, record in enumerate(_kernel.RecordReader(*self._partition.name, self.records)):
                text = wrong(record)
                if text is not None:
                    yield place, text

        if self._is_large:
            return {}
        if self.info.record_count <= RECORDS_AT_ONCE:
            return dict(found())
        return await self._beside(lambda: dict(islice(found(), MOST_RECORD_ERRORS)))

    async def _recompress(self, codec: str, level: int | None) -> None:
        is_quick = self.info.size <= PACKED_AT_ONCE_BYTES and not self._is_large
        limit = self._limit if codec == "uncompressed" else MOST_PACKED_ANEW_BYTES

        def work() -> tuple[Records, Sequence[BatchInfo]]:
            return recompress(self.records, self.info, codec, level, max_bytes=limit)

        try:
            self.records, self.batches = work() if is_quick else await self._beside(work)
        except CorruptBatchError as error:
            raise MessageTooLargeError(f"{self._partition.name}: {error.reason}") from None
        self._check_size(self.info.size)

    async def _beside(self, work: Callable[[], T]) -> T:
        self.has_waited = True
        return await in_thread(work)


def _check_header(name: object, batch: BatchInfo) -> None:
    if batch.magic != 2:
        raise UnsupportedForMessageFormatError(f"{name}: message format {batch.magic} is too old")
    if batch.is_control:
        raise InvalidRecordError(f"{name}: control batches are the broker's own")
    if batch.is_transactional and batch.producer_id < 0:
        raise InvalidRecordError(f"{name}: a batch of a transaction needs a producer id")
    if batch.producer_id >= 0 and (batch.producer_epoch < 0 or batch.base_sequence < 0):
        raise InvalidRecordError(f"{name}: a producer id needs an epoch and a sequence")
