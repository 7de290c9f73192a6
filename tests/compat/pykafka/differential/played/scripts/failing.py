"""What is raised, and how soon, where brokers or ZooKeeper go away while a program runs.

What the original does once they are back is left out: its workers have ended for good, ours go on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from typing import Any

from tests.compat.pykafka.differential.played.script import on_frail_kafka, on_frail_zookeeper

SOON_SECONDS = 8.0
"""Some 3 that both take to give up brokers, or 5 that a report is waited for, and what machines take."""


@contextlib.contextmanager
def without_a_broker(stage: Any) -> Generator[None]:
    stage.ask("stop_broker")
    try:
        yield
    finally:
        stage.ask("start_broker")


@contextlib.contextmanager
def with_a_broker_that_hangs(stage: Any) -> Generator[None]:
    stage.ask("pause_broker")
    try:
        yield
    finally:
        stage.ask("resume_broker")


@contextlib.contextmanager
def without_zookeeper(stage: Any) -> Generator[None]:
    stage.ask("kill_zookeeper")
    try:
        yield
    finally:
        stage.ask("launch_zookeeper")


def raised_soon(stage: Any, label: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Records the class of what it raises, and that it took no longer than that."""
    begun = time.monotonic()
    stage.raised(label, call, *args, **kwargs)
    stage.record(f"{label}: soon", time.monotonic() - begun < SOON_SECONDS)


def raises_at_last(stage: Any, label: str, call: Callable[[], Any]) -> None:
    """Repeats a call until it raises; records what, and that it did so soon."""
    raised: list[type[Exception]] = []

    def has_raised() -> bool:
        try:
            call()
        except Exception as error:
            raised.append(type(error))
        return bool(raised)

    begun = time.monotonic()
    stage.until(has_raised)
    stage.record(label, raised)
    stage.record(f"{label}: soon", time.monotonic() - begun < SOON_SECONDS)


@on_frail_kafka(limit_seconds=180)
def what_producers_and_consumers_say_when_the_broker_goes_away(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a"), stage.group().encode()
    topic = stage.topic_of(name)
    sync = stage.stopping(topic.get_sync_producer())
    reporting = stage.stopping(topic.get_producer(linger_ms=10, delivery_reports=True))
    silent = topic.get_producer(linger_ms=10)
    for producer in (sync, reporting, silent):
        producer.produce(b"1")
    stage.record("report", reporting.get_delivery_report(timeout=20)[1])
    endless = stage.stopping(topic.get_simple_consumer())
    consumer = stage.stopping(topic.get_simple_consumer(group, consumer_timeout_ms=1000))
    member = stage.stopping(topic.get_balanced_consumer(b"m" + group, managed=True, consumer_timeout_ms=1000))
    for each in (endless, consumer, member):
        stage.until(lambda each=each: each.held_offsets[0] == 3, each.consume)
    with without_a_broker(stage):
        for _ in range(2):
            raised_soon(stage, "sync produce", sync.produce, b"2")
        raises_at_last(stage, "produce", lambda: reporting.produce(b"2"))
        with contextlib.suppress(pykafka.exceptions.NoBrokersAvailableError):
            silent.produce(b"2")
        raised_soon(stage, "stop", silent.stop)
        raised_soon(stage, "consume without a time-out", endless.consume)
        raises_at_last(stage, "consume", consumer.consume)
        raised_soon(stage, "iterated", lambda: list(consumer))
        stage.raised("commit", consumer.commit_offsets)
        stage.raised("fetch", consumer.fetch_offsets)
        stage.raised("reset", consumer.reset_offsets)
        raises_at_last(stage, "managed consumer", member.consume)


@on_frail_kafka()
def what_a_sync_producer_says_when_the_broker_hangs(pykafka: Any, stage: Any) -> None:
    producer = stage.stopping(stage.topic_of(stage.topic()).get_sync_producer(pending_timeout_ms=2000))
    producer.produce(b"1")
    with with_a_broker_that_hangs(stage):
        for _ in range(2):
            raised_soon(stage, "produce", producer.produce, b"2")


@on_frail_kafka(limit_seconds=180)
def what_begins_while_the_broker_is_away(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(b"a"))
    group = stage.group().encode()
    with without_a_broker(stage):
        raised_soon(stage, "client", stage.client)
        raised_soon(stage, "update", topic._cluster.update)
        raised_soon(stage, "limits", topic.latest_available_offsets)
        raised_soon(stage, "limit", topic.partitions[0].latest_available_offset)
        raised_soon(stage, "connect", topic.partitions[0].leader.connect)
        producer = stage.stopping(topic.get_sync_producer())
        raised_soon(stage, "produce", producer.produce, b"x")
        consumer = stage.stopping(topic.get_simple_consumer(consumer_timeout_ms=1000))
        raises_at_last(stage, "consume", consumer.consume)
        raised_soon(stage, "consumer of a group", topic.get_simple_consumer, group)
        member = stage.stopping(topic.get_balanced_consumer(group, managed=True, consumer_timeout_ms=100))
        raised_soon(stage, "managed consumer", member.consume)


def _member(stage: Any, topic: Any, group: str, **settings: Any) -> Any:
    return stage.stopping(
        topic.get_balanced_consumer(
            group.encode(),
            zookeeper_connect=stage.zookeeper,
            zookeeper_connection_timeout_ms=4000,
            rebalance_backoff_ms=200,
            consumer_timeout_ms=1000,
            **settings,
        )
    )


def _goes_on(stage: Any, topic: Any, group: str, member: Any) -> None:
    """Records that a member owns its partition again, and is given what comes."""
    name = topic.name.decode()
    folder = f"/consumers/{group}"
    stage.until(lambda: len([each for each in stage.znodes(folder) if each.count("/") == 2]) == 1)
    stage.record("nodes", stage.znodes(folder))
    stage.fill(name, b"b")
    found: list[bytes] = []

    def consume() -> None:
        message = member.consume()
        if message is not None:
            found.append(message.value)

    stage.until(lambda: b"b" in found, consume)


@on_frail_zookeeper(limit_seconds=120)
def a_balanced_consumer_goes_on_when_its_zookeeper_was_away(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a")), stage.group()
    member = _member(stage, topic, group)
    stage.call(member._consumer_id.decode(), "<member>")
    stage.record("message", member.consume().value)
    with without_zookeeper(stage):
        time.sleep(1)
    _goes_on(stage, topic, group, member)


@on_frail_zookeeper(limit_seconds=120)
def a_balanced_consumer_whose_session_expired_claims_again(pykafka: Any, stage: Any) -> None:
    from kazoo.client import KazooClient

    topic, group = stage.topic_of(stage.filled_topic(b"a")), stage.group()
    member = _member(stage, topic, group)
    stage.call(member._consumer_id.decode(), "<member>")
    stage.record("message", member.consume().value)
    # Whoever has a session's number and password may end it.
    twin: Any = KazooClient(stage.zookeeper, client_id=member._zookeeper.client_id)
    twin.start()
    twin.stop()
    twin.close()
    _goes_on(stage, topic, group, member)


@on_frail_zookeeper(limit_seconds=120)
def what_begins_while_zookeeper_is_away(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic()), stage.group()
    with without_zookeeper(stage):
        stage.raised("client", pykafka.KafkaClient, zookeeper_hosts=stage.zookeeper, socket_timeout_ms=1000)
        member = _member(stage, topic, group)
        stage.raised("consume", member.consume)
        stage.record("partitions", member.partitions)
        stage.attempt("stop", member.stop)


@on_frail_zookeeper(limit_seconds=120)
def a_balanced_consumer_stops_while_its_zookeeper_is_away(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a")), stage.group()
    member = _member(stage, topic, group)
    stage.record("message", member.consume().value)
    with without_zookeeper(stage):
        begun = time.monotonic()
        stage.attempt("stop", member.stop)
        stage.record("within 30 s", time.monotonic() - begun < 30)
        stage.raised("consume", member.consume)
