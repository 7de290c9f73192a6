"""What a ShareConsumer's callbacks raise, and calls from other threads while it waits."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.scripts.sharing.callbacks import (
    DUE_SECONDS,
    LIMITED_RATE,
    filled,
    the_calls,
)
from tests.compat.differential.scripts.sharing.records import EXPLICIT, subscribed
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

SERVING = ("poll", "commit", "commit later", "acknowledge", "acknowledge offset", "subscription", "close")


def _attempt(stage: Stage, label: str, call: Callable[[], Any]) -> None:
    """As the stage's, also for what ends programs."""
    try:
        stage.attempt(label, call)
    except (KeyboardInterrupt, SystemExit) as error:
        stage.record(label, error)


class _Raising:
    """A callback, or a handler's, that raises until it is calm."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self.is_calm = False
        self.calls = 0

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if not self.is_calm:
            raise self._error


class _Handler(logging.Handler):
    def __init__(self, fail: _Raising) -> None:
        super().__init__()
        self._fail = fail

    def emit(self, record: logging.LogRecord) -> None:
        self._fail()


def _logger(stage: Stage, fail: _Raising) -> logging.Logger:
    logger = logging.getLogger(stage.name("logger"))
    logger.propagate = False
    logger.addHandler(_Handler(fail))
    return logger


def _raised_in(kafka: ModuleType, stage: Stage, make: Callable[[_Raising], Any], errors: list[Any]) -> None:
    """Each error, raised by what `make` gives a consumer, in each of the calls."""
    for error in errors:
        for label in SERVING:
            fail = _Raising(error)
            consumer = make(fail)
            consumer.subscribe(["t"])
            time.sleep(DUE_SECONDS)
            stage.record("called before", fail.calls)
            _attempt(stage, label, the_calls(kafka, consumer)[label])
            fail.is_calm = True
            stage.attempt("it is as it was", consumer.subscription)
            stage.attempt("close", consumer.close)
            stage.attempt("it is closed", consumer.subscription)


@script()
def what_a_share_consumers_error_cb_raises_comes_out_of_the_call_that_serves_it(
    kafka: ModuleType, stage: Stage
) -> None:
    _raised_in(
        kafka,
        stage,
        lambda fail: stage.share_consumer(bootstrap_servers=UNREACHABLE, error_cb=fail),
        [ValueError("mine"), KeyboardInterrupt()],
    )


@script()
def what_a_handler_of_a_share_consumers_log_raises_comes_out_of_the_call_that_serves_it(
    kafka: ModuleType, stage: Stage
) -> None:
    settings = {"bootstrap.servers": UNREACHABLE, "group.id": "g"}
    _raised_in(
        kafka,
        stage,
        lambda fail: kafka.ShareConsumer(settings, logger=_logger(stage, fail)),
        [kafka.KafkaException(kafka.KafkaError(5)), SystemExit(3)],
    )


@script()
def closing_calls_all_callbacks_and_raises_what_the_last_of_them_raised(
    kafka: ModuleType, stage: Stage
) -> None:
    for make in (stage.share_consumer, stage.consumer):
        calls: list[int] = []

        def fail(text: str, calls: list[int] = calls) -> None:
            calls.append(len(calls))
            raise ValueError(calls[-1])

        consumer = make(statistics_interval_ms=50, stats_cb=fail)
        time.sleep(DUE_SECONDS)
        try:
            consumer.close()
        except ValueError as error:
            stage.record("the last one", error.args[0] == calls[-1])
            stage.record("behind others", [len(calls) > 2, error.__context__, error.__cause__])
        count = len(calls)
        stage.attempt("again", consumer.close)
        stage.record("no more", len(calls) == count)


@on_apache()
def closing_tells_of_all_acknowledgements_whatever_their_callback_raises(
    kafka: ModuleType, stage: Stage
) -> None:
    consumer = subscribed(stage, filled(stage, partitions=3), **EXPLICIT)
    messages: list[Any] = []

    def poll() -> None:
        more = list(consumer.poll(0.3))
        messages.extend(more)
        for message in more:
            consumer.acknowledge(message)

    stage.until(lambda: len(messages) >= 6, poll)
    told: list[Any] = []

    def fail(offsets: Any, error: Any) -> None:
        told.append([list(offsets.values()), error])
        raise ValueError(len(told))

    consumer.set_acknowledgement_commit_callback(fail)
    try:
        consumer.close()
    except ValueError as error:
        # How many partitions were told of before depends on how many polls it took.
        stage.record("the last one", error.args[0] == len(told))
    stage.record("told", [list(each) for each in {str(each): each for each in told}.values()])
    stage.attempt("it is closed", consumer.subscription)


@on_apache()
def what_a_share_consumers_throttle_cb_raises_comes_out_of_the_call_that_serves_it(
    kafka: ModuleType, stage: Stage
) -> None:
    topic = stage.filled_topic(*[b"v" * LIMITED_RATE] * 12)
    consumer = subscribed(
        stage,
        topic,
        client_id=stage.limited_client(consumer_byte_rate=LIMITED_RATE),
        throttle_cb=_Raising(ValueError("mine")),
        max_poll_records=2,
    )
    raised: list[Any] = []

    def poll() -> None:
        try:
            consumer.poll(0.1)
        except ValueError as error:
            raised.append(error)

    stage.until(lambda: raised, poll)
    stage.record("raised", raised[0])
    stage.attempt("it goes on", consumer.unsubscribe)


class _Holding:
    """A callback of statistics that blocks its poll until `goes_on` is set.

    The original divides a wait into waits of 200 ms. Between two of them it lets other threads in, and on a
    busy machine that lasts long enough for some calls. While a callback runs it lets nobody in.
    """

    def __init__(self) -> None:
        self.is_called = threading.Event()
        self.goes_on = threading.Event()

    def __call__(self, _: str) -> None:
        self.is_called.set()
        self.goes_on.wait(WAIT)


# What changes nothing, and does not wait, where it is let in between two waits.
HARMLESS = ("subscription", "acknowledge", "acknowledge so", "acknowledge offset", "commit later", "callback")


def _turned_away(
    kafka: ModuleType, stage: Stage, consumer: Any, holding: _Holding, waiter: threading.Thread
) -> None:
    """Records what calls meet while the waiter's poll is in a callback, and then while it waits."""
    calls = the_calls(kafka, consumer)
    holding.is_called.wait(WAIT)
    for label, call in calls.items():
        stage.attempt(f"meanwhile: {label}", call)
    holding.goes_on.set()

    def is_turned_away(label: str) -> bool:
        try:
            calls[label]()
        except Exception as error:
            return isinstance(error, kafka.ConcurrentModificationException)
        # On a very slow machine the wait may be over.
        return not waiter.is_alive()

    for label in HARMLESS:
        stage.until(lambda label=label: is_turned_away(label))


@on_apache()
def another_thread_is_turned_away_while_poll_waits_without_end(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    holding = _Holding()
    consumer = subscribed(stage, topic, statistics_interval_ms=50, stats_cb=holding)

    def wait() -> Any:
        return [message.value() for message in consumer.poll(-1)]

    waiter = threading.Thread(target=lambda: stage.attempt("the wait", wait))
    waiter.start()
    _turned_away(kafka, stage, consumer, holding, waiter)
    stage.fill(topic, "a")
    waiter.join()
    stage.attempt("afterwards", consumer.subscription)
    stage.attempt("commit", consumer.commit_sync, WAIT)


@script()
def another_thread_is_turned_away_while_poll_waits_for_its_time(kafka: ModuleType, stage: Stage) -> None:
    holding = _Holding()
    consumer = stage.share_consumer(statistics_interval_ms=50, stats_cb=holding)
    consumer.subscribe(["t"])
    waiter = threading.Thread(target=lambda: stage.attempt("the wait", lambda: list(consumer.poll(2))))
    waiter.start()
    _turned_away(kafka, stage, consumer, holding, waiter)
    waiter.join()
    stage.attempt("afterwards", consumer.subscription)
