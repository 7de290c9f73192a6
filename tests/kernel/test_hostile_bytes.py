"""Whatever bytes come in, the answer is records or a CorruptBatchError."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from tests.kernel.conftest import CODECS

from barnabas._kernel import (
    KeyOffsets,
    LogCleaner,
    RecordReader,
    compact_batches,
    compress,
    convert_to_current,
    convert_to_old,
    decompress,
    find_batch_offset_for_timestamp,
    find_max_timestamp,
    scan_batches,
    stamp_batches,
    take_arrow,
)
from barnabas.errors import CorruptBatchError

Batch = Callable[..., bytes]


def read_in_every_way(data: bytes) -> None:
    keys = KeyOffsets()
    cleaner = LogCleaner(now_ms=5, delete_retention_ms=1, last_batches={1: (7, 0)}, aborted=[(1, 0, 9)])
    for read in (
        lambda: list(RecordReader("t", 0, data, check_crcs=False)),
        lambda: list(RecordReader("t", 0, data, aborted=[(1, 0)])),
        lambda: RecordReader("t", 0, data, check_crcs=False, aborted=[]).take(1000),
        lambda: take_arrow([RecordReader("t", 0, data, check_crcs=False)], 1000).__arrow_c_array__(),
        lambda: scan_batches(data, check_crcs=True),
        lambda: scan_batches(data, check_records=True),
        lambda: stamp_batches(data, 5, 1, log_append_time=7),
        lambda: find_batch_offset_for_timestamp(data, 2),
        lambda: find_max_timestamp(data),
        lambda: keys.add(data),
        lambda: compact_batches(data, keys, keep_tombstones_from=0),
        lambda: cleaner.decided(data),
        lambda: cleaner.clean(data, keys),
        lambda: convert_to_current(data),
        lambda: convert_to_old(data, 0, first_offset=0),
        lambda: convert_to_old(data, 1, first_offset=3),
    ):
        with contextlib.suppress(CorruptBatchError):
            read()


@given(st.binary(max_size=500))
def test_any_bytes_are_records_or_a_clear_error(data: bytes) -> None:
    read_in_every_way(data)


@given(st.sampled_from(CODECS), st.binary(max_size=500))
def test_any_bytes_decompress_or_give_a_clear_error(codec: str, data: bytes) -> None:
    with contextlib.suppress(CorruptBatchError):
        decompress(codec, data, 10_000)


@given(
    st.sampled_from(CODECS),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 7)), min_size=1, max_size=5),
    st.integers(0, 10_000),
)
def test_batches_with_flipped_bits_and_cut_ends_are_records_or_a_clear_error(
    batch: Batch, codec: str, flips: list[tuple[int, int]], cut: int
) -> None:
    records = [(i, b"key %d" % i, b"value" * i, [("h", b"x"), ("n", None)]) for i in range(8)]
    data = bytearray(batch(records, compression=codec, producer_id=1) * 2)
    for position, bit in flips:
        data[position % len(data)] ^= 1 << bit
    read_in_every_way(bytes(data[: len(data) - cut % len(data) // 4]))


@given(
    st.sampled_from([codec for codec in CODECS if codec != "zstd"]),
    st.sampled_from([0, 1]),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 7)), min_size=1, max_size=5),
    st.integers(0, 10_000),
)
def test_message_sets_with_flipped_bits_and_cut_ends_are_records_or_a_clear_error(
    batch: Batch, codec: str, magic: int, flips: list[tuple[int, int]], cut: int
) -> None:
    current = batch([(i, b"key %d" % i, b"value" * i) for i in range(8)], compression=codec)
    data = bytearray(convert_to_old(current, magic, first_offset=0))
    for position, bit in flips:
        data[position % len(data)] ^= 1 << bit
    read_in_every_way(bytes(data[: len(data) - cut % len(data) // 4]))


def test_refusing_bombs_takes_no_memory(batch: Batch) -> None:
    bombs = [batch([(1, None, bytes(50_000_000))], compression=codec) for codec in CODECS[1:]]
    nested = compress("zstd", bytes(200_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        for bomb in bombs:
            with contextlib.suppress(CorruptBatchError):
                RecordReader("t", 0, bomb, max_decompressed_bytes=1_000_000).take(1)
        with contextlib.suppress(CorruptBatchError):
            decompress("zstd", nested, 1_000_000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 20_000, f"{after - before} KiB more"
