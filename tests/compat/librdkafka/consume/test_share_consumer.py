"""`ShareConsumer` beside the real one: the same script on both, with the same outcome."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import confluent_kafka as real
import pytest
from tests.share_groups import begin_at_the_first_record
from tests.waiting import Patience

from barnabas import Admin, NewTopic, Producer
from barnabas.compat import confluent_kafka as ours
from barnabas.compat.librdkafka.consume.share_consumer_session import ShareConsumerSession
from barnabas.settings.table import ShareConsumerConfig, load
from barnabas.testing import ApacheKafka

WAIT_SECONDS = 60.0
RECORDS = 4


def plain(value: Any) -> Any:
    """What two packages can have in common of a result."""
    if isinstance(value, real.KafkaError | ours.KafkaError):
        return value.code(), value.str()
    if isinstance(value, real.TopicPartition | ours.TopicPartition):
        return value.partition, value.offset
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(item) for item in value)
    if isinstance(value, str):
        # A class that is complained of says where it is while the facade is not installed.
        return value.replace("barnabas.compat.", "")
    return value


class Bench:
    """One package, with a topic and a group of its own that begins at the earliest record."""

    def __init__(self, package: ModuleType, kafka: ApacheKafka) -> None:
        self.package: Any = package
        self.kafka = kafka
        self.topic, self.group = f"topic-{uuid.uuid4()}", f"group-{uuid.uuid4()}"
        self.consumers: list[Any] = []
        with Admin(kafka.bootstrap) as admin:
            admin.create_topics([NewTopic(self.topic, num_partitions=1)])
        begin_at_the_first_record(kafka.bootstrap, self.group)

    def produce(self, count: int = RECORDS) -> None:
        with Producer(self.kafka.bootstrap) as producer:
            for number in range(count):
                producer.send(self.topic, b"v%d" % number, headers=[("h", b"x")])

    def consumer(self, **settings: Any) -> Any:
        names = {
            name if name.endswith("_cb") else name.replace("_", "."): value
            for name, value in settings.items()
        }
        consumer = self.package.ShareConsumer(
            {"bootstrap.servers": self.kafka.bootstrap, "group.id": self.group, **names}
        )
        self.consumers.append(consumer)
        return consumer

    def poll(self, consumer: Any) -> Any:
        patience = Patience(WAIT_SECONDS)
        while not (messages := consumer.poll(0.5)):
            patience.check()
        return messages

    def said(self, call: Callable[[], Any]) -> Any:
        """What a call gives or raises."""
        try:
            return plain(call())
        except Exception as error:
            text = [a.replace(self.topic, "t") if isinstance(a, str) else a for a in error.args]
            return type(error).__name__, plain(text)


Script = Callable[[Bench], Any]
Both = Callable[[Script], Any]


@pytest.fixture
def both(apache_kafka: ApacheKafka) -> Iterator[Both]:
    """`both(script)` runs it with each package, and gives what both gave."""
    benches: list[Bench] = []

    def run(script: Script) -> Any:
        outcomes: list[Any] = []
        for package in (real, ours):
            bench = Bench(package, apache_kafka)
            benches.append(bench)
            outcomes.append(plain(script(bench)))
        assert outcomes[1] == outcomes[0]
        return outcomes[1]

    yield run
    for bench in benches:
        for consumer in bench.consumers:
            consumer.close()


def test_the_next_commit_accepts_what_a_poll_gave(both: Both) -> None:
    def script(bench: Bench) -> Any:
        bench.produce()
        consumer = bench.consumer()
        consumer.subscribe([bench.topic])
        messages = bench.poll(consumer)
        parts = [
            (m.partition(), m.offset(), m.key(), m.value(), m.headers(), m.error(), m.leader_epoch())
            for m in messages
        ]
        counts = [m.delivery_count() for m in messages]
        return parts, counts, consumer.commit_sync(), consumer.commit_sync(5.0)

    parts, counts, committed, again = both(script)
    assert (len(parts), counts, committed, again) == (RECORDS, [1] * RECORDS, {(0, 0): None}, {})


def test_each_message_is_acknowledged_where_that_is_asked_for(both: Both) -> None:
    def script(bench: Bench) -> Any:
        bench.produce()
        heard: list[Any] = []
        acknowledge_type = bench.package.AcknowledgeType
        consumer = bench.consumer(share_acknowledgement_mode="explicit")
        consumer.set_acknowledgement_commit_callback(
            lambda offsets, error: heard.append((plain(offsets), error))
        )
        consumer.subscribe([bench.topic])
        messages = bench.poll(consumer)
        said = [
            bench.said(lambda: consumer.poll(0)),
            bench.said(lambda: consumer.acknowledge(messages[0])),
            bench.said(lambda: consumer.acknowledge(messages[1], acknowledge_type.RELEASE)),
            bench.said(lambda: consumer.acknowledge_offset(bench.topic, 0, 2, acknowledge_type.REJECT)),
            bench.said(lambda: consumer.acknowledge_offset(bench.topic, 0, 99)),
            bench.said(lambda: consumer.acknowledge(message=messages[3], ack_type=1)),
            bench.said(lambda: consumer.commit_sync(10)),
            bench.said(lambda: consumer.acknowledge(messages[0])),
        ]
        (again,) = bench.poll(consumer)
        consumer.acknowledge(again)
        consumer.commit_async()
        patience = Patience(WAIT_SECONDS)
        while len(heard) < 2:
            patience.check()
            consumer.poll(0.1)
        return said, again.offset(), again.delivery_count(), heard

    *_, offset, count, _ = both(script)
    assert (offset, count) == (1, 2)


def test_what_the_callback_raises_comes_out_of_the_commit(both: Both) -> None:
    def script(bench: Bench) -> Any:
        def callback(offsets: Any, error: Any) -> None:
            raise ValueError("no")

        bench.produce(1)
        consumer = bench.consumer()
        consumer.set_acknowledgement_commit_callback(callback)
        consumer.subscribe([bench.topic])
        bench.poll(consumer)
        said = bench.said(consumer.commit_sync)
        consumer.set_acknowledgement_commit_callback(None)
        return said

    both(script)


def test_another_thread_is_turned_away(both: Both, eventually: Callable[..., Any]) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        consumer.subscribe([bench.topic])
        refusal = bench.package.ConcurrentModificationException

        def poll() -> None:
            while bench.said(lambda: [len(consumer.poll(3))])[0] == refusal.__name__:
                pass

        thread = threading.Thread(target=poll)
        thread.start()

        def conflict() -> Any:
            said = bench.said(consumer.subscription)
            return said if said != [bench.topic] else None

        said = eventually(conflict)
        thread.join()
        return said

    both(script)


CALLS: list[Callable[[Any, Bench], Any]] = [
    lambda c, _: c.poll(0),
    lambda c, _: c.subscribe("a"),
    lambda c, _: c.subscribe(),
    lambda c, _: c.subscribe(["a", "a"]),
    lambda c, _: c.subscribe([""]),
    lambda c, _: c.subscribe([]),
    lambda c, _: c.subscription(),
    lambda c, b: c.subscribe(["a", "^b"]),
    lambda c, _: c.subscription(),
    lambda c, _: c.unsubscribe(),
    lambda c, _: c.poll("x"),
    lambda c, _: c.poll(0, 0),
    lambda c, b: c.acknowledge(b.package.Message(topic="t", partition=0, offset=0)),
    lambda c, b: c.acknowledge(b.package.Message()),
    lambda c, _: c.acknowledge(5),
    lambda c, _: c.acknowledge_offset(5, 0, 0),
    lambda c, _: c.acknowledge_offset("t", -1, 0),
    lambda c, _: c.acknowledge_offset("t", 0, 0),
    lambda c, _: c.commit_sync("x"),
    lambda c, _: c.commit_sync(1),
    lambda c, _: c.commit_async(1),
    lambda c, _: c.commit_async(),
    lambda c, _: c.set_acknowledgement_commit_callback(5),
    lambda c, _: c.set_acknowledgement_commit_callback(None),
    lambda c, _: c.set_sasl_credentials(1, 2),
    lambda c, _: c.set_sasl_credentials("a", "b"),
    lambda c, _: c.close(1),
    lambda c, _: c.close(),
    lambda c, _: c.close(),
    lambda c, _: c.poll(0),
    lambda c, _: c.subscribe(["a"]),
    lambda c, _: c.subscription(),
    lambda c, _: c.commit_sync(),
    lambda c, _: c.commit_async(),
    lambda c, _: c.set_sasl_credentials("a", "b"),
]


def test_calls_that_make_no_sense_are_refused_as_the_real_one_refuses_them(both: Both) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        return [bench.said(lambda call=call: call(consumer, bench)) for call in CALLS]

    both(script)


@pytest.mark.parametrize(
    "settings", [{}, {"group.id": "a", "nonsense": 1}, {"bootstrap.servers": "b"}], ids=str
)
def test_a_configuration_that_makes_no_sense_is_refused(settings: dict[str, Any]) -> None:
    said: list[Any] = []
    for package in (real, ours):
        try:
            package.ShareConsumer(settings)
        except Exception as error:
            said.append((type(error).__name__, plain(error.args)))
    assert len(said) == 2
    assert said[0] == said[1]


def test_it_has_every_public_name_of_the_real_one() -> None:
    public = {name for name in dir(real.ShareConsumer) if not name.startswith("_")}
    assert public == {name for name in dir(ours.ShareConsumer) if not name.startswith("_")}


def test_what_has_come_when_a_callback_raises_is_given_out_by_the_next_poll(
    apache_kafka: ApacheKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The original accepts it with that poll, and nobody has seen it.
    bench = Bench(ours, apache_kafka)
    bench.produce()
    consumer = bench.consumer()
    consumer.subscribe([bench.topic])
    take = consumer._session.take
    taken: list[int] = []

    def fail() -> None:
        raise ValueError("mine")

    def take_and_fail(timeout: float) -> int | None:
        count = take(timeout)
        if count:
            taken.append(count)
            if len(taken) == 1:
                consumer._events.put(fail)
        return count

    monkeypatch.setattr(consumer._session, "take", take_and_fail)
    with pytest.raises(ValueError, match="mine"):
        bench.poll(consumer)
    assert [m.offset() for m in bench.poll(consumer)] == list(range(RECORDS))
    assert taken == [RECORDS, RECORDS]
    consumer.close()


def test_a_callback_may_poll_its_consumer_and_close_it(apache_kafka: ApacheKafka) -> None:
    # The original's process does not survive either.
    bench = Bench(ours, apache_kafka)
    bench.produce()
    inner: list[Any] = []

    def poll(text: str) -> None:
        if len(inner) < RECORDS:
            inner.extend(consumer.poll(0.1))

    consumer = bench.consumer(statistics_interval_ms=50, stats_cb=poll)
    consumer.subscribe([bench.topic])
    outer: list[Any] = []
    patience = Patience(WAIT_SECONDS)
    while len(inner) + len(outer) < RECORDS:
        patience.check()
        outer.extend(consumer.poll(0.3))
    found = sorted((m.offset(), m.delivery_count()) for m in [*inner, *outer])
    assert found == [(offset, 1) for offset in range(RECORDS)]
    consumer.close()

    closing = bench.consumer(statistics_interval_ms=50, stats_cb=lambda text: closing.close())
    closing.subscribe([bench.topic])
    with pytest.raises(ours.IllegalStateException, match="Share consumer closed"):
        closing.poll(WAIT_SECONDS)


def test_addresses_at_which_nobody_answers_for_long_are_not_an_error_of_poll() -> None:
    settings = {
        "bootstrap_servers": "127.0.0.1:1",
        "group_id": "g",
        "request_timeout_ms": 200,
        "default_api_timeout_ms": 300,
    }
    session = ShareConsumerSession(load(ShareConsumerConfig, settings))
    session.subscribe(["t"])
    deadline = time.monotonic() + 1.5
    while (remaining := deadline - time.monotonic()) > 0:
        assert not session.take(remaining)
    session.close()


def test_a_commit_that_a_broker_refuses_says_so_by_partition() -> None:
    with ApacheKafka(config={"group.share.min.record.lock.duration.ms": "1000"}) as kafka:

        def script(bench: Bench) -> Any:
            begin_at_the_first_record(kafka.bootstrap, bench.group, share_record_lock_duration_ms="1000")
            bench.produce()
            told: list[Any] = []
            consumer = bench.consumer(share_acknowledgement_mode="explicit")
            consumer.set_acknowledgement_commit_callback(
                lambda offsets, error: told.append(
                    [[(p.partition, p.error, o) for p, o in offsets.items()], plain(error.args)]
                )
            )
            consumer.subscribe([bench.topic])
            messages = bench.poll(consumer)
            # Until the broker has taken them back.
            time.sleep(2.5)
            for message in messages:
                consumer.acknowledge(message)
            (outcome,) = consumer.commit_sync(WAIT_SECONDS).items()
            consumer.close()
            return plain(outcome[0].error), plain(outcome[1].args), told

        outcomes = [script(Bench(package, kafka)) for package in (real, ours)]
    assert outcomes[1] == outcomes[0]
    assert outcomes[1][0] == (real.KafkaError.INVALID_RECORD_STATE, "Broker: The record state is invalid")
