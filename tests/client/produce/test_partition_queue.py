from __future__ import annotations

from typing import Any

import pytest

from barnabas import TopicPartition
from barnabas._kernel import Accumulator, scan_batches
from barnabas.client.produce.batches.partition_queue import HIGHEST_EPOCH, PartitionQueue, PendingBatch

NOW = 100.0


def make_batch(records: int = 1, *, compression: str = "none") -> Any:
    accumulator = Accumulator(
        batch_size=10_000,
        buffer_memory=1 << 20,
        max_record_bytes=1 << 20,
        compression=compression,
        compression_level=None,
        partitioner="murmur2",
        wake=lambda: None,
    )
    accumulator.set_partition_count("topic", 1)
    for number in range(records):
        accumulator.append("topic", 0, None, b"%d" % number, None, None)
    return accumulator.drain("topic", 0)


def make_queue(*, is_idempotent: bool = True, batches: int = 0) -> PartitionQueue:
    queue = PartitionQueue(TopicPartition("topic", 0), is_idempotent=is_idempotent)
    if is_idempotent:
        queue.set_producer_id(7, 0)
        queue.is_known_to_brokers = True
    for _ in range(batches):
        add(queue)
    return queue


def add(queue: PartitionQueue, records: int = 1) -> PendingBatch:
    return queue.add(make_batch(records))


def send(queue: PartitionQueue, max_in_flight: int = 5) -> tuple[PendingBatch, tuple[int, int, int]]:
    """Sends the next batch: it, and the producer id, epoch and sequence on the wire."""
    pending = queue.next_to_send(max_in_flight)
    assert pending is not None
    (header,) = scan_batches(queue.sent(pending), check_crcs=True)
    return pending, (header.producer_id, header.producer_epoch, header.base_sequence)


def test_sequences_count_records_and_batches_leave_in_order() -> None:
    queue = make_queue()
    sizes = [3, 1, 5]
    added = [add(queue, size) for size in sizes]
    sent = [send(queue) for _ in sizes]
    assert [pending for pending, _ in sent] == added
    assert [ids for _, ids in sent] == [(7, 0, 0), (7, 0, 3), (7, 0, 4)]


def test_no_more_than_the_allowed_number_is_in_flight() -> None:
    queue = make_queue(batches=3)
    send(queue, max_in_flight=2)
    pending, _ = send(queue, max_in_flight=2)
    assert queue.next_to_send(2) is None
    queue.succeeded(pending)
    assert queue.next_to_send(2) is not None


def test_nothing_follows_the_first_batch_of_an_epoch_before_that_is_acknowledged() -> None:
    queue = make_queue(batches=3)
    queue.set_producer_id(7, 1)
    first, _ = send(queue)
    assert queue.next_to_send(5) is None, "an unknown producer may begin with any sequence"
    queue.retry(first, NOW)
    assert send(queue) == (first, (7, 1, 0))
    assert queue.next_to_send(5) is None
    queue.succeeded(first)
    assert [send(queue)[1] for _ in range(2)] == [(7, 1, 1), (7, 1, 2)]


def test_a_batch_waits_until_it_is_compressed_and_holds_those_behind_it() -> None:
    queue = make_queue()
    first = queue.add(make_batch(1000, compression="gzip"))
    add(queue)
    assert queue.next_to_send(5) is None
    first.batch.seal()
    assert queue.next_to_send(5) is first


def test_a_retried_batch_keeps_its_sequence_and_those_behind_it_go_one_at_a_time() -> None:
    queue = make_queue(batches=4)
    first, second, third = [send(queue)[0] for _ in range(3)]
    queue.retry(second, NOW)
    queue.retry(third, NOW)
    assert queue.next_to_send(5) is None, "the first one is not answered yet"
    queue.succeeded(first)
    assert send(queue) == (second, (7, 0, 1))
    assert queue.next_to_send(5) is None
    queue.succeeded(second)
    assert send(queue) == (third, (7, 0, 2))
    queue.succeeded(third)
    assert send(queue)[1] == (7, 0, 3)


def test_without_idempotence_batches_carry_no_ids_and_a_retry_does_not_hold_the_others() -> None:
    queue = make_queue(is_idempotent=False, batches=2)
    first, ids = send(queue)
    assert ids == (-1, -1, -1)
    send(queue)
    queue.retry(first, NOW)
    assert queue.next_to_send(5) is first


def test_a_sequence_that_is_refused_behind_an_outstanding_batch_only_waits() -> None:
    queue = make_queue(batches=2)
    first, second = send(queue)[0], send(queue)[0]
    queue.sequence_refused(second, NOW)
    queue.retry(first, NOW)
    assert send(queue) == (first, (7, 0, 0))
    queue.succeeded(first)
    assert send(queue) == (second, (7, 0, 1))


def test_when_the_first_sequence_is_refused_all_begin_anew_in_the_next_epoch() -> None:
    queue = make_queue(batches=3)
    first, second = send(queue)[0], send(queue)[0]
    queue.sequence_refused(first, NOW)
    assert queue.next_to_send(5) is None, "the second one is not answered yet"
    queue.sequence_refused(second, NOW)
    assert send(queue) == (first, (7, 1, 0))
    queue.succeeded(first)
    assert [send(queue)[1] for _ in range(2)] == [(7, 1, 1), (7, 1, 2)]


def test_after_a_batch_was_given_up_the_next_answer_tells_whether_it_arrived() -> None:
    queue = make_queue(batches=3)
    first, second = send(queue)[0], send(queue)[0]
    queue.failed(first)
    # Its successor is accepted, so the broker has the first one after all.
    queue.succeeded(second)
    assert send(queue)[1] == (7, 0, 2)


def test_a_batch_given_up_with_nothing_behind_it_ends_the_epoch() -> None:
    queue = make_queue(batches=2)
    first, _ = send(queue)
    queue.failed(first)
    assert send(queue)[1] == (7, 1, 0)


def test_a_retry_behind_a_batch_given_up_keeps_its_sequence_until_it_is_refused() -> None:
    queue = make_queue(batches=3)
    first, second = send(queue)[0], send(queue)[0]
    queue.retry(second, NOW)
    queue.failed(first)
    assert send(queue) == (second, (7, 0, 1)), "it may have arrived: only the same sequence tells"
    queue.sequence_refused(second, NOW)
    assert send(queue) == (second, (7, 1, 0))
    queue.succeeded(second)
    assert send(queue)[1] == (7, 1, 1)


def test_a_batch_that_was_never_sent_leaves_no_gap() -> None:
    queue = make_queue(batches=2)
    queue.failed(queue.waiting[0])
    assert send(queue)[1] == (7, 0, 0)


def test_the_parts_of_a_split_batch_take_its_place_and_its_sequences() -> None:
    queue = make_queue()
    add(queue, 10)
    add(queue, 1)
    first, second = send(queue)[0], send(queue)[0]
    queue.sequence_refused(second, NOW)
    parts = queue.replace(first, first.batch.split(1))
    assert sum(part.record_count for part in parts) == 10
    assert len(parts) > 1
    sequence = 0
    for part in parts:
        assert send(queue) == (part, (7, 0, sequence))
        sequence += part.record_count
        queue.succeeded(part)
    assert send(queue) == (second, (7, 0, 10))


def test_after_the_highest_epoch_a_new_producer_id_is_asked_for() -> None:
    queue = make_queue(batches=1)
    queue.set_producer_id(7, HIGHEST_EPOCH)
    first, _ = send(queue)
    queue.sequence_refused(first, NOW)
    assert queue.next_to_send(5) is None
    assert queue.needs_producer_id
    assert queue.exhausted_producer_id == 7
    queue.set_producer_id(8, 0)
    assert send(queue) == (first, (8, 0, 0))


@pytest.mark.parametrize("sequence", [2**31 - 1, 2**31 - 2])
def test_sequences_begin_again_at_zero_after_the_highest(sequence: int) -> None:
    queue = make_queue(batches=3)
    queue._next_sequence = sequence
    sequences = [send(queue)[1][2] for _ in range(3)]
    assert sequences == [(sequence + n) % 2**31 for n in range(3)]


def test_batches_wait_for_the_back_off_of_one_that_is_tried_again_and_of_no_other() -> None:
    queue = make_queue(batches=1)
    first, _ = send(queue)
    queue.retry(first, NOW + 60)
    add(queue)
    assert queue.not_before == NOW + 60
    queue.failed(first)
    assert queue.not_before == 0


def test_the_back_off_of_batches_that_are_given_up_holds_for_no_other() -> None:
    queue = make_queue(batches=2)
    first, _ = send(queue)
    queue.retry(first, NOW + 60)
    queue.give_up_sent()
    assert queue.not_before == 0
