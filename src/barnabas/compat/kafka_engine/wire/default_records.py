"""Record batches of magic 2 as kafka-python makes and reads them by hand.

Knows no request, and no other format.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from typing import Any, ClassVar

from barnabas._kernel import RecordReader, compress, crc32c
from barnabas.client.unpacking import most_unpacked_bytes
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.wire.record_bases import (
    ABCRecordBatch,
    ABCRecordBatchBuilder,
    AppendedRecord,
    RecordInBatch,
)
from barnabas.compat.kafka_engine.wire.unpacking import CODEC_NAMES, unpacked
from barnabas.compat.kafka_engine.wire.varints import decode_varint, encode_varint, size_of_varint
from barnabas.errors import CorruptBatchError

__all__ = [
    "ControlRecord",
    "DefaultRecord",
    "DefaultRecordBase",
    "DefaultRecordBatch",
    "DefaultRecordBatchBuilder",
    "DefaultRecordMetadata",
]

_HOME = "barnabas.compat.kafka.record.default_records"
_RECORDS_AT_ONCE = 1000
_BYTES = (bytes, bytearray, memoryview)


class DefaultRecordBase:
    """Where what is in a batch, and what it means."""

    __module__ = _HOME

    HEADER_STRUCT: ClassVar[struct.Struct] = struct.Struct(">qiibIhiqqqhii")
    ATTRIBUTES_OFFSET = struct.calcsize(">qiibI")
    CRC_OFFSET = struct.calcsize(">qiib")
    AFTER_LEN_OFFSET = struct.calcsize(">qi")
    CODEC_MASK = 0x07
    CODEC_NONE, CODEC_GZIP, CODEC_SNAPPY, CODEC_LZ4, CODEC_ZSTD = range(5)
    TIMESTAMP_TYPE_MASK = 0x08
    TRANSACTIONAL_MASK = 0x10
    CONTROL_MASK = 0x20
    LOG_APPEND_TIME = 1
    CREATE_TIME = 0
    NO_PRODUCER_ID = -1
    NO_SEQUENCE = -1
    MAX_INT = 2**31 - 1


class DefaultRecord(RecordInBatch):
    """A record that was read."""

    __module__ = _HOME

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
        super().__init__(offset, timestamp, timestamp_type, key, value)
        self._size_in_bytes = size_in_bytes
        self._headers = headers

    @property
    def size_in_bytes(self) -> int:
        return self._size_in_bytes

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        return self._headers

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


class ControlRecord(DefaultRecord):
    """What the coordinator of a transaction wrote at its end."""

    __module__ = _HOME
    KEY_STRUCT: ClassVar[struct.Struct] = struct.Struct(">hh")

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
        super().__init__(size_in_bytes, offset, timestamp, timestamp_type, key, value, headers)
        self._version, self._type = self.KEY_STRUCT.unpack(self._key or b"")

    @property
    def version(self) -> int:
        return self._version

    @property
    def type(self) -> int:
        return self._type

    @property
    def abort(self) -> bool:
        return self._type == 0

    @property
    def commit(self) -> bool:
        return self._type == 1

    def __repr__(self) -> str:
        return (
            f"ControlRecord(offset={self.offset!r}, timestamp={self.timestamp!r}, "
            f"timestamp_type={self.timestamp_type!r}, version={self.version!r}, type={self.type!r} "
            f"<{'abort' if self.abort else 'commit'}>)"
        )


class DefaultRecordBatch(DefaultRecordBase, ABCRecordBatch):
    """A batch, as a broker gave it: an iterator over its records."""

    __module__ = _HOME

    def __init__(self, buffer: Any) -> None:
        self._buffer = bytes(buffer)
        self._header = self.HEADER_STRUCT.unpack_from(self._buffer)
        self._records: Iterator[DefaultRecord] | None = None

    @property
    def base_offset(self) -> int:
        return self._header[0]

    @property
    def size_in_bytes(self) -> int:
        return self._header[1] + self.AFTER_LEN_OFFSET

    @property
    def leader_epoch(self) -> int:
        return self._header[2]

    @property
    def magic(self) -> int:
        return self._header[3]

    @property
    def crc(self) -> int:
        return self._header[4]

    @property
    def attributes(self) -> int:
        return self._header[5]

    @property
    def last_offset_delta(self) -> int:
        return self._header[6]

    @property
    def first_timestamp(self) -> int:
        return self._header[7]

    @property
    def max_timestamp(self) -> int:
        return self._header[8]

    @property
    def producer_id(self) -> int:
        return self._header[9]

    @property
    def producer_epoch(self) -> int:
        return self._header[10]

    @property
    def base_sequence(self) -> int:
        return self._header[11]

    @property
    def records_count(self) -> int:
        return self._header[12]

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def compression_type(self) -> int:
        return self.attributes & self.CODEC_MASK

    @property
    def timestamp_type(self) -> int:
        """0 where producers gave the times of records, 1 where the broker did."""
        return self.LOG_APPEND_TIME if self.attributes & self.TIMESTAMP_TYPE_MASK else self.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & self.TRANSACTIONAL_MASK)

    @property
    def is_control_batch(self) -> bool:
        return bool(self.attributes & self.CONTROL_MASK)

    def has_producer_id(self) -> bool:
        return self.producer_id > self.NO_PRODUCER_ID

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != self.NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        """Of the last record; numbers begin anew after the largest."""
        if not self.has_sequence:
            return self.NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % (self.MAX_INT + 1)

    def validate_crc(self) -> bool:
        """Whether the checksum is that of the bytes."""
        return crc32c(self._buffer[self.ATTRIBUTES_OFFSET : self.size_in_bytes]) == self.crc

    def __iter__(self) -> DefaultRecordBatch:
        return self

    def __next__(self) -> DefaultRecord:
        if self._records is None:
            self._records = self._read_markers() if self.is_control_batch else self._read()
        return next(self._records)

    next = __next__

    def _read(self) -> Iterator[DefaultRecord]:
        limit = most_unpacked_bytes(len(self._buffer))
        reader = RecordReader(
            "", 0, self._buffer, fetch_offset=self.base_offset, max_decompressed_bytes=limit
        )
        while records := _next_of(reader):
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

    def _read_markers(self) -> Iterator[DefaultRecord]:
        """The kernel passes over these."""
        data = self._buffer[self.HEADER_STRUCT.size : self.size_in_bytes]
        if self.compression_type:
            data = unpacked(self.compression_type, data)
        position = 0
        for _ in range(self.records_count):
            size, position = decode_varint(data, position)
            start, position = position, position + 1
            time_delta, position = decode_varint(data, position)
            offset_delta, position = decode_varint(data, position)
            key, position = _bytes_at(data, position)
            value, _ = _bytes_at(data, position)
            at = self.max_timestamp if self.timestamp_type else self.first_timestamp + time_delta
            offset = self.base_offset + offset_delta
            yield ControlRecord(size, offset, at, self.timestamp_type, key, value, [])
            position = start + size


def _next_of(reader: RecordReader) -> list[Any]:
    """Raises: CorruptRecordError, also for a batch that unpacks to too much."""
    try:
        return reader.take(_RECORDS_AT_ONCE)
    except CorruptBatchError as error:
        raise CLASSES["CorruptRecordError"](str(error)) from None


def _bytes_at(data: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = decode_varint(data, position)
    return (None, position) if size < 0 else (data[position : position + size], position + size)


class DefaultRecordMetadata(AppendedRecord):
    """What is known of a record in a batch that is being written."""

    __module__ = _HOME

    @property
    def crc(self) -> None:
        """Records of magic 2 have none of their own."""

    def __repr__(self) -> str:
        return (
            f"DefaultRecordMetadata(offset={self.offset!r}, size={self.size!r}, timestamp={self.timestamp!r})"
        )


class DefaultRecordBatchBuilder(DefaultRecordBase, ABCRecordBatchBuilder):
    """Writes a batch. `compression_type`: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. Offsets count from the
    batch's, which is 0."""

    __module__ = _HOME
    MAX_RECORD_OVERHEAD = 21

    def __init__(
        self,
        magic: int,
        compression_type: int,
        is_transactional: Any,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        batch_size: int,
    ) -> None:
        assert magic >= 2
        self._magic = magic
        self._compression_type = compression_type & self.CODEC_MASK
        self._batch_size = batch_size
        self._state = (producer_id, producer_epoch, base_sequence)
        self._is_transactional = bool(is_transactional)
        self._times: tuple[int, int] | None = None
        self._last_offset = self._count = 0
        self._records = bytearray()

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: Any
    ) -> None:
        """Raises: AssertionError."""
        assert not is_transactional or producer_id != -1, (
            "Cannot write transactional messages without a valid producer ID"
        )
        assert producer_id == -1 or producer_epoch != -1, "Invalid negative producer epoch"
        assert producer_id == -1 or base_sequence != -1, "Invalid negative sequence number"
        self._state = (producer_id, producer_epoch, base_sequence)
        self._is_transactional = bool(is_transactional)

    @property
    def producer_id(self) -> int:
        return self._state[0]

    @property
    def producer_epoch(self) -> int:
        return self._state[1]

    @property
    def base_sequence(self) -> int:
        return self._state[2]

    def append(
        self, offset: Any, timestamp: Any, key: Any, value: Any, headers: Any = ()
    ) -> DefaultRecordMetadata | None:
        """Raises: TypeError."""
        if type(offset) is not int:
            raise TypeError(offset)
        if timestamp is None:
            timestamp = int(time.time() * 1000)
        elif type(timestamp) is not int:
            raise TypeError(timestamp)
        for name, data in (("key", key), ("value", value)):
            if data is not None and type(data) not in _BYTES:
                raise TypeError(f"Not supported type for {name}: {type(data)}")
        first, latest = self._times or (timestamp, timestamp)
        body = bytearray(b"\0")
        encode_varint(timestamp - first, body.append)
        encode_varint(offset, body.append)
        _append_bytes(body, key)
        _append_bytes(body, value)
        encode_varint(len(headers or ()), body.append)
        for name, data in headers or ():
            _append_bytes(body, name.encode())
            _append_bytes(body, data)
        size = len(body) + size_of_varint(len(body))
        if self._times is not None and self.size() + size > self._batch_size:
            return None
        self._times = first, max(latest, timestamp)
        self._count += 1
        self._last_offset = offset
        encode_varint(len(body), self._records.append)
        self._records += body
        return DefaultRecordMetadata(offset, size, timestamp)

    def build(self) -> bytearray:
        """Compressed only if that makes it smaller. Raises: UnsupportedCodecError."""
        records = bytes(self._records)
        attributes = self.TRANSACTIONAL_MASK if self._is_transactional else 0
        if self._compression_type:
            if self._compression_type not in CODEC_NAMES:
                raise CLASSES["UnsupportedCodecError"](
                    f"Unrecognized compression type: {self._compression_type}"
                )
            compressed = compress(CODEC_NAMES[self._compression_type], records)
            if len(compressed) < len(records):
                records = compressed
                attributes |= self._compression_type
        first, latest = self._times or (0, 0)
        length = self.HEADER_STRUCT.size - self.AFTER_LEN_OFFSET + len(records)
        header = bytearray(
            self.HEADER_STRUCT.pack(
                *(0, length, 0, self._magic, 0, attributes, self._last_offset, first, latest),
                *(*self._state, self._count),
            )
        )
        checksum = crc32c(bytes(header[self.ATTRIBUTES_OFFSET :]) + records)
        struct.pack_into(">I", header, self.CRC_OFFSET, checksum)
        return header + records

    def size(self) -> int:
        """Of what was appended, uncompressed, with the header."""
        return self.HEADER_STRUCT.size + len(self._records)

    @classmethod
    def header_size_in_bytes(cls) -> int:
        return cls.HEADER_STRUCT.size

    @classmethod
    def size_in_bytes(  # pyright: ignore[reportIncompatibleMethodOverride] it is a method of the class
        cls, offset_delta: int, timestamp_delta: int, key: Any, value: Any, headers: Any
    ) -> int:
        body = 1 + size_of_varint(offset_delta) + size_of_varint(timestamp_delta)
        body += cls.size_of(key, value, headers)
        return body + size_of_varint(body)

    @classmethod
    def size_of(cls, key: Any, value: Any, headers: Any) -> int:
        """Of what the program gives, with the lengths."""
        size = _size_with_length(key) + _size_with_length(value) + size_of_varint(len(headers))
        return size + sum(_size_with_length(k.encode()) + _size_with_length(v) for k, v in headers)

    @classmethod
    def estimate_size_in_bytes(cls, key: Any, value: Any, headers: Any) -> int:
        """At most, of a batch with this record alone."""
        return cls.HEADER_STRUCT.size + cls.MAX_RECORD_OVERHEAD + cls.size_of(key, value, headers)


def _append_bytes(body: bytearray, data: Any) -> None:
    encode_varint(-1 if data is None else len(data), body.append)
    body += data or b""


def _size_with_length(data: Any) -> int:
    return 1 if data is None else size_of_varint(len(data)) + len(data)
