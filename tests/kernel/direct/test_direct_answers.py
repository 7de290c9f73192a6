"""Answers to batches that left directly, read by the accumulator's own thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas._kernel import Accumulator, Waker
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse

if sys.platform == "win32":
    pytest.skip("there is no direct sending on Windows", allow_module_level=True)

from tests.kernel.direct.direct_broker import (
    LEADER_ID,
    SECONDS,
    TOPIC,
    Broker,
    accumulator_with,
    lend,
    wait_until_woken,
)

LAST_SEQUENCE = 2**31 - 1


@pytest.fixture(params=[9, 12, 13])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    broker = Broker(request.param)
    yield broker
    broker.close()


def append(accumulator: Accumulator, value: bytes, partition: int = 0, **rest: Any) -> Any:
    return accumulator.append(TOPIC, partition, None, value, None, None, rest.get("on_delivery"))


def leave(accumulator: Accumulator, broker: Broker, value: bytes, **rest: Any) -> tuple[Any, int]:
    """Of a record that leaves in a batch of its own, the delivery and the request's correlation id."""
    delivery = append(accumulator, value, **rest)
    return delivery, broker.receive()[0]


def record_count(request: ProduceRequest) -> int:
    records = bytes(request.topic_data[0].partition_data[0].records or b"")
    return int.from_bytes(records[57:61])


def test_batches_are_delivered_one_after_the_other_without_a_loop(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker)
    for number in range(5):
        delivery = append(accumulator, b"%d" % number)
        correlation_id, request = broker.receive()
        assert correlation_id == 10 + number
        assert request.acks == -1
        broker.answer(correlation_id, 100 + number)
        assert delivery.result(SECONDS).offset == 100 + number
    # Waits until the last answer is dealt with, which is a moment after its delivery is known.
    seconds, exchanges = accumulator.direct_figures(LEADER_ID)
    assert accumulator.buffered_records == 0
    assert accumulator.buffered_bytes == 0
    assert not waker.is_due
    assert seconds == 0
    assert [(seat, of_seat.count, of_seat.records) for seat, of_seat in exchanges] == [(0, 5, 5)]
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    assert (back.correlation_id, back.sent, back.unsent, back.received) == (14, [], b"", b"")
    # Those that were told of before are not told of again.
    assert (back.records_delivered, back.exchanges) == ([(0, 5)], [])


def test_sequences_go_on_and_begin_again_at_their_end(accumulator: Accumulator, broker: Broker) -> None:
    lend(accumulator, broker, sequence=LAST_SEQUENCE - 1)
    sequences: list[int] = []
    for number in range(4):
        delivery = append(accumulator, b"v")
        correlation_id, request = broker.receive()
        records = bytes(request.topic_data[0].partition_data[0].records or b"")
        assert int.from_bytes(records[43:51]) == 7
        assert int.from_bytes(records[51:53]) == 1
        sequences.append(int.from_bytes(records[53:57]))
        broker.answer(correlation_id, number)
        delivery.result(SECONDS)
    assert sequences == [LAST_SEQUENCE - 1, LAST_SEQUENCE, 0, 1]


def test_as_many_are_under_way_as_may_be_and_come_back_in_their_order(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker, max_in_flight=3)
    left = [leave(accumulator, broker, b"%d" % number) for number in range(3)]
    assert [correlation_id for _, correlation_id in left] == [10, 11, 12]
    append(accumulator, b"one too many")
    broker.answer(10, 50)
    # Then one more may leave.
    assert broker.receive()[0] == 13
    assert left[0][0].result(SECONDS).offset == 50
    assert not waker.is_due
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    assert back.correlation_id == 13
    assert [correlation_id for _, _, correlation_id, *_ in back.sent] == [11, 12, 13]
    assert [batch.record_count for batch, *_ in back.sent] == [1, 1, 1]
    assert [(seat, of_seat.count, of_seat.records) for seat, of_seat in back.exchanges] == [(0, 1, 1)]
    assert accumulator.take_back(LEADER_ID) is None


def test_what_comes_while_no_more_may_be_under_way_gathers_into_one_batch(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker, max_in_flight=1)
    first, correlation_id = leave(accumulator, broker, b"first")
    deliveries = [append(accumulator, b"%d" % number) for number in range(20)]
    broker.answer(correlation_id, 7)
    correlation_id, request = broker.receive()
    assert record_count(request) == 20
    broker.answer(correlation_id, 8)
    assert first.result(SECONDS).offset == 7
    assert [delivery.result(SECONDS).offset for delivery in deliveries] == [8 + n for n in range(20)]
    assert not waker.is_due


def test_what_has_gathered_to_more_than_a_small_batch_is_left_to_the_loop(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker, max_in_flight=1)
    first, correlation_id = leave(accumulator, broker, b"first")
    # Two batches, and part of a third.
    deliveries = [append(accumulator, b"." * 100) for _ in range(20)]
    assert not waker.is_due
    broker.answer(correlation_id, 7)
    wait_until_woken(waker)
    assert first.result(SECONDS).offset == 7
    assert not any(delivery.done() for delivery in deliveries)
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    assert (back.correlation_id, back.sent) == (10, [])
    batches = iter(lambda: accumulator.drain(TOPIC, 0), None)
    assert sum(batch.record_count for batch in batches) == 20


def test_the_loop_hears_of_what_has_gathered_when_it_takes_the_connection_back(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker, max_in_flight=1)
    leave(accumulator, broker, b"first")
    append(accumulator, b"second")
    assert not waker.is_due
    assert accumulator.take_back(LEADER_ID) is not None
    assert waker.is_due
    batch = accumulator.drain(TOPIC, 0)
    assert batch is not None
    assert batch.record_count == 1


def test_answers_that_come_at_once_and_in_pieces_are_read(accumulator: Accumulator, broker: Broker) -> None:
    lend(accumulator, broker)
    left = [leave(accumulator, broker, b"v") for _ in range(3)]
    frames = b"".join(
        broker.answer_frame(correlation_id, number) for number, (_, correlation_id) in enumerate(left)
    )
    broker.socket.sendall(frames[:5])
    left.append(leave(accumulator, broker, b"v"))
    broker.socket.sendall(frames[5:-1])
    assert left[1][0].result(SECONDS).offset == 1
    broker.socket.sendall(frames[-1:])
    broker.answer(left[3][1], 3)
    assert [delivery.result(SECONDS).offset for delivery, _ in left] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "fields",
    [
        {"error_code": 6},
        {"base_offset": -1},
        {"index": 1},
        {"error_message": "no"},
        {"throttle_time_ms": 5},
        {"record_errors": [ProduceResponse.BatchIndexAndErrorMessage(batch_index=0)]},
    ],
)
def test_an_answer_out_of_the_ordinary_is_left_to_the_loop(
    accumulator: Accumulator, broker: Broker, waker: Waker, fields: dict[str, Any]
) -> None:
    lend(accumulator, broker)
    delivery = append(accumulator, b"v")
    broker.receive()
    frame = broker.answer_frame(10, **{"base_offset": 5} | fields)
    broker.socket.sendall(frame)
    wait_until_woken(waker)
    assert not delivery.done()
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    assert back.received == frame
    [(batch, _, correlation_id, *_)] = back.sent
    assert (batch.record_count, correlation_id) == (1, 10)


def test_what_somebody_has_to_be_told_of_in_python_is_left_to_the_loop(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    reports: list[Any] = []
    lend(accumulator, broker)
    first, first_id = leave(accumulator, broker, b"1")
    second, second_id = leave(accumulator, broker, b"2", on_delivery=reports.append)
    frames = [broker.answer_frame(first_id, 0), broker.answer_frame(second_id, 1)]
    broker.socket.sendall(b"".join(frames))
    wait_until_woken(waker)
    assert first.result(SECONDS).offset == 0
    assert not second.done()
    assert not reports
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    assert back.received == frames[1]
    [(batch, *_)] = back.sent
    assert batch.needs_python


def test_the_end_of_the_connection_is_told_also_while_nothing_is_under_way(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker)
    broker.socket.close()
    wait_until_woken(waker)
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    assert (back.correlation_id, back.sent) == (9, [])


def test_the_loop_has_the_connection_as_soon_as_it_takes_it_back(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker)
    delivery = append(accumulator, b"v")
    accumulator.take_back(LEADER_ID)
    broker.answer(broker.receive()[0], 0)
    append(accumulator, b"next")
    wait_until_woken(waker)
    assert not delivery.done() or delivery.exception(0) is not None


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.integration
def test_the_thread_ends_with_its_accumulator(broker: Broker, waker: Waker, eventually: Any) -> None:
    def is_answer_thread(task: Path) -> bool:
        try:
            return "barnabas-answer" in (task / "comm").read_text()
        except OSError:
            return False  # It has just ended.

    def threads() -> set[str]:
        """Their ids: one of another test may be ending still."""
        return {task.name for task in Path("/proc/self/task").iterdir() if is_answer_thread(task)}

    made, before = accumulator_with(waker), threads()
    lend(made, broker)
    own = eventually(lambda: threads() - before)
    del made
    eventually(lambda: not own & threads())


@given(noise=st.binary(min_size=1, max_size=200))
def test_noise_decides_nothing(noise: bytes) -> None:
    broker, waker = Broker(12), Waker()
    accumulator = accumulator_with(waker)
    lend(accumulator, broker)
    delivery = append(accumulator, b"v")
    broker.socket.sendall(noise)
    broker.close()
    wait_until_woken(waker)
    assert not delivery.done()
    accumulator.end_direct()
