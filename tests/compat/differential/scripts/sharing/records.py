"""ShareConsumer: what it gives, acknowledgements, and what it refuses."""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.stage import WAIT, Stage

EXPLICIT = {"share_acknowledgement_mode": "explicit"}


def subscribed(stage: Stage, topic: str, **settings: Any) -> Any:
    consumer = stage.share_consumer(group_id=stage.share_group(), **settings)
    consumer.subscribe([topic])
    return consumer


def polled(stage: Stage, consumer: Any, count: int) -> list[Any]:
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
    consumer = subscribed(stage, topic)
    for message in polled(stage, consumer, 3):
        stage.record("message", message)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    stage.attempt("nothing to commit", consumer.commit_sync, WAIT)
    stage.attempt("nothing more", lambda: list(consumer.poll(0.3)))
    stage.attempt("close", consumer.close)


@on_apache()
def acknowledgements_by_hand_need_the_explicit_mode(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    consumer = subscribed(stage, topic)
    message = polled(stage, consumer, 1)[0]
    stage.attempt("acknowledge", consumer.acknowledge, message)
    stage.attempt("acknowledge offset", consumer.acknowledge_offset, topic, 0, 0)


@on_apache()
def released_records_come_again_and_rejected_ones_do_not(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = subscribed(stage, topic, **EXPLICIT)
    messages = polled(stage, consumer, 3)
    kinds = kafka.AcknowledgeType
    stage.attempt("accept", consumer.acknowledge, messages[0])
    stage.attempt("release", consumer.acknowledge, messages[1], kinds.RELEASE)
    stage.attempt("reject", consumer.acknowledge_offset, topic, 0, 2, kinds.REJECT)
    stage.attempt("unknown", consumer.acknowledge_offset, topic, 0, 77)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    again = polled(stage, consumer, 1)
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
    consumer = subscribed(stage, topic, **EXPLICIT)
    messages = polled(stage, consumer, 2)
    stage.attempt("poll", consumer.poll, 0.1)
    stage.attempt("accept one", consumer.acknowledge, messages[0])
    stage.attempt("poll", consumer.poll, 0.1)
    stage.attempt("accept the other", consumer.acknowledge, messages[1])
    stage.attempt("poll", lambda: list(consumer.poll(0.3)))


@on_apache()
def acknowledgements_call_back_in_the_callers_thread(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = subscribed(stage, topic)
    consumer.set_acknowledgement_commit_callback(stage.callback("acknowledged"))
    polled(stage, consumer, 2)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    stage.within("poll", lambda: stage.until(stage.recorded("acknowledged"), lambda: consumer.poll(0.1)))


@on_apache()
def a_share_consumer_is_a_context_manager(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    settings = {"bootstrap.servers": stage.bootstrap, "group.id": stage.share_group(), "log_level": 0}
    with kafka.ShareConsumer(settings) as consumer:
        consumer.subscribe([topic])
        stage.record("values", [message.value() for message in polled(stage, consumer, 1)])
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


def _seen(topic: str, messages: list[Any]) -> list[Any]:
    """Which messages, without their contents."""
    return [[m.topic() == topic, m.partition(), m.offset(), m.delivery_count()] for m in messages]


def _batches(stage: Stage, partitions: int, size: int) -> str:
    """A topic with one batch of so many records in each partition."""
    topic = stage.topic(partitions)
    for partition in range(partitions):
        stage.fill_at_once(topic, size, partition)
    return topic


@on_apache()
def what_was_given_out_is_acknowledged_after_unsubscribe_too(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c", "d")
    consumer = subscribed(stage, topic, **EXPLICIT)
    told: list[Any] = []
    consumer.set_acknowledgement_commit_callback(
        lambda offsets, error: told.append([list(offsets.values()), error])
    )
    messages = polled(stage, consumer, 4)
    stage.attempt("before", consumer.acknowledge, messages[0])
    stage.attempt("unsubscribe", consumer.unsubscribe)
    stage.attempt("after", consumer.acknowledge, messages[1])
    stage.attempt("subscription", consumer.subscription)
    stage.attempt("poll", consumer.poll, 0.1)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    stage.attempt("release", consumer.acknowledge, messages[2], kafka.AcknowledgeType.RELEASE)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    stage.attempt("subscribe", consumer.subscribe, [topic])
    stage.attempt("poll", consumer.poll, 0.1)
    stage.attempt("release", consumer.acknowledge, messages[3], kafka.AcknowledgeType.RELEASE)
    stage.record("again", _seen(topic, polled(stage, consumer, 2)))
    stage.record("told", told)


@on_apache()
def what_was_given_out_is_accepted_after_unsubscribe_too(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = subscribed(stage, topic)
    polled(stage, consumer, 2)
    stage.attempt("unsubscribe", consumer.unsubscribe)
    stage.attempt("poll", consumer.poll, 0.1)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    consumer.subscribe([topic])
    stage.fill(topic, "c")
    stage.record("next", _seen(topic, polled(stage, consumer, 1)))


@on_apache()
def another_subscription_leaves_what_was_given_out_as_it_is(kafka: ModuleType, stage: Stage) -> None:
    first, second = stage.filled_topic("a", "b"), stage.filled_topic("c")
    consumer = subscribed(stage, first)
    polled(stage, consumer, 2)
    consumer.subscribe([second])
    stage.record("second", _seen(second, polled(stage, consumer, 1)))
    stage.attempt("commit", consumer.commit_sync, WAIT)
    consumer.subscribe([first, second])
    stage.fill(first, "d")
    stage.record("first", _seen(first, polled(stage, consumer, 1)))


@on_apache()
def closing_accepts_nothing_by_itself_and_commits_what_was_acknowledged(
    kafka: ModuleType, stage: Stage
) -> None:
    topic, group = stage.filled_topic("a", "b", "c"), stage.share_group()
    told: list[Any] = []
    consumer = stage.share_consumer(group_id=group, **EXPLICIT)
    consumer.set_acknowledgement_commit_callback(
        lambda offsets, error: told.append([list(offsets.values()), error])
    )
    consumer.subscribe([topic])
    messages = polled(stage, consumer, 3)
    consumer.acknowledge(messages[0])
    stage.attempt("close", consumer.close)
    stage.record("told", told)
    for label in ("explicit", "implicit"):
        consumer = stage.share_consumer(group_id=group)
        consumer.subscribe([topic])
        stage.record(label, _seen(topic, polled(stage, consumer, 2)))
        stage.attempt("close", consumer.close)


@on_apache()
def acknowledging_judges_the_place_the_mode_the_type_and_then_the_state(
    kafka: ModuleType, stage: Stage
) -> None:
    topic = stage.filled_topic("a", "b")
    for mode in ("explicit", "implicit"):
        consumer = subscribed(stage, topic, share_acknowledgement_mode=mode)
        message = polled(stage, consumer, 2)[0]
        for kind in (0, 1, 3, 4, 9):
            stage.attempt(f"{mode} no topic, {kind}", consumer.acknowledge, kafka.Message(), kind)
            stage.attempt(f"{mode} before all, {kind}", consumer.acknowledge_offset, topic, 0, -1, kind)
            stage.attempt(f"{mode} no partition, {kind}", consumer.acknowledge_offset, topic, -1, 0, kind)
            stage.attempt(f"{mode} unknown, {kind}", consumer.acknowledge_offset, topic, 0, 77, kind)
            stage.attempt(f"{mode} known, {kind}", consumer.acknowledge, message, kind)
        consumer.close()


@on_apache()
def one_poll_gets_no_more_than_may_be_locked_of_a_partition(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    for index in range(250):
        stage.fill(topic, f"{index}")
    consumer = stage.share_consumer(group_id=stage.share_group(share_partition_max_record_locks="100"))
    consumer.subscribe([topic])
    counts: list[int] = []

    def poll() -> None:
        counts.append(len(consumer.poll(0.3)))

    stage.until(lambda: sum(counts) >= 250, poll)
    stage.record("counts", [count for count in counts if count])


@on_apache()
def batches_are_given_out_whole(kafka: ModuleType, stage: Stage) -> None:
    topic = _batches(stage, 3, 40)
    for settings in ({}, EXPLICIT):
        consumer = subscribed(stage, topic, max_poll_records=10, **settings)
        polls: list[tuple[int, int]] = []

        def poll(consumer: Any = consumer, polls: list[Any] = polls, settings: Any = settings) -> None:
            messages = consumer.poll(0.3)
            if messages:
                polls.append((len({m.partition() for m in messages}), len(messages)))
            if settings:
                for message in messages:
                    consumer.acknowledge(message)

        stage.until(lambda polls=polls: sum(count for _, count in polls) >= 120, poll)
        stage.record(f"polls {settings}", polls)
        consumer.close()


@on_apache()
def a_share_consumer_that_polls_too_late_hears_of_it_and_joins_again(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = subscribed(stage, topic, max_poll_interval_ms=1000, **EXPLICIT)
    messages = polled(stage, consumer, 2)
    for message in messages:
        consumer.acknowledge(message)
    time.sleep(2.5)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    stage.attempt("poll", consumer.poll, 0.5)
    stage.attempt("next", lambda: list(consumer.poll(0.5)))
    stage.fill(topic, "c")
    (message,) = polled(stage, consumer, 1)
    stage.record("again a member", _seen(topic, [message]))
    consumer.acknowledge(message)
    stage.attempt("commit", consumer.commit_sync, WAIT)


@on_apache()
def brokers_that_do_not_answer_in_time_are_told_of_by_partition(kafka: ModuleType, stage: Stage) -> None:
    consumer = subscribed(stage, stage.filled_topic("a", "b"), **EXPLICIT)
    told: list[Any] = []
    consumer.set_acknowledgement_commit_callback(
        lambda offsets, error: told.append([list(offsets.values()), error])
    )
    for message in polled(stage, consumer, 2):
        consumer.acknowledge(message)
    stage.attempt("at once", consumer.commit_sync, 0)
    stage.attempt("again", consumer.commit_sync, WAIT)
    stage.until(lambda: told, lambda: consumer.poll(0.1))
    stage.record("told", told)


@on_apache()
def two_share_consumers_that_commit_a_backlog_do_not_wait_for_each_other(
    kafka: ModuleType, stage: Stage
) -> None:
    topic, group = stage.topic(), stage.share_group()
    for _ in range(5):
        stage.fill_at_once(topic, 2000)
    members = [stage.share_consumer(group_id=group, max_poll_records=100) for _ in range(2)]
    for member in members:
        member.subscribe([topic])
    offsets: set[int] = set()

    def poll() -> None:
        for member in members:
            messages = member.poll(1.0)
            offsets.update(message.offset() for message in messages)
            if messages:
                member.commit_sync(WAIT)

    stage.record("in time", stage.until(lambda: len(offsets) >= 10_000, poll, timeout=25))


@on_apache()
def a_topic_that_does_not_exist_gives_nothing(kafka: ModuleType, stage: Stage) -> None:
    consumer = subscribed(stage, stage.name("topic"))
    stage.attempt("poll", lambda: list(consumer.poll(2)))
    stage.attempt("close", consumer.close)
