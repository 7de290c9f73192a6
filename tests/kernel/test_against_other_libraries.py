"""Batches written by kafka-python and aiokafka are read here, and ours there."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from barnabas._kernel import Record, RecordReader, scan_batches

with warnings.catch_warnings():
    # kafka-python reads its own files with a function that Python deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

Batch = Callable[..., bytes]
Parts = Callable[[Sequence[Record]], list[tuple[Any, ...]]]

CODEC_NUMBERS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
RECORDS: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = [
    (1_600_000_000_000 + i * 7, b"key %d" % i if i % 3 else None, b"value " * i if i % 5 else None, headers)
    for i, headers in enumerate([[], [("a", b"1"), ("a", None)], [("zwölf", b"")]] * 40)
]


def with_offsets(base_offset: int) -> list[tuple[Any, ...]]:
    return [(base_offset + i, t, k, v, tuple(h)) for i, (t, k, v, h) in enumerate(RECORDS)]


def test_kafka_python_reads_our_batches(batch: Batch, codec: str) -> None:
    data = batch(RECORDS, compression=codec, base_offset=5, producer_id=3, producer_epoch=1, base_sequence=8)
    read = MemoryRecords(data).next_batch()
    assert read.validate_crc()
    assert (read.producer_id, read.producer_epoch, read.base_sequence) == (3, 1, 8)
    assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in read] == with_offsets(5)


def test_aiokafka_reads_our_batches(batch: Batch, codec: str) -> None:
    read = DefaultRecordBatch(batch(RECORDS, compression=codec, base_offset=5))
    assert read.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in read] == with_offsets(5)


def test_batches_of_kafka_python_are_read(codec: str, parts: Parts) -> None:
    builder = MemoryRecordsBuilder(2, CODEC_NUMBERS[codec], 1 << 20)
    for timestamp, key, value, headers in RECORDS:
        builder.append(timestamp, key, value, headers)
    builder.close()
    data = bytes(builder.buffer())
    assert parts(RecordReader("t", 0, data).take(1000)) == with_offsets(0)
    scan_batches(data, check_crcs=True, check_records=True)


def test_batches_of_aiokafka_are_read(codec: str, parts: Parts) -> None:
    builder = DefaultRecordBatchBuilder(2, CODEC_NUMBERS[codec], 1, 5, 2, 9, 1 << 20)
    for offset, (timestamp, key, value, headers) in enumerate(RECORDS):
        builder.append(offset, timestamp, key, value, headers)
    data = bytes(builder.build())
    assert parts(RecordReader("t", 0, data).take(1000)) == with_offsets(0)
    (info,) = scan_batches(data, check_crcs=True, check_records=True)
    assert (info.producer_id, info.producer_epoch, info.base_sequence) == (5, 2, 9)
    assert info.is_transactional


def message_set(magic: int, codec: str, offsets: Sequence[int]) -> bytes:
    """As a broker has it in its log: the wrapper of a compressed set has the offset of its last message."""
    builder = MemoryRecordsBuilder(magic, CODEC_NUMBERS[codec], 1 << 20)
    first = 0 if codec != "none" and magic == 1 else offsets[0]
    builder.skip(first)
    for i in range(len(offsets)):
        builder.append(1000 + i, b"key %d" % i if i % 2 else None, b"value %d" % i)
    builder.close()
    data = bytearray(builder.buffer())
    if codec != "none":
        struct.pack_into(">q", data, 0, offsets[-1])
    return bytes(data)


@pytest.mark.parametrize(
    ("magic", "codec"),
    [(0, "none"), (0, "gzip"), (0, "snappy"), (1, "none"), (1, "gzip"), (1, "snappy"), (1, "lz4")],
)
def test_message_sets_of_the_old_formats_are_read(magic: int, codec: str, parts: Parts) -> None:
    data = message_set(magic, codec, range(100, 120)) + message_set(magic, codec, range(120, 125))
    expected = [
        (
            100 + i,
            -1 if magic == 0 else 1000 + i - (20 if i >= 20 else 0),
            b"key %d" % (i - (20 if i >= 20 else 0)) if i % 2 else None,
            b"value %d" % (i - (20 if i >= 20 else 0)),
            (),
        )
        for i in range(25)
    ]
    reader = RecordReader("t", 0, data, fetch_offset=100)
    records = reader.take(1000)
    assert parts(records) == expected
    assert {record.timestamp_type for record in records} == ({-1} if magic == 0 else {0})
    assert (reader.next_offset, reader.remaining_bytes) == (125, 0)
    infos = scan_batches(data, check_crcs=True, check_records=True)
    assert sum(info.record_count for info in infos) == 25
    assert (infos[0].base_offset, infos[-1].last_offset) == (100, 124)
    assert {(info.magic, info.compression) for info in infos} == {(magic, codec)}
    assert [r.offset for r in RecordReader("t", 0, data, fetch_offset=117)] == list(range(117, 125))


def test_a_wrong_checksum_in_an_old_message_is_found() -> None:
    data = bytearray(message_set(1, "none", range(3)))
    data[-1] ^= 1
    reader = RecordReader("t", 0, data)
    assert len(reader.take(10)) == 2
    with pytest.raises(Exception, match="t-0 at offset 2: wrong checksum"):
        reader.take(10)
