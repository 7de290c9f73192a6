from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from typing import Any

import pyarrow
import pytest

from barnabas._kernel import BatchOpeners, ReceiveBuffer, Record, RecordReader, take_arrow
from barnabas.errors import CorruptBatchError

Batch = Callable[..., bytes]
COMPRESSED = ["gzip", "snappy", "lz4", "zstd"]
MUCH = 1 << 30
RECORDS = 400


def numbered(batch: Batch, base: int, codec: str, **header: Any) -> bytes:
    """A batch that is large enough to be opened ahead."""
    chance = random.Random(base)
    rows = [(1, b"%d" % offset, chance.randbytes(50)) for offset in range(base, base + RECORDS)]
    return batch(rows, base_offset=base, compression=codec, **header)


def log_of(batch: Batch, codec: str, batches: int) -> memoryview:
    return received(b"".join(numbered(batch, number * RECORDS, codec) for number in range(batches)))


def received(data: bytes) -> memoryview:
    """In memory that threads may read on their own."""
    buffer = ReceiveBuffer(len(data))
    with memoryview(buffer) as view:
        view[:] = data
    return buffer.freeze()


def all_of(reader: RecordReader) -> list[Record]:
    records: list[Record] = []
    while taken := reader.take(150):
        records += taken
    return records


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("max_opened_bytes", [0, 1, MUCH])
def test_records_are_the_same_and_in_order(
    batch: Batch, parts: Callable[..., Any], codec: str, max_opened_bytes: int
) -> None:
    data = log_of(batch, codec, 20)
    openers = BatchOpeners(max_opened_bytes)
    readers = [RecordReader("t", partition, data) for partition in range(4)]
    for reader in readers:
        openers.open_ahead(reader)
    expected = parts(all_of(RecordReader("t", 0, data)))
    assert len(expected) == 20 * RECORDS
    for reader in reversed(readers):
        assert parts(all_of(reader)) == expected


@pytest.mark.parametrize("codec", COMPRESSED)
def test_columns_are_the_same_from_any_offset_up_to_any_end(batch: Batch, codec: str) -> None:
    data = log_of(batch, codec, 5)
    openers = BatchOpeners(MUCH)
    for first, end in [(0, 5 * RECORDS), (350, 900), (401, 402), (799, 1201), (2 * RECORDS, MUCH)]:
        reader = RecordReader("t", 0, data, fetch_offset=first)
        openers.open_ahead(reader)
        offsets: list[int] = []
        while (taken := take_arrow([reader], 333, end_offsets=[end])).num_rows:
            offsets += pyarrow.record_batch(taken).column("offset").to_pylist()
        assert offsets == list(range(first, min(end, 5 * RECORDS)))


@pytest.mark.parametrize("codec", COMPRESSED)
def test_what_is_wrong_with_a_batch_shows_at_its_place_every_time(batch: Batch, codec: str) -> None:
    broken = bytearray(numbered(batch, 2 * RECORDS, codec))
    broken[-100] ^= 1
    good = [numbered(batch, number * RECORDS, codec) for number in (0, 1, 3)]
    data = received(good[0] + good[1] + bytes(broken) + good[2])
    openers = BatchOpeners(MUCH)
    reader = RecordReader("t", 5, data)
    openers.open_ahead(reader)
    assert [record.offset for record in reader.take(MUCH)] == list(range(2 * RECORDS))
    for _ in range(2):
        with pytest.raises(CorruptBatchError, match="checksum") as caught:
            reader.take(MUCH)
        assert (caught.value.topic, caught.value.partition, caught.value.offset) == ("t", 5, 2 * RECORDS)
    assert reader.next_offset == 2 * RECORDS


def test_checksums_that_are_not_to_be_checked_are_not(batch: Batch) -> None:
    data = bytearray(numbered(batch, 0, "zstd"))
    data[17] ^= 1
    openers = BatchOpeners(MUCH)
    reader = RecordReader("t", 0, received(data), check_crcs=False)
    openers.open_ahead(reader)
    assert len(all_of(reader)) == RECORDS


def test_more_bytes_than_allowed_are_refused(batch: Batch) -> None:
    openers = BatchOpeners(MUCH)
    reader = RecordReader("t", 0, received(numbered(batch, 0, "zstd")), max_decompressed_bytes=1000)
    openers.open_ahead(reader)
    with pytest.raises(CorruptBatchError, match="more than the limit of 1000 bytes"):
        reader.take(1)


def test_aborted_records_are_left_out(batch: Batch, control_batch: Batch) -> None:
    def data(offset: int, producer_id: int) -> bytes:
        header = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
        return numbered(batch, offset, "zstd", is_transactional=True, **header)

    aborted, committed = data(0, 1), data(RECORDS, 2)
    ends = control_batch(2 * RECORDS, 1, commit=False) + control_batch(2 * RECORDS + 1, 2, commit=True)
    openers = BatchOpeners(MUCH)
    reader = RecordReader("t", 0, received(aborted + committed + ends), aborted=[(1, 0)])
    openers.open_ahead(reader)
    assert [record.offset for record in all_of(reader)] == list(range(RECORDS, 2 * RECORDS))


def test_readers_may_be_dropped_unread_and_the_openers_before_them(batch: Batch) -> None:
    data = log_of(batch, "zstd", 10)
    openers = BatchOpeners(100_000)
    kept = RecordReader("t", 0, data)
    for _ in range(20):
        openers.open_ahead(RecordReader("t", 0, data))
    openers.open_ahead(kept)
    openers.open_ahead(kept)
    del openers
    gc.collect()
    assert len(all_of(kept)) == 10 * RECORDS


def test_threads_take_records_of_their_readers_at_the_same_time(batch: Batch) -> None:
    data = log_of(batch, "lz4", 30)
    openers = BatchOpeners(200_000)
    readers = [RecordReader("t", partition, data) for partition in range(6)]
    counts: list[int] = []

    def read(reader: RecordReader) -> None:
        openers.open_ahead(reader)
        counts.append(len(all_of(reader)))

    threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [30 * RECORDS] * 6
