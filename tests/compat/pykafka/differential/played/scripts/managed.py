"""Managed balanced consumers: groups by Kafka's own membership."""

from __future__ import annotations

from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka

FOUR = 4


def joining(stage: Any, topic: Any, group: str, **settings: Any) -> Any:
    given = {"managed": True, "consumer_timeout_ms": 3000, "heartbeat_interval_ms": 200}
    return stage.stopping(topic.get_balanced_consumer(group.encode(), **{**given, **settings}))


def settled(stage: Any, members: list[Any]) -> None:
    stage.until(lambda: sorted(n for member in members for n in member.partitions) == list(range(FOUR)))


@on_kafka()
def one_managed_consumer_has_all_partitions(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.filled_topic(b"a", b"b", partitions=FOUR)), stage.group()
    one = joining(stage, topic, group)
    stage.record("partitions", sorted(one.partitions))
    stage.record("generation", one._generation_id)
    stage.record("id", one._consumer_id.startswith(b"pykafka-"))
    stage.record("held", one.held_offsets)
    stage.record("messages", [message.value for message in one])
    stage.record("shown", repr(one))
    one.stop()
    stage.attempt("consume", one.consume)


@on_kafka()
def two_managed_consumers_share_and_one_leaves(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    one, two = joining(stage, topic, group), joining(stage, topic, group)
    settled(stage, [one, two])
    stage.record("shares", sorted([sorted(one.partitions), sorted(two.partitions)]))
    stage.record("one generation", one._generation_id == two._generation_id)
    one.stop()
    settled(stage, [two])
    stage.record("who stayed", sorted(two.partitions))


@on_kafka()
def two_managed_consumers_by_round_robin(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    protocol = stage.module("membershipprotocol").RoundRobinProtocol
    members = [joining(stage, topic, group, membership_protocol=protocol) for _ in range(2)]
    settled(stage, members)
    stage.record("shares", sorted(sorted(member.partitions) for member in members))


@on_kafka()
def the_callback_of_a_managed_consumer_hears_of_each_generation(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    heard: list[Any] = []
    one = joining(stage, topic, group, post_rebalance_callback=lambda _, b, a: heard.append((len(b), len(a))))
    two = joining(stage, topic, group)
    settled(stage, [one, two])
    stage.record("how many each time", heard)


@on_kafka()
def a_managed_consumer_commits_when_another_comes(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", b"b", b"c", b"d", partitions=FOUR)
    topic, group = stage.topic_of(name), stage.group()
    one = joining(stage, topic, group)
    stage.record("first", [one.consume().value for _ in range(3)])
    two = joining(stage, topic, group)
    settled(stage, [one, two])
    stage.record("committed", stage.ask("committed", group, name, 0)[0])


@on_kafka()
def a_managed_consumer_commits_by_hand(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", b"b", b"c", partitions=FOUR)
    topic, group = stage.topic_of(name), stage.group()
    one = joining(stage, topic, group)
    stage.record("first", [one.consume().value for _ in range(2)])
    stage.attempt("commit", one.commit_offsets)
    stage.record("committed", stage.ask("committed", group, name, 0)[0])
    stage.attempt("reset", lambda: one.reset_offsets([(topic.partitions[0], 0)]))
    stage.record("then", one.consume().value)


@on_kafka()
def the_coordinators_errors_have_their_handlers(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    one = joining(stage, topic, group)
    stage.record("codes", sorted(one._default_error_handlers))
    for code in (14, 15, 16, 22, 27, 25, 24, 30):
        stage.attempt(f"code {code}", one._handle_error, code)


@on_kafka()
def a_managed_consumer_does_not_know_rdkafka(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic(partitions=FOUR))
    stage.attempt("asked for", lambda: topic.get_balanced_consumer(b"g", managed=True, use_rdkafka=True))


@on_kafka()
def a_managed_consumer_that_was_not_started(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    one = topic.get_balanced_consumer(group.encode(), managed=True, auto_start=False)
    stage.record("partitions", one.partitions)
    stage.record("held", one.held_offsets)
    stage.attempt("commit", one.commit_offsets)
    stage.attempt("reset", one.reset_offsets)


@on_kafka()
def the_members_of_a_managed_group_are_described(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic_of(stage.topic(partitions=FOUR)), stage.group()
    one = joining(stage, topic, group)
    described = topic._cluster.get_managed_group_descriptions()[group.encode()]
    stage.record("group", (described.state, described.protocol_type, described.protocol))
    stage.record("members", len(described.members))
    member = described.members[one._consumer_id]
    stage.record("subscription", member.member_metadata.topic_names)
    stage.record("user data", member.member_metadata.user_data)
    stage.record(
        "assignment",
        [(name, sorted(numbers)) for name, numbers in member.member_assignment.partition_assignment],
    )
