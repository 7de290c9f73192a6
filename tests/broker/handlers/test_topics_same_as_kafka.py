"""Topics are made, made larger, described, emptied and deleted: Apache Kafka and the embedded broker are
asked the same, and say the same."""

from __future__ import annotations

import uuid

import pytest
from tests.broker.conftest import batch_of, values
from tests.broker.in_process import produce_request

from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .dialogue import Dialogue, Scenario, play

UNKNOWN_ID = uuid.UUID("11111111-2222-3333-4444-555555555555")
TIMEOUT_MS = 30_000
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__.removeprefix("when_").replace("_", " ")] = function
    return function


def new_topic(
    name: str,
    partitions: int = -1,
    replication_factor: int = -1,
    assignments: dict[int, list[int]] | None = None,
    **configs: str | None,
) -> CreateTopicsRequest.CreatableTopic:
    return CreateTopicsRequest.CreatableTopic(
        name,
        partitions,
        replication_factor,
        [CreateTopicsRequest.CreatableReplicaAssignment(*each) for each in (assignments or {}).items()],
        [
            CreateTopicsRequest.CreatableTopicConfig(key.replace("_", "."), value)
            for key, value in configs.items()
        ],
    )


def grown(
    name: str, count: int, assignments: list[list[int]] | None = None
) -> CreatePartitionsRequest.CreatePartitionsTopic:
    return CreatePartitionsRequest.CreatePartitionsTopic(
        name,
        count,
        None
        if assignments is None
        else [CreatePartitionsRequest.CreatePartitionsAssignment(replicas) for replicas in assignments],
    )


@scenario
async def when_topics_are_made(dialogue: Dialogue) -> None:
    made, configured, assigned = map(dialogue.name, ("made", "configured", "assigned"))
    for version in (2, 4, 5, 6, 7):
        topics = [new_topic(made, 2, 1)]
        await dialogue.ask(CreateTopicsRequest(topics=topics, validate_only=True), version)
    await dialogue.ask(CreateTopicsRequest(topics=[new_topic(made, 2, 1)]), 6)
    await dialogue.until_there(made, 2)
    await dialogue.ask(CreateTopicsRequest(topics=[new_topic(made, 2, 1)]))
    settings = {"retention_ms": "1000", "cleanup_policy": "compact", "max_message_bytes": "2000"}
    await dialogue.ask(CreateTopicsRequest(topics=[new_topic(configured, **settings)]), 6)
    await dialogue.ask(CreateTopicsRequest(topics=[new_topic(assigned, assignments={0: [1], 1: [1]})]), 6)
    await dialogue.ask(CreateTopicsRequest(topics=[]), 7)


@scenario
async def when_topics_cannot_be_made(dialogue: Dialogue) -> None:
    name = dialogue.name("refused")
    wrong = [
        *(new_topic(each, 1, 1) for each in ("", ".", "..", "a b", "é", "a" * 249, "a" * 250, "a/b")),
        *(new_topic(name, partitions, 1) for partitions in (0, -2)),
        *(new_topic(name, 1, copies) for copies in (0, -2, 2, 3)),
        new_topic(name, -1, -1, {0: [2]}),
        new_topic(name, -1, -1, {0: [1, 1]}),
        new_topic(name, -1, -1, {0: []}),
        new_topic(name, -1, -1, {1: [1]}),
        new_topic(name, -1, -1, {0: [1], 2: [1]}),
        new_topic(name, -1, -1, {0: [-1]}),
        new_topic(name, 1, -1, {0: [1]}),
        new_topic(name, -1, 1, {0: [1]}),
        new_topic(name, 2, 1, {0: [1]}),
        new_topic(name, nonsense="1"),
        new_topic(name, retention_ms="soon"),
        new_topic(name, retention_ms="-2"),
        new_topic(name, cleanup_policy="keep"),
        new_topic(name, cleanup_policy=None),
        new_topic(name, retention_ms=None),
        new_topic(name, min_insync_replicas="0"),
        new_topic(name, compression_type="brotli"),
        new_topic(name, max_message_bytes="-1"),
        new_topic(name, message_timestamp_type="Never"),
        new_topic(name, unclean_leader_election_enable="maybe"),
        new_topic(name, min_cleanable_dirty_ratio="1.5"),
    ]
    for topic in wrong:
        await dialogue.ask(CreateTopicsRequest(topics=[topic], validate_only=True))
    twice = [new_topic(name, 1, 1), new_topic(name, 2, 1)]
    await dialogue.ask(CreateTopicsRequest(topics=twice))
    collides = dialogue.name("a.b")
    await dialogue.create_topic(collides)
    await dialogue.ask(CreateTopicsRequest(topics=[new_topic(collides.replace(".", "_"), 1, 1)]))


@scenario
async def when_topics_get_more_partitions(dialogue: Dialogue) -> None:
    name, other = dialogue.name("grown"), dialogue.name("other")
    await dialogue.create_topic(name, 2)
    await dialogue.create_topic(other, 1)
    for topics in (
        [grown(name, 2)],
        [grown(name, 1)],
        [grown(name, 0)],
        [grown(name, -1)],
        [grown("missing", 3)],
        [grown(name, 3, [])],
        [grown(name, 3, [[2]])],
        [grown(name, 3, [[]])],
        [grown(name, 3, [[1, 1]])],
        [grown(name, 3, [[1], [1]])],
        [grown(name, 4, [[1]])],
        [grown(name, 3), grown(name, 4)],
        [grown(name, 3), grown(other, 1), grown("missing", 3)],
        [],
    ):
        await dialogue.ask(CreatePartitionsRequest(topics, TIMEOUT_MS, validate_only=True))
    for version in (0, 2, 3):
        await dialogue.ask(CreatePartitionsRequest([grown(name, 3)], TIMEOUT_MS, validate_only=True), version)
    await dialogue.ask(CreatePartitionsRequest([grown(name, 3), grown(other, 1)], TIMEOUT_MS))
    await dialogue.until_there(name, 3)
    await dialogue.ask(CreatePartitionsRequest([grown(name, 4, [[1]])], TIMEOUT_MS))
    await dialogue.until_there(name, 4)


@scenario
async def when_topics_are_deleted(dialogue: Dialogue) -> None:
    names = [dialogue.name(f"deleted-{number}") for number in range(4)]
    for name in names:
        await dialogue.create_topic(name)
    State = DeleteTopicsRequest.DeleteTopicState
    await dialogue.ask(DeleteTopicsRequest(topic_names=["missing", names[0]], timeout_ms=TIMEOUT_MS), 1)
    await dialogue.ask(DeleteTopicsRequest(topic_names=["missing", names[1]], timeout_ms=TIMEOUT_MS), 5)
    for topics in (
        [State(None, UNKNOWN_ID), State("missing")],
        [State(names[2]), State(names[2])],
        [State(names[2], UNKNOWN_ID)],
        [State(None)],
        [State("")],
        [State(names[2]), State(None, dialogue.id_of(names[2]))],
        [State(None, UNKNOWN_ID), State(None, UNKNOWN_ID)],
        [],
    ):
        await dialogue.ask(DeleteTopicsRequest(topics, timeout_ms=TIMEOUT_MS))
    await dialogue.ask(
        DeleteTopicsRequest([State(None, dialogue.id_of(names[3])), State(names[2])], timeout_ms=TIMEOUT_MS)
    )
    for name in names:
        await dialogue.until_gone(name)


@scenario
async def when_topics_are_looked_at(dialogue: Dialogue) -> None:
    name, other = dialogue.name("looked-at"), dialogue.name("other")
    await dialogue.create_topic(name, 3)
    await dialogue.create_topic(other, 1)
    Asked = MetadataRequest.MetadataRequestTopic
    for topics in (
        [Asked(name=name)],
        [Asked(name=name), Asked(name=other), Asked(name="missing")],
        [Asked(name=name), Asked(name=name)],
        [Asked(name="a b")],
        [Asked(name="")],
        [],
    ):
        for version in (4, 5, 7, 8, 9, 10, 12, 13):
            await dialogue.ask(MetadataRequest(topics, allow_auto_topic_creation=False), version)
    for topics in (
        [Asked(dialogue.id_of(name))],
        [Asked(dialogue.id_of(name), name)],
        [Asked(dialogue.id_of(name), other)],
        [Asked(UNKNOWN_ID)],
        [Asked(UNKNOWN_ID, name)],
        [Asked(dialogue.id_of(name)), Asked(UNKNOWN_ID)],
        [Asked(dialogue.id_of(name)), Asked(dialogue.id_of(name))],
    ):
        await dialogue.ask(MetadataRequest(topics, allow_auto_topic_creation=False), 12)
    for version in (8, 10, 13):
        await dialogue.ask(
            MetadataRequest(
                [Asked(name=name)],
                include_topic_authorized_operations=True,
                include_cluster_authorized_operations=version <= 10,
            ),
            version,
        )
    for operations in (False, True):
        for version in (0, 1, 2):
            await dialogue.ask(DescribeClusterRequest(operations), version)
    await dialogue.ask(DescribeClusterRequest(endpoint_type=2))
    await dialogue.ask(DescribeClusterRequest(endpoint_type=3))


@scenario
async def when_partitions_are_described_page_by_page(dialogue: Dialogue) -> None:
    names = sorted(dialogue.name(f"{word}-paged") for word in "abc")
    for name in names:
        await dialogue.create_topic(name, 3)
    Asked, Cursor = DescribeTopicPartitionsRequest.TopicRequest, DescribeTopicPartitionsRequest.Cursor
    everything = [Asked(name) for name in reversed(names)]
    for topics, limit, cursor in (
        (everything, 2000, None),
        (everything, 1, None),
        (everything, 3, None),
        (everything, 4, None),
        (everything, 8, Cursor(names[0], 1)),
        (everything, 4, Cursor(names[1], 2)),
        (everything, 4, Cursor(names[1], 9)),
        (everything, 4, Cursor(names[1] + "a", 0)),
        (everything, 4, Cursor("zzz", 0)),
        (everything, 4, Cursor(names[1], -1)),
        (everything, 0, None),
        (everything, -1, None),
        ([*everything, Asked(names[0])], 20, None),
        ([Asked("missing"), Asked(names[0])], 2, None),
        ([Asked("a b")], 2, None),
    ):
        await dialogue.ask(DescribeTopicPartitionsRequest(topics, limit, cursor))


@scenario
async def when_records_are_deleted(dialogue: Dialogue) -> None:
    name, compacted = dialogue.name("emptied"), dialogue.name("compacted")
    await dialogue.create_topic(name, 2)
    await dialogue.create_topic(compacted, 1, cleanup_policy="compact")
    for text in ("a", "b", "c"):
        await dialogue.ask(produce_request(name, batch_of(values(text))), 8)
    Topic, Part = DeleteRecordsRequest.DeleteRecordsTopic, DeleteRecordsRequest.DeleteRecordsPartition
    for topics in (
        [Topic(name, [Part(0, 1)])],
        [Topic(name, [Part(0, 0), Part(1, 0)])],
        [Topic(name, [Part(0, 4), Part(1, 1)])],
        [Topic(name, [Part(0, -2)])],
        [Topic(name, [Part(7, 0)])],
        [Topic("missing", [Part(0, 0)])],
        [Topic(compacted, [Part(0, 0)])],
        [Topic("", [Part(0, 0)])],
        [Topic(name, [Part(0, -1)])],
        [Topic(name, [])],
        [],
    ):
        for version in (0, 2):
            await dialogue.ask(DeleteRecordsRequest(topics, TIMEOUT_MS), version)


@pytest.mark.parametrize("which", SCENARIOS)
def test_both_say_the_same(which: str, apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker) -> None:
    theirs, ours = play(SCENARIOS[which], apache_kafka, embedded_broker)
    assert ours == theirs
