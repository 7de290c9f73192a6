"""Records that leave without the event loop, and whose answers the kernel reads, on real brokers."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import (
    Admin,
    ClientQuotaEntity,
    ClientQuotaFilter,
    Delivery,
    Producer,
    QuotaMatch,
)
from barnabas.errors import PurgedError
from barnabas.testing import ApacheKafka

MakeTopic = Callable[..., str]
Eventually = Callable[..., Any]
ReadTopic = Callable[..., list[Any]]
TIMEOUT = 60.0


def reads_answers(producer: Producer) -> bool:
    direct = producer._core._sender._direct
    lent = [] if direct is None else direct._lent.values()
    return any(each.connection.lending._lends_reading for each in lent)


def warm_up(producer: Producer, topic: str, eventually: Eventually) -> int:
    """Sends until the kernel reads the answers; how many records that took."""
    count = 0

    def is_warm() -> bool:
        nonlocal count
        if not reads_answers(producer):
            producer.send(topic, b"warm", partition=0).result(TIMEOUT)
            count += 1
        return reads_answers(producer)

    eventually(is_warm)
    return count


def send_each(producer: Producer, topic: str, values: list[bytes], eventually: Eventually) -> list[Delivery]:
    """Sends each value as a batch of its own: the next when the one before has left."""
    deliveries: list[Delivery] = []
    for value in values:
        deliveries.append(producer.send(topic, value, partition=0))
        eventually(lambda: not producer._core.accumulator.partitions())
    return deliveries


def values_after(count: int, messages: list[Any]) -> list[bytes]:
    return [message.value() for message in messages[count:]]


@pytest.mark.parametrize("compression", ["none", "zstd"])
@pytest.mark.parametrize("idempotence", [True, False])
def test_records_are_delivered_once_and_in_order_while_the_loop_does_something_else(
    broker: Any,
    make_topic: MakeTopic,
    read_topic: ReadTopic,
    eventually: Eventually,
    compression: str,
    idempotence: bool,
) -> None:
    topic = make_topic(broker)
    settings: dict[str, Any] = {"enable_idempotence": idempotence, "compression": compression, "linger_ms": 0}
    with Producer(broker.bootstrap, **settings) as producer:
        count = warm_up(producer, topic, eventually)
        is_over = threading.Event()
        producer._loop.call(lambda: is_over.wait(TIMEOUT))
        for number in range(50):
            delivery = producer.send(topic, b"%d" % number, partition=0)
            assert delivery.result(TIMEOUT).offset == count + number
        is_over.set()
        # The loop goes on from there.
        deliveries = [producer.send(topic, b"%d" % number, partition=0) for number in range(50, 300)]
        assert [d.result(TIMEOUT).offset for d in deliveries] == [count + n for n in range(50, 300)]
        assert producer.stats().records_delivered == count + 300
    values = values_after(count, read_topic(broker, topic))
    assert values == [b"%d" % number for number in range(300)]


def test_what_is_handed_over_while_a_batch_is_under_way_leaves_as_one_without_the_loop(
    own_broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(own_broker)
    with Producer(own_broker.bootstrap, linger_ms=0, max_in_flight_requests_per_connection=1) as producer:
        count = warm_up(producer, topic, eventually)
        batches = producer.stats().batches_sent
        is_over = threading.Event()
        producer._loop.call(lambda: is_over.wait(TIMEOUT))
        own_broker.pause()
        deliveries = [producer.send(topic, b"%d" % number, partition=0) for number in range(50)]
        own_broker.resume()
        assert [delivery.result(TIMEOUT).offset for delivery in deliveries] == [count + n for n in range(50)]
        is_over.set()
        assert producer.stats().batches_sent == batches + 2
    assert values_after(count, read_topic(own_broker, topic)) == [b"%d" % number for number in range(50)]


def test_what_has_become_too_much_for_one_small_batch_is_sent_by_the_loop(
    own_broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(own_broker)
    values = [b"%d " % number + b"." * 1000 for number in range(50)]
    with Producer(own_broker.bootstrap, linger_ms=0, max_in_flight_requests_per_connection=1) as producer:
        count = warm_up(producer, topic, eventually)
        own_broker.pause()
        deliveries = [producer.send(topic, value, partition=0) for value in values]
        own_broker.resume()
        assert [delivery.result(TIMEOUT).offset for delivery in deliveries] == [count + n for n in range(50)]
    assert values_after(count, read_topic(own_broker, topic)) == values


def test_whoever_is_to_be_told_is_told_once(
    broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    told: list[int] = []
    chance = random.Random(5)
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        count = warm_up(producer, topic, eventually)
        deliveries: list[Delivery] = []
        for number in range(300):
            is_told = {"on_delivery": lambda _, at: told.append(at.offset)} if number % 3 == 0 else {}
            deliveries.append(producer.send(topic, b"%d" % number, partition=0, **is_told))
            if chance.random() < 0.5:
                deliveries[-1].result(TIMEOUT)
        producer.flush(TIMEOUT)
        assert [delivery.result(0).offset for delivery in deliveries] == [count + n for n in range(300)]
    assert told == [count + number for number in range(0, 300, 3)]
    assert values_after(count, read_topic(broker, topic)) == [b"%d" % number for number in range(300)]


def test_several_that_are_under_way_are_sent_again_in_order(
    own_broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(own_broker)
    with Producer(own_broker.bootstrap, linger_ms=0) as producer:
        count = warm_up(producer, topic, eventually)
        own_broker.pause()
        deliveries = send_each(producer, topic, [b"%d" % number for number in range(4)], eventually)
        assert producer._core.accumulator.has_sent_directly
        own_broker.kill()
        own_broker.start()
        for delivery in deliveries:
            delivery.result(TIMEOUT)
        producer.send(topic, b"last", partition=0).result(TIMEOUT)
    values = values_after(count, read_topic(own_broker, topic))
    assert values == [b"0", b"1", b"2", b"3", b"last"]


def test_several_that_are_under_way_can_be_purged(
    own_broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(own_broker)
    with Producer(own_broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        own_broker.pause()
        deliveries = send_each(producer, topic, [b"gone"] * 3, eventually)
        producer.purge(in_queue=False)
        for delivery in deliveries:
            with pytest.raises(PurgedError):
                delivery.result(TIMEOUT)
        own_broker.resume()


def test_a_connection_that_the_broker_closes_is_made_anew(
    make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    with ApacheKafka(config={"connections.max.idle.ms": "1000"}) as kafka:
        topic = make_topic(kafka)
        with Producer(kafka.bootstrap, linger_ms=0) as producer:
            count = warm_up(producer, topic, eventually)
            eventually(lambda: not reads_answers(producer))
            for number in range(3):
                producer.send(topic, b"%d" % number, partition=0).result(TIMEOUT)
        assert values_after(count, read_topic(kafka, topic)) == [b"0", b"1", b"2"]


def test_an_answer_that_asks_for_silence_is_heeded(make_topic: MakeTopic, eventually: Eventually) -> None:

    # Quotas count over a second, so that few records are soon too many.
    quotas = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
    with ApacheKafka(config=quotas) as kafka, Admin(kafka.bootstrap) as admin:
        topic = make_topic(kafka)
        limited = ClientQuotaEntity({"client-id": "limited"})
        with Producer(kafka.bootstrap, linger_ms=0, client_id="limited") as producer:
            warm_up(producer, topic, eventually)
            admin.alter_client_quotas({limited: {"producer_byte_rate": 2000.0}})
            exactly = [ClientQuotaFilter("client-id", QuotaMatch.EXACT, "limited")]
            eventually(lambda: admin.describe_client_quotas(exactly))

            def is_throttled() -> bool:
                producer.send(topic, b"x" * 1000, partition=0).result(TIMEOUT)
                return any(broker.throttle_time_ms.count for broker in producer.stats().client.brokers)

            eventually(is_throttled)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_child_of_a_fork_may_let_go_of_a_producer(
    broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        child = os.fork()
        if child == 0:
            # Nothing but this: the threads of the test run are not there either.
            producer._core._sender.accumulator.end_direct()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert producer.send(topic, b"v", partition=0).result(TIMEOUT).offset > 0
