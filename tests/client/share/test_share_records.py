"""Which records of an answer are ours: those that were acquired, with what stands at the other offsets."""

from __future__ import annotations

import random
import time
import uuid

import pytest

from barnabas._kernel import BatchBuilder
from barnabas.client.share.records import GAP, AcknowledgementBatch, Acquisition, read_acquired
from barnabas.types import TopicPartition

REJECT, RELEASE = 3, 2
PARTITION = TopicPartition("t", 3)


def acquisition() -> Acquisition:
    return Acquisition(1, 0, PARTITION, uuid.uuid4(), time.monotonic() + 30)


def batch(base_offset: int, count: int, **settings: bool) -> bytes:
    builder = BatchBuilder()
    for number in range(base_offset, base_offset + count):
        builder.append(0, None, b"%d" % number)
    return builder.build(base_offset=base_offset, **settings)


def test_records_outside_of_what_was_acquired_are_left_out() -> None:
    data = batch(0, 10) + batch(10, 10)
    result = read_acquired(acquisition(), data, [(3, 5, 1), (8, 12, 2)], check_crcs=True)
    assert [(r.offset, r.value, r.delivery_count) for r in result.records] == [
        (3, b"3", 1),
        (4, b"4", 1),
        (5, b"5", 1),
        *((offset, b"%d" % offset, 2) for offset in range(8, 13)),
    ]
    assert result.unreadable == []
    assert result.error is None


def test_acquired_offsets_without_a_record_are_gaps() -> None:
    data = batch(2, 3) + batch(9, 2)
    result = read_acquired(acquisition(), data, [(0, 20, 1)], check_crcs=True)
    assert [r.offset for r in result.records] == [2, 3, 4, 9, 10]
    assert result.unreadable == [
        AcknowledgementBatch(0, 1, GAP),
        AcknowledgementBatch(5, 8, GAP),
        AcknowledgementBatch(11, 20, GAP),
    ]


def test_a_gap_of_all_offsets_there_are_costs_no_memory() -> None:
    result = read_acquired(acquisition(), b"", [(0, 2**63 - 1, 1)], check_crcs=True)
    assert result.unreadable == [AcknowledgementBatch(0, 2**63 - 1, GAP)]


def test_a_corrupt_batch_is_rejected_and_what_follows_it_is_released() -> None:
    broken = bytearray(batch(5, 5))
    broken[-1] ^= 1
    data = batch(0, 5) + bytes(broken) + batch(10, 5)
    result = read_acquired(acquisition(), data, [(0, 14, 1)], check_crcs=True)
    assert [r.offset for r in result.records] == [0, 1, 2, 3, 4]
    assert result.unreadable == [AcknowledgementBatch(5, 9, REJECT), AcknowledgementBatch(10, 14, RELEASE)]
    assert result.error is not None
    assert (result.error.topic, result.error.partition, result.error.offset) == ("t", 3, 5)


@pytest.mark.parametrize("seed", range(20))
def test_every_acquired_offset_is_a_record_or_accounted_for(seed: int) -> None:
    rng = random.Random(seed)
    data, offset, present = b"", rng.randrange(3), set()
    for _ in range(rng.randrange(5)):
        count = rng.randrange(1, 6)
        data += batch(offset, count)
        present |= set(range(offset, offset + count))
        offset += count + rng.choice([0, 0, 2])
    damaged = bytearray(data)
    if damaged and rng.random() < 0.5:
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    acquired, start = [], 0
    while start < offset + 5:
        end = start + rng.randrange(4)
        acquired.append((start, end, 1))
        start = end + rng.randrange(1, 4)
    result = read_acquired(acquisition(), bytes(damaged), acquired, check_crcs=True)
    records = [r.offset for r in result.records]
    others = [o for r in result.unreadable for o in range(r.first, r.last + 1)]
    assert sorted(records + others) == [o for first, last, _ in acquired for o in range(first, last + 1)]
    assert set(records) <= present
    if result.error is None and bytes(damaged) == data:
        assert all(r.code == GAP for r in result.unreadable)
        assert not present & set(others)
