"""Messages of magic 0 and 1 as kafka-python 2 and 3 make and read them by hand.

Knows no request, and no other format. `message_sets` has the classes of 1.2 for the same bytes.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from barnabas._kernel import compress
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.wire.old_lz4 import as_of_old, as_of_today
from barnabas.compat.kafka_engine.wire.record_bases import (
    ABCRecordBatch,
    ABCRecordBatchBuilder,
    AppendedRecord,
    RecordInBatch,
)
from barnabas.compat.kafka_engine.wire.unpacking import CODEC_NAMES, unpacked
from barnabas.compat.kafka_engine.wire.varints import calc_crc32

__all__ = [
    "LegacyRecord",
    "LegacyRecordBase",
    "LegacyRecordBatch",
    "LegacyRecordBatchBuilder",
    "LegacyRecordMetadata",
]

_HOME = "barnabas.compat.kafka.record.legacy_records"
_LENGTH = struct.Struct(">i")
_BYTES = (bytes, bytearray, memoryview)


class LegacyRecordBase:
    """Where what is in a message, and what it means."""

    __module__ = _HOME

    HEADER_STRUCT_V0: ClassVar[struct.Struct] = struct.Struct(">qiIbb")
    HEADER_STRUCT_V1: ClassVar[struct.Struct] = struct.Struct(">qiIbbq")
    LOG_OVERHEAD = CRC_OFFSET = struct.calcsize(">qi")
    MAGIC_OFFSET = struct.calcsize(">qiI")
    RECORD_OVERHEAD_V0 = struct.calcsize(">Ibbii")
    RECORD_OVERHEAD_V1 = struct.calcsize(">Ibbqii")
    KEY_OFFSET_V0 = HEADER_STRUCT_V0.size
    KEY_OFFSET_V1 = HEADER_STRUCT_V1.size
    KEY_LENGTH = VALUE_LENGTH = _LENGTH.size
    CODEC_MASK = 0x07
    CODEC_NONE, CODEC_GZIP, CODEC_SNAPPY, CODEC_LZ4 = range(4)
    TIMESTAMP_TYPE_MASK = 0x08
    LOG_APPEND_TIME = 1
    CREATE_TIME = 0
    NO_TIMESTAMP = -1


class _Message(NamedTuple):
    """One message of a set, as it is in the bytes."""

    offset: int
    crc: int
    attributes: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    crc_bytes: bytes


def _messages(data: bytes, magic: int) -> Iterator[_Message]:
    base = LegacyRecordBase
    header = base.HEADER_STRUCT_V1 if magic else base.HEADER_STRUCT_V0
    position = 0
    while position < len(data):
        offset, length, crc, _, attributes, *times = header.unpack_from(data, position)
        key, place = _bytes_at(data, position + header.size)
        value, _ = _bytes_at(data, place)
        end = position + base.LOG_OVERHEAD + length
        crc_bytes = data[position + base.MAGIC_OFFSET : end]
        yield _Message(offset, crc, attributes, times[0] if times else None, key, value, crc_bytes)
        position = end


def _bytes_at(data: bytes, position: int) -> tuple[bytes | None, int]:
    (size,) = _LENGTH.unpack_from(data, position)
    position += _LENGTH.size
    return (None, position) if size < 0 else (data[position : position + size], position + size)


class LegacyRecordBatch(LegacyRecordBase, ABCRecordBatch):
    """A message, or those in a compressed one: an iterable of records."""

    __module__ = _HOME

    def __init__(self, buffer: Any, magic: int) -> None:
        self._buffer = bytes(buffer)
        self._magic = magic
        header = self.HEADER_STRUCT_V1 if magic else self.HEADER_STRUCT_V0
        self._offset, length, self._crc, found, self._attributes, *times = header.unpack_from(self._buffer)
        assert length == len(self._buffer) - self.LOG_OVERHEAD
        assert magic == found
        self._timestamp: int | None = times[0] if times else None

    @property
    def base_offset(self) -> int:
        """In a compressed message of magic 1, the last one."""
        return self._offset

    @property
    def size_in_bytes(self) -> int:
        return len(self._buffer)

    @property
    def timestamp_type(self) -> int | None:
        if self._magic == 0:
            return None
        return self.LOG_APPEND_TIME if self._attributes & self.TIMESTAMP_TYPE_MASK else self.CREATE_TIME

    @property
    def compression_type(self) -> int:
        return self._attributes & self.CODEC_MASK

    @property
    def magic(self) -> int:
        return self._magic

    def validate_crc(self) -> bool:
        return calc_crc32(self._buffer[self.MAGIC_OFFSET :]) == self._crc

    def __iter__(self) -> Iterator[LegacyRecord]:
        [outer] = _messages(self._buffer, self._magic)
        if not self.compression_type:
            yield self._record(outer, outer.offset)
            return
        if outer.value is None:
            raise CLASSES["CorruptRecordError"]("Value of compressed message is None")
        value = outer.value
        if self.compression_type == self.CODEC_LZ4 and self._magic == 0:
            value = as_of_today(value)
        inner = [*_messages(unpacked(self.compression_type, value), self._magic)]
        # Offsets of magic 1 count from the first message (KIP-31), once a broker has given them out.
        base = max(0, self._offset - inner[-1].offset) if self._magic else 0
        for message in inner:
            if message.attributes & self.CODEC_MASK:
                raise AssertionError(
                    f"MessageSet at offset {message.offset} appears double-compressed. This should not "
                    "happen -- check your producers!"
                )
            yield self._record(message, base + message.offset)

    def _record(self, message: _Message, offset: int) -> LegacyRecord:
        timestamp = self._timestamp if self.timestamp_type == self.LOG_APPEND_TIME else message.timestamp
        return LegacyRecord(
            *(self._magic, offset, timestamp, self.timestamp_type),
            *(message.key, message.value, message.crc, message.crc_bytes),
        )


class LegacyRecord(RecordInBatch):
    """A record that was read."""

    __module__ = _HOME

    def __init__(
        self,
        magic: int,
        offset: int,
        timestamp: int | None,
        timestamp_type: int | None,
        key: bytes | None,
        value: bytes | None,
        crc: int,
        crc_bytes: Any,
    ) -> None:
        super().__init__(offset, timestamp, timestamp_type, key, value)
        self._magic = magic
        self._crc = crc
        self._crc_bytes = crc_bytes

    @property
    def magic(self) -> int:
        return self._magic

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        return []

    @property
    def checksum(self) -> int:
        return self._crc

    def validate_crc(self) -> bool:
        return calc_crc32(self._crc_bytes) == self._crc

    @property
    def size_in_bytes(self) -> int:
        return LegacyRecordBatchBuilder.estimate_size_in_bytes(self._magic, None, self._key, self._value)

    def __repr__(self) -> str:
        return (
            f"LegacyRecord(magic={self._magic!r} offset={self._offset!r}, timestamp={self._timestamp!r}, "
            f"timestamp_type={self._timestamp_type!r}, key={self._key!r}, value={self._value!r}, "
            f"crc={self._crc!r})"
        )


class LegacyRecordMetadata(AppendedRecord):
    """What is known of a record in a message set that is being written."""

    __module__ = _HOME

    def __init__(self, offset: int, crc: int, size: int, timestamp: int) -> None:
        super().__init__(offset, size, timestamp)
        self._crc = crc

    @property
    def crc(self) -> int:
        return self._crc

    def __repr__(self) -> str:
        return (
            f"LegacyRecordMetadata(offset={self._offset!r}, crc={self._crc!r}, size={self._size!r}, "
            f"timestamp={self._timestamp!r})"
        )


class LegacyRecordBatchBuilder(LegacyRecordBase, ABCRecordBatchBuilder):
    """Writes a set of messages of magic 0 or 1, compressed into one where a codec is given."""

    __module__ = _HOME

    def __init__(self, magic: int, compression_type: int, batch_size: int) -> None:
        self._magic = magic
        self._compression_type = compression_type
        self._batch_size = batch_size
        self._buffer = bytearray()

    def append(
        self, offset: Any, timestamp: Any, key: Any, value: Any, headers: Any = None
    ) -> LegacyRecordMetadata | None:
        """Raises: TypeError, AssertionError for headers."""
        assert not headers, "Headers not supported in v0/v1"
        if type(offset) is not int:
            raise TypeError(offset)
        if self._magic == 0:
            timestamp = self.NO_TIMESTAMP
        elif timestamp is None:
            timestamp = int(time.time() * 1000)
        elif type(timestamp) is not int:
            raise TypeError(f"`timestamp` should be int, but {type(timestamp)} provided")
        for name, data in (("key", key), ("value", value)):
            if data is not None and not isinstance(data, _BYTES):
                raise TypeError(f"Not supported type for {name}: {type(data)}")
        size = self.size_in_bytes(offset, timestamp, key, value)
        if offset and len(self._buffer) + size >= self._batch_size:
            return None
        message, crc = self._message(offset, timestamp, key, value)
        self._buffer += message
        return LegacyRecordMetadata(offset, crc, size, timestamp)

    def _message(
        self, offset: int, timestamp: int, key: Any, value: Any, attributes: int = 0
    ) -> tuple[bytes, int]:
        content = struct.pack(">bb", self._magic, attributes)
        if self._magic:
            content += struct.pack(">q", timestamp)
        content += _with_length(key) + _with_length(value)
        crc = calc_crc32(content)
        return struct.pack(">qiI", offset, len(content) + 4, crc) + content, crc

    def build(self) -> bytearray:
        """Raises: UnsupportedCodecError."""
        if self._compression_type:
            if self._compression_type not in (self.CODEC_GZIP, self.CODEC_SNAPPY, self.CODEC_LZ4):
                raise CLASSES["UnsupportedCodecError"]("Unrecognized compression type")
            compressed = compress(CODEC_NAMES[self._compression_type], bytes(self._buffer))
            if self._compression_type == self.CODEC_LZ4 and self._magic == 0:
                compressed = as_of_old(compressed)
            message, _ = self._message(0, 0, None, compressed, self._compression_type)
            self._buffer = bytearray(message)
        return self._buffer

    def size(self) -> int:
        return len(self._buffer)

    def size_in_bytes(self, offset: int, timestamp: int, key: Any, value: Any, headers: Any = None) -> int:
        assert not headers, "Headers not supported in v0/v1"
        return self.LOG_OVERHEAD + self.record_size(self._magic, key, value)

    @classmethod
    def record_size(cls, magic: int, key: Any, value: Any) -> int:
        return cls.record_overhead(magic) + sum(len(data) for data in (key, value) if data is not None)

    @classmethod
    def record_overhead(cls, magic: int) -> int:
        assert magic in (0, 1), "Not supported magic"
        return cls.RECORD_OVERHEAD_V1 if magic else cls.RECORD_OVERHEAD_V0

    @classmethod
    def estimate_size_in_bytes(cls, magic: int, compression_type: Any, key: Any, value: Any) -> int:
        """At most, of a set with this message alone."""
        outer = cls.record_overhead(magic) if compression_type else 0
        return cls.LOG_OVERHEAD + outer + cls.record_size(magic, key, value)


def _with_length(data: Any) -> bytes:
    return _LENGTH.pack(-1) if data is None else _LENGTH.pack(len(data)) + bytes(data)
