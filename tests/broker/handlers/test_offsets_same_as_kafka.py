"""Offsets that groups have committed are deleted: Apache Kafka and the embedded broker are asked the same,
and say the same."""

from __future__ import annotations

from tests.waiting import wait_for_async

from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .dialogue import Dialogue, play

NOT_READY = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


async def commit(dialogue: Dialogue, group: str, topic: str) -> None:
    Part = OffsetCommitRequest.OffsetCommitRequestPartition
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(topic, partitions=[Part(0, 5), Part(1, 6)])]

    async def is_done() -> bool:
        await dialogue.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
        answer = await dialogue.send(OffsetCommitRequest(group, topics=topics), 8)
        return answer.topics[0].partitions[0].error_code not in NOT_READY

    await wait_for_async(is_done)


async def when_offsets_are_deleted(dialogue: Dialogue) -> None:
    group, topic = dialogue.name("group"), dialogue.name("topic")
    await dialogue.create_topic(topic, 2)
    await commit(dialogue, group, topic)
    Topic, Part = (
        OffsetDeleteRequest.OffsetDeleteRequestTopic,
        OffsetDeleteRequest.OffsetDeleteRequestPartition,
    )
    kept = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=None)])
    for name, topics in (
        (group, [Topic(topic, [Part(7)])]),
        (group, [Topic("missing", [Part(0)])]),
        (group, [Topic(topic, [Part(0)]), Topic("missing", [Part(0)])]),
        (group, [Topic(topic, [Part(0)])]),
        (group, [Topic(topic, [])]),
        (group, []),
        (dialogue.name("no-group"), [Topic(topic, [Part(0)])]),
        (dialogue.name("no-group"), [Topic("missing", [Part(0)])]),
        (dialogue.name("no-group"), []),
        ("", [Topic(topic, [Part(0)])]),
    ):
        await dialogue.ask(OffsetDeleteRequest(name, topics))
        await dialogue.ask(kept, 9)


def test_both_say_the_same(apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker) -> None:
    theirs, ours = play(when_offsets_are_deleted, apache_kafka, embedded_broker)
    assert ours == theirs
