"""What facades report of batches whose answers are read without the loop. Nothing here runs one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas._kernel import Accumulator, EventQueue, MessageSender, Waker

if sys.platform == "win32":
    pytest.skip("there is no direct sending on Windows", allow_module_level=True)

from tests.kernel.direct.direct_broker import (
    LEADER_ID,
    SECONDS,
    TOPIC,
    Broker,
    lend,
    wait_until_woken,
)
from tests.kernel.sent_records import Bench


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker(13)
    yield broker
    broker.close()


def opened(accumulator: Accumulator, events: EventQueue) -> MessageSender:
    sender = MessageSender()
    sender._open(  # pyright: ignore[reportPrivateUsage]
        accumulator,
        events,
        max_messages=100,
        max_bytes=1 << 20,
        max_message_bytes=1 << 20,
        error_of=lambda error: error,
        only_errors=False,
        default_callback=None,
    )
    return sender


def test_messages_are_reported_to_who_polls_without_the_loop(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    events, reports = EventQueue(), list[Any]()
    sender = opened(accumulator, events)
    lend(accumulator, broker)
    for number in range(3):
        sender.produce(TOPIC, b"v", partition=0)
        sender.produce(TOPIC, b"w", partition=0, callback=lambda *report: reports.append(report))
        answered = 0
        while answered < 2:
            correlation_id, request = broker.receive()
            records = bytes(request.topic_data[0].partition_data[0].records or b"")
            broker.answer(correlation_id, 2 * number + answered)
            answered += int.from_bytes(records[57:61])
        events.serve_all(SECONDS)
    assert events.outstanding_messages == 0
    assert [(error, message.value(), message.offset()) for error, message in reports] == [
        (None, b"w", offset) for offset in (1, 3, 5)
    ]
    assert not waker.is_due


def test_who_waits_for_reports_is_woken_by_the_answer(accumulator: Accumulator, broker: Broker) -> None:
    events, reports = EventQueue(), list[Any]()
    sender = opened(accumulator, events)
    lend(accumulator, broker)
    sender.produce(TOPIC, b"v", partition=0, callback=lambda *report: reports.append(report))
    correlation_id, _ = broker.receive()
    answering = threading.Timer(0.1, broker.answer, (correlation_id, 7))
    answering.start()
    assert events.serve(SECONDS) == 1
    answering.join()
    assert [message.offset() for _, message in reports] == [7]


def test_a_listener_of_events_has_the_answer_left_to_the_loop(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    events = EventQueue()
    heard: list[str] = []
    sender = opened(accumulator, events)
    lend(accumulator, broker)
    sender.produce(TOPIC, b"v", partition=0)
    correlation_id, _ = broker.receive()
    # As late as it can come.
    events.notify(lambda: heard.append(threading.current_thread().name))
    broker.answer(correlation_id, 7)
    wait_until_woken(waker)
    assert (len(events), heard) == (0, [])
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    [(batch, *_)] = back.sent
    assert batch.needs_python
    batch.complete(7)
    assert (len(events), heard) == (1, [threading.current_thread().name])


def test_what_waits_for_futures_is_told_by_its_teller_without_the_loop(broker: Broker) -> None:
    bench = Bench(wake=Waker(), partition=0)
    told: list[int] = []
    lend(bench.accumulator, broker)
    try:
        for number in range(3):
            (future,) = bench.send(1)
            future.add_callback(lambda metadata: told.append(metadata.offset))
            correlation_id, _ = broker.receive()
            broker.answer(correlation_id, number)
            bench.let_tell()
            assert future.get(SECONDS).offset == number
        assert told == [0, 1, 2]
    finally:
        bench.accumulator.end_direct()
        bench.close()
