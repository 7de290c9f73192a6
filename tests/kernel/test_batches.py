from __future__ import annotations

import gc
import pickle
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernel.conftest import CODECS

from barnabas._kernel import (
    BatchBuilder,
    Record,
    RecordReader,
    find_batch_offset_for_timestamp,
    find_max_timestamp,
    scan_batches,
    stamp_batches,
)
from barnabas.errors import CorruptBatchError

Batch = Callable[..., bytes]
Parts = Callable[[Sequence[Record]], list[tuple[Any, ...]]]

nullable = st.none() | st.binary(max_size=300)
record_lists = st.lists(
    st.tuples(
        st.integers(0, 2**62),
        nullable,
        nullable,
        st.lists(st.tuples(st.text(max_size=20), nullable), max_size=4),
    ),
    min_size=1,
    max_size=30,
)


@given(record_lists, st.sampled_from(CODECS), st.integers(0, 2**62))
def test_records_come_back_as_they_were_written(
    batch: Batch, parts: Parts, records: list[Any], compression: str, base_offset: int
) -> None:
    data = batch(records, compression=compression, base_offset=base_offset, leader_epoch=3)
    reader = RecordReader("t", 1, data, fetch_offset=base_offset)
    expected = [
        (base_offset + index, timestamp, key, value, tuple(headers))
        for index, (timestamp, key, value, headers) in enumerate(records)
    ]
    assert parts(reader.take(1000)) == expected
    assert reader.next_offset == base_offset + len(records)
    assert reader.remaining_bytes == 0
    assert reader.take(1) == []
    (info,) = scan_batches(data, check_crcs=True, check_records=True)
    assert (info.base_offset, info.last_offset) == (base_offset, base_offset + len(records) - 1)
    assert (info.record_count, info.size, info.position) == (len(records), len(data), 0)
    assert info.max_timestamp == max(record[0] for record in records)


def test_the_header_says_who_wrote_the_batch(batch: Batch, codec: str) -> None:
    data = batch(
        [(5, b"k", b"v")],
        compression=codec,
        base_offset=7,
        leader_epoch=2,
        producer_id=1 << 40,
        producer_epoch=9,
        base_sequence=77,
        is_transactional=True,
    )
    (info,) = scan_batches(data, check_crcs=True)
    assert (info.magic, info.compression, info.timestamp_type) == (2, codec, 0)
    assert (info.producer_id, info.producer_epoch, info.base_sequence) == (1 << 40, 9, 77)
    assert (info.is_transactional, info.is_control, info.leader_epoch) == (True, False, 2)


def test_a_record_knows_where_it_came_from(batch: Batch) -> None:
    data = batch([(5, b"key", b"value")], base_offset=7, leader_epoch=2)
    (record,) = RecordReader("flights", 3, data)
    assert (record.topic, record.partition, record.leader_epoch) == ("flights", 3, 2)
    assert (record.timestamp_type, record.serialized_size) == (0, 8)
    assert repr(record) == (
        "Record(topic='flights', partition=3, offset=7, timestamp=5, key=b'key', value=b'value', headers=())"
    )


def test_records_are_equal_by_their_parts_and_can_be_pickled(batch: Batch) -> None:
    data = batch([(5, b"key", None, [("a", b"1"), ("a", None)])], base_offset=7)
    (read,) = RecordReader("flights", 3, data)
    made = Record("flights", 3, 7, 5, b"key", None, [("a", b"1"), ("a", None)])
    assert read == made
    assert hash(read) == hash(made)
    assert pickle.loads(pickle.dumps(read)) == made
    assert read != Record("flights", 3, 7, 5, b"key", b"", [("a", b"1"), ("a", None)])
    assert read != "flights"


def test_records_are_no_burden_to_the_garbage_collector(batch: Batch) -> None:
    """If they were, a list of a million records would take three times as long to make."""
    (record,) = RecordReader("t", 0, batch([(1, None, b"v")]))
    assert not gc.is_tracked(record)


def test_a_record_outlives_its_reader_and_its_buffer(batch: Batch) -> None:
    data = batch([(5, b"key", b"value" * 1000)])
    view = memoryview(b"xx" + data)[2:]
    del data
    (record,) = RecordReader("t", 0, view)
    del view
    assert record.value == b"value" * 1000


def test_a_buffer_that_changes_later_changes_no_record(batch: Batch) -> None:
    data = bytearray(batch([(5, b"key", b"value")]))
    reader = RecordReader("t", 0, memoryview(data).toreadonly())
    data[:] = bytes(len(data))
    (record,) = reader
    assert (record.key, record.value) == (b"key", b"value")


def test_records_below_the_fetch_offset_are_skipped(batch: Batch, codec: str) -> None:
    first = batch([(1, b"%d" % i, None) for i in range(10)], compression=codec)
    second = batch([(1, b"%d" % i, None) for i in range(10, 20)], compression=codec, base_offset=10)
    reader = RecordReader("t", 0, first + second, fetch_offset=13)
    assert [record.key for record in reader] == [b"%d" % i for i in range(13, 20)]


def test_records_are_taken_in_pieces_without_a_gap(batch: Batch, codec: str) -> None:
    data = b"".join(
        batch([(1, b"%d" % (base + i), None) for i in range(7)], compression=codec, base_offset=base)
        for base in range(0, 70, 7)
    )
    reader = RecordReader("t", 0, data)
    keys: list[bytes | None] = []
    while records := reader.take(4):
        keys += [record.key for record in records]
        assert reader.next_offset == len(keys)
        assert (reader.remaining_bytes == 0) == (len(keys) == 70)
    assert keys == [b"%d" % i for i in range(70)]


def test_a_batch_cut_short_at_the_end_is_left_out(batch: Batch) -> None:
    whole = batch([(1, b"a", b"1")])
    second = batch([(1, b"b", b"2")], base_offset=1)
    for cut in range(len(second)):
        reader = RecordReader("t", 0, whole + second[:cut])
        assert [record.key for record in reader] == [b"a"]
        assert (reader.next_offset, reader.remaining_bytes) == (1, 0)
        assert len(scan_batches(whole + second[:cut])) == 1


def test_a_batch_with_a_wrong_checksum_is_refused(batch: Batch, codec: str) -> None:
    good = batch([(1, b"good", None)], compression=codec)
    bad = bytearray(batch([(1, b"bad", None)], compression=codec, base_offset=1))
    bad[40] ^= 1
    reader = RecordReader("flights", 3, good + bad)
    assert [record.key for record in reader.take(10)] == [b"good"]
    for _ in range(2):
        with pytest.raises(CorruptBatchError, match="flights-3 at offset 1: wrong checksum") as caught:
            reader.take(10)
        assert (caught.value.topic, caught.value.partition, caught.value.offset) == ("flights", 3, 1)
    assert reader.next_offset == 1
    with pytest.raises(CorruptBatchError, match="wrong checksum"):
        scan_batches(good + bad, check_crcs=True)
    assert RecordReader("flights", 3, bad, check_crcs=False).take(1) != []


def patched(data: bytes, at: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, at, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("at", "layout", "value", "reason"),
    [
        (8, ">i", -1, "length of -1"),
        (8, ">i", 13, "too few"),
        (8, ">i", 48, "too few for its header"),
        (16, ">b", 3, "unknown magic 3"),
        (21, ">h", 5, "unknown compression codec 5"),
        (23, ">i", -1, "last offset delta is -1"),
        (57, ">i", -1, "claims -1 records"),
        (57, ">i", 2**31 - 1, "lengths or an offset that cannot be"),
        (57, ">i", 1, "left over"),
    ],
)
def test_a_header_that_lies_is_refused_with_a_reason(
    batch: Batch, at: int, layout: str, value: int, reason: str
) -> None:
    data = patched(batch([(1, b"a", b"1"), (2, b"b", b"2")]), at, layout, value)
    with pytest.raises(CorruptBatchError, match=reason):
        list(RecordReader("t", 0, data, check_crcs=False))


def test_a_bomb_in_a_batch_is_refused(batch: Batch) -> None:
    data = batch([(1, None, bytes(10_000_000))], compression="zstd")
    reader = RecordReader("t", 0, data, max_decompressed_bytes=1_000_000)
    with pytest.raises(CorruptBatchError, match=r"t-0 at offset 0: .*more than the limit"):
        reader.take(1)


def test_gaps_in_the_offsets_of_a_producer_are_found_on_request(batch: Batch) -> None:
    data = patched(batch([(1, b"a", b"1"), (2, b"b", b"2")]), 23, ">i", 5)
    assert scan_batches(data)[0].last_offset == 5
    with pytest.raises(CorruptBatchError, match="2 records but a last offset delta of 5"):
        scan_batches(data, check_records=True)


def test_stamping_gives_offsets_and_epoch_and_keeps_the_checksum(batch: Batch, codec: str) -> None:
    data = batch([(1, b"a", None)] * 3, compression=codec) + batch([(1, b"b", None)] * 2, compression=codec)
    stamped = stamp_batches(data, 100, 7)
    infos = scan_batches(stamped, check_crcs=True, check_records=True)
    assert [(i.base_offset, i.last_offset, i.leader_epoch) for i in infos] == [(100, 102, 7), (103, 104, 7)]
    assert [record.offset for record in RecordReader("t", 0, stamped)] == list(range(100, 105))


def test_log_append_time_overrules_all_timestamps(batch: Batch, codec: str) -> None:
    stamped = stamp_batches(
        batch([(1, b"a", None), (5, b"b", None)], compression=codec), 0, 0, log_append_time=99
    )
    (info,) = scan_batches(stamped, check_crcs=True)
    assert (info.timestamp_type, info.max_timestamp) == (1, 99)
    records = RecordReader("t", 0, stamped).take(5)
    assert [(record.timestamp, record.timestamp_type) for record in records] == [(99, 1)] * 2


def test_half_a_batch_is_not_stamped(batch: Batch) -> None:
    data = batch([(1, b"a", None)])
    with pytest.raises(CorruptBatchError, match="cut short"):
        stamp_batches(data + data[:30], 0, 0)


def test_a_timestamp_is_found_in_the_first_record_that_reaches_it(batch: Batch, codec: str) -> None:
    timestamps = [10, 30, 20, 50, 50, 40]
    data = batch([(t, None, None) for t in timestamps[:3]], compression=codec, leader_epoch=1)
    data += batch([(t, None, None) for t in timestamps[3:]], compression=codec, base_offset=3, leader_epoch=2)
    assert find_batch_offset_for_timestamp(data, 0) == (0, 10, 1)
    assert find_batch_offset_for_timestamp(data, 11) == (1, 30, 1)
    assert find_batch_offset_for_timestamp(data, 31) == (3, 50, 2)
    assert find_batch_offset_for_timestamp(data, 51) is None
    assert find_max_timestamp(data) == (3, 50, 2)
    assert find_max_timestamp(b"") is None


def test_the_builder_closes_at_its_limit_but_takes_one_record_of_any_size() -> None:
    builder = BatchBuilder(max_bytes=200)
    assert builder.append(1, None, bytes(1000))
    assert not builder.append(1, None, b"")
    builder = BatchBuilder(max_bytes=200)
    count = 0
    while builder.append(1, b"k", b"v"):
        count += 1
    assert builder.record_count == count
    assert len(builder.build()) == builder.size <= 200 < builder.size + 9


def test_a_batch_without_records_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        BatchBuilder().build()


def test_a_reader_knows_where_the_bytes_end_before_it_reads_them() -> None:
    first, second = (_plain_batch(base_offset) for base_offset in (10, 20))
    assert RecordReader("t", 0, first + second).end_offset == 22
    assert RecordReader("t", 0, first + second[:-1]).end_offset == 12
    assert RecordReader("t", 0, first[:-1]).end_offset is None
    assert RecordReader("t", 0, first + second[:16] + b"\x07" + second[17:]).end_offset is None


def _plain_batch(base_offset: int) -> bytes:
    builder = BatchBuilder()
    for value in (b"a", b"b"):
        builder.append(0, None, value)
    return builder.build(base_offset=base_offset)


def test_settings_name_the_codecs_in_the_order_of_their_numbers(batch: Batch) -> None:
    for number, codec in enumerate(CODECS):
        assert batch([(1, None, bytes(1000))], compression=codec)[22] & 7 == number
