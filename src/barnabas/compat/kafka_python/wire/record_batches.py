"""Record batches as kafka-python makes and reads them by hand: magic 2, on the kernel's.

Knows no request.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from barnabas._kernel import BatchBuilder, RecordReader, crc32c
from barnabas.compat.kafka_python.values.errors import CLASSES
from barnabas.compat.kafka_python.wire.message_sets import CODEC_NAMES

__all__ = [
    "DefaultRecord",
    "DefaultRecordBatch",
    "DefaultRecordMetadata",
    "MemoryRecords",
    "MemoryRecordsBuilder",
]

_HOME = "barnabas.compat.kafka.record."
_HEADER = struct.Struct(">qiibIhiqqqhii")
_LOG_OVERHEAD = 12
_RECORDS_AT_ONCE = 1000
_CODEC_MASK, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20


class DefaultRecord:
    """A record that was read."""

    __module__ = _HOME + "default_records"
    __slots__ = ("headers", "key", "offset", "size_in_bytes", "timestamp", "timestamp_type", "value")

    def __init__(
        self,
        size_in_bytes: int,
        offset: int,
        timestamp: int,
        timestamp_type: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
    ) -> None:
        self.size_in_bytes = size_in_bytes
        self.offset = offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self.key = key
        self.value = value
        self.headers = headers

    @property
    def checksum(self) -> None:
        """Records of magic 2 have none of their own."""

    def validate_crc(self) -> bool:
        return True

    def __repr__(self) -> str:
        return (
            f"DefaultRecord(offset={self.offset!r}, timestamp={self.timestamp!r}, "
            f"timestamp_type={self.timestamp_type!r}, key={self.key!r}, value={self.value!r}, "
            f"headers={self.headers!r})"
        )


class DefaultRecordBatch:
    """A batch of magic 2, as a broker gave it: an iterator over its records."""

    __module__ = _HOME + "default_records"
    CODEC_MASK: ClassVar[int] = _CODEC_MASK

    def __init__(self, buffer: Any) -> None:
        self._buffer = bytes(buffer)
        (
            self.base_offset,
            length,
            self.leader_epoch,
            self.magic,
            checksum,
            self.attributes,
            self.last_offset_delta,
            self.first_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.records_count,
        ) = _HEADER.unpack_from(self._buffer)
        self.crc = checksum & 0xFFFFFFFF
        self._length = length
        self._records: Iterator[DefaultRecord] | None = None

    @property
    def size_in_bytes(self) -> int:
        return self._length + _LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def compression_type(self) -> int:
        return self.attributes & _CODEC_MASK

    @property
    def timestamp_type(self) -> int:
        """0 where producers gave the times of records, 1 where the broker did."""
        return 1 if self.attributes & _APPEND_TIME else 0

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control_batch(self) -> bool:
        return bool(self.attributes & _CONTROL)

    def has_producer_id(self) -> bool:
        return self.producer_id > -1

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != -1

    @property
    def last_sequence(self) -> int:
        """Of the last record; numbers begin anew after the largest."""
        if not self.has_sequence:
            return -1
        return (self.base_sequence + self.last_offset_delta) % 2**31

    def validate_crc(self) -> bool:
        """Whether the checksum is that of the bytes."""
        return crc32c(self._buffer[21 : self.size_in_bytes]) == self.crc

    def __iter__(self) -> DefaultRecordBatch:
        return self

    def __next__(self) -> DefaultRecord:
        if self._records is None:
            self._records = self._read()
        return next(self._records)

    def _read(self) -> Iterator[DefaultRecord]:
        reader = RecordReader("", 0, self._buffer, fetch_offset=self.base_offset)
        while records := reader.take(_RECORDS_AT_ONCE):
            for each in records:
                yield DefaultRecord(
                    each.serialized_size,
                    each.offset,
                    each.timestamp,
                    self.timestamp_type,
                    each.key,
                    each.value,
                    list(each.headers),
                )


class MemoryRecords:
    """Batches one after the other, as an answer to Fetch has them; a last one that is cut off is left out."""

    __module__ = _HOME + "memory_records"
    LOG_OVERHEAD: ClassVar[int] = _LOG_OVERHEAD

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
        if len(self._data) - start < _LOG_OVERHEAD:
            return None
        end = start + _LOG_OVERHEAD + int.from_bytes(self._data[start + 8 : start + 12], "big", signed=True)
        return end if start < end <= len(self._data) else None

    def has_next(self) -> bool:
        return self._end_of_batch(self._position) is not None

    def next_batch(self) -> DefaultRecordBatch | None:
        """Raises: UnsupportedVersionError for a message of magic 0 or 1, which MessageSet reads."""
        start, end = self._position, self._end_of_batch(self._position)
        if end is None:
            return None
        if end - start < _HEADER.size or self._data[start + 16] < 2:
            raise CLASSES["UnsupportedVersionError"]("Messages of magic 0 and 1 are read by MessageSet")
        self._position = end
        return DefaultRecordBatch(self._data[start:end])

    def __iter__(self) -> MemoryRecords:
        return self

    def __next__(self) -> DefaultRecordBatch:
        batch = self.next_batch()
        if batch is None:
            raise StopIteration
        return batch


class DefaultRecordMetadata(NamedTuple):
    """What became of a record in a batch that is being written."""

    offset: int
    size: int
    timestamp: int

    @property
    def crc(self) -> None:
        """Records of magic 2 have none of their own."""


class MemoryRecordsBuilder:
    """Writes one batch of magic 2. `compression_type`: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."""

    __module__ = _HOME + "memory_records"

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
        assert magic == 2, "Not supported magic"
        assert compression_type in CODEC_NAMES, "Not valid compression type"
        assert not transactional or producer_id != -1, (
            "Cannot write transactional messages without a valid producer ID"
        )
        assert producer_id == -1 or producer_epoch != -1, "Invalid negative producer epoch"
        assert producer_id == -1 or base_sequence != -1, "Invalid negative sequence number used"
        self._builder = BatchBuilder(compression=CODEC_NAMES[compression_type], max_bytes=batch_size)
        self._batch_size = batch_size
        self._next_offset = offset
        self._state = (producer_id, producer_epoch, base_sequence, transactional)
        self._buffer: bytes | None = None

    def skip(self, offsets_to_skip: int) -> None:
        self._next_offset += offsets_to_skip

    def append(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: Any = ()
    ) -> DefaultRecordMetadata | None:
        """None where the batch is full or closed."""
        before = self._builder.size
        if self._buffer is not None or not self._builder.append(timestamp, key, value, headers):
            return None
        offset = self._next_offset
        self._next_offset += 1
        return DefaultRecordMetadata(offset, self._builder.size - before, timestamp)

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """Raises: IllegalStateError once the batch is closed."""
        if self._buffer is not None:
            raise CLASSES["IllegalStateError"]("Trying to set producer state of an already closed batch.")
        self._state = (producer_id, producer_epoch, base_sequence, is_transactional)

    @property
    def producer_id(self) -> int:
        return self._state[0]

    @property
    def producer_epoch(self) -> int:
        return self._state[1]

    def close(self) -> None:
        if self._buffer is None:
            producer_id, epoch, sequence, transactional = self._state
            self._buffer = self._builder.build(
                leader_epoch=0,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
                is_transactional=transactional,
            )

    def buffer(self) -> bytes:
        """The batch, once it is closed."""
        assert self._buffer is not None
        return self._buffer

    def records(self) -> MemoryRecords:
        return MemoryRecords(self.buffer())

    def size_in_bytes(self) -> int:
        return self._builder.size if self._buffer is None else len(self._buffer)

    def compression_rate(self) -> float:
        return len(self.buffer()) / self._builder.size

    def is_full(self) -> bool:
        return self._buffer is not None or self._builder.size >= self._batch_size

    def next_offset(self) -> int:
        return self._next_offset
