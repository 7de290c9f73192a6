"""How clients end: forgotten, interrupted, or with work left to do."""

from __future__ import annotations

import gc
import os
import signal
import threading
from types import ModuleType
from typing import Any

from tests.compat.differential.script import Broker, on_apache, on_both, script
from tests.compat.differential.stage import WAIT, Stage


@script()
def forgotten_clients_are_collected(kafka: ModuleType, stage: Stage) -> None:
    for kind in ("Producer", "Consumer"):
        client = getattr(kafka, kind)({"group.id": "g", "log_level": 0})
        stage.attempt(f"{kind} poll", client.poll, 0)
        del client
        stage.attempt("collect", lambda: gc.collect() >= 0)


@script()
def a_forgotten_producer_with_messages_is_collected(kafka: ModuleType, stage: Stage) -> None:
    producer = kafka.Producer({"log_level": 0, "on_delivery": stage.callback("report")})
    producer.produce("t", "v")
    del producer
    stage.attempt("collect", lambda: gc.collect() >= 0)


@script()
def clients_may_be_subclassed(kafka: ModuleType, stage: Stage) -> None:
    class MyProducer(kafka.Producer):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__({"log_level": 0})
            self.mine = 1

    class MyConsumer(kafka.Consumer):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__({"group.id": "g", "log_level": 0})
            self.mine = 1

        def poll(self, timeout: float = -1) -> Any:
            return "mine", super().poll(0)

    producer, consumer = MyProducer(), MyConsumer()
    stage.record("mine", [producer.mine, consumer.mine])
    stage.attempt("producer", producer.poll, 0)
    stage.attempt("consumer", consumer.poll)
    producer.close()
    consumer.close()


@script()
def a_subclass_that_is_not_initialized_refuses_everything(kafka: ModuleType, stage: Stage) -> None:
    class Empty(kafka.Producer):  # type: ignore[name-defined, misc]
        def __init__(self) -> None: ...

    empty = Empty()
    stage.attempt("poll", empty.poll, 0)
    stage.attempt("produce", empty.produce, "t", "v")
    stage.attempt("len", len, empty)


@script()
def a_producer_is_initialized_once(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    stage.attempt("again", producer.__init__, {"log_level": 0})
    consumer = stage.consumer()
    stage.attempt("a consumer again", consumer.__init__, {"group.id": "g"})


@script(alone=True)
def control_c_interrupts_a_consumers_poll(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    _interrupt(stage, "poll", lambda: consumer.poll(10))
    _interrupt(stage, "poll for ever", lambda: consumer.poll())
    _interrupt(stage, "consume", lambda: consumer.consume(1, 1))
    stage.attempt("afterwards", consumer.poll, 0)


@script(alone=True)
def control_c_interrupts_a_producers_flush(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    producer.produce("t", "v")
    _interrupt(stage, "flush", lambda: producer.flush(WAIT))
    _interrupt(stage, "poll", lambda: producer.poll(10))
    stage.record("len", len(producer))


def _interrupt(stage: Stage, label: str, call: Any) -> None:
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        timer.start()
        result = call()
        # Where a call cannot be interrupted, the interrupt comes when it has ended.
        timer.join()
        stage.record(label, result)
    except KeyboardInterrupt as interrupt:
        stage.record(label, interrupt)
    timer.join()


@on_both()
def closing_a_producer_waits_for_its_messages(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = kafka.Producer(
        {"bootstrap.servers": stage.bootstrap, "linger.ms": 200, "on_delivery": stage.callback("report")}
    )
    producer.produce(topic, "v")
    stage.attempt("close", producer.close)
    stage.values(stage.reader(topic), 1)


@script(Broker.APACHE, Broker.EMBEDDED)
def polling_from_two_threads_gives_each_message_once(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic(*(f"{index:02}" for index in range(40)))
    consumer = stage.reader(topic)
    values: list[bytes] = []

    def poll() -> None:
        stage.until(lambda: len(values) >= 40, lambda: _take(consumer, values))

    threads = [threading.Thread(target=poll) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stage.record("values", sorted(values))


def _take(consumer: Any, values: list[bytes]) -> None:
    message = consumer.poll(0.05)
    if message is not None and message.error() is None:
        values.append(message.value())


@on_apache()
def closing_a_consumer_calls_all_that_is_due_whatever_is_raised(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    for raising in ((), ("revoke",), ("commit",), ("revoke", "commit")):
        for is_automatic in (True, False):
            calls: list[str] = []

            def hear(name: str, raising: Any = raising, calls: list[str] = calls) -> Any:
                def heard(*_: object) -> None:
                    calls.append(name)
                    if name in raising:
                        raise ValueError(name)

                return heard

            consumer = stage.consumer(
                enable_auto_commit=is_automatic, auto_commit_interval_ms=600_000, on_commit=hear("commit")
            )
            consumer.subscribe([topic], on_revoke=hear("revoke"))
            stage.messages(consumer, 2)
            if not is_automatic:
                for _ in range(2):
                    consumer.commit(asynchronous=True)
            label = f"{raising} {is_automatic}"
            stage.attempt(f"{label}: close", consumer.close)
            # Both commits may be answered before the partitions are given up, or after.
            stage.record(f"{label}: called", sorted(calls))
            stage.attempt(f"{label}: it is closed", consumer.poll, 0)
