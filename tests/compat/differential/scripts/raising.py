"""What a callback raises leaves the call that served it, as the same object: each callback, and each call."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, script
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

SOON = 0.2
AWAY = {"bootstrap_servers": UNREACHABLE}


class Mine(Exception):
    """What programs raise in callbacks."""


class EndOfProgram(BaseException):
    """What nobody catches as an Exception."""


class Raiser:
    """A callback that raises `error`, the first time only."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.calls = 0

    def __call__(self, *_: Any) -> None:
        self.calls += 1
        if self.calls == 1:
            raise self.error


class RaisingHandler(logging.Handler):
    def __init__(self, raiser: Raiser) -> None:
        super().__init__()
        self._raiser = raiser

    def emit(self, record: logging.LogRecord) -> None:
        self._raiser()


def _record_end(stage: Stage, label: str, raiser: Raiser, call: Callable[[], Any]) -> bool:
    """Whether the call raised; it is recorded then."""
    try:
        call()
    except BaseException as error:
        stage.record(label, [type(error).__name__, list(error.args), error is raiser.error])
        return True
    return False


def _until_raised(stage: Stage, label: str, raiser: Raiser, call: Callable[[], Any]) -> None:
    stage.until(functools.partial(_record_end, stage, label, raiser, call), lambda: None)


def _callback(name: str, raiser: Raiser) -> dict[str, Any]:
    return {name: raiser} | ({"statistics_interval_ms": 50} if name == "stats_cb" else {})


@script()
def what_error_cb_and_stats_cb_raise_leaves_the_call_of_a_producer(kafka: ModuleType, stage: Stage) -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "poll": lambda producer: producer.poll(SOON),
        "poll without a wait": lambda producer: producer.poll(0),
        "flush": lambda producer: producer.flush(SOON),
        "flush without a wait": lambda producer: producer.flush(0),
    }
    for name in ("error_cb", "stats_cb"):
        for label, call in calls.items():
            raiser = Raiser(Mine(label, 5))
            producer = stage.producer(**AWAY, **_callback(name, raiser))
            _until_raised(stage, f"{name} {label}", raiser, functools.partial(call, producer))


@script()
def what_error_cb_and_stats_cb_raise_leaves_the_call_of_a_consumer(kafka: ModuleType, stage: Stage) -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "poll": lambda consumer: consumer.poll(SOON),
        "poll without a wait": lambda consumer: consumer.poll(0),
        "consume": lambda consumer: consumer.consume(1, SOON),
        "consume many": lambda consumer: consumer.consume(10, SOON),
        "consume without a wait": lambda consumer: consumer.consume(1, 0),
    }
    for name in ("error_cb", "stats_cb"):
        for label, call in calls.items():
            raiser = Raiser(Mine(label, 5))
            consumer = stage.consumer(**AWAY, **_callback(name, raiser))
            _until_raised(stage, f"{name} {label}", raiser, functools.partial(call, consumer))


@script()
def what_error_cb_and_stats_cb_raise_leaves_the_poll_of_an_admin_client(
    kafka: ModuleType, stage: Stage
) -> None:
    for name in ("error_cb", "stats_cb"):
        raiser = Raiser(Mine("poll"))
        admin = stage.admin(**AWAY, **_callback(name, raiser))
        _until_raised(stage, name, raiser, functools.partial(admin.poll, SOON))


@script(alone=True)
def a_callback_may_raise_whatever_there_is(kafka: ModuleType, stage: Stage) -> None:
    errors: list[BaseException] = [
        EndOfProgram("end"),
        KeyboardInterrupt("stop"),
        SystemExit(3),
        kafka.KafkaException(kafka.KafkaError(5, "mine")),
        StopIteration(1),
        GeneratorExit(),
        RuntimeError("mine"),
        AssertionError(),
    ]
    for error in errors:
        for kind in ("producer", "consumer"):
            raiser = Raiser(error)
            client = getattr(stage, kind)(**AWAY, error_cb=raiser)
            label = f"{kind} {type(error).__name__}"
            _until_raised(stage, label, raiser, functools.partial(client.poll, SOON))


@script()
def calls_that_serve_nothing_raise_nothing_of_a_callback(kafka: ModuleType, stage: Stage) -> None:
    partition = kafka.TopicPartition("t", 0, 1)
    calls: dict[str, dict[str, Callable[[Any], Any]]] = {
        "producer": {
            "purge": lambda client: client.purge(),
            "len": len,
            "list_topics": lambda client: client.list_topics(timeout=SOON),
            "cluster_id": lambda client: client.cluster_id(SOON),
        },
        "consumer": {
            "list_topics": lambda client: client.list_topics(timeout=SOON),
            "committed": lambda client: client.committed([partition], SOON),
            "watermarks": lambda client: client.get_watermark_offsets(partition, SOON),
            "assign": lambda client: client.assign([partition]),
            "position": lambda client: client.position([partition]),
            "subscribe": lambda client: client.subscribe(["t"]),
            "unsubscribe": lambda client: client.unsubscribe(),
        },
    }
    for kind, of_kind in calls.items():
        raiser = Raiser(Mine("late"))
        client = getattr(stage, kind)(**AWAY, **_callback("stats_cb", raiser))
        for label, call in of_kind.items():
            _record_end(stage, f"{kind} {label}", raiser, functools.partial(call, client))
        stage.record("called", raiser.calls)
        _until_raised(stage, f"{kind} poll", raiser, functools.partial(client.poll, SOON))


@script()
def what_a_logger_raises_leaves_the_call_that_serves_it(kafka: ModuleType, stage: Stage) -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "producer": lambda client: client.poll(SOON),
        "producer, flush": lambda client: client.flush(SOON),
        "consumer": lambda client: client.poll(SOON),
        "consumer, consume": lambda client: client.consume(1, SOON),
    }
    for label, call in calls.items():
        raiser = Raiser(Mine("line"))
        logger = logging.Logger(stage.name("logger"))
        logger.addHandler(RaisingHandler(raiser))
        client = getattr(stage, label.partition(",")[0])(**AWAY, logger=logger, log_level=6)
        _until_raised(stage, label, raiser, functools.partial(call, client))


@on_both()
def what_rebalance_callbacks_raise_leaves_the_call_that_serves_them(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    calls: dict[str, Callable[[Any], Any]] = {
        "poll": lambda consumer: consumer.poll(SOON),
        "consume": lambda consumer: consumer.consume(3, SOON),
    }
    for label, call in calls.items():
        raiser = Raiser(Mine("assigned"))
        consumer = stage.consumer()
        consumer.subscribe([topic], on_assign=raiser)
        _until_raised(stage, f"on_assign {label}", raiser, functools.partial(call, consumer))
        stage.attempt("assignment", consumer.assignment)
        raiser = Raiser(Mine("revoked"))
        consumer = stage.consumer()
        consumer.subscribe([topic], on_revoke=raiser)
        stage.until(consumer.assignment, functools.partial(consumer.poll, SOON))
        _record_end(stage, "unsubscribe", raiser, consumer.unsubscribe)
        _until_raised(stage, f"on_revoke {label}", raiser, functools.partial(call, consumer))
        stage.attempt("assignment", consumer.assignment)


@on_both()
def what_on_commit_raises_leaves_the_call_that_serves_it(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    partition = kafka.TopicPartition(topic, 0, 1)
    calls: dict[str, Callable[[Any], Any]] = {
        "poll": lambda consumer: consumer.poll(SOON),
        "consume": lambda consumer: consumer.consume(3, SOON),
    }
    for label, call in calls.items():
        raiser = Raiser(Mine("committed"))
        consumer = stage.consumer(on_commit=raiser)
        consumer.commit(offsets=[partition])
        _until_raised(stage, f"on_commit {label}", raiser, functools.partial(call, consumer))
    raiser = Raiser(Mine("committed"))
    consumer = stage.consumer(on_commit=raiser)
    _record_end(stage, "waits", raiser, lambda: consumer.commit(offsets=[partition], asynchronous=False))
    stage.record("called", raiser.calls)


@on_both()
def what_a_report_raises_leaves_poll_and_flush(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    for label in ("poll", "flush"):
        for name in ("on_delivery", "callback"):
            raiser = Raiser(Mine(label))
            producer = stage.producer()
            producer.produce(topic, b"v", **{name: raiser})
            call = functools.partial(getattr(producer, label), WAIT)
            _until_raised(stage, f"{name} {label}", raiser, call)
            stage.record("left", len(producer))
    raiser = Raiser(Mine("default"))
    producer = stage.producer(on_delivery=raiser)
    producer.produce(topic, b"v")
    _until_raised(stage, "default", raiser, functools.partial(producer.flush, WAIT))


@script()
def a_short_flush_ends_where_a_callback_raises(kafka: ModuleType, stage: Stage) -> None:
    for timeout in (0, 0.05, 0.3, 0.5, 3):
        calls: list[Any] = []

        def report(error: Any, message: Any, calls: list[Any] = calls) -> None:
            calls.append(message)
            raise Mine(len(calls))

        producer = stage.producer()
        for value in (b"1", b"2", b"3", b"4"):
            producer.produce("t", value, partition=0, on_delivery=report)
        producer.purge()
        for _ in range(5):
            stage.within(f"flush({timeout})", producer.flush, timeout)
            stage.record("called", len(calls))


@on_apache()
def what_throttle_cb_raises_leaves_poll(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    raiser = Raiser(Mine("throttled"))
    client_id = stage.limited_client(producer_byte_rate=10_000.0)
    producer = stage.producer(client_id=client_id, throttle_cb=raiser)

    def send() -> None:
        producer.produce(topic, b"x" * 5000)
        producer.poll(SOON)

    _until_raised(stage, "poll", raiser, send)
