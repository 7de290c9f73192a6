"""`Consumer` beside the real one: the same script on both, against the same broker, with the same outcome."""

from __future__ import annotations

import _thread
import gc
import json
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import confluent_kafka as real
import pytest
from tests.waiting import Patience

from barnabas import Admin, NewTopic, Producer
from barnabas.compat import confluent_kafka as ours
from barnabas.testing import ApacheKafka, EmbeddedBroker

Broker = ApacheKafka | EmbeddedBroker
WAIT_SECONDS = 60.0
RECORDS = 10


def plain(value: Any) -> Any:
    """What two packages can have in common of a result."""
    if isinstance(value, real.TopicPartition | ours.TopicPartition):
        error = None if value.error is None else value.error.code()
        return value.topic, value.partition, value.offset, value.metadata, value.leader_epoch, error
    if isinstance(value, real.KafkaError | ours.KafkaError):
        return value.code(), value.str()
    if isinstance(value, real.Message | ours.Message):
        parts = (value.topic(), value.partition(), value.offset(), value.key(), value.value())
        return *parts, value.headers(), value.leader_epoch(), plain(value.error())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


class Bench:
    """One package with a topic of two partitions that hold RECORDS records, in turn."""

    def __init__(self, package: ModuleType, broker: Broker, topic: str) -> None:
        self.package: Any = package
        self.broker = broker
        self.topic = topic
        self.group = f"group-{uuid.uuid4()}"
        self.consumers: list[Any] = []

    def consumer(self, **settings: Any) -> Any:
        names = {
            n if n in ("on_commit", "stats_cb") else n.replace("_", "."): value
            for n, value in settings.items()
        }
        consumer = self.package.Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "group.id": self.group,
                "auto.offset.reset": "earliest",
                **names,
            }
        )
        self.consumers.append(consumer)
        return consumer

    def partition(self, number: int, offset: int = -1001, topic: str | None = None) -> Any:
        return self.package.TopicPartition(topic or self.topic, number, offset)

    def said(self, call: Callable[[], Any]) -> Any:
        """What a call gives or raises."""
        try:
            return plain(call())
        except Exception as error:
            return type(error).__name__, plain(error.args)

    def poll(self, consumer: Any, count: int) -> list[Any]:
        """The next messages, one by one; fails if they do not come."""
        messages: list[Any] = []
        patience = Patience(WAIT_SECONDS)
        while len(messages) < count:
            patience.check(messages)
            message = consumer.poll(0.1)
            if message is not None:
                messages.append(message)
        return messages

    def poll_until(self, consumer: Any, condition: Callable[[], Any]) -> None:
        patience = Patience(WAIT_SECONDS)
        while not condition():
            patience.check()
            consumer.poll(0.05)


Script = Callable[[Bench], Any]
Both = Callable[[Script], Any]


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"topic-{uuid.uuid4()}"
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, num_partitions=2)])
    with Producer(broker.bootstrap) as producer:
        for number in range(RECORDS):
            producer.send(name, b"v%d" % number, key=b"k%d" % number, partition=number % 2)
    return name


@pytest.fixture
def both(broker: Broker, topic: str) -> Iterator[Both]:
    """`both(script)` runs it with each package, and gives what both gave."""
    benches: list[Bench] = []

    def run(script: Script) -> Any:
        outcomes: list[Any] = []
        for package in (real, ours):
            bench = Bench(package, broker, topic)
            benches.append(bench)
            outcomes.append(plain(script(bench)))
        assert outcomes[1] == outcomes[0]
        return outcomes[1]

    yield run
    for bench in benches:
        for consumer in bench.consumers:
            consumer.close()


@pytest.mark.integration
def test_assigned_partitions_are_read_from_their_offsets(both: Both) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        consumer.assign([bench.partition(0, 1)])
        messages = bench.poll(consumer, 2)
        partitions = [bench.partition(0), bench.partition(1)]
        return messages, consumer.position(partitions), consumer.assignment(), consumer.memberid()

    (first, *_), *_ = both(script)
    assert first[1:5] == (0, 1, b"k2", b"v2")


def test_consume_waits_for_all_messages_and_tells_the_end_of_a_partition(
    both: Both,
) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer(enable_partition_eof=True)
        consumer.assign([bench.partition(0, 0)])
        messages = bench.poll(consumer, 1) + consumer.consume(5, WAIT_SECONDS)
        return messages, consumer.consume(1, 0.2), consumer.consume(0, 1)

    messages, *_ = both(script)
    assert messages[-1][-1][0] == real.KafkaError._PARTITION_EOF


@pytest.mark.parametrize("offset", [real.OFFSET_BEGINNING, 3, -2002])
def test_a_seek_goes_on_elsewhere_and_makes_the_position_unknown(both: Both, offset: int) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        consumer.assign([bench.partition(0, 1)])
        bench.poll(consumer, 1)
        consumer.seek(bench.partition(0, offset))
        return consumer.position([bench.partition(0)]), bench.poll(consumer, 1)

    both(script)


@pytest.mark.parametrize("reset", ["error", "earliest"])
def test_an_offset_that_is_not_there_is_an_event_or_reset(both: Both, reset: str) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer(auto_offset_reset=reset)
        consumer.assign([bench.partition(0, 1000)])
        return bench.poll(consumer, 1)

    both(script)


def test_a_group_without_an_offset_is_an_event_where_no_reset_is_wanted(
    both: Both,
) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer(auto_offset_reset="error")
        consumer.assign([bench.partition(0)])
        return bench.poll(consumer, 1)

    both(script)


def test_a_topic_that_is_not_there_is_an_event_once(both: Both) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        consumer.subscribe(["nowhere-1", "nowhere-2"])
        return bench.poll(consumer, 2), consumer.poll(0.5)

    both(script)


def test_a_static_member_whose_place_is_taken_hears_so_once_as_a_fatal_error(both: Both) -> None:
    def script(bench: Bench) -> Any:
        settings = {"group_instance_id": "one", "session_timeout_ms": 6000, "heartbeat_interval_ms": 200}
        first = bench.consumer(**settings)
        first.subscribe([bench.topic])
        bench.poll(first, RECORDS)
        second = bench.consumer(**settings)
        second.subscribe([bench.topic])
        bench.poll_until(second, second.assignment)
        (told,) = bench.poll(first, 1)
        return told, first.poll(1)

    told, later = both(script)
    assert told[-1][0] == real.KafkaError._FATAL
    assert later is None


def test_offsets_of_a_topic_that_was_made_again_are_stored_anew_and_the_old_ones_are_not_committed(
    broker: Broker, topic: str, eventually: Callable[..., Any]
) -> None:
    bench = Bench(ours, broker, topic)
    consumer = bench.consumer(auto_commit_interval_ms=50, topic_metadata_refresh_interval_ms=600_000)
    name = f"topic-{uuid.uuid4()}"
    with Admin(broker.bootstrap) as admin, Producer(broker.bootstrap) as producer:
        try:
            for count, value in ((20, b"old"), (5, b"new")):
                admin.create_topics([NewTopic(name, 1, 1)])
                for _ in range(count):
                    producer.send(name, value)
                producer.flush()
                consumer.subscribe([name])
                read: list[Any] = []
                while len(read) < count:
                    message = consumer.poll(1)
                    if message is not None and message.error() is None:
                        read.append(message.value())
                assert read == [value] * count
                if value == b"old":
                    admin.delete_topics([name])
                    eventually(lambda: name not in admin.list_topics())
        finally:
            consumer.close()
        committed = admin.list_group_offsets(bench.group)
    assert committed[name, 0].offset == 5


def test_callbacks_hear_of_partitions_before_they_are_taken_and_while_they_are_held(
    both: Both,
) -> None:
    def script(bench: Bench) -> Any:
        consumer, heard = bench.consumer(), []

        def note(what: str) -> Callable[[Any, list[Any]], None]:
            return lambda caller, partitions: heard.append(
                (what, caller is consumer, plain(partitions), plain(consumer.assignment()))
            )

        consumer.subscribe([bench.topic], on_assign=note("assign"), on_revoke=note("revoke"))
        bench.poll(consumer, RECORDS)
        assigned = consumer.assignment()
        consumer.unsubscribe()
        before = len(heard)
        bench.poll_until(consumer, lambda: len(heard) > before)
        return assigned, before, heard, consumer.assignment()

    both(script)


def test_on_assign_may_assign_with_other_offsets(both: Both) -> None:
    def script(bench: Bench) -> Any:
        def on_assign(consumer: Any, partitions: list[Any]) -> None:
            for partition in partitions:
                partition.offset = 4
            consumer.assign(partitions)

        consumer = bench.consumer()
        consumer.subscribe([bench.topic], on_assign=on_assign)
        return sorted(plain(bench.poll(consumer, 2))), consumer.assignment()

    both(script)


def test_a_seek_in_on_assign_is_refused_where_the_groups_offset_counts(broker: Broker, topic: str) -> None:
    # The real one raises as well, unless it hears what the group committed within moments.
    bench, said = Bench(ours, broker, topic), list[Any]()

    def on_assign(consumer: Any, partitions: list[Any]) -> None:
        consumer.assign(partitions)
        said.append(bench.said(lambda: consumer.seek(bench.partition(0, 4))))

    consumer = bench.consumer()
    consumer.subscribe([topic], on_assign=on_assign)
    assert len(bench.poll(consumer, RECORDS)) == RECORDS
    consumer.seek(bench.partition(0, 4))
    assert [message.offset() for message in bench.poll(consumer, 1)] == [4]
    error = ours.KafkaError(ours.KafkaError._STATE, "Failed to seek to offset 4: Local: Erroneous state")
    assert said == [("KafkaException", plain((error,)))]
    consumer.close()


def test_what_a_callback_raises_comes_out_of_poll(both: Both) -> None:
    def script(bench: Bench) -> Any:
        def on_assign(consumer: Any, partitions: list[Any]) -> None:
            raise ValueError("no")

        consumer = bench.consumer()
        consumer.subscribe([bench.topic], on_assign=on_assign)
        raised = bench.said(lambda: bench.poll(consumer, 1))
        return raised, consumer.assignment()

    both(script)


def interrupted_consumer(bench: Bench, **settings: Any) -> Any:
    """One whose consume() has raised what a callback did once it had taken all of partition 0."""
    raised: list[Exception] = []

    def stats_cb(_: str) -> None:
        (position,) = consumer.position([bench.partition(0)])
        if position.offset == RECORDS // 2 and not raised:
            raised.append(ValueError("mine"))
            raise raised[0]

    consumer = bench.consumer(statistics_interval_ms=50, stats_cb=stats_cb, **settings)
    consumer.assign([bench.partition(0)])
    with pytest.raises(ValueError, match="mine"):
        consumer.consume(RECORDS, WAIT_SECONDS)
    return consumer


def test_what_consume_had_taken_when_a_callback_raised_comes_next(broker: Broker, topic: str) -> None:
    bench = Bench(ours, broker, topic)
    with interrupted_consumer(bench) as consumer:
        messages = consumer.consume(2, WAIT_SECONDS) + bench.poll(consumer, 3)
        assert [message.offset() for message in messages] == [0, 1, 2, 3, 4]
        assert consumer.position([bench.partition(0)])[0].offset == 5


def test_what_consume_had_taken_when_a_callback_raised_is_not_committed(broker: Broker, topic: str) -> None:
    bench = Bench(ours, broker, topic)
    with interrupted_consumer(bench, auto_commit_interval_ms=600_000):
        pass
    with bench.consumer() as consumer:
        (committed,) = consumer.committed([bench.partition(0)], WAIT_SECONDS)
    assert committed.offset == 0


def test_what_is_committed_can_be_asked_within_on_revoke_while_it_closes(broker: Broker, topic: str) -> None:
    bench, found = Bench(ours, broker, topic), list[Any]()

    def on_revoke(consumer: Any, partitions: list[Any]) -> None:
        found.extend(consumer.committed(partitions, WAIT_SECONDS))

    with bench.consumer(enable_auto_commit=False) as consumer:
        consumer.subscribe([topic], on_revoke=on_revoke)
        bench.poll(consumer, RECORDS)
        consumer.commit(asynchronous=False)
    assert [partition.offset for partition in found] == [RECORDS // 2, RECORDS // 2]


def test_closing_revokes_and_commits_what_was_given_out(both: Both) -> None:
    def script(bench: Bench) -> Any:
        heard: list[Any] = []
        consumer = bench.consumer(
            auto_commit_interval_ms=600_000, on_commit=lambda *told: heard.append(("commit", plain(told)))
        )
        consumer.subscribe([bench.topic], on_revoke=lambda _, gone: heard.append(("revoke", plain(gone))))
        bench.poll(consumer, RECORDS)
        consumer.close()
        partitions = [bench.partition(0), bench.partition(1)]
        return heard, bench.consumer().committed(partitions, WAIT_SECONDS)

    *_, committed = both(script)
    assert [offset for _, _, offset, *_ in committed] == [5, 5]


def test_a_regular_expression_takes_the_topics_that_begin_so(both: Both) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        consumer.subscribe([f"^{bench.topic[:-3]}", "^nowhere[0-9]-?[a-z]+$"])
        return sorted((m[4] for m in plain(bench.poll(consumer, RECORDS + 1))), key=str)

    both(script)


def test_partitions_come_and_go_one_by_one_with_a_cooperative_assignor(both: Both) -> None:
    def script(bench: Bench) -> Any:
        heard: list[Any] = []
        # A member hears of a rebalance by its next heartbeat.
        settings = {"partition_assignment_strategy": "cooperative-sticky", "heartbeat_interval_ms": 200}

        def on_assign(consumer: Any, partitions: list[Any]) -> None:
            heard.append(len(partitions))
            for partition in partitions:
                partition.offset = 2
            consumer.incremental_assign(partitions)

        consumer = bench.consumer(**settings)
        consumer.subscribe([bench.topic], on_assign=on_assign)
        messages = bench.poll(consumer, 6)
        refused = bench.said(lambda: consumer.assign([bench.partition(0)]))
        other = bench.consumer(**settings)
        other.subscribe([bench.topic])
        while not (len(other.assignment()) == 1 and len(consumer.assignment()) == 1):
            bench.poll_until(other, lambda: True)
            consumer.poll(0.05)
            other.poll(0.05)
        return sorted(plain(messages)), heard[0], refused

    both(script)


def test_stored_offsets_are_what_is_committed(both: Both) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer(enable_auto_offset_store=False, enable_auto_commit=False)
        consumer.assign([bench.partition(0)])
        (message,) = bench.poll(consumer, 1)
        said = [
            bench.said(lambda: consumer.commit(asynchronous=False)),
            bench.said(lambda: consumer.store_offsets(message)),
            bench.said(lambda: consumer.commit(asynchronous=False)),
            bench.said(lambda: consumer.commit(asynchronous=False)),
            bench.said(lambda: consumer.store_offsets(offsets=[bench.partition(1, 3)])),
            bench.said(lambda: consumer.store_offsets(offsets=[bench.partition(0, 3)])),
        ]
        return said, consumer.commit(asynchronous=False), consumer.committed([bench.partition(0)], 10)

    both(script)


def test_commits_that_nobody_waits_for_are_told_while_polling(both: Both) -> None:
    def script(bench: Bench) -> Any:
        heard: list[Any] = []
        consumer = bench.consumer(
            on_commit=lambda error, partitions: heard.append((plain(error), plain(partitions))),
            enable_auto_commit=False,
        )
        consumer.assign([bench.partition(0, 0)])
        bench.poll(consumer, 5)
        calls: list[Callable[[], Any]] = [
            lambda: consumer.commit(),
            lambda: consumer.commit(),
            lambda: consumer.commit(offsets=[bench.partition(1, 4)]),
            lambda: consumer.commit(offsets=[bench.partition(0, 1, topic="nowhere")]),
        ]
        for call in calls:
            before = len(heard)
            call()
            bench.poll_until(consumer, lambda before=before: len(heard) > before)
        return heard

    assert len(both(script)) == 4


def test_offsets_are_committed_automatically(both: Both) -> None:
    def script(bench: Bench) -> Any:
        heard: list[Any] = []
        consumer = bench.consumer(
            on_commit=lambda error, partitions: heard.append((plain(error), plain(partitions))),
            auto_commit_interval_ms=100,
        )
        consumer.assign([bench.partition(0, 0)])
        bench.poll(consumer, 5)
        bench.poll_until(consumer, lambda: heard and heard[-1][1][0][2] == 5)
        return consumer.committed([bench.partition(0)], 10)

    both(script)


def test_a_program_that_polls_too_late_hears_so_and_then_loses_its_partitions(
    both: Both, eventually: Callable[..., Any]
) -> None:
    def script(bench: Bench) -> Any:
        lost: list[Any] = []
        consumer = bench.consumer(
            max_poll_interval_ms=2500, session_timeout_ms=2500, heartbeat_interval_ms=300
        )
        consumer.subscribe([bench.topic], on_lost=lambda _, gone: lost.append(plain(gone)))
        bench.poll(consumer, RECORDS)
        # Nothing but a poll would show that the interval is over.
        over_at = time.monotonic() + 3.5
        eventually(lambda: time.monotonic() > over_at)
        (event,) = bench.poll(consumer, 1)
        before = list(lost)
        bench.poll_until(consumer, lambda: lost)
        code, text = plain(event.error())
        return code, text.partition(" by ")[0], event.topic(), event.timestamp(), before, lost

    both(script)


def test_paused_partitions_give_nothing(both: Both) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        consumer.assign([bench.partition(0, 0), bench.partition(1, 0)])
        consumer.pause([bench.partition(0)])
        messages = bench.poll(consumer, 5)
        nothing = consumer.poll(0.3)
        consumer.resume([bench.partition(0)])
        return messages, nothing, bench.poll(consumer, 5)

    both(script)


def test_lookups_answer_or_say_why_not(both: Both) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        nowhere = bench.partition(0, 0, topic="nowhere")
        calls: list[Callable[[], Any]] = [
            lambda: consumer.get_watermark_offsets(bench.partition(0), 60),
            lambda: consumer.get_watermark_offsets(bench.partition(0), cached=True),
            lambda: consumer.get_watermark_offsets(nowhere, 60),
            lambda: consumer.get_watermark_offsets(bench.partition(9), 60),
            lambda: consumer.offsets_for_times([bench.partition(0, 0), bench.partition(1, 2**60)], 60),
            lambda: consumer.offsets_for_times([bench.partition(0, 0), bench.partition(9, 1)], 60),
            lambda: consumer.offsets_for_times([nowhere], 60),
            lambda: consumer.offsets_for_times([], 60),
            lambda: consumer.committed([bench.partition(0), nowhere], 60),
            lambda: consumer.committed([], 60),
            lambda: type(consumer.cluster_id(10)),
            lambda: sorted(consumer.list_topics(bench.topic, 60).topics[bench.topic].partitions),
            lambda: consumer.memberid(),
        ]
        return [bench.said(call) for call in calls]

    both(script)


def test_lookups_that_have_no_time_say_so_unless_the_answer_is_there_at_once(both: Both) -> None:
    """With either package: it depends on who is scheduled first."""

    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        calls: dict[str, Callable[[float], Any]] = {
            "get watermark offsets": lambda t: consumer.get_watermark_offsets(bench.partition(0), t),
            "get offsets": lambda t: consumer.offsets_for_times([bench.partition(0, 0)], t),
            "get committed offsets": lambda t: consumer.committed([bench.partition(0)], t),
        }
        for what, call in calls.items():
            answered, at_once = (bench.said(lambda t=t, call=call: call(t)) for t in (60, 0))
            if at_once != answered:
                assert at_once[0] == "KafkaException"
                assert f"Failed to {what}: Local: Timed out" in str(at_once[1])

    both(script)


def test_the_group_metadata_is_that_of_the_real_one(both: Both) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer(group_instance_id="one")
        return consumer.consumer_group_metadata().replace(bench.group.encode(), b"group")

    both(script)


WRONG_CALLS: dict[str, list[Callable[[Any, Bench], Any]]] = {
    "poll": [lambda c, _: c.poll("x"), lambda c, _: c.poll(0, 0), lambda c, _: c.poll(wait=1)],
    "consume": [
        lambda c, _: c.consume(-1),
        lambda c, _: c.consume(1_000_001),
        lambda c, _: c.consume("x"),
        lambda c, _: c.consume(1, None),
    ],
    "subscribe": [
        lambda c, _: c.subscribe(),
        lambda c, _: c.subscribe("abc"),
        lambda c, _: c.subscribe([]),
        lambda c, _: c.subscribe([""]),
        lambda c, _: c.subscribe(["a", "a"]),
        lambda c, _: c.subscribe(["^("]),
        lambda c, _: c.subscribe(["a"], on_assign=None),
        lambda c, _: c.subscribe(["a"], on_lost="x"),
        lambda c, _: c.unsubscribe(1),
    ],
    "assign": [
        lambda c, _: c.assign(),
        lambda c, _: c.assign(None),
        lambda c, _: c.assign([1]),
        lambda c, b: c.assign([b.partition(0), b.partition(0)]),
        lambda c, b: c.assign([b.partition(0, -5)]),
        lambda c, _: c.assignment(),
        lambda c, _: c.assignment(1),
    ],
    "incremental_assign": [
        lambda c, b: c.incremental_assign([b.partition(0), b.partition(0)]).replace(b.topic, "t"),
        lambda c, b: c.incremental_assign([b.partition(0)]),
        lambda c, b: c.incremental_assign([b.partition(0)]),
        lambda c, b: c.incremental_assign([b.partition(1, 3)]),
        lambda c, b: c.assignment(),
        lambda c, b: c.incremental_unassign([b.partition(5)]),
        lambda c, b: c.incremental_unassign([b.partition(0)]),
        lambda c, b: c.assignment(),
    ],
    "seek": [
        lambda c, _: c.seek(),
        lambda c, _: c.seek("x"),
        lambda c, b: c.seek(b.partition(0, 0)),
    ],
    "positions": [
        lambda c, _: c.position("x"),
        lambda c, b: c.position([b.partition(0)]),
        lambda c, _: c.pause(3),
        lambda c, b: c.resume([b.partition(0)]),
    ],
    "commit": [
        lambda c, b: c.commit(message=b.package.Message(), offsets=[]),
        lambda c, _: c.commit(message=5),
        lambda c, _: c.commit(offsets=5),
        lambda c, _: c.commit(offsets=[1]),
        lambda c, _: c.commit(asynchronous=False),
        lambda c, _: c.commit(**{"async": False}),
        lambda c, _: c.commit(offsets=[], asynchronous=False),
        lambda c, b: c.commit(message=b.package.Message(error=b.package.KafkaError(1))),
        lambda c, b: c.commit(b.package.Message(topic=b.topic, partition=0, offset=1), None, False),
        lambda c, b: c.commit(offsets=[b.partition(0, 1, topic="nowhere")], asynchronous=False),
    ],
    "store_offsets": [
        lambda c, _: c.store_offsets(),
        lambda c, _: c.store_offsets(message=3),
        lambda c, b: c.store_offsets(message=b.package.Message(topic="t"), offsets=[]),
        lambda c, b: c.store_offsets(offsets=[b.partition(0, 1)]),
    ],
    "others": [
        lambda c, _: c.list_topics(5),
        lambda c, _: c.set_sasl_credentials("a"),
        lambda c, _: c.set_sasl_credentials(1, 2),
        lambda c, _: c.set_sasl_credentials("a", "b"),
        lambda c, _: c.get_watermark_offsets(3),
        lambda c, _: c.offsets_for_times(5),
        lambda c, _: c.close(1),
    ],
}


@pytest.mark.parametrize("name", list(WRONG_CALLS))
def test_a_wrong_call_is_refused_as_the_real_one_refuses_it(both: Both, name: str) -> None:
    def script(bench: Bench) -> Any:
        consumer = bench.consumer()
        return [bench.said(lambda call=call: call(consumer, bench)) for call in WRONG_CALLS[name]]

    both(script)


CALLS_OF_CLOSED: dict[str, Callable[[Any, Any], Any]] = {
    "poll": lambda c, p: c.poll(0),
    "consume": lambda c, p: c.consume(1, 0),
    "subscribe": lambda c, p: c.subscribe(["a"]),
    "unsubscribe": lambda c, p: c.unsubscribe(),
    "assign": lambda c, p: c.assign([p]),
    "unassign": lambda c, p: c.unassign(),
    "assignment": lambda c, p: c.assignment(),
    "incremental_assign": lambda c, p: c.incremental_assign([p]),
    "incremental_unassign": lambda c, p: c.incremental_unassign([p]),
    "commit": lambda c, p: c.commit(),
    "committed": lambda c, p: c.committed([p]),
    "position": lambda c, p: c.position([p]),
    "seek": lambda c, p: c.seek(p),
    "pause": lambda c, p: c.pause([p]),
    "resume": lambda c, p: c.resume([p]),
    "store_offsets": lambda c, p: c.store_offsets(offsets=[p]),
    "get_watermark_offsets": lambda c, p: c.get_watermark_offsets(p),
    "offsets_for_times": lambda c, p: c.offsets_for_times([p]),
    "list_topics": lambda c, p: c.list_topics(),
    "cluster_id": lambda c, p: c.cluster_id(),
    "memberid": lambda c, p: c.memberid(),
    "consumer_group_metadata": lambda c, p: c.consumer_group_metadata(),
    "set_sasl_credentials": lambda c, p: c.set_sasl_credentials("a", "b"),
    "close": lambda c, p: c.close(),
}


def test_a_closed_consumer_refuses_every_call(both: Both) -> None:
    def script(bench: Bench) -> Any:
        with bench.consumer() as consumer:
            consumer.assign([bench.partition(0, 0)])
            bench.poll(consumer, 1)
        partition = bench.partition(0, 0)
        return {
            name: bench.said(lambda call=call: call(consumer, partition))
            for name, call in CALLS_OF_CLOSED.items()
        }

    both(script)


def test_it_has_every_public_name_of_the_real_one() -> None:
    public = {name for name in dir(real.Consumer) if not name.startswith("_")}
    assert public <= set(dir(ours.Consumer))


@pytest.mark.parametrize("how", ["poll", "consume"])
def test_ctrl_c_ends_a_wait(apache_kafka: ApacheKafka, how: str) -> None:
    with ours.Consumer({"bootstrap.servers": apache_kafka.bootstrap, "group.id": "ctrl-c"}) as consumer:
        consumer.assign([ours.TopicPartition("nothing-here", 0)])
        timer = threading.Timer(0.2, _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            timer.start()
            getattr(consumer, how)()
        timer.join()


def test_a_group_of_the_consumer_protocol_is_joined_and_left(apache_kafka: ApacheKafka) -> None:
    topic = f"topic-{uuid.uuid4()}"
    with Producer(apache_kafka.bootstrap) as producer:
        producer.send(topic, b"value").result(WAIT_SECONDS)
    outcomes: list[Any] = []
    for package in (real, ours):
        bench, heard = Bench(package, apache_kafka, topic), []
        consumer = bench.consumer(group_protocol="consumer")
        consumer.subscribe(
            [topic],
            on_assign=lambda _, partitions, heard=heard: heard.append(("assign", plain(partitions))),
            on_revoke=lambda _, partitions, heard=heard: heard.append(("revoke", plain(partitions))),
        )
        messages = plain(bench.poll(consumer, 1))
        assigned = plain(consumer.assignment())
        refused = bench.said(lambda c=consumer, b=bench: c.assign([b.partition(0)]))
        consumer.close()
        with package.Consumer(
            {"bootstrap.servers": apache_kafka.bootstrap, "group.id": bench.group}
        ) as after:
            committed = plain(after.committed([bench.partition(0)], WAIT_SECONDS))
        outcomes.append((messages, assigned, refused, heard, committed))
    assert outcomes[1] == outcomes[0]


def test_what_was_aborted_is_not_given_out(broker: ApacheKafka | EmbeddedBroker) -> None:
    topic = f"topic-{uuid.uuid4()}"
    with Producer(broker.bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for value in (b"committed", b"aborted", b"also committed"):
            producer.begin_transaction()
            producer.send(topic, value)
            if value == b"aborted":
                producer.flush()
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    with Producer(broker.bootstrap, transactional_id=topic) as successor:
        # Waits for the last marker, which may be written after the commit was confirmed.
        successor.init_transactions()
    outcomes: list[Any] = []
    for package in (real, ours):
        bench = Bench(package, broker, topic)
        with bench.consumer(isolation_level="read_committed", enable_partition_eof=True) as consumer:
            consumer.assign([bench.partition(0, 0)])
            messages = bench.poll(consumer, 3)
            given = [(m.offset(), m.value(), m.error() and m.error().code()) for m in messages]
            outcomes.append((given, plain(consumer.position([bench.partition(0)]))))
    assert outcomes[1] == outcomes[0]


def test_statistics_tell_of_the_partitions_that_are_read(both: Both) -> None:
    def script(bench: Bench) -> Any:
        told: list[Any] = []
        consumer = bench.consumer(statistics_interval_ms=100, enable_auto_commit=False, stats_cb=told.append)
        consumer.assign([bench.partition(0, 0)])
        bench.poll(consumer, 5)
        consumer.commit(asynchronous=False)

        def figures() -> Any:
            topics = json.loads(told[-1])["topics"] if told else {}
            partition = topics.get(bench.topic, {}).get("partitions", {}).get("0", {})
            names = ("committed_offset", "stored_offset", "app_offset", "hi_offset", "consumer_lag")
            found = [partition.get(name) for name in names]
            return found if found[0] == 5 and found[3] == 5 else None

        bench.poll_until(consumer, figures)
        statistics = json.loads(told[-1])
        return figures(), statistics["type"], statistics["cgrp"]["assignment_size"]

    both(script)


def test_a_consumer_that_was_forgotten_is_closed(
    apache_kafka: ApacheKafka, eventually: Callable[..., Any]
) -> None:
    consumer = ours.Consumer({"bootstrap.servers": apache_kafka.bootstrap, "group.id": "forgotten"})
    consumer.subscribe(["topic"], on_assign=lambda consumer, partitions: consumer.assign(partitions))
    consumer.poll(0.1)
    core, gone = consumer._session.core, weakref.ref(consumer)
    del consumer
    gc.collect()
    assert gone() is None
    eventually(lambda: core.is_closed)
