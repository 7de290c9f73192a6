from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from barnabas._kernel import BatchBuilder, RecordReader
from barnabas.broker_errors import TopicAuthorizationFailedError
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.fetch_queue import FetchPlace, FetchQueue
from barnabas.client.consume.partition_state import PartitionState
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.errors import CorruptBatchError, LogTruncationError, MisuseError
from barnabas.types import OffsetAndMetadata, TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Calls:
    """A buffer, with counts of what it called."""

    def __init__(self, queued_max_bytes: int = 1 << 20) -> None:
        self.data = self.room = self.lookups = 0
        self.partitions = SubscriptionState(
            on_data=self._on_data, on_room=self._on_room, on_lookup=self._on_lookup
        )
        self.buffer = FetchBuffer(
            self.partitions, queued_max_bytes, on_data=self._on_data, on_room=self._on_room
        )

    def _on_data(self) -> None:
        self.data += 1

    def _on_room(self) -> None:
        self.room += 1

    def _on_lookup(self) -> None:
        self.lookups += 1


def batch(start: int, end: int) -> bytes:
    builder = BatchBuilder()
    for offset in range(start, end):
        builder.append(0, None, b"%d" % offset)
    return builder.build(base_offset=start, leader_epoch=3)


def queue_of(buffer: FetchBuffer, partition: TopicPartition) -> FetchQueue:
    return next(queue for queue in buffer.queues() if queue.partition == partition)


def fetched(buffer: FetchBuffer, partition: TopicPartition, *batches: bytes, end: int) -> None:
    """As the fetcher does with an answer to a request of just now."""
    queue = queue_of(buffer, partition)
    data = b"".join(batches)
    reader = RecordReader(*partition, data, fetch_offset=queue.fetch_offset)
    buffer.append(queue, queue.state.epoch, queue.fetch_offset, reader, len(data), end)


def ready(calls: Calls, *assigned: TopicPartition) -> tuple[SubscriptionState, FetchBuffer]:
    """With these partitions at offset 0."""
    calls.partitions.add(assigned)
    for partition in assigned:
        calls.partitions.seek(partition, 0)
    return calls.partitions, calls.buffer


def offsets(buffer: FetchBuffer, max_records: int = 1000) -> list[int]:
    return [record.offset for record in buffer.take(max_records)]


def test_positions_move_only_by_what_is_taken() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 5), batch(5, 10), end=10)
    assert queue_of(buffer, A).fetch_offset == 10
    assert partitions.positions() == {A: OffsetAndMetadata(0)}
    assert offsets(buffer, 7) == [0, 1, 2, 3, 4, 5, 6]
    assert partitions.positions() == {A: OffsetAndMetadata(7, "", 3)}
    assert offsets(buffer) == [7, 8, 9]
    assert offsets(buffer) == []


def test_what_was_fetched_before_a_seek_is_dropped() -> None:
    partitions, buffer = ready(Calls(), A)
    queue = queue_of(buffer, A)
    state = queue.state
    epoch = state.epoch
    fetched(buffer, A, batch(0, 5), end=5)
    partitions.seek(A, 100)
    assert offsets(buffer) == []
    late = RecordReader("t", 0, batch(5, 10), fetch_offset=5)
    buffer.append(queue, epoch, 5, late, 100, 10)
    assert offsets(buffer) == []
    fetched(buffer, A, batch(100, 102), end=102)
    assert offsets(buffer) == [100, 101]


def test_a_seek_in_another_thread_comes_before_a_fetch_is_made_or_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = Calls()
    partitions, buffer = ready(calls, A)
    queue = queue_of(buffer, A)
    is_between, may_go_on = threading.Event(), threading.Event()
    restart = buffer.restart

    def restart_later(state: PartitionState) -> None:
        """Of the seek's steps, those before this have been taken."""
        is_between.set()
        may_go_on.wait()
        restart(state)

    wants_more = buffer.wants_more

    def wants_more_unless_between(queue: FetchQueue) -> bool:
        assert may_go_on.is_set(), "half of a seek is seen"
        return wants_more(queue)

    monkeypatch.setattr(buffer, "restart", restart_later)
    monkeypatch.setattr(buffer, "wants_more", wants_more_unless_between)
    with ThreadPoolExecutor(2) as threads:
        seek = threads.submit(partitions.seek, A, 7)
        is_between.wait()
        place = threads.submit(buffer.place_of, queue)
        assert partitions.lock.locked()
        may_go_on.set()
        seek.result()
        assert place.result() == FetchPlace(queue.state.epoch, 7, -1)


def test_an_answer_that_comes_twice_counts_once() -> None:
    _, buffer = ready(Calls(), A)
    queue = queue_of(buffer, A)
    state = queue.state
    for _ in range(2):
        buffer.append(queue, state.epoch, 0, RecordReader("t", 0, batch(0, 5)), 100, 5)
    assert offsets(buffer) == [0, 1, 2, 3, 4]


def test_seeking_to_where_one_is_keeps_what_was_fetched() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 5), end=5)
    assert offsets(buffer, 2) == [0, 1]
    partitions.seek(A, 2)
    assert offsets(buffer) == [2, 3, 4]


def test_seeking_to_where_one_is_under_a_later_leader_has_that_checked() -> None:
    calls = Calls()
    partitions, buffer = ready(calls, A)
    partitions.seek(A, 0, 3)
    place = buffer.place_of(queue_of(buffer, A))
    assert place is not None
    assert (place.fetch_offset, place.leader_epoch) == (0, 3)
    partitions.seek(A, 0)
    partitions.seek(A, 0, 2)
    assert buffer.place_of(queue_of(buffer, A)) == place


def test_a_partition_that_was_given_away_gives_nothing() -> None:
    partitions, buffer = ready(Calls(), A, B)
    queue = queue_of(buffer, A)
    state = queue.state
    fetched(buffer, A, batch(0, 5), end=5)
    partitions.remove([A])
    assert offsets(buffer) == []
    with pytest.raises(MisuseError, match="t-0 is not assigned"):
        partitions.state(A)
    partitions.add([A])
    buffer.append(queue, state.epoch, 5, RecordReader("t", 0, batch(5, 9)), 100, 9)
    assert offsets(buffer) == []


def test_partitions_take_turns() -> None:
    _, buffer = ready(Calls(), A, B)
    for start in (0, 2):
        for partition in (A, B):
            fetched(buffer, partition, batch(start, start + 2), end=start + 2)
    taken = [(record.partition, record.offset) for record in buffer.take(100)]
    assert taken == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]


def test_a_full_queue_wants_no_more_until_something_is_taken() -> None:
    calls = Calls(queued_max_bytes=100)
    _, buffer = ready(calls, A)
    queue = queue_of(buffer, A)
    assert buffer.wants_more(queue)
    fetched(buffer, A, batch(0, 50), end=50)
    assert not buffer.wants_more(queue)
    asked = calls.room
    offsets(buffer, 49)
    assert calls.room == asked
    offsets(buffer)
    assert calls.room == asked + 1
    assert buffer.wants_more(queue)


def test_records_that_were_given_back_come_again_in_their_order() -> None:
    partitions, buffer = ready(Calls(), A, B)
    fetched(buffer, A, batch(0, 4), end=4)
    fetched(buffer, B, batch(0, 4), end=4)
    taken = buffer.take(6)
    buffer.give_back(taken[3:], in_hand=taken[2])
    assert partitions.state(A).position == 3
    assert partitions.state(B).position == 0
    again = {(record.partition, record.offset) for record in buffer.take(2)}
    assert len(again) == 2
    again |= {(record.partition, record.offset) for record in buffer.take(100)}
    assert again == {(0, 3), (1, 0), (1, 1), (1, 2), (1, 3)}
    assert partitions.positions() == {A: OffsetAndMetadata(4, "", 3), B: OffsetAndMetadata(4, "", 3)}


def test_what_a_poll_returned_before_the_last_one_is_not_taken_back() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 10), end=10)
    partitions.begin_poll()
    assert len(buffer.take(4)) == 4
    partitions.begin_poll()
    assert len(buffer.take(4)) == 4
    partitions.take_back()
    assert partitions.positions() == {A: OffsetAndMetadata(4, "", 3)}
    assert queue_of(buffer, A).fetch_offset == 4


def test_of_records_that_are_handed_out_one_by_one_the_one_in_hand_is_taken_back() -> None:
    partitions, buffer = ready(Calls(), A, B)
    fetched(buffer, A, batch(0, 4), end=4)
    fetched(buffer, B, batch(0, 4), end=4)
    partitions.begin_poll()
    taken = buffer.take(6)
    buffer.give_back(taken[3:], in_hand=taken[2])
    partitions.take_back()
    assert (partitions.state(A).position, partitions.state(B).position) == (2, 0)


def test_what_the_caller_has_committed_is_not_taken_back() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 10), end=10)
    partitions.begin_poll()
    buffer.take(10)
    partitions.note_handled({A: OffsetAndMetadata(7)})
    partitions.note_handled({A: OffsetAndMetadata(5)})
    partitions.take_back()
    assert partitions.positions() == {A: OffsetAndMetadata(7)}


def test_a_seek_backwards_holds_when_the_rest_is_taken_back() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 10), end=10)
    partitions.begin_poll()
    buffer.take(5)
    partitions.begin_poll()
    buffer.take(5)
    partitions.seek(A, 3)
    partitions.take_back()
    assert partitions.state(A).position == 3


def test_records_whose_taker_was_interrupted_before_the_position_moved_are_fetched_again() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 10), end=10)
    partitions.begin_poll()
    lent = buffer.lend()
    assert lent is not None
    lent[1].take(4)
    partitions.take_back()
    assert (partitions.state(A).position, queue_of(buffer, A).fetch_offset) == (0, 0)
    fetched(buffer, A, batch(0, 10), end=10)
    assert offsets(buffer) == list(range(10))


def test_records_given_back_are_fetched_again_for_columns() -> None:
    calls = Calls()
    _, buffer = ready(calls, A)
    fetched(buffer, A, batch(0, 4), end=4)
    buffer.give_back(buffer.take(4)[1:], in_hand=None)
    asked = calls.room
    assert buffer.take_arrow(100, headers=False).num_rows == 0
    assert calls.room == asked + 1
    assert queue_of(buffer, A).fetch_offset == 1


def test_columns_stop_at_the_end_offset_and_nothing_is_fetched_beyond() -> None:
    calls = Calls()
    partitions, buffer = ready(calls, A)
    partitions.set_end_offsets({A: 7})
    fetched(buffer, A, batch(0, 5), batch(5, 10), end=10)
    assert not buffer.wants_more(queue_of(buffer, A))
    assert buffer.take_arrow(100, headers=False).num_rows == 7
    assert partitions.state(A).position == 7
    assert not buffer.has_data
    asked = calls.room
    partitions.set_end_offsets({})
    assert calls.room == asked + 1
    assert buffer.has_data
    assert offsets(buffer) == [7, 8, 9]


@pytest.mark.parametrize("columns", [False, True])
def test_records_before_a_corrupt_batch_are_given_and_the_error_comes_once(columns: bool) -> None:
    partitions, buffer = ready(Calls(), A, B)
    bad = bytearray(batch(5, 10))
    bad[-1] ^= 1
    fetched(buffer, A, batch(0, 5), bytes(bad), batch(10, 12), end=12)
    fetched(buffer, B, batch(0, 3), end=3)
    count = 0
    errors: list[CorruptBatchError] = []
    for _ in range(6):
        try:
            count += buffer.take_arrow(100, headers=True).num_rows if columns else len(buffer.take(100))
        except CorruptBatchError as error:
            errors.append(error)
    assert count == 8
    assert [(error.topic, error.partition, error.offset) for error in errors] == [("t", 0, 5)]
    queue = queue_of(buffer, A)
    state = queue.state
    assert (state.position, buffer.wants_more(queue)) == (5, False)
    partitions.seek(A, 10)
    fetched(buffer, A, batch(10, 12), end=12)
    assert offsets(buffer) == [10, 11]


def test_a_failed_partition_is_told_once_and_keeps_what_came_before() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 5), end=5)
    queue = queue_of(buffer, A)
    state = queue.state
    partitions.fail(state, state.epoch, TopicAuthorizationFailedError("t-0"))
    with pytest.raises(TopicAuthorizationFailedError):
        buffer.take(10)
    assert offsets(buffer) == [0, 1, 2, 3, 4]
    assert not buffer.wants_more(queue)
    partitions.seek(A, 5)
    assert not partitions.state(A).is_stopped


def test_an_offset_out_of_range_waits_until_what_was_fetched_is_taken() -> None:
    calls = Calls()
    partitions, buffer = ready(calls, A)
    state = partitions.state(A)
    fetched(buffer, A, batch(0, 5), end=5)
    partitions.out_of_range(state, state.epoch)
    assert partitions.awaiting_position() == []
    assert offsets(buffer) == [0, 1, 2, 3, 4]
    partitions.out_of_range(state, state.epoch)
    assert partitions.awaiting_position() == [state]
    assert state.starting_point == "reset"


def test_a_truncation_waits_until_what_was_fetched_is_taken_and_then_moves_the_position() -> None:
    partitions, buffer = ready(Calls(), A)
    queue = queue_of(buffer, A)
    state = queue.state
    fetched(buffer, A, batch(0, 5), end=5)
    assert not partitions.truncated(state, state.epoch, 2, 1, None)
    assert offsets(buffer) == [0, 1, 2, 3, 4]
    assert partitions.truncated(state, state.epoch, 2, 1, None)
    assert partitions.positions() == {A: OffsetAndMetadata(2, "", 1)}
    assert (queue.fetch_offset, queue.fetch_leader_epoch) == (2, 1)


def test_a_truncation_at_an_unknown_offset_has_the_position_reset() -> None:
    partitions, _ = ready(Calls(), A)
    state = partitions.state(A)
    assert partitions.truncated(state, state.epoch, -1, -1, None)
    assert partitions.awaiting_position() == [state]
    assert state.starting_point == "reset"


def test_a_truncation_without_a_reset_policy_stops_the_partition_with_an_error() -> None:
    partitions, buffer = ready(Calls(), A)
    queue = queue_of(buffer, A)
    state = queue.state
    assert partitions.truncated(state, state.epoch, 2, 1, LogTruncationError("t", 0, 5, 2))
    assert not partitions.truncated(state, state.epoch - 1, 2, 1, LogTruncationError("t", 0, 5, 2))
    with pytest.raises(LogTruncationError):
        buffer.take(10)
    assert offsets(buffer) == []
    assert not buffer.wants_more(queue)


def test_a_position_that_was_found_too_late_does_not_undo_a_seek() -> None:
    partitions = Calls().partitions
    partitions.add([A])
    state = partitions.state(A)
    epoch = state.epoch
    partitions.seek(A, 42)
    partitions.found_position(state, epoch, 7)
    assert state.position == 42


def names(partitions: Sequence[TopicPartition]) -> list[str]:
    return [str(partition) for partition in partitions]


def test_a_paused_partition_keeps_what_was_fetched() -> None:
    partitions, buffer = ready(Calls(), A, B)
    fetched(buffer, A, batch(0, 2), end=2)
    partitions.pause([A])
    assert names(partitions.paused) == ["t-0"]
    assert offsets(buffer) == []
    assert not buffer.has_data
    assert not buffer.wants_more(queue_of(buffer, A))
    partitions.resume([A])
    assert offsets(buffer) == [0, 1]


def mark_end(buffer: FetchBuffer, partition: TopicPartition) -> None:
    queue = queue_of(buffer, partition)
    buffer.mark_end(queue, queue.state.epoch, queue.fetch_offset)


def test_an_end_comes_behind_the_records_before_it_and_before_those_after_it_once() -> None:
    _, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 5), end=5)
    mark_end(buffer, A)
    mark_end(buffer, A)
    fetched(buffer, A, batch(5, 8), end=8)
    mark_end(buffer, A)
    assert offsets(buffer, 3) == [0, 1, 2]
    assert buffer.take_ends() == {}
    assert offsets(buffer) == [3, 4]
    assert buffer.take_ends() == {A: 5}
    assert buffer.take_arrow(10, headers=False).num_rows == 3
    assert buffer.take_ends() == {A: 8}
    assert not buffer.has_data


def test_columns_stop_at_an_end_too() -> None:
    _, buffer = ready(Calls(), A, B)
    mark_end(buffer, A)
    fetched(buffer, A, batch(0, 5), end=5)
    fetched(buffer, B, batch(0, 2), end=2)
    assert buffer.take_arrow(100, headers=False).num_rows == 2
    assert buffer.take_ends() == {A: 0}
    assert buffer.take_arrow(100, headers=False).num_rows == 5
    assert buffer.take_ends() == {}


def test_an_end_behind_records_that_were_given_back_comes_again_behind_them() -> None:
    _, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 5), end=5)
    mark_end(buffer, A)
    buffer.give_back(buffer.take(100)[2:], in_hand=None)
    assert buffer.take_ends() == {}
    assert offsets(buffer) == [2, 3, 4]
    assert buffer.take_ends() == {A: 5}


def test_a_seek_drops_an_end_and_has_it_come_again() -> None:
    partitions, buffer = ready(Calls(), A)
    mark_end(buffer, A)
    partitions.seek(A, 7)
    partitions.seek(A, 0)
    assert offsets(buffer) == []
    assert buffer.take_ends() == {}
    mark_end(buffer, A)
    assert offsets(buffer) == []
    assert buffer.take_ends() == {A: 0}


def test_there_is_room_for_what_is_not_queued_and_word_of_it_when_there_was_none() -> None:
    calls = Calls(queued_max_bytes=1000)
    _, buffer = ready(calls, A, B)
    assert buffer.room() == 1000
    fetched(buffer, A, batch(0, 50), end=50)
    size = queue_of(buffer, A).queued_bytes
    assert 0 < size < 1000
    assert buffer.room() == 1000 - size
    fetched(buffer, A, batch(50, 100), end=100)
    fetched(buffer, B, batch(0, 50), end=50)
    assert buffer.room() == 0
    asked = calls.room
    offsets(buffer, 150)
    assert buffer.room() == 1000
    assert calls.room > asked


def test_a_queue_that_is_all_but_full_has_no_room_until_a_quarter_of_it_is_free() -> None:
    size = len(batch(100, 150))
    calls = Calls(queued_max_bytes=size * 4)
    partitions, buffer = ready(calls, A)
    partitions.seek(A, 100)
    for start in (100, 150, 200):
        fetched(buffer, A, batch(start, start + 50), end=start + 50)
    assert buffer.room() == size
    fetched(buffer, A, batch(250, 251), end=251)
    assert buffer.room() == 0
    asked = calls.room
    offsets(buffer, 49)
    assert calls.room == asked
    offsets(buffer, 1)
    assert calls.room == asked + 1


def test_what_cannot_be_taken_at_present_takes_no_room_from_others() -> None:
    calls = Calls(queued_max_bytes=100)
    partitions, buffer = ready(calls, A, B)
    fetched(buffer, A, batch(0, 50), end=50)
    assert buffer.room() == 0
    asked = calls.room
    partitions.pause([A])
    assert calls.room == asked + 1
    assert buffer.room() == 100
    partitions.resume([A])
    assert buffer.room() == 0
    partitions.set_end_offsets({A: 20})
    assert buffer.take_arrow(100, headers=False).num_rows == 20
    assert buffer.room() == 100


def test_a_lent_reader_keeps_its_place_until_it_is_settled() -> None:
    partitions, buffer = ready(Calls(), A, B)
    fetched(buffer, A, batch(0, 5), end=5)
    fetched(buffer, B, batch(0, 2), end=2)
    lent = buffer.lend()
    assert lent is not None
    state, reader = lent
    assert [message.value() for message in reader.take_messages(3)] == [b"0", b"1", b"2"]
    assert partitions.positions()[A] == OffsetAndMetadata(0)
    buffer.settle(state, reader, 3)
    assert partitions.positions()[A] == OffsetAndMetadata(3, "", 3)
    assert buffer.lend() == lent
    reader.take_messages(10)
    buffer.settle(state, reader, 2)
    other = buffer.lend()
    assert other is not None
    assert other[0].partition == B


def test_what_is_settled_after_a_seek_counts_no_more() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 5), end=5)
    lent = buffer.lend()
    assert lent is not None
    state, reader = lent
    reader.take_messages(3)
    partitions.seek(A, 100)
    buffer.settle(state, reader, 3)
    assert partitions.state(A).position == 100


def test_failures_are_told_with_their_partitions_to_those_who_ask() -> None:
    partitions, _ = ready(Calls(), A)
    state, error = partitions.state(A), TopicAuthorizationFailedError("no")
    partitions.fail(state, state.epoch, error)
    failure = partitions.failures.take()
    assert failure is not None
    assert (failure.error, failure.partition, failure.position) == (error, A, 0)
    assert partitions.failures.take() is None


def test_failures_that_come_while_others_are_taken_are_told_once_each() -> None:
    partitions = Calls().partitions
    count = 2000

    def fail() -> None:
        for number in range(count):
            partitions.failures.raise_later(TopicAuthorizationFailedError(str(number)))

    failing = threading.Thread(target=fail)
    failing.start()
    told: list[str] = []
    while failing.is_alive() or len(told) < count:
        failure = partitions.failures.take()
        if failure is not None:
            told.append(str(failure.error))
    failing.join()
    assert len(set(told)) == len(told) == count


def test_a_partition_that_stopped_goes_on_where_it_stands_when_it_is_tried_again() -> None:
    calls = Calls()
    partitions, buffer = ready(calls, A)
    fetched(buffer, A, batch(0, 5), end=5)
    assert offsets(buffer) == [0, 1, 2, 3, 4]
    queue = queue_of(buffer, A)
    state = queue.state
    partitions.fail(state, state.epoch, TopicAuthorizationFailedError("t"))
    with pytest.raises(TopicAuthorizationFailedError):
        buffer.take(10)
    rooms = calls.room
    partitions.try_again(A)
    assert (state.is_stopped, state.position, queue.fetch_offset) == (False, 5, 5)
    assert calls.room > rooms


def test_a_partition_that_was_sought_in_since_it_stopped_is_not_moved_back() -> None:
    partitions, _ = ready(Calls(), A)
    state = partitions.state(A)
    partitions.fail(state, state.epoch, TopicAuthorizationFailedError("t"))
    partitions.seek(A, 7)
    epoch = state.epoch
    partitions.try_again(A)
    partitions.try_again(B)
    assert (state.position, state.epoch) == (7, epoch)


def test_a_partition_that_stopped_without_a_position_has_it_looked_up_again() -> None:
    calls = Calls()
    calls.partitions.add([A])
    state = calls.partitions.state(A)
    calls.partitions.fail(state, state.epoch, TopicAuthorizationFailedError("t"))
    assert not calls.partitions.awaiting_position()
    lookups = calls.lookups
    calls.partitions.try_again(A)
    assert calls.partitions.awaiting_position() == [state]
    assert calls.lookups == lookups + 1


def test_records_that_end_behind_the_watermark_of_their_fetch_are_known() -> None:
    """A leader of Apache Kafka looks the watermark up first, and may then read more."""
    partitions, buffer = ready(Calls(), A)
    partitions.state(A).high_watermark = 3
    fetched(buffer, A, batch(0, 5), end=5)
    assert partitions.state(A).highest_known_offset == 5


def test_what_was_fetched_of_a_topic_that_was_made_again_is_taken_before_the_position_is_looked_up_anew() -> (
    None
):
    calls = Calls()
    partitions, buffer = ready(calls, A, B)
    gone: list[TopicPartition] = []
    partitions.on_made_again = gone.extend
    fetched(buffer, A, batch(0, 5), end=5)
    late = queue_of(buffer, A)
    epoch = late.state.epoch
    partitions.made_again([partitions.state(A)], UUID(int=2))
    # What was under way when it was seen may be of either topic.
    reader = RecordReader(*A, batch(5, 9), fetch_offset=5)
    buffer.append(late, epoch, 5, reader, 1, 9)
    assert not buffer.wants_more(queue_of(buffer, A))
    assert buffer.has_data
    assert offsets(buffer, 3) == [0, 1, 2]
    assert offsets(buffer) == [3, 4]
    assert partitions.positions()[A] == OffsetAndMetadata(5, "", 3)
    assert gone == []
    assert offsets(buffer) == []
    assert gone == [A]
    assert [state.partition for state in partitions.awaiting_position()] == [A]
    assert not buffer.has_data
    assert A not in partitions.positions()


def test_records_given_back_of_a_topic_that_was_made_again_come_before_the_new_topic() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 5), end=5)
    partitions.begin_poll()
    records = buffer.take(10)
    partitions.made_again([partitions.state(A)], UUID(int=2))
    buffer.give_back(records[2:], None)
    assert offsets(buffer) == [2, 3, 4]
    assert offsets(buffer) == []
    assert not partitions.state(A).has_position


def test_a_paused_partition_of_a_topic_that_was_made_again_has_nobody_look_in_vain() -> None:
    partitions, buffer = ready(Calls(), A)
    fetched(buffer, A, batch(0, 5), end=5)
    partitions.pause([A])
    partitions.made_again([partitions.state(A)], UUID(int=2))
    assert not buffer.has_data
    assert offsets(buffer) == []
    partitions.resume([A])
    assert offsets(buffer) == [0, 1, 2, 3, 4]
    assert offsets(buffer) == []
    assert not partitions.state(A).has_position
