"""Batches one after the other, as an answer to Fetch has them, made and read by hand. Knows no request."""

from __future__ import annotations

from typing import Any, ClassVar

from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.wire.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from barnabas.compat.kafka_engine.wire.legacy_records import LegacyRecordBatch, LegacyRecordBatchBuilder
from barnabas.compat.kafka_engine.wire.record_bases import ABCRecords
from barnabas.compat.kafka_engine.wire.unpacking import CODEC_NAMES

__all__ = ["MemoryRecords", "MemoryRecordsBuilder"]

_HOME = "barnabas.compat.kafka.record.memory_records"
_CURRENT_MAGIC = 2


class MemoryRecords(ABCRecords):
    """A last one that is cut off is left out."""

    __module__ = _HOME
    LENGTH_OFFSET: ClassVar[int] = 8
    LOG_OVERHEAD: ClassVar[int] = 12
    MAGIC_OFFSET: ClassVar[int] = 16
    MIN_SLICE: ClassVar[int] = LOG_OVERHEAD + LegacyRecordBatch.RECORD_OVERHEAD_V0

    def __init__(self, bytes_data: Any) -> None:
        self._data = bytes(bytes_data)
        self._position = 0

    def size_in_bytes(self) -> int:
        return len(self._data)

    def valid_bytes(self) -> int:
        """Of the batches that are whole."""
        position = 0
        while (end := self._end_of_batch(position)) is not None:
            position = end
        return position

    def _end_of_batch(self, start: int) -> int | None:
        if len(self._data) - start < self.LOG_OVERHEAD:
            return None
        length = self._data[start + self.LENGTH_OFFSET : start + self.LOG_OVERHEAD]
        end = start + self.LOG_OVERHEAD + int.from_bytes(length, "big", signed=True)
        return end if start < end <= len(self._data) else None

    def has_next(self) -> bool:
        return self._end_of_batch(self._position) is not None

    def next_batch(self) -> DefaultRecordBatch | LegacyRecordBatch | None:
        """Raises: CorruptRecordError for what is too short to be one."""
        start, end = self._position, self._end_of_batch(self._position)
        if end is None:
            return None
        if end - start < self.MIN_SLICE:
            raise CLASSES["CorruptRecordError"](
                f"Record size is less than the minimum record overhead ({self.MIN_SLICE - self.LOG_OVERHEAD})"
            )
        self._position = end
        data, magic = self._data[start:end], self._data[start + self.MAGIC_OFFSET]
        return LegacyRecordBatch(data, magic) if magic < _CURRENT_MAGIC else DefaultRecordBatch(data)

    def __iter__(self) -> MemoryRecords:
        return self

    def __next__(self) -> DefaultRecordBatch | LegacyRecordBatch:
        batch = self.next_batch()
        if batch is None:
            raise StopIteration
        return batch

    next = __next__


class MemoryRecordsBuilder:
    """Writes one batch, or a set of messages of magic 0 or 1. `compression_type`: 0 none, 1 gzip, 2 snappy,
    3 lz4, 4 zstd."""

    __module__ = _HOME

    def __init__(
        self,
        magic: int,
        compression_type: int,
        batch_size: int,
        offset: int = 0,
        transactional: bool = False,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
    ) -> None:
        assert magic in (0, 1, _CURRENT_MAGIC), "Not supported magic"
        assert compression_type in CODEC_NAMES, "Not valid compression type"
        self._magic = magic
        self._batch_size = batch_size
        self._next_offset = offset
        self._buffer: bytearray | None = None
        self._builder: Any
        if magic < _CURRENT_MAGIC:
            is_plain = not transactional and producer_id == -1
            assert is_plain, f"Idempotent messages are not supported for magic {magic}"
            self._builder = LegacyRecordBatchBuilder(magic, compression_type, batch_size)
            return
        assert not transactional or producer_id != -1, (
            "Cannot write transactional messages without a valid producer ID"
        )
        assert producer_id == -1 or producer_epoch != -1, "Invalid negative producer epoch"
        assert producer_id == -1 or base_sequence != -1, "Invalid negative sequence number used"
        self._builder = DefaultRecordBatchBuilder(
            *(magic, compression_type, transactional, producer_id, producer_epoch, base_sequence),
            batch_size,
        )

    def skip(self, offsets_to_skip: int) -> None:
        self._next_offset += offsets_to_skip

    def append(self, timestamp: int | None, key: Any, value: Any, headers: Any = None) -> Any:
        """None where the batch is full or closed."""
        if self._buffer is not None:
            return None
        appended = self._builder.append(self._next_offset, timestamp, key, value, headers or [])
        if appended is not None:
            self._next_offset += 1
        return appended

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """Raises: UnsupportedVersionError, IllegalStateError once the batch is closed."""
        if self._magic < _CURRENT_MAGIC:
            raise CLASSES["UnsupportedVersionError"]("Producer State requires Message format v2+")
        if self._buffer is not None:
            raise CLASSES["IllegalStateError"](
                "Trying to set producer state of an already closed batch. This indicates a bug on the client."
            )
        self._builder.set_producer_state(producer_id, producer_epoch, base_sequence, is_transactional)

    @property
    def producer_id(self) -> int | None:
        return getattr(self._builder, "producer_id", None)

    @property
    def producer_epoch(self) -> int | None:
        return getattr(self._builder, "producer_epoch", None)

    @property
    def base_sequence(self) -> int | None:
        return getattr(self._builder, "base_sequence", None)

    def close(self) -> None:
        if self._buffer is None:
            self._bytes_written: int = self._builder.size()
            self._buffer = self._builder.build()

    def buffer(self) -> bytearray:
        """The batch, once it is closed."""
        assert self._buffer is not None
        return self._buffer

    def records(self) -> MemoryRecords:
        return MemoryRecords(self.buffer())

    def size_in_bytes(self) -> int:
        return self._builder.size() if self._buffer is None else len(self._buffer)

    def compression_rate(self) -> float:
        return len(self.buffer()) / self._bytes_written

    def is_full(self) -> bool:
        return self._buffer is not None or self._builder.size() >= self._batch_size

    def next_offset(self) -> int:
        return self._next_offset
