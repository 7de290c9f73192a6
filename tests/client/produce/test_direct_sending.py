"""Records that leave in the thread that hands them over, on real brokers: that they do, and that nothing else
changes by it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from barnabas import Delivery, Producer
from barnabas.client.produce.direct_sending import VERSIONS
from barnabas.errors import BarnabasError, KafkaTimeoutError, PurgedError
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.testing import EmbeddedBroker

MakeTopic = Callable[..., str]
Eventually = Callable[..., Any]
ReadTopic = Callable[..., list[Any]]
TIMEOUT = 60.0


def may_send_directly(producer: Producer) -> bool:
    direct = producer._core._sender._direct
    return direct is not None and bool(direct._lent)


def has_sent_directly(producer: Producer) -> bool:
    return producer._core.accumulator.has_sent_directly


def warm_up(producer: Producer, topic: str, eventually: Eventually, partition: int = 0) -> None:
    """One record, after whose answer the next one may leave directly."""
    producer.send(topic, b"first", partition=partition).result(TIMEOUT)
    eventually(lambda: may_send_directly(producer))


def values_of(messages: list[Any]) -> list[bytes]:
    return [message.value() for message in messages]


@pytest.mark.parametrize("compression", ["none", "lz4"])
@pytest.mark.parametrize("idempotence", [True, False])
def test_records_that_leave_directly_arrive_once_and_in_order(
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
        warm_up(producer, topic, eventually)
        deliveries: list[Delivery] = []
        for number in range(50):
            deliveries.append(producer.send(topic, b"%d" % number, key=b"key", headers=[("h", b"1")]))
            if number % 3:
                deliveries[-1].result(TIMEOUT)
        assert [delivery.result(TIMEOUT).offset for delivery in deliveries] == list(range(1, 51))
    messages = read_topic(broker, topic)
    assert values_of(messages) == [b"first", *(b"%d" % number for number in range(50))]
    assert messages[-1].key() == b"key"
    assert messages[-1].headers() == [("h", b"1")]


def test_a_record_leaves_while_the_thread_of_the_loop_does_something_else(
    broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        is_over = threading.Event()
        producer._loop.call(lambda: is_over.wait(TIMEOUT))
        delivery = producer.send(topic, b"direct", partition=0)
        assert has_sent_directly(producer)
        is_over.set()
        assert delivery.result(TIMEOUT).offset == 1


def test_the_report_comes_as_always(broker: Any, make_topic: MakeTopic, eventually: Eventually) -> None:
    topic = make_topic(broker)
    reports: list[tuple[BarnabasError | None, Any]] = []
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        producer.send(topic, b"v", partition=0, on_delivery=lambda *report: reports.append(report))
        producer.flush(TIMEOUT)
    [(error, metadata)] = reports
    assert error is None
    assert metadata.offset == 1


def test_records_of_many_threads_arrive_once_and_in_the_order_of_each(
    broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)

        def send(thread: int) -> None:
            for number in range(50):
                producer.send(topic, b"%d %d" % (thread, number), partition=0).result(TIMEOUT)

        threads = [threading.Thread(target=send, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    values = values_of(read_topic(broker, topic))[1:]
    assert len(values) == 200
    for thread in range(4):
        own = [value for value in values if value.startswith(b"%d " % thread)]
        assert own == [b"%d %d" % (thread, number) for number in range(50)]


def test_large_records_and_other_partitions_go_the_usual_way(
    broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker, 2)
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        large = b"x" * 10_000
        producer.send(topic, large, partition=0)
        assert not has_sent_directly(producer)
        producer.send(topic, b"small", partition=0)
        producer.send(topic, b"other", partition=1)
        producer.flush(TIMEOUT)
    assert values_of(read_topic(broker, topic)) == [b"first", large, b"small", b"other"]


def test_another_batch_waits_for_none_that_left_directly(
    own_broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(own_broker, 2)
    with Producer(own_broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        own_broker.pause()
        deliveries = [producer.send(topic, b"direct", partition=0)]
        assert has_sent_directly(producer)
        deliveries += [producer.send(topic, b"%d" % number, partition=number % 2) for number in range(4)]
        own_broker.resume()
        assert [delivery.result(TIMEOUT).offset for delivery in deliveries] == [1, 2, 0, 3, 1]
    assert values_of(read_topic(own_broker, topic)) == [b"first", b"direct", b"0", b"2", b"1", b"3"]


def test_a_record_that_a_broker_does_not_answer_is_given_up_in_time(
    own_broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(own_broker)
    settings: dict[str, Any] = {"request_timeout_ms": 1_500, "delivery_timeout_ms": 6_000, "linger_ms": 0}
    with Producer(own_broker.bootstrap, **settings) as producer:
        warm_up(producer, topic, eventually)
        own_broker.pause()
        delivery = producer.send(topic, b"lost", partition=0)
        assert has_sent_directly(producer)
        with pytest.raises(KafkaTimeoutError, match="delivery_timeout_ms"):
            delivery.result(TIMEOUT)
        own_broker.resume()


def test_a_record_is_sent_again_when_the_broker_comes_back(
    own_broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(own_broker)
    with Producer(own_broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        own_broker.pause()
        delivery = producer.send(topic, b"again", partition=0)
        assert has_sent_directly(producer)
        own_broker.kill()
        own_broker.start()
        delivery.result(60)
        producer.send(topic, b"last", partition=0).result(TIMEOUT)
    assert values_of(read_topic(own_broker, topic)) == [b"first", b"again", b"last"]


def test_what_left_directly_can_be_purged(
    own_broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(own_broker)
    with Producer(own_broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        own_broker.pause()
        delivery = producer.send(topic, b"gone", partition=0)
        producer.purge(in_queue=False)
        with pytest.raises(PurgedError):
            delivery.result(TIMEOUT)
        own_broker.resume()


def test_an_answer_that_comes_late_lends_nothing_while_another_connection_is_lent(
    make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    """What was purged is waited for no more, but its answer comes: to a loop that has lent meanwhile."""
    with (
        EmbeddedBroker(nodes=2) as two,
        Producer(two.bootstrap, linger_ms=0, enable_idempotence=False) as producer,
    ):
        topic = make_topic(two, 2)
        for partition in (0, 1):
            producer.send(topic, b"first", partition=partition).result(TIMEOUT)
        held = two.faults.hold("Produce", topic=topic, partition=1, times=1)
        late = producer.send(topic, b"late", partition=1)
        eventually(lambda: held.hits)
        producer.purge(in_queue=False)
        with pytest.raises(PurgedError):
            late.result(TIMEOUT)
        warm_up(producer, topic, eventually, partition=0)
        held.release()
        leaders = producer._core._sender._leaders
        eventually(lambda: not any(leader.in_flight for leader in leaders.values()))
        offsets = [producer.send(topic, b"v", partition=0).result(TIMEOUT).offset for _ in range(10)]
        assert offsets == list(range(2, 12))
        assert not caplog.records
        # The one that was purged had left.
        assert len(read_topic(two, topic)) == 14


def test_closing_waits_for_what_left_directly(
    broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    producer = Producer(broker.bootstrap, linger_ms=0)
    warm_up(producer, topic, eventually)
    delivery = producer.send(topic, b"v", partition=0)
    producer.close()
    assert delivery.result(0).offset == 1


def test_what_left_directly_is_counted(broker: Any, make_topic: MakeTopic, eventually: Eventually) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        warm_up(producer, topic, eventually)
        before = producer.stats()
        for _ in range(10):
            producer.send(topic, b"v", partition=0).result(TIMEOUT)
        after = producer.stats()
    assert after.records_delivered == before.records_delivered + 10
    assert after.batches_sent == before.batches_sent + 10


@pytest.mark.parametrize(
    "settings", [{"linger_ms": 5}, {"linger_ms": 0, "acks": 0, "enable_idempotence": False}]
)
def test_what_nobody_hurries_or_is_not_answered_never_leaves_directly(
    broker: Any, make_topic: MakeTopic, settings: dict[str, Any]
) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap, **settings) as producer:
        producer.send(topic, b"v", partition=0).result(TIMEOUT)
        producer.flush(TIMEOUT)
        assert not may_send_directly(producer)


def test_the_kernel_sends_in_the_newest_version() -> None:
    assert VERSIONS[-1] == ProduceRequest.VERSIONS[1]


@contextmanager
def hurried(producer: Producer) -> Generator[None]:
    """As a facade's flush is: whoever waits does it outside of the loop."""
    reason = object()
    producer._core.hurry(reason)
    try:
        yield
    finally:
        producer._core.relax(reason)


def keep_lent(producer: Producer) -> None:
    """However long nobody flushes."""
    direct = producer._core._sender._direct
    assert direct is not None
    direct._unused_seconds = TIMEOUT


def warm_up_by_hurrying(producer: Producer, topic: str, eventually: Eventually) -> None:
    delivery = producer.send(topic, b"first", partition=0)
    with hurried(producer):
        delivery.result(TIMEOUT)
        eventually(lambda: may_send_directly(producer))


def test_what_lingers_leaves_at_a_flush_without_the_loop(
    broker: Any, make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap, linger_ms=60_000) as producer:
        keep_lent(producer)
        warm_up_by_hurrying(producer, topic, eventually)
        is_over = threading.Event()
        producer._loop.call(lambda: is_over.wait(TIMEOUT))
        deliveries = [producer.send(topic, b"%d" % number, partition=0) for number in range(3)]
        assert not has_sent_directly(producer)
        with hurried(producer):
            assert has_sent_directly(producer)
            is_over.set()
            assert [delivery.result(TIMEOUT).offset for delivery in deliveries] == [1, 2, 3]
        for number in range(3, 20):
            delivery = producer.send(topic, b"%d" % number, partition=0)
            with hurried(producer):
                assert delivery.result(TIMEOUT).offset == number + 1
    assert values_of(read_topic(broker, topic)) == [b"first", *(b"%d" % number for number in range(20))]


def test_keys_over_partitions_and_leaders_leave_at_a_flush_without_the_loop(
    make_topic: MakeTopic, read_topic: ReadTopic, eventually: Eventually
) -> None:
    with EmbeddedBroker(nodes=3) as three, Producer(three.bootstrap, linger_ms=60_000) as producer:
        topic = make_topic(three, 6)
        keep_lent(producer)
        direct = producer._core._sender._direct
        assert direct is not None

        def is_all_lent() -> bool:
            # One at a time, so that each answer leaves nothing to do.
            for partition in range(6):
                delivery = producer.send(topic, b"warm", partition=partition)
                with hurried(producer):
                    delivery.result(TIMEOUT)
            return sum(len(lent.seats) for lent in direct._lent.values()) == 6

        eventually(is_all_lent)
        assert len(direct._lent) == 3
        before = len(read_topic(three, topic))
        is_over = threading.Event()
        producer._loop.call(lambda: is_over.wait(TIMEOUT))
        deliveries = [producer.send(topic, b"%d" % number, key=b"%d" % number) for number in range(40)]
        assert not has_sent_directly(producer)
        with hurried(producer):
            assert has_sent_directly(producer)
            is_over.set()
            partitions = {delivery.result(TIMEOUT).partition for delivery in deliveries}
        assert partitions == set(range(6))
        messages = read_topic(three, topic)
        assert len(messages) == before + 40
        assert {message.value() for message in messages} == {b"warm", *(b"%d" % n for n in range(40))}


def test_what_lingers_and_nobody_flushes_leaves_in_its_time(
    broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker, 2)
    with Producer(broker.bootstrap, linger_ms=5) as producer:
        warm_up_by_hurrying(producer, topic, eventually)
        assert producer.send(topic, b"held", partition=0).result(TIMEOUT).offset == 1
        # After that nothing is lent until somebody flushes again.
        eventually(lambda: not may_send_directly(producer))
        assert producer.send(topic, b"usual", partition=0).result(TIMEOUT).offset == 2
        assert producer.send(topic, b"other", partition=1).result(TIMEOUT).offset == 0


def test_what_lingers_is_not_forgotten_when_the_connection_is_needed(
    broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap, linger_ms=300) as producer:
        keep_lent(producer)
        warm_up_by_hurrying(producer, topic, eventually)
        delivery = producer.send(topic, b"held", partition=0)
        producer._loop.run(take_back(producer))
        assert not may_send_directly(producer)
        assert delivery.result(TIMEOUT).offset == 1


async def take_back(producer: Producer) -> None:
    direct = producer._core._sender._direct
    assert direct is not None
    direct.take_back()
