from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas._kernel import BatchOpeners, ReceiveBuffer, RecordReader, take_arrow
from barnabas.errors import CorruptBatchError

Batch = Callable[..., bytes]
RECORDS = 60
"""Of each batch, of 5,000 bytes each: four batches are enough to be made ahead."""
MUCH = 1 << 30
PORTION_BYTES = 3 << 19


def large(batch: Batch, base: int, codec: str = "none", **header: Any) -> bytes:
    chance = random.Random(base)
    rows = [(1, b"%d" % offset, chance.randbytes(5_000)) for offset in range(base, base + RECORDS)]
    return batch(rows, base_offset=base, compression=codec, **header)


def received(data: bytes) -> memoryview:
    """In memory that threads may read on their own."""
    buffer = ReceiveBuffer(len(data))
    with memoryview(buffer) as view:
        view[:] = data
    return buffer.freeze()


def log_of(batch: Batch, codec: str, batches: int) -> memoryview:
    return received(b"".join(large(batch, number * RECORDS, codec) for number in range(batches)))


def taken(readers: list[RecordReader], openers: BatchOpeners | None, **options: Any) -> pyarrow.RecordBatch:
    options = {"max_records": 100_000, "max_bytes": PORTION_BYTES} | options
    return pyarrow.record_batch(take_arrow(readers, openers=openers, **options))


def all_columns(readers: list[RecordReader], openers: BatchOpeners | None) -> list[pyarrow.RecordBatch]:
    batches: list[pyarrow.RecordBatch] = []
    while (batch := taken(readers, openers)).num_rows:
        batches.append(batch)
    return batches


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_columns_of_several_partitions_are_the_same_and_in_order(batch: Batch, codec: str) -> None:
    data = log_of(batch, codec, 30)

    def readers() -> list[RecordReader]:
        return [RecordReader("t", partition, data, fetch_offset=partition) for partition in range(3)]

    openers = BatchOpeners(MUCH)
    ahead = readers()
    for reader in ahead:
        openers.open_ahead(reader)
    found = all_columns(ahead, openers)
    expected = pyarrow.Table.from_batches(all_columns(readers(), None))
    assert pyarrow.Table.from_batches(found).equals(expected)
    assert max(columns.nbytes for columns in found) < 2 * PORTION_BYTES
    assert [reader.remaining_bytes for reader in ahead] == [0, 0, 0]


Step = st.tuples(
    st.sampled_from(["columns", "no headers", "few", "end", "records", "fewer bytes"]), st.integers(1, 900)
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(codec=st.sampled_from(["none", "lz4"]), steps=st.lists(Step, max_size=12))
def test_every_record_comes_once_however_calls_change(
    batch: Batch, codec: str, steps: list[tuple[str, int]]
) -> None:
    data = log_of(batch, codec, 14)
    openers = BatchOpeners(MUCH)
    readers = [RecordReader("t", partition, data) for partition in (0, 1)]
    for reader in readers:
        openers.open_ahead(reader)
    offsets: dict[int, list[int]] = {0: [], 1: []}

    def take(**options: Any) -> int:
        columns = taken(readers, openers, **options)
        for partition, offset, value in zip(
            *(columns.column(name).to_pylist() for name in ("partition", "offset", "key")), strict=True
        ):
            assert value == b"%d" % offset
            offsets[partition].append(offset)
        return columns.num_rows

    for what, number in steps:
        if what == "columns":
            take()
        elif what == "no headers":
            take(headers=False)
        elif what == "few":
            assert take(max_records=number) <= number
        elif what == "end":
            before = [reader.next_offset for reader in readers]
            ends = [offset + number for offset in before]
            take(end_offsets=ends)
            assert all(reader.next_offset <= end for reader, end in zip(readers, ends, strict=True))
        elif what == "fewer bytes":
            take(max_bytes=number * 1000)
        else:
            reader = readers[number % 2]
            offsets[number % 2] += [record.offset for record in reader.take(number)]
    while take():
        pass
    assert offsets == {0: list(range(14 * RECORDS)), 1: list(range(14 * RECORDS))}


def test_what_comes_before_a_corrupt_batch_is_given_and_the_error_every_time(batch: Batch) -> None:
    batches = [large(batch, number * RECORDS) for number in range(20)]
    broken = bytearray(batches[11])
    broken[-100] ^= 1
    batches[11] = bytes(broken)
    reader = RecordReader("t", 5, received(b"".join(batches)))
    openers = BatchOpeners(MUCH)
    offsets: list[int] = []
    while len(offsets) < 11 * RECORDS:
        columns = taken([reader], openers)
        assert columns.num_rows
        offsets += columns.column("offset").to_pylist()
    assert offsets == list(range(11 * RECORDS))
    for _ in range(2):
        with pytest.raises(CorruptBatchError, match="checksum") as caught:
            taken([reader], openers)
        assert (caught.value.topic, caught.value.partition, caught.value.offset) == ("t", 5, 11 * RECORDS)


def test_aborted_records_are_left_out(batch: Batch, control_batch: Batch) -> None:
    def part(base: int, producer_id: int) -> bytes:
        header = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
        return large(batch, base, is_transactional=True, **header)

    data = b"".join(part(number * RECORDS, 1 + number % 2) for number in range(10))
    end = 10 * RECORDS
    data += control_batch(end, 1, commit=False) + control_batch(end + 1, 2, commit=True)
    data += b"".join(large(batch, end + 2 + number * RECORDS) for number in range(10))
    reader = RecordReader("t", 0, received(data), aborted=[(1, 0)])
    found = pyarrow.Table.from_batches(all_columns([reader], BatchOpeners(MUCH)))["offset"].to_pylist()
    expected = RecordReader("t", 0, received(data), aborted=[(1, 0)]).take(MUCH)
    assert found == [record.offset for record in expected]
    assert len(found) == 15 * RECORDS


def test_committed_transactions_are_made_ahead_across_their_markers(
    batch: Batch, control_batch: Batch
) -> None:
    data, base = b"", 0
    for _ in range(20):
        header = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
        data += large(batch, base, is_transactional=True, **header)
        data += control_batch(base + RECORDS, 1, commit=True)
        base += RECORDS + 1
    reader = RecordReader("t", 0, received(data), aborted=[])
    found = pyarrow.Table.from_batches(all_columns([reader], BatchOpeners(MUCH)))["offset"].to_pylist()
    assert found == [offset for offset in range(base) if (offset + 1) % (RECORDS + 1)]
    assert reader.next_offset == base


def test_records_that_are_larger_than_those_before_come_in_more_calls(batch: Batch) -> None:
    chance = random.Random(1)
    sizes = [500] * 40 + [50_000] * 8 + [500] * 40
    rows = [
        batch([(1, None, chance.randbytes(size))] * 50, base_offset=number * 50, compression="lz4")
        for number, size in enumerate(sizes)
    ]
    reader = RecordReader("t", 0, received(b"".join(rows)))
    found = all_columns([reader], BatchOpeners(MUCH))
    offsets = pyarrow.Table.from_batches(found)["offset"].to_pylist()
    assert offsets == list(range(50 * len(sizes)))
    assert max(columns.nbytes for columns in found) < 2 * PORTION_BYTES


def test_readers_may_be_dropped_before_their_columns_are_taken(batch: Batch) -> None:
    data = log_of(batch, "none", 12)
    openers = BatchOpeners(MUCH)
    for _ in range(10):
        readers = [RecordReader("t", partition, data) for partition in (0, 1)]
        assert taken(readers, openers).num_rows
    del readers
    reader = RecordReader("t", 0, data)
    assert taken([reader], openers).num_rows
    del openers
    gc.collect()
    rest = all_columns([reader], None)
    assert rest[-1].column("offset")[-1].as_py() == 12 * RECORDS - 1
