"""ShareConsumer: what it gives, acknowledgements, and what it refuses."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.stage import WAIT, Stage

EXPLICIT = {"share_acknowledgement_mode": "explicit"}


def _subscribed(stage: Stage, topic: str, **settings: Any) -> Any:
    consumer = stage.share_consumer(group_id=stage.share_group(), **settings)
    consumer.subscribe([topic])
    return consumer


def _polled(stage: Stage, consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []
    stage.until(lambda: len(found) >= count, lambda: found.extend(consumer.poll(0.3)))
    return found


@script()
def share_consumer_methods_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.share_consumer()
    message = kafka.Message("t", 0, 5)
    for name, arguments in (
        ("subscribe", ()),
        ("subscribe", (3,)),
        ("subscribe", ("t",)),
        ("subscribe", ([3],)),
        ("subscribe", ([""],)),
        ("subscribe", (["t", "t"],)),
        ("subscribe", (None,)),
        ("subscription", (1,)),
        ("unsubscribe", (1,)),
        ("poll", ("1",)),
        ("poll", (None,)),
        ("poll", (0, 0)),
        ("acknowledge", ()),
        ("acknowledge", (3,)),
        ("acknowledge", (message, "accept")),
        ("acknowledge", (message, 99)),
        ("acknowledge", (message,)),
        ("acknowledge_offset", ()),
        ("acknowledge_offset", ("t", 0, 5)),
        ("acknowledge_offset", (3, 0, 5)),
        ("acknowledge_offset", ("t", "0", 5)),
        ("acknowledge_offset", ("t", 0, 5, "accept")),
        ("commit_sync", ("1",)),
        ("commit_async", (1,)),
        ("set_acknowledgement_commit_callback", (3,)),
        ("set_acknowledgement_commit_callback", (None,)),
        ("set_acknowledgement_commit_callback", ()),
    ):
        stage.attempt(f"{name}{[type(a).__name__ for a in arguments]}", getattr(consumer, name), *arguments)


@script()
def a_share_consumer_without_subscription_has_nothing(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.share_consumer()
    stage.attempt("poll", consumer.poll, 0)
    stage.attempt("subscription", consumer.subscription)
    stage.attempt("unsubscribe", consumer.unsubscribe)
    stage.attempt("commit", consumer.commit_sync, 0.1)
    stage.attempt("commit later", consumer.commit_async)
    stage.attempt("subscribe", consumer.subscribe, ["b", "a"])
    stage.attempt("subscription", lambda: sorted(consumer.subscription()))
    stage.attempt("subscribe to nothing", consumer.subscribe, [])
    stage.attempt("subscription", consumer.subscription)
    stage.attempt("credentials", consumer.set_sasl_credentials, "u", "p")


@script()
def a_closed_share_consumer_refuses_everything(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.share_consumer()
    stage.attempt("close", consumer.close)
    stage.attempt("close again", consumer.close)
    for label, call in (
        ("poll", lambda: consumer.poll(0)),
        ("subscribe", lambda: consumer.subscribe(["t"])),
        ("unsubscribe", lambda: consumer.unsubscribe()),
        ("subscription", lambda: consumer.subscription()),
        ("acknowledge", lambda: consumer.acknowledge(kafka.Message("t", 0, 5))),
        ("acknowledge offset", lambda: consumer.acknowledge_offset("t", 0, 5)),
        ("commit", lambda: consumer.commit_sync(0.1)),
        ("commit later", lambda: consumer.commit_async()),
        ("callback", lambda: consumer.set_acknowledgement_commit_callback(None)),
        ("credentials", lambda: consumer.set_sasl_credentials("u", "p")),
        ("enter", lambda: consumer.__enter__() is consumer),
        ("exit", lambda: consumer.__exit__(None, None, None)),
    ):
        stage.attempt(label, call)


@on_apache()
def shared_records_are_polled_and_accepted(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = _subscribed(stage, topic)
    for message in _polled(stage, consumer, 3):
        stage.record("message", message)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    stage.attempt("nothing to commit", consumer.commit_sync, WAIT)
    stage.attempt("nothing more", lambda: list(consumer.poll(0.3)))
    stage.attempt("close", consumer.close)


@on_apache()
def acknowledgements_by_hand_need_the_explicit_mode(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    consumer = _subscribed(stage, topic)
    message = _polled(stage, consumer, 1)[0]
    stage.attempt("acknowledge", consumer.acknowledge, message)
    stage.attempt("acknowledge offset", consumer.acknowledge_offset, topic, 0, 0)


@on_apache()
def released_records_come_again_and_rejected_ones_do_not(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = _subscribed(stage, topic, **EXPLICIT)
    messages = _polled(stage, consumer, 3)
    kinds = kafka.AcknowledgeType
    stage.attempt("accept", consumer.acknowledge, messages[0])
    stage.attempt("release", consumer.acknowledge, messages[1], kinds.RELEASE)
    stage.attempt("reject", consumer.acknowledge_offset, topic, 0, 2, kinds.REJECT)
    stage.attempt("unknown", consumer.acknowledge_offset, topic, 0, 77)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    again = _polled(stage, consumer, 1)
    stage.record("again", [[message.value(), message.delivery_count()] for message in again])
    stage.attempt("accept", consumer.acknowledge, again[0])
    stage.attempt("twice", consumer.acknowledge, again[0])
    stage.attempt("commit", consumer.commit_sync, WAIT)
    stage.attempt("after the commit", consumer.acknowledge, again[0])


@on_apache()
def in_the_explicit_mode_all_must_be_acknowledged_before_the_next_poll(
    kafka: ModuleType, stage: Stage
) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = _subscribed(stage, topic, **EXPLICIT)
    messages = _polled(stage, consumer, 2)
    stage.attempt("poll", consumer.poll, 0.1)
    stage.attempt("accept one", consumer.acknowledge, messages[0])
    stage.attempt("poll", consumer.poll, 0.1)
    stage.attempt("accept the other", consumer.acknowledge, messages[1])
    stage.attempt("poll", lambda: list(consumer.poll(0.3)))


@on_apache()
def acknowledgements_call_back_in_the_callers_thread(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = _subscribed(stage, topic)
    consumer.set_acknowledgement_commit_callback(stage.callback("acknowledged"))
    _polled(stage, consumer, 2)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    stage.within("poll", lambda: stage.until(stage.recorded("acknowledged"), lambda: consumer.poll(0.1)))


@on_apache()
def a_share_consumer_is_a_context_manager(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    settings = {"bootstrap.servers": stage.bootstrap, "group.id": stage.share_group(), "log_level": 0}
    with kafka.ShareConsumer(settings) as consumer:
        consumer.subscribe([topic])
        stage.record("values", [message.value() for message in _polled(stage, consumer, 1)])
    stage.attempt("afterwards", consumer.poll, 0)


@on_apache()
def share_consumers_of_a_group_divide_records(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic(*(f"{index}" for index in range(10)))
    group = stage.share_group()
    members = [stage.share_consumer(group_id=group) for _ in range(2)]
    values: list[bytes] = []
    for member in members:
        member.subscribe([topic])

    def poll() -> None:
        for member in members:
            values.extend(message.value() for message in member.poll(0.2))

    stage.until(lambda: len(values) >= 10, poll)
    stage.record("values", sorted(values))
