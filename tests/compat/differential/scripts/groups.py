"""Members of groups: assignments, callbacks and what may be done within them, both protocols."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both
from tests.compat.differential.stage import WAIT, Stage

SOON = 0.3
QUICK = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 200}


def _callbacks(stage: Stage, consumer: Any = None, **settings: Any) -> dict[str, Any]:
    """Records rebalances without naming the consumer."""
    return {
        name: stage.callback(name, leaving_out=[type(consumer)] if consumer is not None else [], **settings)
        for name in ("on_assign", "on_revoke", "on_lost")
    }


def _until_assigned(stage: Stage, consumer: Any, count: int) -> None:
    stage.poll_until(consumer, lambda: len(consumer.assignment()) == count)


@on_both()
def a_member_is_told_of_its_partitions(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    consumer = stage.consumer(**QUICK)
    stage.attempt("subscribe", consumer.subscribe, [topic], **_callbacks(stage, consumer))
    stage.attempt("assignment", consumer.assignment)
    stage.poll_until(consumer, stage.recorded("on_assign"))
    stage.attempt("assignment", lambda: sorted(consumer.assignment()))
    stage.record("member", [type(consumer.memberid()), len(consumer.memberid() or "") > 0])
    stage.attempt("unsubscribe", consumer.unsubscribe)
    stage.poll_until(consumer, stage.recorded("on_revoke"))
    stage.attempt("assignment", consumer.assignment)
    stage.attempt("close", consumer.close)


@on_both()
def closing_tells_of_revoked_partitions(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    consumer = stage.consumer(**QUICK)
    consumer.subscribe([topic], **_callbacks(stage, consumer))
    stage.poll_until(consumer, stage.recorded("on_assign"))
    stage.attempt("close", consumer.close)


@on_both()
def without_callbacks_partitions_are_assigned_alike(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.consumer(**QUICK)
    consumer.subscribe([topic])
    stage.values(consumer, 2)
    stage.attempt("assignment", consumer.assignment)
    stage.attempt("commit", lambda: consumer.commit(asynchronous=False))
    stage.attempt("close", consumer.close)


@on_both()
def on_assign_may_choose_where_to_start(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = stage.consumer(**QUICK)

    def assign(member: Any, partitions: list[Any]) -> None:
        for partition in partitions:
            partition.offset = 2
        member.assign(partitions)

    consumer.subscribe(
        [topic], on_assign=stage.callback("on_assign", then=assign, leaving_out=[type(consumer)])
    )
    stage.values(consumer, 1)
    stage.attempt("assignment", consumer.assignment)


@on_both()
def on_assign_may_call_the_consumer(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = stage.consumer(**QUICK)

    def ask(member: Any, partitions: list[Any]) -> None:
        stage.record("the same", member is consumer)
        stage.attempt("committed", member.committed, partitions, timeout=WAIT)
        stage.attempt("position", member.position, partitions)
        stage.attempt("watermarks", member.get_watermark_offsets, partitions[0], timeout=WAIT)
        stage.attempt("assignment", member.assignment)

    consumer.subscribe([topic], on_assign=ask)
    stage.values(consumer, 1)


@on_both()
def an_exception_of_on_assign_leaves_poll(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    consumer = stage.consumer(**QUICK)
    failing = stage.callback("on_assign", raises=ValueError("mine"), leaving_out=[type(consumer)])
    consumer.subscribe([topic], on_assign=failing)
    stage.within("poll", lambda: stage.until(stage.recorded("on_assign"), lambda: consumer.poll(0.1)))
    stage.attempt("assignment", consumer.assignment)


@on_both()
def an_exception_of_on_revoke_leaves_close(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    consumer = stage.consumer(**QUICK)
    failing = stage.callback("on_revoke", raises=ValueError("mine"), leaving_out=[type(consumer)])
    consumer.subscribe([topic], on_revoke=failing)
    _until_assigned(stage, consumer, 1)
    stage.attempt("close", consumer.close)
    stage.attempt("close again", consumer.close)


@on_both()
def two_members_share_the_partitions(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=4)
    group = stage.group()
    members = [stage.consumer(group_id=group, **QUICK) for _ in range(2)]
    for member in members:
        member.subscribe([topic])

    def poll() -> None:
        for member in members:
            member.poll(0.05)

    stage.until(lambda: [len(member.assignment()) for member in members] == [2, 2], poll)
    partitions = sorted(partition.partition for member in members for partition in member.assignment())
    stage.record("partitions", partitions)
    members[1].close()
    stage.until(lambda: len(members[0].assignment()) == 4, lambda: members[0].poll(0.05))
    stage.attempt("assignment", lambda: sorted(members[0].assignment()))


def _rebalance(kafka: ModuleType, stage: Stage, **settings: Any) -> None:
    """The callbacks of the first member when a second comes and goes."""
    topic = stage.topic(partitions=4)
    group = stage.group()
    first = stage.consumer(group_id=group, **settings)
    first.subscribe([topic], **_sorted_callbacks(stage, first))
    stage.poll_until(first, lambda: len(first.assignment()) == 4)
    second = stage.consumer(group_id=group, **settings)
    second.subscribe([topic])

    def poll() -> None:
        stage.within("poll", first.poll, 0.05)
        second.poll(0.05)

    stage.until(lambda: len(first.assignment()) == 2 and len(second.assignment()) == 2, poll)
    second.close()
    stage.until(lambda: len(first.assignment()) == 4, lambda: stage.within("poll", first.poll, 0.05))
    stage.attempt("close", first.close)


def _sorted_callbacks(stage: Stage, consumer: Any) -> dict[str, Any]:
    """How many partitions each rebalance is about: which ones is the assignor's choice."""

    def counting(name: str) -> Any:
        recorded = stage.callback(name)
        return lambda member, partitions: recorded(f"{len(partitions)} partitions")

    return {name: counting(name) for name in ("on_assign", "on_revoke", "on_lost")}


@on_both()
def eager_rebalances_take_everything_away_first(kafka: ModuleType, stage: Stage) -> None:
    _rebalance(kafka, stage, partition_assignment_strategy="range", **QUICK)


@on_both()
def cooperative_rebalances_take_away_what_moves(kafka: ModuleType, stage: Stage) -> None:
    _rebalance(kafka, stage, partition_assignment_strategy="cooperative-sticky", **QUICK)


@on_apache()
def rebalances_of_the_new_protocol_take_away_what_moves(kafka: ModuleType, stage: Stage) -> None:
    _rebalance(kafka, stage, group_protocol="consumer")


@on_apache()
def a_member_by_the_new_protocol_reads_and_commits(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.consumer(group_protocol="consumer", on_commit=stage.callback("on_commit"))
    consumer.subscribe([topic], **_callbacks(stage, consumer))
    stage.values(consumer, 2)
    stage.attempt("commit", lambda: consumer.commit(asynchronous=False))
    stage.attempt("commit later", consumer.commit)
    stage.poll_until(consumer, stage.recorded("on_commit"))
    stage.record("member", len(consumer.memberid()) > 0)
    stage.attempt("close", consumer.close)


@on_both()
def cooperative_members_may_assign_by_themselves(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    consumer = stage.consumer(partition_assignment_strategy="cooperative-sticky", **QUICK)

    def assign(member: Any, partitions: list[Any]) -> None:
        stage.attempt("eager assign", member.assign, partitions)
        stage.attempt("incremental assign", member.incremental_assign, partitions)

    def revoke(member: Any, partitions: list[Any]) -> None:
        stage.attempt("eager unassign", member.unassign)
        stage.attempt("incremental unassign", member.incremental_unassign, partitions)

    consumer.subscribe([topic], on_assign=assign, on_revoke=revoke)
    _until_assigned(stage, consumer, 2)
    stage.attempt("close", consumer.close)


@on_both()
def eager_members_may_not_assign_step_by_step(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    consumer = stage.consumer(partition_assignment_strategy="range", **QUICK)

    def assign(member: Any, partitions: list[Any]) -> None:
        stage.attempt("incremental assign", member.incremental_assign, partitions)
        stage.attempt("assign", member.assign, partitions)

    def revoke(member: Any, partitions: list[Any]) -> None:
        stage.attempt("incremental unassign", member.incremental_unassign, partitions)
        stage.attempt("unassign", member.unassign)

    consumer.subscribe([topic], on_assign=assign, on_revoke=revoke)
    _until_assigned(stage, consumer, 2)
    stage.attempt("close", consumer.close)


@on_both()
def a_pattern_subscribes_to_what_it_matches(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    consumer = stage.consumer(topic_metadata_refresh_interval_ms=500, **QUICK)
    consumer.subscribe([f"^{topic[:-2]}.*"])
    _until_assigned(stage, consumer, 2)
    stage.attempt("assignment", lambda: sorted(consumer.assignment()))


@on_both()
def a_pattern_matches_kafkas_own_topics_too(kafka: ModuleType, stage: Stage) -> None:
    reader = stage.consumer(**QUICK)
    reader.subscribe([stage.topic()])
    _until_assigned(stage, reader, 1)
    reader.close()
    consumer = stage.consumer(**QUICK)
    consumer.subscribe(["^__consumer_off.*"])
    # What is in them is as it comes.
    stage.until(consumer.assignment, lambda: consumer.poll(0.1))
    stage.attempt("topics", lambda: {partition.topic for partition in consumer.assignment()})


@on_both()
def subscribing_to_nothing_is_refused(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    consumer = stage.consumer(**QUICK)
    consumer.subscribe([topic])
    _until_assigned(stage, consumer, 1)
    stage.attempt("subscribe to nothing", consumer.subscribe, [])
    stage.attempt("assignment", consumer.assignment)


@on_both()
def topics_that_do_not_exist_are_told_of(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer(allow_auto_create_topics=False, **QUICK)
    consumer.subscribe([stage.name("unknown")])
    for message in stage.messages(consumer, 1):
        stage.record("message", message)


@on_both()
def subscribing_again_changes_the_assignment(kafka: ModuleType, stage: Stage) -> None:
    first, second = stage.topic(), stage.topic()
    consumer = stage.consumer(**QUICK)
    callbacks = _callbacks(stage, consumer)
    consumer.subscribe([first], **callbacks)
    stage.poll_until(consumer, stage.recorded("on_assign"))
    consumer.subscribe([second], **callbacks)
    stage.poll_until(consumer, stage.recorded("on_assign", 2))
    stage.attempt("assignment", consumer.assignment)


@on_both()
def a_static_member_keeps_its_partitions_over_a_restart(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    group, instance = stage.group(), stage.name("instance")
    for _ in range(2):
        consumer = stage.consumer(group_id=group, group_instance_id=instance, **QUICK)
        consumer.subscribe([topic])
        _until_assigned(stage, consumer, 2)
        stage.attempt("assignment", lambda c=consumer: sorted(c.assignment()))
        stage.attempt("close", consumer.close)


@on_both()
def group_metadata_is_for_transactions(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer(**QUICK)
    metadata = stage.within("metadata", consumer.consumer_group_metadata)
    stage.record("type", type(metadata).__name__)
    stage.attempt("positional", consumer.consumer_group_metadata, 1)


@on_both()
def a_member_that_polls_too_rarely_is_told_so(kafka: ModuleType, stage: Stage) -> None:
    import threading

    topic = stage.topic()
    consumer = stage.consumer(max_poll_interval_ms=2500, session_timeout_ms=2500, heartbeat_interval_ms=200)
    is_lost = stage.recorded("on_lost")
    # The same poll may already bring partitions again.
    consumer.subscribe([topic], **_callbacks(stage, consumer, until=is_lost))
    stage.poll_until(consumer, stage.recorded("on_assign"))
    threading.Event().wait(3.2)
    for message in stage.messages(consumer, 1):
        stage.record("message", [message.error().code(), message.error().name(), message.topic()])
    stage.poll_until(consumer, stage.recorded("on_lost"))


@on_both()
def messages_of_a_revoked_partition_cannot_be_committed(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.consumer(**QUICK)
    consumer.subscribe([topic])
    message = stage.messages(consumer, 1)[0]
    consumer.unsubscribe()
    stage.until(lambda: not consumer.assignment(), lambda: consumer.poll(0.05))
    stage.attempt("store", lambda: consumer.store_offsets(message=message))
    stage.attempt("seek", consumer.seek, kafka.TopicPartition(topic, 0, 0))
    stage.attempt("position", consumer.position, [kafka.TopicPartition(topic, 0)])


@on_both()
def patterns_of_subscriptions_are_those_of_posix(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    # So much of its name that no other topic of the cluster has it.
    start, end = topic[:-6], topic[-6:]
    for pattern in (
        f"^{start}[[:alnum:]]+$",
        f"^{start}[[:xdigit:]]{{6}}$",
        f"^topic-[^-]*{end}",
        rf"^{start}\w{{6}}",
        f"^({start}){end}$",
        f"^nothing|{end}$",
    ):
        consumer = stage.consumer(heartbeat_interval_ms=200)
        consumer.subscribe([pattern])
        [message] = [found for found in stage.messages(consumer, 1) if found.topic() == topic]
        stage.record("read", message.value())
        consumer.close()


@on_both()
def topics_of_the_blacklist_are_as_if_they_were_not_there(kafka: ModuleType, stage: Stage) -> None:
    shown, hidden = stage.filled_topic("a"), stage.filled_topic("b")
    settings = {"topic_blacklist": f"nothing,{hidden[-6:]}$"}
    producer = stage.producer(message_timeout_ms=2000, on_delivery=stage.callback("report"), **settings)
    for topic in (shown, hidden):
        producer.produce(topic, b"c")
    stage.attempt("flush", producer.flush, 30)
    stage.record("listed", hidden in producer.list_topics(timeout=30).topics)
    consumer = stage.consumer(heartbeat_interval_ms=200, **settings)
    consumer.subscribe([f"^({shown}|{hidden})$"])
    for message in stage.messages(consumer, 2):
        stage.record("message", [message.topic(), message.value()])
    stage.attempt("assignment", consumer.assignment)


@on_both()
def partitions_are_paused_within_on_assign(kafka: ModuleType, stage: Stage) -> None:
    def pause(consumer: Any, partitions: list[Any]) -> None:
        stage.attempt("pause", consumer.pause, [p for p in partitions if p.partition == 0])

    def assign(consumer: Any, partitions: list[Any]) -> None:
        stage.attempt("assign", consumer.assign, partitions)

    for label, steps in {
        "pause": [pause],
        "pause, then assign": [pause, assign],
        "assign, then pause": [assign, pause],
    }.items():
        topic = stage.topic(partitions=2)
        stage.fill(topic, "paused 1", "paused 2")
        stage.fill(topic, "read 1", "read 2", partition=1)

        def on_assign(consumer: Any, partitions: list[Any], steps: list[Any] = steps) -> None:
            for step in steps:
                step(consumer, partitions)

        consumer = stage.consumer()
        consumer.subscribe([topic], on_assign=on_assign)
        seen: list[bytes] = []

        def step(consumer: Any = consumer, seen: list[bytes] = seen) -> None:
            message = consumer.poll(SOON)
            if message is not None:
                seen.append(message.error() or message.value())

        stage.until(lambda seen=seen: {b"read 1", b"read 2"} <= set(seen), step)
        for _ in range(3):
            step()
        stage.record(label, sorted(seen))
        consumer.resume([kafka.TopicPartition(topic, 0)])
        stage.until(lambda seen=seen: len(seen) >= 4, step)
        stage.record("resumed", sorted(seen))


@on_both()
def what_is_committed_is_asked_within_on_revoke(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")

    def on_revoke(consumer: Any, partitions: list[Any]) -> None:
        stage.attempt("committed", consumer.committed, partitions, timeout=WAIT)
        stage.attempt("position", consumer.position, partitions)
        stage.attempt("assignment", consumer.assignment)
        stage.attempt("watermarks", consumer.get_watermark_offsets, partitions[0], timeout=WAIT)
        stage.attempt("commit", lambda: consumer.commit(offsets=partitions_at(2), asynchronous=False))
        stage.attempt("committed then", consumer.committed, partitions, timeout=WAIT)

    def partitions_at(offset: int) -> list[Any]:
        return [kafka.TopicPartition(topic, 0, offset)]

    # While it closes, the original gets no answer.
    group = stage.group()
    consumer = stage.consumer(group_id=group)
    consumer.subscribe([topic], on_revoke=on_revoke)
    stage.values(consumer, 1)
    consumer.commit(asynchronous=False)
    stage.attempt("unsubscribe", consumer.unsubscribe)
    stage.until(stage.recorded("committed then"), lambda: consumer.poll(SOON))
    another = stage.consumer(group_id=group)
    stage.attempt("afterwards", another.committed, partitions_at(0), timeout=WAIT)


def _read_beside_paused(kafka: ModuleType, stage: Stage, topic: str, consumer: Any) -> None:
    first, second = (kafka.TopicPartition(topic, number, 0) for number in range(2))
    stage.attempt("pause", consumer.pause, [first])
    consumer.assign([first, second])
    seen: list[bytes] = []

    def step() -> None:
        seen.extend(message.value() for message in consumer.consume(2, SOON))

    stage.until(lambda: b"read" in seen, step)
    step()
    stage.record("seen", sorted(seen))


@on_both()
def partitions_are_paused_before_they_are_assigned(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("paused", partitions=2)
    stage.fill(topic, "read", partition=1)
    consumer = stage.consumer()
    _read_beside_paused(kafka, stage, topic, consumer)
    consumer.unassign()
    _read_beside_paused(kafka, stage, topic, consumer)
    consumer = stage.consumer()
    stage.attempt("position", consumer.position, [kafka.TopicPartition(topic, 0)])
    _read_beside_paused(kafka, stage, topic, consumer)
