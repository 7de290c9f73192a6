from __future__ import annotations

import hashlib
import pathlib
import select
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas._kernel import (
    Accumulator,
    ProducerBatch,
    RecordReader,
    Waker,
    compress,
    crc32,
    decompress,
    fnv1a,
    murmur2,
    scan_batches,
    set_time,
)
from barnabas.errors import NoSuchPartitionError, RecordTooLargeError, UnusableRecordError

Make = Callable[..., Accumulator]
HEADER_BYTES = 61


@pytest.fixture
def wakes() -> list[str]:
    return []


def made(partitions: int = 1, **settings: Any) -> Accumulator:
    accumulator = Accumulator(
        **{
            "batch_size": 1000,
            "buffer_memory": 1 << 25,
            "max_record_bytes": 1 << 20,
            "compression": "none",
            "compression_level": None,
            "partitioner": "murmur2",
            "wake": lambda: None,
        }
        | settings
    )
    accumulator.set_partition_count("t", partitions)
    return accumulator


@pytest.fixture
def make(wakes: list[str]) -> Make:
    def make_accumulator(partitions: int = 1, **settings: Any) -> Accumulator:
        return made(partitions, **{"wake": lambda: wakes.append("wake")} | settings)

    return make_accumulator


def append(accumulator: Accumulator, value: bytes | None, key: bytes | None = None, **rest: Any) -> Any:
    arguments = {"partition": None, "headers": None, "timestamp": None} | rest
    return accumulator.append(
        "t", arguments["partition"], key, value, arguments["headers"], arguments["timestamp"]
    )


def values(data: bytes | memoryview) -> list[bytes | None]:
    return [record.value for record in RecordReader("t", 0, data)]


def test_a_topic_is_not_taken_before_its_partitions_are_known(make: Make) -> None:
    accumulator = make()
    assert accumulator.needs_metadata("other")
    assert accumulator.append("other", None, None, b"v", None, None) is None
    accumulator.set_partition_count("other", 2)
    assert not accumulator.needs_metadata("other")
    assert accumulator.append("other", None, None, b"v", None, None) is not None


def test_records_reach_their_batch_in_order_with_all_their_parts(make: Make, codec: str) -> None:
    accumulator = make(compression=codec)
    for i in range(5):
        append(accumulator, b"%d" % i, b"key", headers=[("h", b"%d" % i), ("n", None)], timestamp=100 + i)
    assert accumulator.partitions() == [("t", 0)]
    batch = accumulator.drain("t", 0)
    assert batch is not None
    assert (batch.topic, batch.partition, batch.record_count) == ("t", 0, 5)
    assert accumulator.partitions() == []
    data = batch.encode()
    assert batch.encode() == data
    records = RecordReader("t", 0, data).take(10)
    assert [(r.offset, r.timestamp, r.key, r.value) for r in records] == [
        (i, 100 + i, b"key", b"%d" % i) for i in range(5)
    ]
    assert records[3].headers == (("h", b"3"), ("n", None))


def test_encoding_again_changes_the_header_only(make: Make, codec: str) -> None:
    accumulator = make(compression=codec)
    append(accumulator, b"v" * 100)
    batch = accumulator.drain("t", 0)
    assert batch is not None
    plain = batch.encode()
    data = batch.encode(producer_id=9, producer_epoch=2, base_sequence=30, is_transactional=True)
    assert data[61:] == plain[61:]
    (info,) = scan_batches(data, check_crcs=True, check_records=True)
    assert (info.producer_id, info.producer_epoch, info.base_sequence) == (9, 2, 30)
    assert info.is_transactional


def test_a_record_without_a_timestamp_gets_the_present(make: Make) -> None:
    accumulator = make()
    before = time.time_ns() // 1_000_000
    append(accumulator, b"v")
    after = time.time_ns() // 1_000_000
    batch = accumulator.drain("t", 0)
    assert batch is not None
    (record,) = RecordReader("t", 0, batch.encode())
    assert before <= record.timestamp <= after
    with pytest.raises(UnusableRecordError, match="timestamp -1 ms is before 1970"):
        append(accumulator, b"v", timestamp=-1)


@pytest.mark.parametrize(
    ("partitioner", "partition_of"),
    [
        ("murmur2", lambda key: (murmur2(key) & 0x7FFFFFFF) % 7),
        ("murmur2_random", lambda key: (murmur2(key) & 0x7FFFFFFF) % 7),
        ("consistent", lambda key: crc32(key) % 7),
        ("consistent_random", lambda key: crc32(key) % 7),
        ("fnv1a", lambda key: min(fnv1a(key), (1 << 32) - fnv1a(key)) % 7),
        ("fnv1a_random", lambda key: min(fnv1a(key), (1 << 32) - fnv1a(key)) % 7),
    ],
)
def test_a_key_decides_the_partition(
    make: Make, partitioner: str, partition_of: Callable[[bytes], int]
) -> None:
    for i in range(50):
        accumulator = make(7, partitioner=partitioner)
        append(accumulator, None, b"key %d" % i)
        assert accumulator.partitions() == [("t", partition_of(b"key %d" % i))]


@pytest.mark.parametrize(
    ("partitioner", "key", "partition"),
    [
        ("murmur2", b"", (murmur2(b"") & 0x7FFFFFFF) % 7),
        ("murmur2_random", b"", (murmur2(b"") & 0x7FFFFFFF) % 7),
        ("consistent", b"", 0),
        ("consistent", None, 0),
        ("fnv1a", None, min(fnv1a(b""), (1 << 32) - fnv1a(b"")) % 7),
        ("murmur2", None, None),
        ("murmur2_random", None, None),
        ("consistent_random", b"", None),
        ("consistent_random", None, None),
        ("fnv1a_random", None, None),
    ],
)
def test_empty_and_missing_keys_go_to_one_partition_or_to_any(
    make: Make, partitioner: str, key: bytes | None, partition: int | None
) -> None:
    accumulator = make(7, partitioner=partitioner)
    for _ in range(500):
        append(accumulator, bytes(500), key)
    expected = set(range(7)) if partition is None else {partition}
    assert {partition for _, partition in accumulator.partitions()} == expected


def test_records_without_a_key_stay_together_until_a_batch_is_full(make: Make) -> None:
    accumulator = make(50, batch_size=10_000)
    for _ in range(40):
        append(accumulator, bytes(100))
    assert len(accumulator.partitions()) == 1


def test_records_without_a_key_leave_no_batch_half_full(make: Make) -> None:
    accumulator = make(20)
    for _ in range(1000):
        append(accumulator, bytes(300))
    partitions = [partition for _, partition in accumulator.partitions()]
    assert partitions == list(range(20))
    sizes: list[int] = []
    for partition in partitions:
        while batch := accumulator.drain("t", partition):
            sizes.append(len(batch.encode()))
    assert len([size for size in sizes if size < 900]) <= 1


def test_a_batch_that_is_left_for_another_partition_is_ready_at_once(make: Make) -> None:
    accumulator = make(20)
    while len(accumulator.partitions()) < 2:
        append(accumulator, bytes(300))
    ready = [accumulator.ready_in_ms("t", p, 0, 1e9) for _, p in accumulator.partitions()]
    assert sorted(is_ready == 0 for is_ready in ready) == [False, True]


def test_a_partition_that_does_not_exist_is_refused(make: Make) -> None:
    accumulator = make(3)
    for partition in (3, -1):
        with pytest.raises(
            UnusableRecordError, match=f"topic t has no partition {partition}; its partitions are 0 to 2"
        ) as caught:
            append(accumulator, b"v", partition=partition)
        # Whoever waits for new partitions is told which ones may come.
        assert isinstance(caught.value, NoSuchPartitionError) == (partition == 3)
    accumulator.set_partition_count("t", 4)
    append(accumulator, b"v", partition=3)
    assert accumulator.partitions() == [("t", 3)]


def test_settings_that_do_not_exist_are_refused(make: Make) -> None:
    with pytest.raises(ValueError, match=r'unknown partitioner "sticky"; there are murmur2, .*fnv1a_random'):
        make(partitioner="sticky")
    with pytest.raises(ValueError, match='unknown compression "brotli"'):
        make(compression="brotli")


def test_a_record_over_the_limits_is_refused(make: Make) -> None:
    too_large = r"topic t is larger than max_request_size \(1000\) allows: it takes up to 1\d\d\d bytes"
    with pytest.raises(RecordTooLargeError, match=too_large):
        append(make(max_record_bytes=1000), bytes(1000))
    with pytest.raises(RecordTooLargeError, match=r"topic t is larger than buffer_memory \(1000\) allows"):
        append(make(buffer_memory=1000), bytes(1000))


def test_a_record_larger_than_a_batch_gets_one_of_its_own(make: Make) -> None:
    accumulator = make()
    append(accumulator, b"small")
    append(accumulator, bytes(5000))
    append(accumulator, b"small")
    sizes: list[int] = []
    while batch := accumulator.drain("t", 0):
        sizes.append(batch.record_count)
    assert sizes == [1, 1, 1]


def test_a_full_buffer_takes_nothing_until_a_batch_is_released(make: Make) -> None:
    accumulator = make(buffer_memory=3000)
    taken = 0
    while append(accumulator, bytes(200)):
        taken += 1
    assert accumulator.buffered_records == taken > 5
    assert accumulator.buffered_bytes <= 3000
    batch = accumulator.drain("t", 0)
    assert batch is not None
    assert append(accumulator, bytes(200)) is None
    accumulator.release(batch)
    accumulator.release(batch)
    assert accumulator.buffered_records == taken - batch.record_count
    assert append(accumulator, bytes(200)) is not None
    while batch := accumulator.drain("t", 0):
        accumulator.release(batch)
    assert (accumulator.buffered_bytes, accumulator.buffered_records) == (0, 0)


def test_the_sender_is_woken_by_first_records_and_full_batches_only(make: Make, wakes: list[str]) -> None:
    accumulator = make(batch_size=1000)
    append(accumulator, bytes(100))
    assert len(wakes) == 1
    for _ in range(7):
        append(accumulator, bytes(100))
    assert len(wakes) == 1
    append(accumulator, bytes(100))
    assert len(wakes) == 2


def test_an_error_in_waking_loses_no_record(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)

    def fail() -> None:
        raise OSError("the loop is closed")

    assert append(make(wake=fail), b"v") is not None
    assert [type(hook.exc_value) for hook in seen] == [OSError]


def test_a_batch_is_ready_when_it_is_full_or_has_lingered(make: Make) -> None:
    accumulator = make(batch_size=1000)
    assert accumulator.ready_in_ms("t", 0, 0, 5) == float("inf")
    assert accumulator.ready_in_ms("unknown", 0, 0, 5) == float("inf")
    now = time.monotonic() * 1000
    append(accumulator, bytes(100))
    later = time.monotonic() * 1000
    assert 50 - 1 <= accumulator.ready_in_ms("t", 0, later, 50 + later - now) <= 50 + 2 * (later - now) + 1
    assert accumulator.ready_in_ms("t", 0, later + 51, 50) == 0
    while accumulator.ready_in_ms("t", 0, now, 1e9) > 0:
        append(accumulator, bytes(100))
    batch = accumulator.drain("t", 0)
    assert batch is not None
    assert batch.record_count >= 8
    assert now - 1 <= batch.created_ms <= later + 1


def test_batches_put_back_come_out_again_first_and_in_their_old_order(make: Make) -> None:
    accumulator = make(batch_size=200)
    for i in range(10):
        append(accumulator, b"%d" % i + bytes(99))
    first, second, third = (accumulator.drain("t", 0) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    for batch in (second, third, first):
        accumulator.put_back(batch)
    assert accumulator.ready_in_ms("t", 0, 0, 1e9) == 0
    assert [accumulator.drain("t", 0) for _ in range(3)] == [first, second, third]
    rest: list[bytes] = []
    while batch := accumulator.drain("t", 0):
        rest += [value[:1] for value in values(batch.encode()) if value]
    assert rest == [b"%d" % i for i in range(3, 10)]


def test_a_split_batch_gives_all_its_records_to_smaller_ones(make: Make, codec: str) -> None:
    accumulator = make(batch_size=100_000, compression=codec)
    deliveries = [append(accumulator, b"%d" % i + bytes(100), headers=[("h", b"x")]) for i in range(50)]
    batch = accumulator.drain("t", 0)
    assert batch is not None
    before = accumulator.buffered_bytes
    batch.encode(producer_id=1, producer_epoch=0, base_sequence=0)
    parts = batch.split(1000)
    assert len(parts) > 4
    assert all(part.size <= 1000 for part in parts)
    with pytest.raises(ValueError, match="used up"):
        batch.encode()
    accumulator.release(batch)
    assert (accumulator.buffered_bytes, accumulator.buffered_records) == (before, 50)
    for part in reversed(parts):
        accumulator.put_back(part)
    offset = 0
    while part := accumulator.drain("t", 0):
        records = RecordReader("t", 0, part.encode()).take(100)
        assert [record.value for record in records] == [
            b"%d" % (offset + i) + bytes(100) for i in range(len(records))
        ]
        assert records[0].headers == (("h", b"x"),)
        part.complete(offset)
        offset += part.record_count
        accumulator.release(part)
    assert [delivery.result(0).offset for delivery in deliveries] == list(range(50))
    assert (accumulator.buffered_bytes, accumulator.buffered_records) == (0, 0)


def test_what_is_undecided_at_the_end_fails_whoever_holds_it_and_is_told_of_once(make: Make) -> None:
    accumulator = make(batch_size=120)
    told: list[object] = []

    def send(value: bytes) -> Any:
        return accumulator.append("t", 0, None, value, (), None, lambda error, _: told.append(error))

    done = send(bytes(100))
    delivered = accumulator.drain("t", 0)
    assert delivered is not None
    delivered.complete(0)
    lost, split, waiting = send(bytes(100)), send(bytes(100)), send(bytes(100))
    held = [accumulator.drain("t", 0) for _ in range(2)]
    assert held[1] is not None
    parts = held[1].split(60)
    error = ValueError("the end")
    assert accumulator.fail_rest(error) == 3
    assert accumulator.fail_rest(error) == 0
    assert done.exception() is None
    assert [each.exception() for each in (lost, split, waiting)] == [error] * 3
    assert told == [None, error, error, error]
    assert parts


def test_batches_that_nobody_holds_any_more_are_not_kept(make: Make) -> None:
    accumulator = make()
    for _ in range(1_000):
        append(accumulator, b"v")
        batch = accumulator.drain("t", 0)
        assert batch is not None
        batch.complete(0)
        accumulator.release(batch)
    append(accumulator, b"v")
    assert accumulator.fail_rest(ValueError("the end")) == 1


def test_many_threads_may_append_while_one_drains(make: Make) -> None:
    accumulator = make(4, batch_size=500, buffer_memory=1 << 20)
    failures: list[object] = []

    def produce(thread: int) -> None:
        for i in range(2000):
            delivery = append(accumulator, b"%d:%d" % (thread, i), partition=thread % 4)
            failures.extend([] if delivery else [(thread, i)])

    threads = [threading.Thread(target=produce, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    seen: dict[int, list[int]] = {number: [] for number in range(8)}
    while any(thread.is_alive() for thread in threads) or accumulator.partitions():
        for topic, partition in accumulator.partitions():
            while batch := accumulator.drain(topic, partition):
                for value in values(batch.encode()):
                    assert value is not None
                    thread_number, number = value.split(b":")
                    seen[int(thread_number)].append(int(number))
                batch.complete(0)
                accumulator.release(batch)
    for thread in threads:
        thread.join()
    assert failures == []
    assert all(numbers == list(range(2000)) for numbers in seen.values())
    assert accumulator.buffered_records == 0


def test_a_batch_keeps_the_bytes_it_gave_before_when_it_is_encoded_anew(make: Make) -> None:
    accumulator = make()
    accumulator.append("t", 0, None, b"value", None, None)
    batch = accumulator.drain("t", 0)
    assert batch is not None
    first = batch.encode(producer_id=1, producer_epoch=0, base_sequence=0)
    before = bytes(first)
    second = batch.encode(producer_id=1, producer_epoch=1, base_sequence=0)
    assert first == before
    assert second != before
    assert first.readonly


def test_full_batches_are_compressed_by_threads_that_wake_whoever_waits_for_it(make: Make) -> None:
    waker = Waker()
    accumulator = make(batch_size=20_000, compression="gzip", wake=waker)
    expected = [b"%06d" % number * 10 for number in range(2000)]
    for value in expected:
        accumulator.append("t", 0, None, value, None, None)
    found: list[bytes | None] = []
    while batch := accumulator.drain("t", 0):
        while not batch.is_sealed:
            assert select.select([waker], [], [], 10)[0]
            waker.clear()
        found += values(batch.encode())
    assert found == expected


def ids(count: int) -> list[bytes]:
    """In which matches are few, and short."""
    return [hashlib.sha256(b"%d" % number).hexdigest().encode() for number in range(count)]


def records_of(batch: ProducerBatch | None) -> tuple[bytes, bytes]:
    """As the batch has them, and decompressed."""
    assert batch is not None
    compressed = bytes(batch.encode())[HEADER_BYTES:]
    return compressed, decompress("zstd", compressed, 1 << 24)


@pytest.mark.parametrize("level", [1, 3, 19])
def test_zstd_takes_the_level_that_is_named(make: Make, level: int) -> None:
    accumulator = make(batch_size=50_000, compression="zstd", compression_level=level)
    for value in ids(2000):
        append(accumulator, value)
    for _ in range(3):
        compressed, records = records_of(accumulator.drain("t", 0))
        assert compressed == compress("zstd", records, level)


def test_zstd_searches_the_records_of_each_partition_no_harder_than_it_pays(make: Make) -> None:
    accumulator = make(2, batch_size=1 << 20, compression="zstd")
    program = pathlib.Path(__file__).read_bytes().splitlines()
    for _ in range(2):
        for value in ids(2000):
            append(accumulator, value, partition=0, timestamp=1)
        for line in program:
            append(accumulator, line, partition=1, timestamp=1)
        compressed_ids, records = records_of(accumulator.drain("t", 0))
        by_default = compress("zstd", records)
        assert compressed_ids != by_default
        assert len(compressed_ids) <= len(by_default) * 1.01
        compressed_program, records = records_of(accumulator.drain("t", 1))
        assert compressed_program == compress("zstd", records, 3)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["append", "append", "append", "drain", "put back", "look"]), st.integers(0, 7)
        ),
        max_size=60,
    ),
    st.sampled_from([0.0, 0.2, 1e9]),
)
def test_what_is_due_is_what_a_look_at_every_partition_finds(
    work: list[tuple[str, int]], linger_ms: float
) -> None:
    accumulator = made(8, batch_size=200)
    taken: list[ProducerBatch] = []
    for what, partition in [*work, ("look", 0)]:
        if what == "append":
            accumulator.append("t", partition, None, b"v" * 50, None, None)
        elif what == "drain":
            batch = accumulator.drain("t", partition)
            taken += [] if batch is None else [batch]
        elif what == "put back" and taken:
            accumulator.put_back(taken.pop(0))
        elif what == "look":
            now_ms = time.monotonic() * 1000
            waits = {number: accumulator.ready_in_ms("t", number, now_ms, linger_ms) for number in range(8)}
            due, next_ms = accumulator.due(now_ms, linger_ms)
            assert sorted(due) == [("t", number) for number, wait in waits.items() if wait == 0]
            assert next_ms == min((wait for wait in waits.values() if wait > 0), default=float("inf"))


def test_records_and_batches_have_the_time_that_is_set(make: Make) -> None:
    def times() -> tuple[int, int]:
        accumulator = make()
        append(accumulator, b"v")
        batch = accumulator.drain("t", 0)
        assert batch is not None
        (record,) = RecordReader("t", 0, batch.encode()).take(1)
        return record.timestamp, batch.created_ms

    set_time(1_000, 77.0)
    try:
        assert times() == (1_000, 77)
    finally:
        set_time(None, None)
    timestamp, created_ms = times()
    assert timestamp > 1_700_000_000_000
    assert created_ms > 77


def test_one_seed_chooses_the_same_partitions() -> None:
    def chosen(seed: int) -> list[int]:
        accumulator = made(50, seed=seed, batch_size=100)
        for _ in range(20):
            append(accumulator, b"v" * 100)
        return [partition for _, partition in accumulator.partitions()]

    assert chosen(7) == chosen(7)
    assert chosen(7) != chosen(8)
