"""Batches of several partitions, of one leader and of several, that leave without the event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from tests.kernel.direct.direct_broker import (
    LEADER_ID,
    SECONDS,
    TOPIC,
    Broker,
    accumulator_with,
    lend,
    wait_until_woken,
)

from barnabas._kernel import Accumulator, Waker
from barnabas.protocol.messages.produce import ProduceRequest

OTHER_ID = 5


@pytest.fixture
def broker() -> Iterator[Broker]:
    with closing(Broker(13)) as broker:
        yield broker


@pytest.fixture
def other() -> Iterator[Broker]:
    with closing(Broker(13)) as broker:
        yield broker


@pytest.fixture
def lingering(waker: Waker) -> Iterator[Accumulator]:
    made = accumulator_with(waker, lingers=True)
    yield made
    made.end_direct()


def append(accumulator: Accumulator, partition: int, value: bytes = b"v") -> Any:
    return accumulator.append(TOPIC, partition, None, value, None, None)


def partition_of(request: ProduceRequest) -> int:
    [topic] = request.topic_data
    [partition] = topic.partition_data
    return partition.index


def sequence_of(request: ProduceRequest) -> int:
    return int.from_bytes(bytes(request.topic_data[0].partition_data[0].records or b"")[53:57])


def answer(broker: Broker, base_offset: int) -> tuple[int, int]:
    """Answers the next request; its partition and the sequence of its batch."""
    correlation_id, request = broker.receive()
    broker.answer(correlation_id, base_offset, index=partition_of(request))
    return partition_of(request), sequence_of(request)


def test_each_partition_of_a_leader_goes_on_with_its_own_sequence(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker, partitions=(2, 0, 1), sequence=3)
    answered: list[tuple[int, int]] = []
    for number, partition in enumerate((0, 2, 0, 1, 2, 0)):
        delivery = append(accumulator, partition)
        answered.append(answer(broker, number))
        assert delivery.result(SECONDS).offset == number
    assert answered == [(0, 3), (2, 3), (0, 4), (1, 3), (2, 4), (0, 5)]
    assert not waker.is_due
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    assert back.correlation_id == 15
    # By the place in the loan, not by the partition.
    assert back.records_delivered == [(0, 2), (1, 3), (2, 1)]
    assert [(seat, exchanges.count) for seat, exchanges in back.exchanges] == [(0, 2), (1, 3), (2, 1)]


def test_what_waits_at_several_partitions_leaves_as_far_as_it_may_be_under_way_and_then_with_the_answers(
    accumulator: Accumulator, broker: Broker
) -> None:
    lend(accumulator, broker, partitions=(0, 1, 2), max_in_flight=1)
    first = append(accumulator, 0)
    correlation_id, _ = broker.receive()
    deliveries = [append(accumulator, partition, value) for value in (b"a", b"b") for partition in (1, 2)]
    broker.answer(correlation_id, 7)
    assert answer(broker, 20) == (1, 0)
    assert answer(broker, 30) == (2, 0)
    assert first.result(SECONDS).offset == 7
    assert [delivery.result(SECONDS).offset for delivery in deliveries] == [20, 30, 21, 31]


def test_batches_come_back_with_the_places_of_their_partitions(
    accumulator: Accumulator, broker: Broker
) -> None:
    lend(accumulator, broker, partitions=(2, 0))
    append(accumulator, 0)
    broker.receive()
    append(accumulator, 2)
    broker.receive()
    back = accumulator.take_back(LEADER_ID)
    assert back is not None
    assert [(batch.partition, seat, correlation_id) for batch, seat, correlation_id, *_ in back.sent] == [
        (0, 1, 10),
        (2, 0, 11),
    ]


def test_a_partition_that_is_not_lent_is_for_the_loop(
    accumulator: Accumulator, broker: Broker, waker: Waker
) -> None:
    lend(accumulator, broker, partitions=(0, 1))
    append(accumulator, 2)
    wait_until_woken(waker)
    assert accumulator.partitions() == [(TOPIC, 2)]
    assert not accumulator.has_sent_directly


def test_each_leader_has_a_loan_of_its_own(
    accumulator: Accumulator, broker: Broker, other: Broker, waker: Waker
) -> None:
    lend(accumulator, broker, partitions=(0, 2))
    lend(accumulator, other, partitions=(1,), leader_id=OTHER_ID)
    deliveries = [append(accumulator, partition) for partition in (0, 1, 2)]
    assert answer(other, 50) == (1, 0)
    assert [answer(broker, offset) for offset in (60, 70)] == [(0, 0), (2, 0)]
    assert [delivery.result(SECONDS).offset for delivery in deliveries] == [60, 50, 70]
    back = accumulator.take_back(OTHER_ID)
    assert back is not None
    assert back.correlation_id == 10
    assert accumulator.take_back(OTHER_ID) is None
    # The other goes on.
    assert not waker.is_due
    delivery = append(accumulator, 0)
    assert answer(broker, 61) == (0, 1)
    assert delivery.result(SECONDS).offset == 61
    append(accumulator, 1)
    wait_until_woken(waker)


def test_a_flush_sends_what_lingers_at_all_partitions_and_leaders(
    lingering: Accumulator, broker: Broker, other: Broker, waker: Waker
) -> None:
    assert not lingering.send_lingering()
    lend(lingering, broker, partitions=(0, 2))
    lend(lingering, other, partitions=(1,), leader_id=OTHER_ID)
    deliveries = [append(lingering, partition) for partition in (0, 1, 2, 0)]
    assert not lingering.has_sent_directly
    assert lingering.send_lingering()
    assert not waker.is_due
    assert answer(other, 50) == (1, 0)
    assert [answer(broker, offset) for offset in (60, 70)] == [(0, 0), (2, 0)]
    assert [delivery.result(SECONDS).offset for delivery in deliveries] == [60, 50, 70, 61]


def test_a_flush_leaves_to_the_loop_what_lingers_at_a_partition_that_is_not_lent(
    lingering: Accumulator, broker: Broker
) -> None:
    lend(lingering, broker, partitions=(0,))
    lent, unlent = append(lingering, 0), append(lingering, 1)
    assert not lingering.send_lingering()
    assert answer(broker, 5) == (0, 0)
    assert lent.result(SECONDS).offset == 5
    assert not unlent.done()
    assert lingering.partitions() == [(TOPIC, 1)]
