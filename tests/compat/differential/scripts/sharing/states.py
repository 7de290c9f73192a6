"""A ShareConsumer in one state after another: what may be acknowledged when, and what becomes of it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.scripts.sharing.callbacks import filled
from tests.compat.differential.scripts.sharing.records import EXPLICIT, polled, subscribed
from tests.compat.differential.stage import WAIT, Stage


def _attempt_all(kafka: ModuleType, stage: Stage, label: str, consumer: Any, message: Any) -> None:
    """Every kind of acknowledgement, by the message and by its place, the last of which decides."""
    kinds = kafka.AcknowledgeType
    place = message.topic(), message.partition(), message.offset()
    for kind in (kinds.REJECT, kinds.RELEASE, kinds.ACCEPT):
        stage.attempt(f"{label}: {kind.name}", consumer.acknowledge, message, kind)
        stage.attempt(f"{label}: {kind.name} by place", consumer.acknowledge_offset, *place, kind)


def _left_for_others(stage: Stage, topic: str, group: str, count: int) -> None:
    """Which records come to another member of the group."""
    other = stage.share_consumer(group_id=group)
    other.subscribe([topic])
    found = polled(stage, other, count) if count else list(other.poll(1))
    stage.record("left", sorted([m.partition(), m.offset(), m.delivery_count()] for m in found))
    stage.attempt("nothing else", lambda: len(other.poll(0.5)))
    other.close()


@on_apache()
def a_message_is_acknowledged_from_its_poll_until_its_commit(kafka: ModuleType, stage: Stage) -> None:
    topic, group = filled(stage, 3), stage.share_group()
    consumer = stage.share_consumer(group_id=group, **EXPLICIT)
    first = kafka.Message(topic, 0, 0)
    _attempt_all(kafka, stage, "before subscribing", consumer, first)
    consumer.subscribe([topic])
    _attempt_all(kafka, stage, "before the poll", consumer, first)
    messages = polled(stage, consumer, 3)
    _attempt_all(kafka, stage, "after the poll", consumer, messages[0])
    _attempt_all(kafka, stage, "made by the program", consumer, kafka.Message(topic, 0, 1))
    _attempt_all(kafka, stage, "of another partition", consumer, kafka.Message(topic, 1, 1))
    _attempt_all(kafka, stage, "of another topic", consumer, kafka.Message("other", 0, 1))
    stage.attempt("commit", consumer.commit_sync, WAIT)
    _attempt_all(kafka, stage, "after the commit", consumer, messages[0])
    _attempt_all(kafka, stage, "not committed", consumer, messages[2])
    stage.attempt("commit later", consumer.commit_async)
    _attempt_all(kafka, stage, "after the commit without waiting", consumer, messages[2])
    stage.attempt("poll", lambda: list(consumer.poll(0.3)))
    _attempt_all(kafka, stage, "after the next poll", consumer, messages[2])
    consumer.unsubscribe()
    _attempt_all(kafka, stage, "after unsubscribing", consumer, messages[1])
    consumer.close()
    _attempt_all(kafka, stage, "after the end", consumer, messages[1])
    _left_for_others(stage, topic, group, 0)


@on_apache()
def what_another_member_was_given_is_not_acknowledged_here(kafka: ModuleType, stage: Stage) -> None:
    topic, group = filled(stage, 2), stage.share_group()
    mine, other = (stage.share_consumer(group_id=group, **EXPLICIT) for _ in range(2))
    mine.subscribe([topic])
    message = polled(stage, mine, 2)[0]
    other.subscribe([topic])
    stage.attempt("nothing left", lambda: list(other.poll(0.5)))
    _attempt_all(kafka, stage, "other", other, message)
    stage.attempt("commit of nothing", other.commit_sync, WAIT)
    _attempt_all(kafka, stage, "mine", mine, message)
    stage.attempt("commit", mine.commit_sync, WAIT)
    mine.close()
    stage.record("then", [[m.offset(), m.delivery_count()] for m in polled(stage, other, 1)])


@on_apache()
def acknowledgements_take_keywords_and_numbers(kafka: ModuleType, stage: Stage) -> None:
    topic = filled(stage, 8)
    consumer = subscribed(stage, topic, **EXPLICIT)
    messages = polled(stage, consumer, 8)
    for arguments, keywords in (
        ((), {"message": messages[0]}),
        ((messages[0],), {"ack_type": 1}),
        ((messages[0],), {"acknowledge_type": 1}),
        ((messages[0],), {"type": 1}),
        ((messages[0],), {"message": messages[0]}),
        ((messages[1], True), {}),
        ((messages[1], False), {}),
        ((messages[1], 1.0), {}),
        ((messages[1], None), {}),
        ((messages[1], 2**31), {}),
        ((messages[1], -1), {}),
        ((messages[1], 1, 1), {}),
        ((messages[1:3],), {}),
        ((None,), {}),
    ):
        label = f"{[type(a).__name__ for a in arguments]} {sorted(keywords)}"
        stage.attempt(f"acknowledge{label}", consumer.acknowledge, *arguments, **keywords)
    for arguments, keywords in (
        ((), {"topic": topic, "partition": 0, "offset": 3}),
        ((topic, 0, 4), {"ack_type": 2}),
        ((topic, 0, 4, 1, 1), {}),
        ((topic, 0, 2**63), {}),
        ((topic, 2**31, 4), {}),
        ((topic, True, 4), {}),
        ((topic.encode(), 0, 4), {}),
        ((f"{topic}\0", 0, 4), {}),
        ((None, 0, 4), {}),
        (("", 0, 4), {}),
        ((topic, 0, 4.0), {}),
        ((topic, 0, -1001), {}),
    ):
        label = f"{[type(a).__name__ for a in arguments]} {sorted(keywords)}"
        stage.attempt(f"acknowledge_offset{label}", consumer.acknowledge_offset, *arguments, **keywords)


@on_apache()
def each_way_to_end_leaves_these_to_others(kafka: ModuleType, stage: Stage) -> None:
    kinds = kafka.AcknowledgeType
    for label, mode, decided, left in (
        ("explicit, all accepted", EXPLICIT, (kinds.ACCEPT,) * 3, 0),
        ("explicit, each in its way", EXPLICIT, (kinds.ACCEPT, kinds.RELEASE, kinds.REJECT), 1),
        ("explicit, one only", EXPLICIT, (kinds.REJECT,), 2),
        ("explicit, none", EXPLICIT, (), 3),
        ("implicit", {}, (), 3),
    ):
        topic, group = filled(stage, 3), stage.share_group()
        consumer = stage.share_consumer(group_id=group, **mode)
        told: list[Any] = []
        consumer.set_acknowledgement_commit_callback(
            lambda offsets, error, told=told: told.append([list(offsets.values()), error])
        )
        consumer.subscribe([topic])
        for message, kind in zip(polled(stage, consumer, 3), decided, strict=False):
            consumer.acknowledge(message, kind)
        stage.attempt(f"{label}: close", consumer.close)
        stage.record(f"{label}: told", told)
        _left_for_others(stage, topic, group, left)


@on_apache()
def commits_without_waiting_come_before_the_end(kafka: ModuleType, stage: Stage) -> None:
    for mode in ({}, EXPLICIT):
        topic, group = filled(stage, 4), stage.share_group()
        consumer = stage.share_consumer(group_id=group, **mode)
        consumer.subscribe([topic])
        messages = polled(stage, consumer, 4)
        for message in messages[:2] if mode else ():
            consumer.acknowledge(message)
        stage.attempt("commit later", consumer.commit_async)
        stage.attempt("once more", consumer.commit_async)
        stage.attempt("wait", consumer.commit_sync, WAIT)
        stage.attempt("close", consumer.close)
        _left_for_others(stage, topic, group, 2 if mode else 0)


@on_apache()
def members_of_both_modes_share_a_group(kafka: ModuleType, stage: Stage) -> None:
    topic, group = filled(stage, 2), stage.share_group()
    explicit = stage.share_consumer(group_id=group, **EXPLICIT)
    implicit = stage.share_consumer(group_id=group, share_acknowledgement_mode="implicit")
    explicit.subscribe([topic])
    messages = polled(stage, explicit, 2)
    explicit.acknowledge(messages[0], kafka.AcknowledgeType.RELEASE)
    explicit.acknowledge(messages[1])
    stage.attempt("commit", explicit.commit_sync, WAIT)
    explicit.unsubscribe()
    implicit.subscribe([topic])
    again = polled(stage, implicit, 1)
    stage.record("again", [[m.offset(), m.delivery_count()] for m in again])
    stage.attempt("acknowledge", implicit.acknowledge, again[0])
    stage.attempt("by place", implicit.acknowledge_offset, topic, 0, 0)
    stage.attempt("the first member", explicit.acknowledge, messages[0])
    stage.attempt("commit", implicit.commit_sync, WAIT)
    stage.attempt("once more", implicit.commit_sync, WAIT)


@script()
def a_share_consumers_mode_is_one_of_two(kafka: ModuleType, stage: Stage) -> None:
    for given in ("explicit", "implicit", "Explicit", "IMPLICIT", " explicit", "", "none", 1, True, None):
        settings = {"group.id": "g", "log_level": 0, "share.acknowledgement.mode": given}
        consumer = stage.within(f"{given!r}", kafka.ShareConsumer, settings)
        if consumer is not None:
            stage.attempt(f"{given!r}: acknowledge", consumer.acknowledge_offset, "t", 0, 0)
            consumer.close()
    settings = {"group.id": "g", "log_level": 0, "share.acknowledgement.mode": "explicit"}
    stage.attempt("Consumer", lambda: kafka.Consumer(settings).close())


@script()
def properties_of_other_clients_are_refused_by_a_share_consumer(kafka: ModuleType, stage: Stage) -> None:
    for name, value in (
        ("auto.offset.reset", "earliest"),
        ("enable.auto.commit", True),
        ("enable.auto.commit", False),
        ("auto.commit.interval.ms", 100),
        ("enable.auto.offset.store", False),
        ("group.instance.id", "i"),
        ("group.protocol", "consumer"),
        ("group.protocol", "classic"),
        ("group.protocol", "share"),
        ("group.remote.assignor", "uniform"),
        ("partition.assignment.strategy", "range"),
        ("session.timeout.ms", 6000),
        ("heartbeat.interval.ms", 1000),
        ("isolation.level", "read_committed"),
        ("enable.partition.eof", True),
        ("max.poll.records", 0),
        ("max.poll.records", -1),
        ("max.poll.records", "many"),
        ("max.poll.interval.ms", 0),
        ("fetch.min.bytes", 10),
        ("linger.ms", 5),
        ("acks", "all"),
        ("transactional.id", "t"),
        ("enable.idempotence", True),
        ("default.topic.config", {"auto.offset.reset": "earliest"}),
        ("on_commit", print),
        ("group.id", 3),
    ):
        settings = {"group.id": "g", "log_level": 0, name: value}
        label = f"{name}={stage.text(value)}"
        consumer = stage.within(label, kafka.ShareConsumer, settings)
        if consumer is not None:
            stage.attempt(f"{label}: close", consumer.close)


@on_apache()
def topics_that_come_later_are_read_beside_those_that_are_there(kafka: ModuleType, stage: Stage) -> None:
    topic, missing = filled(stage, 1), stage.name("topic")
    consumer = stage.share_consumer(
        group_id=stage.share_group(), topic_metadata_refresh_interval_ms=200, error_cb=stage.callback("error")
    )
    consumer.subscribe([topic, missing])
    stage.record("there", [m.value() for m in polled(stage, consumer, 1)])
    stage.attempt("nothing else", lambda: list(consumer.poll(1)))
    stage.attempt("subscription", lambda: set(consumer.subscription()))
    stage.create(missing)
    stage.fill(missing, "late")
    stage.record("late", [m.value() for m in polled(stage, consumer, 1)])


@on_apache()
def names_that_no_topic_can_have_give_nothing(kafka: ModuleType, stage: Stage) -> None:
    for name in ("a b", "x" * 250, "..", "t\u00e9", "^a.*"):
        errors: list[Any] = []
        consumer = stage.share_consumer(group_id=stage.share_group(), error_cb=errors.append)
        stage.attempt(f"subscribe {name[:5]}", consumer.subscribe, [name])
        stage.attempt("poll", lambda consumer=consumer: list(consumer.poll(1)))
        stage.attempt("poll again", lambda consumer=consumer: list(consumer.poll(1)))
        stage.record("errors", errors)
        stage.attempt("subscription", consumer.subscription)
        stage.attempt("close", consumer.close)


@on_apache()
def a_topic_that_is_deleted_ends_no_poll(kafka: ModuleType, stage: Stage) -> None:
    topic = filled(stage, 1)
    errors: list[Any] = []
    consumer = subscribed(stage, topic, error_cb=errors.append)
    polled(stage, consumer, 1)
    stage.delete(topic)
    stage.attempt("poll", lambda: list(consumer.poll(2)))
    stage.attempt("poll again", lambda: list(consumer.poll(1)))
    stage.attempt("subscription", consumer.subscription)
    stage.create(topic)
    stage.fill(topic, "anew")
    stage.record("made anew", [m.value() for m in polled(stage, consumer, 1)])
    stage.record("errors", errors)


@script()
def waits_of_a_share_consumer_are_numbers_of_all_kinds(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.share_consumer()
    consumer.subscribe(["t"])
    for given in (0, 0.0, -0.0, False, 10**400, "1", None, 1j, [], b"1"):
        stage.attempt(f"poll {str(given)[:9]}", lambda given=given: list(consumer.poll(given)))
        stage.attempt(f"commit {str(given)[:9]}", consumer.commit_sync, given)
    for name in ("timeout", "timeout_s", "seconds"):
        stage.attempt(f"poll by {name}", lambda name=name: list(consumer.poll(**{name: 0})))
        stage.attempt(f"commit by {name}", lambda name=name: consumer.commit_sync(**{name: 0}))
    for given in (float("nan"), float("inf"), 1e300, -5):
        stage.attempt(f"commit {given}", consumer.commit_sync, given)


@on_apache()
def subscriptions_change_between_polls(kafka: ModuleType, stage: Stage) -> None:
    first, second, third = (filled(stage, 1) for _ in range(3))
    consumer = stage.share_consumer(group_id=stage.share_group())
    consumer.subscribe([first])
    stage.record("first", [m.topic() for m in polled(stage, consumer, 1)])
    consumer.subscribe([second])
    consumer.subscribe([third])
    stage.record("third", [m.topic() for m in polled(stage, consumer, 1)])
    consumer.unsubscribe()
    stage.attempt("unsubscribed", consumer.poll, 0.1)
    consumer.subscribe([second])
    stage.record("second", [m.topic() for m in polled(stage, consumer, 1)])
    consumer.subscribe([])
    stage.attempt("no topics", consumer.poll, 0.1)
    stage.attempt("commit", consumer.commit_sync, WAIT)
    for topic in (first, second, third):
        stage.fill(topic, "more")
    consumer.subscribe([first, second, third])
    stage.record("all", {m.topic() for m in polled(stage, consumer, 3)})


@on_apache()
def an_exception_within_the_block_ends_a_share_consumer(kafka: ModuleType, stage: Stage) -> None:
    topic, group = filled(stage, 2), stage.share_group()
    settings = {"bootstrap.servers": stage.bootstrap, "group.id": group, "log_level": 0}

    def work() -> None:
        with kafka.ShareConsumer({**settings, "share.acknowledgement.mode": "explicit"}) as consumer:
            consumer.subscribe([topic])
            consumer.acknowledge(polled(stage, consumer, 2)[0])
            raise ValueError("mine")

    stage.attempt("work", work)
    _left_for_others(stage, topic, group, 1)
