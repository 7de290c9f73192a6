"""A ShareConsumer's callbacks: which calls serve them, what they may do, what comes of their exceptions."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.scripts.sharing.records import EXPLICIT, polled, subscribed
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

# Long enough for statistics that are made every 50 ms to be there.
DUE_SECONDS = 0.4
LIMITED_RATE = 50_000


def filled(stage: Stage, count: int = 2, partitions: int = 1) -> str:
    topic = stage.topic(partitions)
    for partition in range(partitions):
        stage.fill(topic, *(f"{index}" for index in range(count)), partition=partition)
    return topic


def the_calls(kafka: ModuleType, consumer: Any) -> dict[str, Callable[[], Any]]:
    message = kafka.Message("t", 0, 5)
    return {
        "subscription": consumer.subscription,
        "subscribe": lambda: consumer.subscribe(["t"]),
        "subscribe to nonsense": lambda: consumer.subscribe(3),
        "subscribe to nothing": lambda: consumer.subscribe(),
        "unsubscribe": consumer.unsubscribe,
        "poll": lambda: consumer.poll(0),
        "poll for nonsense": lambda: consumer.poll("1"),
        "acknowledge": lambda: consumer.acknowledge(message),
        "acknowledge nonsense": lambda: consumer.acknowledge(3),
        "acknowledge so": lambda: consumer.acknowledge(message, 9),
        "acknowledge offset": lambda: consumer.acknowledge_offset("t", 0, 5),
        "acknowledge no offset": lambda: consumer.acknowledge_offset("t", -1, 5),
        "commit": lambda: consumer.commit_sync(0.1),
        "commit for nonsense": lambda: consumer.commit_sync("1"),
        "commit later": consumer.commit_async,
        "callback": lambda: consumer.set_acknowledgement_commit_callback(None),
        "callback of nonsense": lambda: consumer.set_acknowledgement_commit_callback(3),
        "credentials": lambda: consumer.set_sasl_credentials("u", "p"),
        "make": lambda: consumer.__init__({"group.id": "g"}),
        "exit": lambda: consumer.__exit__(None, None, None),
        "close": consumer.close,
        "enter": lambda: consumer.__enter__() is consumer,
    }


# The original's process does not survive these in callbacks other than that of acknowledgements.
_DEADLY = ("poll", "commit", "commit later", "credentials", "close", "exit")


@script()
def a_share_consumer_without_a_reachable_broker_goes_on_trying(kafka: ModuleType, stage: Stage) -> None:
    errors: list[Any] = []
    threads: set[int] = set()

    def hear(error: Any) -> None:
        errors.append(error)
        threads.add(threading.get_ident())

    consumer = stage.share_consumer(bootstrap_servers=f"{UNREACHABLE},127.0.0.1:2", error_cb=hear)
    consumer.subscribe(["t"])
    begun = time.monotonic()
    for _ in range(3):
        stage.attempt("poll", lambda: list(consumer.poll(0.5)))
    stage.record("it waits", time.monotonic() - begun >= 1.5)
    stage.attempt("commit", consumer.commit_sync, 0.5)
    stage.attempt("commit later", consumer.commit_async)
    stage.within(
        "poll",
        lambda: stage.until(
            lambda: kafka.KafkaError._ALL_BROKERS_DOWN in {e.code() for e in errors},
            lambda: consumer.poll(0.1),
        ),
    )
    stage.record("errors", {error.name(): [error.fatal(), error.retriable()] for error in errors})
    stage.record("texts", {error.str() for error in errors if "suppressed" not in error.str()})
    stage.record("in the caller's thread", threads == {threading.get_ident()})
    stage.attempt("close", consumer.close)


@script()
def a_share_consumer_reaches_for_its_cluster_without_being_asked(kafka: ModuleType, stage: Stage) -> None:
    errors: list[Any] = []
    consumer = stage.share_consumer(bootstrap_servers=UNREACHABLE, error_cb=errors.append)
    stage.until(lambda: errors, consumer.commit_async)
    stage.record("error", errors[0].name())


@script()
def errors_interrupt_the_wait_of_a_share_consumer_that_waits_without_end(
    kafka: ModuleType, stage: Stage
) -> None:
    def fail(error: Any) -> None:
        raise ValueError(error.name())

    consumer = stage.share_consumer(bootstrap_servers=UNREACHABLE, error_cb=fail)
    consumer.subscribe(["t"])
    try:
        consumer.poll(2)
    except ValueError as error:
        stage.record("raised", error.args[0] in ("_TRANSPORT", "_ALL_BROKERS_DOWN"))


@script()
def some_calls_of_a_share_consumer_serve_callbacks_and_others_do_not(kafka: ModuleType, stage: Stage) -> None:
    served: list[str] = []
    consumer = stage.share_consumer(statistics_interval_ms=50, stats_cb=served.append)
    for label, call in the_calls(kafka, consumer).items():
        if label in ("make", "exit"):
            continue
        time.sleep(DUE_SECONDS)
        served.clear()
        stage.within(label, call)
        stage.record(f"{label} serves", bool(served))


@script()
def what_a_share_consumers_stats_cb_raises_comes_out_of_the_call_that_serves_it(
    kafka: ModuleType, stage: Stage
) -> None:
    is_calm: list[bool] = []

    def fail(text: str) -> None:
        if not is_calm:
            raise ValueError("mine", type(json.loads(text)))

    consumer = stage.share_consumer(statistics_interval_ms=50, stats_cb=fail)
    consumer.subscribe(["t"])
    for label, call in (
        ("poll", lambda: consumer.poll(0)),
        ("commit", lambda: consumer.commit_sync(1)),
        ("commit later", consumer.commit_async),
    ):
        time.sleep(DUE_SECONDS)
        stage.attempt(label, call)
    stage.attempt("it goes on", consumer.subscription)
    is_calm.append(True)
    stage.attempt("calm", lambda: list(consumer.poll(0.1)))
    is_calm.clear()
    time.sleep(DUE_SECONDS)
    stage.attempt("close", consumer.close)
    stage.attempt("it is closed", consumer.subscription)
    stage.attempt("close again", consumer.close)


@on_apache()
def what_the_callback_of_acknowledgements_raises_comes_out_once_for_each_partition(
    kafka: ModuleType, stage: Stage
) -> None:
    topic = filled(stage, partitions=2)
    consumer = subscribed(stage, topic, **EXPLICIT)
    called: list[Any] = []

    def fail(offsets: Any, error: Any) -> None:
        called.append([len(offsets), sorted(next(iter(offsets.values()))), error])
        raise ValueError("mine")

    messages: list[Any] = []

    def poll() -> None:
        more = list(consumer.poll(0.3))
        messages.extend(more)
        for message in more:
            consumer.acknowledge(message)

    stage.until(lambda: len(messages) >= 4, poll)
    consumer.set_acknowledgement_commit_callback(fail)
    stage.until(lambda: len(called) >= 1, lambda: stage.attempt("first", consumer.commit_sync, WAIT))
    stage.record("called", called)
    consumer.set_acknowledgement_commit_callback(None)
    stage.attempt("nothing left", consumer.commit_sync, WAIT)


@on_apache()
def the_callback_of_acknowledgements_hears_of_one_partition_at_a_time(
    kafka: ModuleType, stage: Stage
) -> None:
    topic = filled(stage, 3, partitions=3)
    consumer = subscribed(stage, topic)
    told: list[Any] = []
    consumer.set_acknowledgement_commit_callback(
        lambda offsets, error: told.append(
            [[(p.topic == topic, p.partition, p.offset, p.error, o) for p, o in offsets.items()], error]
        )
    )
    polled(stage, consumer, 9)
    stage.within("commit", consumer.commit_sync, WAIT)
    stage.until(lambda: len(told) >= 3, lambda: consumer.poll(0.1))
    stage.record("told", sorted(told, key=str))


@on_apache()
def the_callback_of_acknowledgements_cannot_call_its_share_consumer(kafka: ModuleType, stage: Stage) -> None:
    consumer = subscribed(stage, filled(stage))
    called: list[bool] = []

    def call_all(offsets: Any, error: Any) -> None:
        if not called:
            called.append(True)
            for label, call in the_calls(kafka, consumer).items():
                stage.attempt(f"inside: {label}", call)

    consumer.set_acknowledgement_commit_callback(call_all)
    polled(stage, consumer, 2)
    stage.within("commit", consumer.commit_sync, WAIT)
    stage.until(lambda: called, lambda: consumer.poll(0.1))
    stage.attempt("afterwards", lambda: len(consumer.subscription()))


@script()
def other_callbacks_may_call_their_share_consumer(kafka: ModuleType, stage: Stage) -> None:
    called: list[bool] = []

    def call_all(text: str) -> None:
        if not called:
            called.append(True)
            for label, call in the_calls(kafka, consumer).items():
                if label not in _DEADLY:
                    stage.attempt(f"inside: {label}", call)
            consumer.subscribe(["t"])

    consumer = stage.share_consumer(statistics_interval_ms=50, stats_cb=call_all, **EXPLICIT)
    consumer.subscribe(["t"])
    stage.within("poll", lambda: stage.until(lambda: called, lambda: consumer.poll(0.1)))


def _record_conflicts(kafka: ModuleType, stage: Stage, consumer: Any) -> None:
    """What another thread sees while this one is at work."""

    def call_all() -> None:
        for label, call in the_calls(kafka, consumer).items():
            stage.attempt(f"another thread: {label}", call)

    thread = threading.Thread(target=call_all)
    thread.start()
    thread.join()


@script()
def another_thread_is_turned_away_while_a_callback_runs(kafka: ModuleType, stage: Stage) -> None:
    called: list[bool] = []

    def hear(text: str) -> None:
        if not called:
            called.append(True)
            _record_conflicts(kafka, stage, consumer)

    consumer = stage.share_consumer(statistics_interval_ms=50, stats_cb=hear)
    consumer.subscribe(["t"])
    stage.within("poll", lambda: stage.until(lambda: called, lambda: consumer.poll(0.1)))
    stage.attempt("afterwards", consumer.subscription)


@on_apache()
def another_thread_is_turned_away_while_acknowledgements_are_told(kafka: ModuleType, stage: Stage) -> None:
    consumer = subscribed(stage, filled(stage))
    called: list[bool] = []

    def hear(offsets: Any, error: Any) -> None:
        called.append(True)
        _record_conflicts(kafka, stage, consumer)

    polled(stage, consumer, 2)
    consumer.set_acknowledgement_commit_callback(hear)
    stage.within("commit", consumer.commit_sync, WAIT)
    stage.until(lambda: called, lambda: consumer.poll(0.1))


@script()
def lines_of_a_share_consumers_log_come_from_poll(kafka: ModuleType, stage: Stage) -> None:
    lines: list[tuple[int, str, bool]] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((record.levelno, record.getMessage(), threading.get_ident() == thread))

    thread = threading.get_ident()
    logger = logging.getLogger(stage.name("logger"))
    logger.propagate = False
    logger.addHandler(Handler())
    consumer = kafka.ShareConsumer({"bootstrap.servers": UNREACHABLE, "group.id": "g"}, logger=logger)
    stage.closing(consumer.close)
    consumer.subscribe(["t"])
    time.sleep(DUE_SECONDS)
    stage.record("before poll", lines)
    stage.until(lambda: any(text.startswith("FAIL") for _, text, _ in lines), lambda: consumer.poll(0.1))
    level, text, is_here = next(line for line in lines if line[1].startswith("FAIL"))
    stage.record("line", [level, text, is_here])


@on_apache()
def share_consumers_hear_of_being_throttled(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic(*[b"v" * LIMITED_RATE] * 12)
    events: list[Any] = []
    consumer = subscribed(
        stage,
        topic,
        client_id=stage.limited_client(consumer_byte_rate=LIMITED_RATE),
        throttle_cb=events.append,
        max_poll_records=2,
    )
    stage.until(lambda: any(e.throttle_time > 0 for e in events), lambda: consumer.poll(0.1))
    event = next(event for event in events if event.throttle_time > 0)
    stage.record("event", [type(event), event.broker_name, event.broker_id, type(event.throttle_time)])


def _sasl(oauth_cb: Callable[[str], Any], **settings: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": UNREACHABLE,
        "security_protocol": "sasl_plaintext",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_config": "the=config",
        "oauth_cb": oauth_cb,
        **settings,
    }


@script()
def a_share_consumers_token_is_asked_for_while_it_is_made(kafka: ModuleType, stage: Stage) -> None:
    expiry = time.time() + 3600
    for label, answer in (
        ("token", ("token", expiry)),
        ("principal", ("token", expiry, "principal")),
        ("extensions", ("token", expiry, "principal", {"key": "value"})),
    ):
        asked: list[str] = []

        def give(config: str, asked: list[str] = asked, answer: Any = answer) -> Any:
            asked.append(config)
            return answer

        consumer = stage.within(label, stage.share_consumer, **_sasl(give))
        stage.record(f"{label}: asked", asked)
        stage.attempt(f"{label}: poll", lambda made=consumer: made.poll(0) if made.subscription() else None)
        consumer.close()


@script()
def a_share_consumer_without_a_token_is_not_made(kafka: ModuleType, stage: Stage) -> None:
    # The original waits for ten seconds in each case.
    stage.attempt("malformed", stage.share_consumer, **_sasl(lambda config: "token"))


@script()
def a_share_consumers_token_is_asked_for_again_before_it_ends(kafka: ModuleType, stage: Stage) -> None:
    asked: list[float] = []

    def give(config: str) -> tuple[str, float]:
        asked.append(time.monotonic())
        return "token", time.time() + 3

    consumer = stage.share_consumer(**_sasl(give))
    consumer.subscribe(["t"])
    stage.until(lambda: len(asked) >= 3, lambda: consumer.poll(0.1), timeout=20)
    stage.record("asked again", len(asked) >= 3)


class _FailingLogger:
    def log(self, *_: object) -> None:
        raise ValueError("mine")


@script()
def what_a_share_consumers_logger_raises_comes_out_of_the_call_that_serves_it(
    kafka: ModuleType, stage: Stage
) -> None:
    settings = {"bootstrap.servers": UNREACHABLE, "group.id": "g", "debug": "conf"}
    for label in ("poll", "commit", "commit later", "close"):
        for logger in (_FailingLogger(), object()):
            consumer = kafka.ShareConsumer(settings, logger=logger)
            if label == "poll":
                consumer.subscribe(["t"])
            stage.attempt(label, the_calls(kafka, consumer)[label])


@script()
def debug_is_a_text_of_known_names(kafka: ModuleType, stage: Stage) -> None:
    logger = logging.getLogger(stage.name("logger"))
    logger.propagate = False
    for given in (
        ["broker"],
        ["broker", "cgrp"],
        "nonsense",
        "broker,nonsense",
        "broker, cgrp",
        "",
        None,
        3,
        "ALL",
    ):
        settings = {"group.id": "g", "debug": given, "logger": logger}
        for kind in (kafka.Producer, kafka.Consumer, kafka.ShareConsumer):
            try:
                kind(settings).close()
            except Exception as error:
                stage.record(f"{given} {kind.__name__}", error)
            else:
                stage.record(f"{given} {kind.__name__}", "made")
