"""The Producer beside the real confluent-kafka's, on real Kafka: the same script has to give the same."""

# pyright: basic
from __future__ import annotations

import gc
import json
import os
import signal
import socket
import threading
import uuid
import weakref
from collections.abc import Generator
from types import ModuleType
from typing import Any

import confluent_kafka as real
import pytest
from tests.compat.both import outcome_of
from tests.waiting import Patience

import barnabas
from barnabas.compat import confluent_kafka as ours
from barnabas.compat.librdkafka.values.group_metadata import group_metadata_to_bytes
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.types import GroupIdentity

PACKAGES = [pytest.param(real, id="real"), pytest.param(ours, id="ours")]


class Reports(list[tuple[Any, Any]]):
    """A delivery callback that keeps what it gets."""

    def __call__(self, error: Any, message: Any) -> None:
        self.append((error, message))

    def values(self) -> list[Any]:
        return [message.value() for _, message in self]


@pytest.fixture(params=PACKAGES)
def package(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture
def topic(apache_kafka: ApacheKafka) -> str:
    name = f"produced-{uuid.uuid4().hex}"
    with barnabas.Admin(apache_kafka.bootstrap) as admin:
        admin.create_topics([barnabas.NewTopic(name, num_partitions=2, replication_factor=1)])
    return name


@pytest.fixture
def nowhere() -> Generator[str]:
    """An address that refuses connections."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holder.getsockname()[1]}"


def producer_of(package: ModuleType, bootstrap: str, **properties: Any) -> Any:
    names = {name.replace("_", "."): value for name, value in properties.items()}
    return package.Producer({"bootstrap.servers": bootstrap, **names})


def records_of(bootstrap: str, topic: str, count: int) -> list[Any]:
    with barnabas.Consumer(
        bootstrap, topics=[topic], auto_offset_reset="earliest", group_id=topic
    ) as consumer:
        records: list[Any] = []
        patience = Patience()
        while len(records) < count:
            patience.check(f"{len(records)} of {count} records came")
            records += consumer.poll(1.0)
    return records


def test_a_report_has_what_the_real_one_has(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    producer, reports = producer_of(package, apache_kafka.bootstrap), Reports()
    producer.produce(topic, "välue", "key", 1, reports, timestamp=1_234_567, headers={"h": b"x"})
    assert producer.flush(30) == 0
    ((error, message),) = reports
    assert error is None
    assert message.error() is None
    assert (message.topic(), message.partition(), message.offset()) == (topic, 1, 0)
    assert (message.key(), message.value()) == (b"key", "välue".encode())
    assert message.headers() is None
    assert message.timestamp() == (package.TIMESTAMP_CREATE_TIME, 1_234_567)
    assert message.leader_epoch() is None
    assert 0 < message.latency() < 10


def test_keys_values_and_headers_arrive_as_they_were_given(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    producer = producer_of(package, apache_kafka.bootstrap)
    for arguments in ((b"a", b"k"), ("b", "k"), (None, b"k"), (b"", b""), (None, None)):
        producer.produce(topic, *arguments, partition=0)
    producer.produce(topic, b"h", partition=0, headers=[("a", b"1"), ("a", "2"), ("ä", None)])
    producer.produce(topic, b"h", partition=0, headers={1: b"x", b"k": "y", "cut\0off": b"z"})
    assert producer.flush(30) == 0
    records = records_of(apache_kafka.bootstrap, topic, 7)
    assert [(record.value, record.key) for record in records[:5]] == [
        (b"a", b"k"),
        (b"b", b"k"),
        (None, b"k"),
        (b"", b""),
        (None, None),
    ]
    assert records[5].headers == (("a", b"1"), ("a", b"2"), ("ä", None))
    assert records[6].headers == (("1", b"x"), ("b'k'", b"y"), ("cut", b"z"))


WRONG_CALLS = [
    "p.produce()",
    "p.produce(None)",
    "p.produce(b't')",
    "p.produce('a\\0b')",
    "p.produce('\\ud800')",
    "p.produce(t, 1)",
    "p.produce(t, [1])",
    "p.produce(t, bytearray(b'x'))",
    "p.produce(t, memoryview(b'x'))",
    "p.produce(t, b'x', 1)",
    "p.produce(t, b'x', bytearray(b'x'))",
    "p.produce(t, '\\ud800')",
    "p.produce(t, b'x', partition='a')",
    "p.produce(t, b'x', partition=1.0)",
    "p.produce(t, b'x', partition=None)",
    "p.produce(t, b'x', partition=-2)",
    "p.produce(t, b'x', partition=9)",
    "p.produce(t, b'x', partition=2**40)",
    "p.produce(t, b'x', partition=-2**40)",
    "p.produce(t, b'x', partition=2**70)",
    "p.produce(t, b'x', timestamp='a')",
    "p.produce(t, b'x', timestamp=None)",
    "p.produce(t, b'x', timestamp=2**70)",
    "p.produce(t, b'x', headers='abc')",
    "p.produce(t, b'x', headers=1)",
    "p.produce(t, b'x', headers=(('a', b'b'),))",
    "p.produce(t, b'x', headers=['ab'])",
    "p.produce(t, b'x', headers=[['a', 'b']])",
    "p.produce(t, b'x', headers=[('a', 'b', 'c')])",
    "p.produce(t, b'x', headers=[('a', 1)])",
    "p.produce(t, b'x', headers={'a': bytearray(b'x')})",
    "p.produce(t, b'x', foo=1)",
    "p.produce(t, b'x', b'k', 0, None, None, 0, None, 1)",
    "p.produce(t, b'x' * 2_000_000)",
    "p.produce('x' * 600)",
    "p.poll('a')",
    "p.poll(None)",
    "p.poll(1, 2)",
    "p.flush(None)",
    "p.flush('a')",
    "p.init_transactions()",
    "p.begin_transaction()",
    "p.begin_transaction(1)",
    "p.commit_transaction()",
    "p.commit_transaction(timeout=1)",
    "p.commit_transaction('a')",
    "p.abort_transaction()",
    "p.send_offsets_to_transaction()",
    "p.send_offsets_to_transaction(1, 2, 3)",
    "p.send_offsets_to_transaction([], None)",
    "p.send_offsets_to_transaction(['x'], b'')",
    "p.send_offsets_to_transaction(positions=[], group_metadata=b'')",
    "p.set_sasl_credentials('a', 'b')",
    "p.set_sasl_credentials(1, 'b')",
    "p.set_sasl_credentials()",
    "p.__exit__()",
    "p.__init__({'bootstrap.servers': ''})",
    "p.produce_batch()",
    "p.produce_batch(t)",
    "p.produce_batch(1, [])",
    "p.produce_batch(t, ())",
    "p.produce_batch(t, [1])",
    "p.produce_batch(t, [{'value': 1}])",
    "p.produce_batch(t, [{'value': bytearray(b'x')}])",
    "p.produce_batch(t, [{'key': 1}])",
    "p.produce_batch(t, [{'partition': 'a'}])",
    "p.produce_batch(t, [{'timestamp': 0}])",
    "p.produce_batch(t, [], partition='a')",
    "p.produce_batch(t, [], foo='a')",
    "p.produce_batch('x' * 600, [{}])",
    "(p.poll(0), p.poll(timeout=0), p.flush(), p.flush(-5), len(p), bool(p))",
    "(p.purge(), p.purge('x'), p.purge(in_queue=False, in_flight=True, blocking=False))",
    "p.cluster_id(timeout=5) == p.list_topics().cluster_id",
    "p.list_topics(t).topics",
]


def test_wrong_calls_raise_what_they_do_in_the_real_package(apache_kafka: ApacheKafka, topic: str) -> None:
    outcomes: list[dict[str, Any]] = []
    for package in (real, ours):
        producer = producer_of(package, apache_kafka.bootstrap)
        # Now the topic's partitions are known.
        producer.produce(topic, b"first")
        producer.flush(30)
        names = {"p": producer, "t": topic}
        outcomes.append(
            {call: outcome_of(lambda call=call, names=names: eval(call, names)) for call in WRONG_CALLS}
        )
        producer.close()
    assert outcomes[1] == outcomes[0]


CLOSED_CALLS = [
    "p.produce(t)",
    "p.produce_batch(t, [])",
    "p.poll(0)",
    "p.flush()",
    "p.purge()",
    "p.list_topics()",
    "p.cluster_id()",
    "p.set_sasl_credentials('a', 'b')",
    "p.init_transactions()",
    "p.begin_transaction()",
    "p.commit_transaction()",
    "p.abort_transaction()",
    "p.send_offsets_to_transaction([], None)",
    "p.__enter__() is p",
    "p.__exit__(None, None, None)",
    "p.close()",
    "len(p)",
    "bool(p)",
]


def test_a_closed_producer_refuses_what_the_real_one_refuses(apache_kafka: ApacheKafka) -> None:
    outcomes: list[list[Any]] = []
    for package in (real, ours):
        with producer_of(package, apache_kafka.bootstrap) as producer:
            pass
        names = {"p": producer, "t": "topic"}
        outcomes.append(
            [outcome_of(lambda call=call, names=names: eval(call, names)) for call in CLOSED_CALLS]
        )

        class Unprepared(package.Producer):
            def __init__(self) -> None:
                pass

        outcomes.append([outcome_of(lambda kind=Unprepared: kind().produce("t"))])
        outcomes.append([outcome_of(lambda kind=Unprepared: kind().close())])
    assert outcomes[3:] == outcomes[:3]


def test_callbacks_are_called_in_the_thread_that_polls_only(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    producer = producer_of(package, apache_kafka.bootstrap)
    threads: list[threading.Thread] = []
    producer.produce(topic, b"x", on_delivery=lambda *_: threads.append(threading.current_thread()))
    with barnabas.Consumer(
        apache_kafka.bootstrap, group_id=topic, topics=[topic], auto_offset_reset="earliest"
    ) as c:
        # It is delivered once another client reads it; nobody was told so far.
        assert c.poll_one(30) is not None
    assert threads == []
    assert producer.poll(30) == 1
    assert threads == [threading.current_thread()]
    assert producer.poll(0) == 0


def test_an_exception_comes_out_of_poll_and_leaves_the_rest_for_the_next(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    producer = producer_of(package, apache_kafka.bootstrap, linger_ms=50)
    called: list[bytes] = []

    def on_delivery(_error: Any, message: Any) -> None:
        called.append(message.value())
        if message.value() == b"1":
            raise ZeroDivisionError("on purpose")

    for number in range(4):
        producer.produce(topic, str(number), partition=0, on_delivery=on_delivery)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        producer.poll(30)
    assert called == [b"0", b"1"]
    assert len(producer) == 3
    assert producer.poll(30) == 1
    assert called == [b"0", b"1", b"2", b"3"]
    called.clear()
    for number in range(4):
        producer.produce(topic, str(number), partition=0, on_delivery=on_delivery)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        producer.flush(30)
    assert called == [b"0", b"1", b"2", b"3"]
    assert producer.flush(30) == 0


def test_messages_count_until_their_reports_are_served(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str, eventually: Any
) -> None:
    # Both go in one batch, which has one report, however long the second one takes to come.
    settings = {"queue_buffering_max_messages": 2, "linger_ms": 1000}
    producer = producer_of(package, apache_kafka.bootstrap, **settings)
    producer.produce(topic, b"1", partition=0)
    producer.produce(topic, b"2", partition=0)
    with pytest.raises(BufferError) as full:
        producer.produce(topic, b"3", partition=0)
    assert full.value.args == ("Local: Queue full",)
    # Two messages, and the report that waits.
    eventually(lambda: len(producer) == 3)
    with pytest.raises(BufferError):
        producer.produce(topic, b"3", partition=0)
    assert producer.poll(30) == 1
    producer.produce(topic, b"3", partition=0)
    assert producer.flush(30) == 0


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ({"value": b"x" * 100}, 10),
        ({"value": b"x" * 100, "key": b"k" * 100}, 10),
        ({"value": b"x" * 100, "headers": [("h", b"y" * 100)]}, 10),
        ({"value": b"x" * 1024}, 1),
        ({"value": b"x" * 1025}, 0),
    ],
)
def test_values_alone_fill_the_queue_in_bytes(
    package: ModuleType, nowhere: str, message: dict[str, Any], count: int
) -> None:
    producer = producer_of(package, nowhere, queue_buffering_max_kbytes=1)
    for _ in range(count):
        producer.produce("t", **message)
    with pytest.raises(BufferError):
        producer.produce("t", **message)
    producer.purge()
    producer.close()


@pytest.mark.parametrize(
    ("parts", "largest"),
    [
        ({}, 964),
        ({"key": b"k" * 50}, 914),
        ({"headers": [("h", b"y" * 10)]}, 951),
        ({"headers": [("h", b"y" * 10), ("abc", None)]}, 946),
    ],
)
def test_message_max_bytes_counts_as_librdkafka_does(
    package: ModuleType, nowhere: str, parts: dict[str, Any], largest: int
) -> None:
    producer = producer_of(package, nowhere, message_max_bytes=1000)
    producer.produce("t", b"x" * largest, **parts)
    with pytest.raises(package.KafkaException) as raised:
        producer.produce("t", b"x" * (largest + 1), **parts)
    assert raised.value.args[0].code() == package.KafkaError.MSG_SIZE_TOO_LARGE
    producer.purge()
    producer.close()


def test_the_default_callback_stands_in_where_a_message_has_none(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    default, own = Reports(), Reports()
    producer = package.Producer({"bootstrap.servers": apache_kafka.bootstrap, "on_delivery": default})
    producer.produce(topic, b"a")
    producer.produce(topic, b"b", on_delivery=own)
    producer.produce(topic, b"c", callback=own, on_delivery=default)
    assert producer.flush(30) == 0
    assert default.values() == [b"a"]
    assert sorted(own.values()) == [b"b", b"c"]


def test_only_errors_are_reported_where_that_is_asked_for(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    reports = Reports()
    producer = package.Producer(
        {
            "bootstrap.servers": apache_kafka.bootstrap,
            "delivery.report.only.error": True,
            "on_delivery": reports,
        }
    )
    producer.produce(topic, b"delivered")
    producer.flush(30)
    producer.produce(topic, b"purged")
    producer.purge()
    assert producer.flush(30) == 0
    assert reports.values() == [b"purged"]


def failures(package: ModuleType, reports: Reports) -> list[Any]:
    return [
        (
            *(error.name(), str(error), message.error() == error, message.topic(), message.partition()),
            *(message.offset(), message.timestamp(), message.value(), message.latency() > 0),
        )
        for error, message in reports
    ]


def test_messages_that_reach_nobody_time_out(package: ModuleType, nowhere: str) -> None:
    errors: list[Any] = []
    producer = package.Producer(
        {"bootstrap.servers": nowhere, "message.timeout.ms": 1500, "error_cb": errors.append, "log_level": 0}
    )
    reports = Reports()
    producer.produce("t", b"x", on_delivery=reports)
    assert producer.flush(0.05) > 0
    assert producer.flush(30) == 0
    text = 'KafkaError{code=_MSG_TIMED_OUT,val=-192,str="Local: Message timed out"}'
    assert failures(package, reports) == [
        ("_MSG_TIMED_OUT", text, True, "t", None, None, (0, -1), b"x", True)
    ]
    names = {error.name() for error in errors}
    assert names == {"_TRANSPORT", "_ALL_BROKERS_DOWN"}
    producer.close()


def test_a_partition_that_does_not_exist_fails_with_the_report(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    producer, reports = producer_of(package, apache_kafka.bootstrap), Reports()
    producer.produce(topic, b"x", partition=77, on_delivery=reports)
    assert producer.flush(30) == 0
    text = 'KafkaError{code=_UNKNOWN_PARTITION,val=-190,str="Local: Unknown partition"}'
    assert failures(package, reports) == [
        ("_UNKNOWN_PARTITION", text, True, topic, 77, None, (0, -1), b"x", True)
    ]


@pytest.mark.parametrize(
    ("name", "code"), [("bad topic!", "TOPIC_EXCEPTION"), ("missing", "UNKNOWN_TOPIC_OR_PART")]
)
def test_a_topic_that_does_not_exist_fails_with_the_report_and_then_at_once(
    package: ModuleType, apache_kafka: ApacheKafka, name: str, code: str
) -> None:
    properties = {"allow.auto.create.topics": False, "topic.metadata.propagation.max.ms": 300}
    producer = package.Producer({"bootstrap.servers": apache_kafka.bootstrap, **properties})
    reports = Reports()
    producer.produce(name, b"x", on_delivery=reports)
    assert producer.flush(30) == 0
    assert [error.name() for error, _ in reports] == [code]
    with pytest.raises(package.KafkaException) as raised:
        producer.produce(name, b"x")
    assert raised.value.args[0].name() == "_UNKNOWN_TOPIC"
    assert raised.value.args[0].str() == "Unable to produce message: Local: Unknown topic"


def test_a_topic_is_created_by_sending_to_it(package: ModuleType, apache_kafka: ApacheKafka) -> None:
    producer, reports = producer_of(package, apache_kafka.bootstrap), Reports()
    name = f"created-{uuid.uuid4().hex}"
    for number in range(3):
        producer.produce(name, str(number), on_delivery=reports)
    assert producer.flush(20) == 0
    assert [(error, message.offset()) for error, message in reports] == [(None, 0), (None, 1), (None, 2)]


def test_a_purge_says_what_was_in_the_queue_and_what_under_way(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    producer, reports = producer_of(package, apache_kafka.bootstrap, linger_ms=60_000), Reports()
    producer.list_topics(topic, 10)
    producer.produce(topic, b"queued", partition=0, on_delivery=reports)
    producer.purge(in_queue=False)
    assert reports == []
    producer.purge()
    assert reports == []
    assert producer.poll(30) == 1
    assert [error.name() for error, _ in reports] == ["_PURGE_QUEUE"]


def test_batches_take_what_the_real_one_takes(apache_kafka: ApacheKafka, topic: str) -> None:
    outcomes: list[Any] = []
    for package in (real, ours):
        producer = producer_of(package, apache_kafka.bootstrap, queue_buffering_max_messages=7)
        default, own = Reports(), Reports()
        messages: list[dict[str, Any]] = [
            {"value": "1"},
            {"value": b"2", "key": "k", "callback": own},
            {"value": b"x" * 2_000_000},
            {},
            {"value": None, "key": None, "headers": {"a": "b"}, "partition": 99, "other": 1},
        ]
        taken = [producer.produce_batch(topic, messages, partition=1, on_delivery=default)]
        producer.flush(30)
        taken.append(producer.produce_batch(topic, [{"value": b"y"}], partition=99))
        taken.append(producer.produce_batch(topic, [{"value": b"y"}] * 9))
        taken.append(producer.produce_batch(topic, []))
        errors = [str(message.get("_error")) for message in messages]
        told = [(message.value(), message.key(), message.partition()) for _, message in default]
        outcomes.append((taken, errors, told, own.values()))
        producer.flush(30)
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize("call", ["poll", "flush"])
def test_ctrl_c_interrupts_a_wait(
    package: ModuleType, apache_kafka: ApacheKafka, nowhere: str, call: str
) -> None:
    # A poll would end with an error of the connection, too.
    bootstrap = nowhere if call == "flush" else apache_kafka.bootstrap
    producer = package.Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    if call == "flush":
        producer.produce("t", b"x")
    timer = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        timer.start()
        getattr(producer, call)()
    timer.join()
    producer.purge()
    producer.close()


KEYS = [None, b"", b"a", b"key", b"another key", "schlüssel".encode()]


@pytest.mark.parametrize("partitioner", ["consistent", "murmur2", "fnv1a"])
def test_partitioners_put_keys_where_librdkafka_puts_them(
    apache_kafka: ApacheKafka, topic: str, partitioner: str
) -> None:
    chosen: list[list[int]] = []
    for package in (real, ours):
        producer, reports = producer_of(package, apache_kafka.bootstrap, partitioner=partitioner), Reports()
        for number, key in enumerate(KEYS):
            producer.produce(topic, str(number), key, on_delivery=reports)
        assert producer.flush(30) == 0
        by_value = {int(message.value()): message.partition() for _, message in reports}
        chosen.append([by_value[number] for number in range(len(KEYS))])
    assert chosen[1] == chosen[0]


def test_the_default_partitioner_spreads_messages_without_a_key(
    package: ModuleType, apache_kafka: ApacheKafka, topic: str
) -> None:
    producer = producer_of(package, apache_kafka.bootstrap, sticky_partitioning_linger_ms=0)
    reports = Reports()
    for _ in range(200):
        producer.produce(topic, b"x", on_delivery=reports)
    assert producer.flush(30) == 0
    counts = [sum(message.partition() == number for _, message in reports) for number in (0, 1)]
    assert min(counts) > 50


def transactional_calls(package: ModuleType, bootstrap: str, topic: str) -> list[Any]:
    """One script with every order of calls that matters."""
    name = f"tx-{uuid.uuid4().hex}"
    producer = producer_of(package, bootstrap, transactional_id=name, linger_ms=200)
    reports, told = Reports(), []
    identity = group_metadata_to_bytes(GroupIdentity(f"group-{name}"))

    def run(call: Any) -> None:
        kind, what, value = outcome_of(call)
        if kind == "raised" and what == "KafkaException":
            try:
                call()
            except package.KafkaException as error:
                known = error.args[0]
                value = (repr(known), known.fatal(), known.retriable(), known.txn_requires_abort())
        told.append((kind, what, value))

    def offsets(offset: int) -> list[Any]:
        return [package.TopicPartition(topic, 0, offset)]

    run(producer.begin_transaction)
    run(lambda: producer.produce(topic, b"too early"))
    run(producer.commit_transaction)
    run(producer.abort_transaction)
    run(lambda: producer.init_transactions(30))
    run(producer.init_transactions)
    run(lambda: producer.produce(topic, b"outside"))
    run(producer.commit_transaction)
    producer.begin_transaction()
    run(producer.begin_transaction)
    producer.produce(topic, b"committed", partition=0, on_delivery=reports)
    run(lambda: producer.send_offsets_to_transaction(offsets(7), identity))
    run(lambda: producer.send_offsets_to_transaction(offsets(-1001), identity, 5))
    run(lambda: producer.send_offsets_to_transaction([], identity))
    producer.commit_transaction(30)
    producer.begin_transaction()
    producer.produce(topic, b"aborted", partition=0, on_delivery=reports)
    producer.flush(30)
    producer.produce(topic, b"purged", partition=0, on_delivery=reports)
    producer.abort_transaction(30)
    producer.begin_transaction()
    producer.commit_transaction()
    producer.begin_transaction()
    producer.produce(topic, b"lost", partition=0, on_delivery=reports)
    producer.purge()
    # The first call says what is wrong, as do all that follow.
    run(producer.commit_transaction)
    run(lambda: producer.produce(topic, b"abortable"))
    run(producer.abort_transaction)
    told.append([(error and error.name(), message.value()) for error, message in reports])
    told.append(producer.close())
    return told


@pytest.mark.integration
def test_transactions_go_and_fail_as_in_the_real_package(
    broker: ApacheKafka | EmbeddedBroker, topic: str
) -> None:
    both = [transactional_calls(package, broker.bootstrap, topic) for package in (real, ours)]
    assert both[1] == both[0]


def test_a_fenced_producer_is_of_no_more_use(
    package: ModuleType, broker: ApacheKafka | EmbeddedBroker, topic: str
) -> None:
    name = f"tx-{uuid.uuid4().hex}"
    first, second = [
        package.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name, "log_level": 0})
        for _ in range(2)
    ]
    first.init_transactions()
    second.init_transactions()
    first.begin_transaction()
    first.produce(topic, b"x")
    with pytest.raises(package.KafkaException) as raised:
        first.commit_transaction()
    assert raised.value.args[0].name() == "_FENCED"
    assert raised.value.args[0].fatal()
    with pytest.raises(package.KafkaException) as raised:
        first.produce(topic, b"x")
    assert raised.value.args[0].name() == "_FATAL"
    second.close()


def test_closing_aborts_the_open_transaction_and_serves_the_reports(
    package: ModuleType, broker: ApacheKafka | EmbeddedBroker, topic: str
) -> None:
    lingering = {"transactional.id": f"tx-{uuid.uuid4().hex}", "linger.ms": 1000}
    producer = package.Producer({"bootstrap.servers": broker.bootstrap, **lingering})
    reports = Reports()
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"x", on_delivery=reports)
    assert producer.close() is True
    assert [error.name() for error, _ in reports] == ["_PURGE_QUEUE"]


def test_statistics_have_every_field_of_librdkafka_and_real_numbers(
    apache_kafka: ApacheKafka, topic: str
) -> None:
    documents: list[Any] = []
    for package in (real, ours):
        texts: list[str] = []
        producer = package.Producer(
            {
                "bootstrap.servers": apache_kafka.bootstrap,
                "client.id": "counted",
                "statistics.interval.ms": 100,
                "stats_cb": texts.append,
            }
        )
        for _ in range(3):
            producer.produce(topic, b"value", partition=1)
        producer.flush(30)
        while '"txmsgs":3' not in "".join(texts).replace(" ", ""):
            producer.poll(1)
        documents.append(json.loads(texts[-1]))
        producer.close()
    theirs, own = documents
    assert set(theirs) <= set(own)
    assert own["name"].startswith("counted#producer-")
    assert (own["type"], own["client_id"], own["txmsgs"], own["msg_cnt"]) == ("producer", "counted", 3, 0)
    assert (own["msg_max"], own["msg_size_max"]) == (theirs["msg_max"], theirs["msg_size_max"])

    def learned(document: Any) -> Any:
        return next(b for b in document["brokers"].values() if b["nodeid"] >= 0)

    assert set(learned(theirs)) <= set(learned(own))
    assert learned(own)["state"] == "UP"
    assert learned(own)["req"]["Produce"] >= 1
    partition = own["topics"][topic]["partitions"]["1"]
    assert set(theirs["topics"][topic]) <= set(own["topics"][topic])
    assert set(theirs["topics"][topic]["partitions"]["1"]) <= set(partition)
    assert (partition["txmsgs"], partition["leader"]) == (3, learned(own)["nodeid"])
    window = learned(own)["rtt"]
    assert set(learned(theirs)["rtt"]) == set(window)
    assert window["cnt"] > 0
    assert window["max"] >= window["avg"] >= window["min"] > 0


def test_a_producer_that_is_let_go_of_ends(apache_kafka: ApacheKafka, topic: str, eventually: Any) -> None:
    producer = producer_of(ours, apache_kafka.bootstrap)
    producer.produce(topic, b"x")
    producer.flush(30)
    core, gone = producer._core, weakref.ref(producer)
    del producer
    gc.collect()
    assert gone() is None
    eventually(lambda: core.is_closed)
