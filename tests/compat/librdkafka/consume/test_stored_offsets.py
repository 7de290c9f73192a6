"""What is stored of what a program was given, and what is refused because it cannot be."""

from __future__ import annotations

import threading

import pytest

from barnabas.compat.librdkafka.consume.stored_offsets import HandedOut, StoredOffsets
from barnabas.errors import ImpossibleOffsetError
from barnabas.types import OffsetAndMetadata, TopicPartition

ASSIGNED = TopicPartition("flights", 2)
ELSEWHERE = TopicPartition("flights", 3)


@pytest.fixture
def faults() -> list[ImpossibleOffsetError]:
    return []


@pytest.fixture
def offsets(faults: list[ImpossibleOffsetError]) -> StoredOffsets:
    return StoredOffsets(
        stores_automatically=True,
        is_assigned=lambda partition: partition == ASSIGNED,
        on_fault=faults.append,
    )


def handed_out(
    next_offset: int, partition: TopicPartition = ASSIGNED, *, epoch: int = 1, watermark: int = 100
) -> HandedOut:
    return HandedOut(partition, next_offset, 7, epoch, watermark)


def test_what_was_read_is_stored_with_its_leader_epoch(
    offsets: StoredOffsets, faults: list[ImpossibleOffsetError]
) -> None:
    offsets.was_read(handed_out(100))
    assert offsets.due([ASSIGNED]) == {ASSIGNED: OffsetAndMetadata(100, "", 7)}
    assert not faults


def test_an_offset_of_a_partition_that_is_not_assigned_is_refused(
    offsets: StoredOffsets, faults: list[ImpossibleOffsetError]
) -> None:
    offsets.was_read(handed_out(10, ELSEWHERE))
    assert offsets.due([ELSEWHERE]) == {}
    assert "flights-3: offset 10 was to be stored as read, but the partition is not assigned" in str(
        faults[0]
    )


def test_an_offset_behind_what_any_fetch_brought_or_announced_is_refused(
    offsets: StoredOffsets, faults: list[ImpossibleOffsetError]
) -> None:
    offsets.was_read(handed_out(50))
    offsets.was_read(handed_out(101))
    assert offsets.due([ASSIGNED])[ASSIGNED].offset == 50
    assert "no fetch brought or announced more than 100" in str(faults[0])


def test_an_offset_before_what_was_read_is_refused_unless_something_was_sought(
    offsets: StoredOffsets, faults: list[ImpossibleOffsetError]
) -> None:
    offsets.was_read(handed_out(50))
    offsets.was_read(handed_out(40))
    assert offsets.read(ASSIGNED) == OffsetAndMetadata(50, "", 7)
    assert "it was read up to 50 before" in str(faults.pop())
    offsets.was_read(handed_out(40, epoch=2))
    assert offsets.read(ASSIGNED) == OffsetAndMetadata(40, "", 7)
    offsets.was_sought(ASSIGNED)
    offsets.was_read(handed_out(30, epoch=2))
    assert offsets.read(ASSIGNED) == OffsetAndMetadata(30, "", 7)
    assert not faults


def test_a_partition_without_a_known_watermark_is_stored(
    offsets: StoredOffsets, faults: list[ImpossibleOffsetError]
) -> None:
    offsets.was_read(handed_out(50, watermark=-1))
    assert offsets.due([ASSIGNED])[ASSIGNED].offset == 50
    assert not faults


def test_a_seek_waits_until_what_is_just_read_of_a_loan_is_stored(offsets: StoredOffsets) -> None:
    """The event loop has read how far a loan is, and the caller takes that back and seeks meanwhile: what was
    read before the seek must not come after it."""
    is_reading, is_sought = threading.Event(), threading.Event()

    def progress() -> HandedOut:
        is_reading.set()
        # The seek cannot be through: it waits for this.
        assert not is_sought.wait(0.2)
        return handed_out(50)

    def seek() -> None:
        is_reading.wait()
        offsets.was_sought(ASSIGNED)
        is_sought.set()

    caller = threading.Thread(target=seek)
    caller.start()
    offsets.note(progress)
    caller.join()
    assert offsets.read(ASSIGNED) is None
