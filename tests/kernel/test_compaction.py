from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from barnabas._kernel import KeyOffsets, RecordReader, compact_batches, scan_batches

Batch = Callable[..., bytes]


def compacted(data: bytes, *, keep_tombstones_from: int = 0) -> bytes:
    keys = KeyOffsets()
    keys.add(data)
    result = compact_batches(data, keys, keep_tombstones_from=keep_tombstones_from)
    scan_batches(result, check_crcs=True)
    return result


def contents(data: bytes) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(r.offset, r.key, r.value) for r in RecordReader("t", 0, data)]


def test_only_the_last_record_of_a_key_stays(batch: Batch, codec: str) -> None:
    data = batch([(1, b"a", b"1"), (2, b"b", b"2"), (3, b"a", b"3")], compression=codec)
    data += batch([(4, b"c", b"4"), (5, b"b", b"5")], compression=codec, base_offset=3)
    assert contents(compacted(data)) == [(2, b"a", b"3"), (3, b"c", b"4"), (4, b"b", b"5")]


def test_timestamps_headers_and_header_fields_stay(batch: Batch, codec: str) -> None:
    data = batch(
        [(1, b"a", b"1"), (9, b"a", b"2", [("h", b"x")]), (2, b"b", b"3")],
        compression=codec,
        base_offset=40,
        leader_epoch=6,
        producer_id=5,
        producer_epoch=2,
        base_sequence=11,
    )
    result = compacted(data)
    (info,) = scan_batches(result, check_crcs=True)
    assert (info.base_offset, info.last_offset, info.leader_epoch) == (40, 42, 6)
    assert (info.producer_id, info.producer_epoch, info.base_sequence) == (5, 2, 11)
    assert (info.compression, info.record_count, info.max_timestamp) == (codec, 2, 9)
    records = RecordReader("t", 0, result).take(9)
    assert [(r.offset, r.timestamp, r.headers) for r in records] == [(41, 9, (("h", b"x"),)), (42, 2, ())]


def test_a_batch_that_loses_nothing_keeps_its_bytes(batch: Batch, codec: str) -> None:
    data = batch([(1, b"a", b"1"), (2, b"b", b"2")], compression=codec)
    assert compacted(data) == data


def test_batches_that_lose_all_records_vanish(batch: Batch) -> None:
    later = batch([(1, b"a", b"2")], base_offset=1)
    assert compacted(batch([(1, b"a", b"1")]) + later) == later


def test_a_later_segment_supersedes_an_earlier_one(batch: Batch) -> None:
    keys = KeyOffsets()
    earlier = batch([(1, b"a", b"1"), (1, b"b", b"1")])
    keys.add(earlier)
    keys.add(batch([(1, b"a", b"2")], base_offset=2))
    assert len(keys) == 2
    assert contents(compact_batches(earlier, keys, keep_tombstones_from=0)) == [(1, b"b", b"1")]


def test_tombstones_stay_until_their_time_and_then_go(batch: Batch) -> None:
    old = batch([(100, b"a", None)])
    new = batch([(200, b"b", None)], base_offset=1)
    assert contents(compacted(old + new, keep_tombstones_from=100)) == [(0, b"a", None), (1, b"b", None)]
    assert contents(compacted(old + new, keep_tombstones_from=101)) == [(1, b"b", None)]


def test_a_tombstone_removes_what_came_before(batch: Batch) -> None:
    data = batch([(1, b"a", b"1"), (1, b"a", None)])
    assert contents(compacted(data)) == [(1, b"a", None)]


def test_records_without_a_key_go(batch: Batch) -> None:
    assert contents(compacted(batch([(1, None, b"1"), (1, b"", b"2")]))) == [(1, b"", b"2")]


def test_the_last_batch_of_a_producer_survives_empty(batch: Batch) -> None:
    def of_producer(producer_id: int, offset: int, sequence: int) -> bytes:
        header = {"producer_id": producer_id, "producer_epoch": 1, "base_sequence": sequence}
        return batch([(7, b"a", b"%d" % offset)] * 2, base_offset=offset, compression="lz4", **header)

    data = (
        of_producer(1, 0, 0)
        + of_producer(1, 2, 2)
        + of_producer(2, 4, 0)
        + batch([(1, b"a", b"")], base_offset=6)
    )
    result = compacted(data)
    infos = scan_batches(result, check_crcs=True)
    assert [(i.producer_id, i.base_sequence, i.record_count, i.last_offset) for i in infos] == [
        (1, 2, 0, 3),
        (2, 0, 0, 5),
        (-1, -1, 1, 6),
    ]
    assert contents(result) == [(6, b"a", b"")]
    reader = RecordReader("t", 0, result[: infos[2].position])
    assert reader.take(9) == []
    assert reader.next_offset == 6


def test_control_batches_stay(batch: Batch, control_batch: Batch) -> None:
    marker = control_batch(1, 5, commit=True)
    data = batch([(1, b"a", b"1")]) + marker + batch([(1, b"a", b"2")], base_offset=2)
    result = compacted(data)
    assert [info.is_control for info in scan_batches(result)] == [True, False]
    assert marker in result


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(b"abcdef"), st.booleans()), min_size=1, max_size=6), max_size=12
    )
)
def test_compaction_keeps_exactly_what_a_dictionary_would(
    batch: Batch, batches: list[list[tuple[int, bool]]]
) -> None:
    data = b""
    offset = 0
    latest: dict[bytes, tuple[int, bytes | None]] = {}
    for records in batches:
        data += batch(
            [(1, bytes([key]), None if dead else b"v") for key, dead in records], base_offset=offset
        )
        for key, dead in records:
            latest[bytes([key])] = (offset, None if dead else b"v")
            offset += 1
    result = compacted(data)
    assert contents(result) == sorted((o, key, value) for key, (o, value) in latest.items())
    assert compacted(result) == result
