"""The same requests of Streams groups to Apache Kafka and to the embedded broker: the answers say the same.

What differs on purpose: internal topics that cannot be created are told of in the same answer, where Kafka
tells with the next; a member with an endpoint whose group lacks source topics gets an answer, where Kafka
fails (UNKNOWN_SERVER_ERROR); a source topic that is deleted is missed at once, where Kafka's groups do not
notice.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .streams_session import Request, StreamsSession

CONFIG = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "1",
}
ONE, TWO, THREE = "one", "two", "three"

Scenario = Callable[[StreamsSession], Awaitable[None]]


async def members_join_and_leave(on: StreamsSession) -> None:
    topology = on.topology(on.part("0", ["a"]))
    await on.list()
    await on.describe()
    tags = [Request.KeyValue("zone", "1")]
    await on.beat(ONE, 0, topology, rack_id="r1", client_tags=tags)
    await on.owns(ONE)
    await on.describe()
    await on.list()
    await on.delete_group()
    await on.beat(TWO, 0, topology)
    await on.owns(ONE)
    await on.owns(TWO)
    await on.describe()
    await on.beat(ONE)
    await on.owns(ONE)
    await on.owns(TWO)
    await on.owns(TWO)
    await on.describe()
    await on.beat(ONE, 0, topology, rack_id="r1", client_tags=tags)
    await on.beat(ONE, 0, topology)
    await on.settle(ONE, TWO)
    await on.describe()
    await on.beat(ONE, -1)
    await on.beat(ONE)
    await on.owns(TWO)
    await on.beat(TWO, -1)
    await on.describe()
    await on.list()
    await on.beat(TWO)
    await on.delete_group()
    await on.describe()
    await on.beat(TWO)
    await on.delete_group()


async def members_ask_wrongly(on: StreamsSession) -> None:
    topology = on.topology(on.part("0", ["a"]))
    await on.beat(ONE, 0)
    await on.beat("", 0, topology)
    await on.beat(ONE, -1)
    await on.beat(ONE, 5)
    for wrong in (
        {"rebalance_timeout_ms": -1},
        {"active_tasks": None},
        {"standby_tasks": [Request.TaskIds("0", [0])]},
        {"warmup_tasks": [Request.TaskIds("0", [0])]},
        {"instance_id": "i"},
        {"rack_id": " "},
        {"task_offsets": []},
        {"task_end_offsets": []},
    ):
        await on.beat(ONE, 0, topology, **wrong)
    await on.beat(ONE, 0, on.topology(on.part("0", ["a"], changelogs=(on.info("c", 3),))))
    regex = on.part("0", ["a"])
    regex.source_topic_regex = [".*"]
    await on.beat(ONE, 0, on.topology(regex))
    for name in ("__consumer_offsets", "no/topic"):
        wrong = on.part("0", ["a"])
        wrong.source_topics.append(name)
        await on.beat(ONE, 0, on.topology(wrong))
    await on.beat(ONE, 0, topology)
    await on.beat(ONE, topology=topology)
    await on.beat(ONE, active_tasks=[])
    await on.beat(ONE, 99)
    await on.beat(ONE, 1)
    await on.beat(ONE, -2)
    await on.beat(ONE, -3)
    for task in (("0", [3]), ("7", [0]), ("0", [-1])):
        await on.beat(ONE, active_tasks=[Request.TaskIds(*task)], standby_tasks=[], warmup_tasks=[])
    await on.beat(TWO, 0, on.topology(on.part("0", ["b"])))
    await on.beat(TWO, 0, on.topology(on.part("0", ["a"]), epoch=1))
    await on.beat(TWO, -1)
    await on.describe()
    await on.beat(ONE, -1)


async def internal_topics_are_made(on: StreamsSession) -> None:
    on.shown_epochs = False
    topology = on.topology(
        on.part("0", ["a"], writes=("r",), changelogs=(on.info("s", 0, 1, cleanup_policy="compact"),)),
        on.part("1", ["b"], reads=(on.info("r"),), changelogs=(on.info("t", retention_ms="9000"),)),
    )
    await on.beat(ONE, 0, topology)
    await on.settle(ONE)
    await on.describe()
    for letter in "rst":
        on.tell("partitions", await on.partition_count(letter))
    await on.beat(ONE, -1)


async def topics_do_not_fit(on: StreamsSession) -> None:
    on.shown_epochs = False
    for place, topology in enumerate(
        (
            on.topology(on.part("0", ["x"]), on.part("1", ["y", "a"])),
            on.topology(on.part("0", ["a", "b"], joins=([0, 1], []))),
            on.topology(on.part("0", ["a"], reads=(on.info("r"),))),
            on.topology(on.part("0", [], writes=("r",), reads=(on.info("r"),))),
            on.topology(on.part("0", ["a"], writes=("b",)), on.part("1", [], reads=(on.info("b"),))),
            on.topology(
                on.part("0", ["a"], writes=("r",)),
                on.part("1", ["b"], reads=(on.info("r", 5),), joins=([0], [0])),
            ),
            on.topology(
                on.part("0", ["a"], writes=("r", "s")),
                on.part("1", [], reads=(on.info("r", 5), on.info("s", 4)), joins=([], [0, 1])),
            ),
        )
    ):
        on.group = f"group-{on.run}-{place}"
        await on.beat(ONE, 0, topology)
        await on.beat(ONE)
        await on.describe()
        await on.beat(ONE, -1)


async def topics_change(on: StreamsSession) -> None:
    on.shown_epochs = False
    await on.beat(ONE, 0, on.topology(on.part("0", ["a"]), on.part("1", ["n"])))
    await on.create_topic("n", 1)
    await on.until_coordinator_knows("n")
    await on.settle(ONE)
    await on.describe()
    await on.grow_topic("a", 5)
    while on.tasks[ONE][0][0] != ("0", [0, 1, 2, 3, 4]):
        await on.settle(ONE)
    await on.describe()
    await on.beat(ONE, -1)


async def state_is_copied(on: StreamsSession) -> None:
    on.shown_epochs = False
    await on.configure(streams_num_standby_replicas="1")
    topology = on.topology(on.part("0", ["a"], changelogs=(on.info("c"),)))
    await on.beat(ONE, 0, topology)
    await on.settle(ONE)
    await on.describe()
    await on.beat(TWO, 0, topology)
    await on.settle(ONE, TWO)
    on.tell("counts", sorted(_counts(on, member) for member in (ONE, TWO)))
    await on.configure(streams_num_standby_replicas="0")
    await on.settle(ONE, TWO)
    on.tell("counts", sorted(_counts(on, member) for member in (ONE, TWO)))
    await on.configure(streams_num_standby_replicas="2")
    await on.beat(THREE, 0, topology)
    await on.settle(ONE, TWO, THREE)
    on.tell("counts", sorted(_counts(on, member) for member in (ONE, TWO, THREE)))
    await on.beat(TWO, -1)
    await on.settle(ONE, THREE)
    on.tell("counts", sorted(_counts(on, member) for member in (ONE, THREE)))


def _counts(on: StreamsSession, member: str) -> list[int]:
    return [sum(len(indexes) for _, indexes in tasks) for tasks in on.tasks[member]]


async def endpoints_are_told(on: StreamsSession) -> None:
    topology = on.topology(on.part("0", ["a", "b"]))
    await on.beat(ONE, 0, topology, user_endpoint=Request.Endpoint("h1", 1001))
    await on.owns(ONE, endpoint_information_epoch=0)
    await on.beat(TWO, 0, topology, user_endpoint=Request.Endpoint("h2", 1002))
    await on.owns(ONE, endpoint_information_epoch=0)
    await on.owns(ONE, endpoint_information_epoch=1)
    await on.owns(TWO, endpoint_information_epoch=1)
    await on.owns(TWO, endpoint_information_epoch=9)
    await on.describe()


async def an_application_is_shut_down(on: StreamsSession) -> None:
    topology = on.topology(on.part("0", ["a"]))
    await on.beat(ONE, 0, topology)
    await on.beat(TWO, 0, topology)
    await on.settle(ONE, TWO)
    await on.beat(ONE, -1, shutdown_application=True)
    await on.beat(TWO, shutdown_application=True)
    await on.beat(TWO, -1)
    await on.beat(TWO, 0, topology)


async def assignments_are_delayed(on: StreamsSession) -> None:
    await on.configure(streams_initial_rebalance_delay_ms="3000", streams_assignment_interval_ms="15000")
    topology = on.topology(on.part("0", ["a"]))
    await on.beat(ONE, 0, topology)
    await on.beat(ONE)
    await on.beat(TWO, 0, topology)
    await on.settle(ONE, TWO)
    await on.owns(ONE)
    await on.owns(TWO)
    await on.describe()
    await on.beat(TWO, -1)
    await on.owns(ONE)
    await on.describe()
    await on.configure(streams_assignment_interval_ms="0")
    await on.owns(ONE)
    await on.describe()


async def offsets_are_committed_by_members(on: StreamsSession) -> None:
    topology = on.topology(on.part("0", ["a"]))
    await on.beat(ONE, 0, topology)
    for member, epoch, letter, version in (
        (ONE, 2, "a", 9),
        (ONE, 2, "a", 8),
        (ONE, 1, "a", 9),
        (ONE, 3, "a", 9),
        (ONE, -1, "a", 9),
        (TWO, 2, "a", 9),
        ("", -1, "a", 9),
    ):
        await commit(on, member, epoch, letter, version)
    await on.beat(TWO, 0, topology)
    await on.owns(ONE)
    await on.owns(ONE)
    await on.owns(TWO)
    await on.describe()
    for letter in "ab":
        for partition in range(3):
            await commit(on, ONE, 2, letter, 9, partition)
            await commit(on, TWO, 2, letter, 9, partition)
    for member, epoch in ((ONE, 2), (ONE, 3), (TWO, 9), (None, -1)):
        asked = OffsetFetchRequest.OffsetFetchRequestGroup(on.group, member, epoch, topics=None)
        fetched = (await on.ask(OffsetFetchRequest(groups=[asked]), 9)).groups[0]
        on.tell("fetched", fetched.error_code, len(fetched.topics))
    await delete_offset(on, "a")
    await on.beat(ONE, -1)
    await on.beat(TWO, -1)
    await delete_offset(on, "a")
    await commit(on, "", -1, "a", 9)
    await on.delete_group()


async def commit(
    on: StreamsSession, member: str, epoch: int, letter: str, version: int, partition: int = 0
) -> None:
    given = OffsetCommitRequest.OffsetCommitRequestPartition(partition, 3)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(on.name(letter), partitions=[given])
    answer = await on.ask(OffsetCommitRequest(on.group, epoch, member, None, topics=[topic]), version)
    on.tell("committed", answer.topics[0].partitions[0].error_code)


async def delete_offset(on: StreamsSession, letter: str) -> None:
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(
        on.name(letter), [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
    )
    answer = await on.ask(OffsetDeleteRequest(on.group, [topic]))
    on.tell("deleted", answer.error_code, [each.partitions[0].error_code for each in answer.topics])


async def groups_of_other_kinds_have_other_names(on: StreamsSession) -> None:
    topology = on.topology(on.part("0", ["a"]))
    await on.beat(ONE, 0, topology)
    await _ask_as_others(on)
    await on.beat(ONE, -1)
    on.group = f"other-{on.run}"
    await commit(on, "", -1, "a", 8)
    await on.beat(ONE, 0, topology)
    await on.list()
    on.group = f"consumers-{on.run}"
    names = {"subscribed_topic_names": [on.name("a")], "topic_partitions": []}
    await on.ask(ConsumerGroupHeartbeatRequest(on.group, TWO, 0, rebalance_timeout_ms=1000, **names))
    await on.beat(ONE, 0, topology)
    await on.beat(ONE, 3)
    await on.beat(ONE, -1)
    await on.describe()


async def _ask_as_others(on: StreamsSession) -> None:
    names = {"subscribed_topic_names": [on.name("a")], "topic_partitions": []}
    joins = ConsumerGroupHeartbeatRequest(on.group, TWO, 0, rebalance_timeout_ms=1000, **names)
    for beat in (joins, ConsumerGroupHeartbeatRequest(on.group, TWO, -1)):
        answer = await on.ask(beat)
        on.tell("heartbeat", answer.error_code, answer.error_message)
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    joined = await on.ask(JoinGroupRequest(on.group, 10_000, 10_000, "", None, "consumer", [protocol]), 3)
    on.tell("joined", joined.error_code)
    [described] = (await on.ask(DescribeGroupsRequest(groups=[on.group]))).groups
    on.tell("described", described.error_code, described.error_message, described.group_state)


SCENARIOS: tuple[Scenario, ...] = (
    members_join_and_leave,
    members_ask_wrongly,
    internal_topics_are_made,
    topics_do_not_fit,
    topics_change,
    state_is_copied,
    endpoints_are_told,
    an_application_is_shut_down,
    assignments_are_delayed,
    offsets_are_committed_by_members,
    groups_of_other_kinds_have_other_names,
)


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[ApacheKafka, EmbeddedBroker]]:
    with ApacheKafka(config=CONFIG) as kafka, EmbeddedBroker(config=CONFIG) as embedded:
        yield kafka, embedded


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_answers_are_kafkas(brokers: tuple[ApacheKafka, EmbeddedBroker], scenario: Scenario) -> None:
    async def play(bootstrap: str) -> list[Any]:
        session = await StreamsSession.open(bootstrap, f"run{uuid.uuid4().hex[:8]}")
        await scenario(session)
        session.connection.close()
        return session.told

    theirs, ours = (asyncio.run(play(broker.bootstrap)) for broker in brokers)
    for place, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        assert our == their, f"answer {place}"
