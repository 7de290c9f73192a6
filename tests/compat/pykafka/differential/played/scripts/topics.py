"""Topics: what there is, and how they come to be."""

from __future__ import annotations

from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka


@on_kafka()
def a_topic_has_its_partitions_with_leaders(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic(partitions=3))
    stage.record("name", topic.name)
    for number, partition in sorted(topic.partitions.items()):
        stage.record("partition", (number, partition.id, partition.leader.id))
        stage.record("replicas", [broker.id for broker in partition.replicas])
        stage.record("in sync", [broker.id for broker in partition.isr])
        stage.record("its topic", partition.topic is topic)


@on_kafka()
def offset_limits_of_a_topic_that_has_messages(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(b"a", b"b", b"c", partitions=2))
    stage.record("earliest", topic.earliest_available_offsets())
    stage.record("latest", topic.latest_available_offsets())
    partition = topic.partitions[0]
    stage.attempt("of a partition", partition.latest_available_offset)
    stage.attempt("earliest of a partition", partition.earliest_available_offset)


@on_kafka()
def a_topic_that_nobody_made_is_made_when_asked_for(pykafka: Any, stage: Any) -> None:
    client = stage.client()
    name = stage.name("topic")
    stage.record("known before", name.encode() in client.topics)
    topic = stage.attempt("asked for", lambda: client.topics[name.encode()].name)
    stage.record("known after", name.encode() in client.topics)
    stage.record("partitions", len(client.topics[name.encode()].partitions))
    stage.record("is one", topic == name.encode())


@on_kafka()
def topics_are_known_by_bytes(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    client = stage.client()
    stage.attempt("by text", lambda: client.topics[name].name)
    stage.attempt("by bytes", lambda: client.topics[name.encode()].name)


@on_kafka()
def a_topic_that_the_program_keeps_is_the_same_one(pykafka: Any, stage: Any) -> None:
    name = stage.topic().encode()
    client = stage.client()
    topic = client.topics[name]
    stage.record("same", client.topics[name] is topic)
    client.update_cluster()
    stage.record("same after an update", client.topics[name] is topic)
    stage.record("among the values", any(each is topic for each in client.topics.values()))
    stage.record("seen by an iteration", name in list(client.topics))


@on_kafka()
def partitions_that_were_added_appear_with_an_update(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    client = stage.client()
    topic = client.topics[name.encode()]
    stage.ask("add_partitions", name, 3)
    stage.record("before", sorted(topic.partitions))
    client.update_cluster()
    stage.record("after", sorted(topic.partitions))
