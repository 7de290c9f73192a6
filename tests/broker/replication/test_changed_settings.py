"""Settings that change while partitions wait for what they say: min.insync.replicas and unclean elections."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_for_async

from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

from .cluster_of_three import ClusterOfThree, run

pytestmark = pytest.mark.integration

MIN_IN_SYNC = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
TOPIC, BROKER = 2, 4
LONG_MS = 25_000
INTERVAL_SECONDS = 10


def incrementally(kind: int, name: str, setting: str, value: str) -> IncrementalAlterConfigsRequest:
    change = IncrementalAlterConfigsRequest.AlterableConfig(setting, 0, value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, [change])
    return IncrementalAlterConfigsRequest([resource])


def wholly(kind: int, name: str, setting: str, value: str) -> AlterConfigsRequest:
    change = AlterConfigsRequest.AlterableConfig(setting, value)
    return AlterConfigsRequest([AlterConfigsRequest.AlterConfigsResource(kind, name, [change])])


async def alter(cluster: ClusterOfThree, request: Any) -> None:
    answer = await cluster.ask(1, request)
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message


async def eligible(cluster: ClusterOfThree, node: int) -> list[int] | None:
    request = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest("t")])
    return (await cluster.ask(node, request)).topics[0].partitions[0].eligible_leader_replicas


@pytest.mark.parametrize(
    ("of_the_topic", "change"),
    [
        ({"min_insync_replicas": "2"}, incrementally(TOPIC, "t", MIN_IN_SYNC, "1")),
        ({"min_insync_replicas": "2"}, wholly(TOPIC, "t", MIN_IN_SYNC, "1")),
        ({}, incrementally(BROKER, "", MIN_IN_SYNC, "1")),
        ({}, wholly(BROKER, "", MIN_IN_SYNC, "1")),
    ],
    ids=["topic", "topic wholly", "all brokers", "all brokers wholly"],
)
def test_who_waits_for_replicas_goes_on_once_as_many_as_there_are_will_do(
    tmp_path: Path, of_the_topic: dict[str, str], change: Any
) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], **of_the_topic)
        cluster.broker.nodes[2].pause()
        # Answers come in the order of requests, on each connection.
        other = ClusterOfThree(cluster.broker, cluster.directory)
        waiting = asyncio.ensure_future(other.produce(1, "t", "a", timeout_ms=LONG_MS))
        await cluster.until_in_sync("t", 1)
        assert await eligible(cluster, 1) == [2]
        assert await cluster.texts(1, "t") == []
        assert not waiting.done()
        await alter(cluster, change)
        assert (await waiting).error_code == 0
        other.close()
        assert await cluster.texts(1, "t") == ["a"]
        # It lacks what was acknowledged, and so may not lead.
        assert not await eligible(cluster, 1)
        await cluster.stop(1)
        cluster.broker.nodes[2].resume()
        assert (await cluster.describe("t")).leader_id == -1
        await cluster.start(1)
        await cluster.until_in_sync("t", 1, 2)
        assert await cluster.texts(1, "t") == ["a"]

    run(tmp_path, scenario, config={"broker.session.timeout.ms": "300"})


def test_what_is_written_is_not_shown_once_more_replicas_are_wanted_than_are_in_sync(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], min_insync_replicas="1")
        await cluster.stop(2)
        assert (await cluster.produce(1, "t", "a")).error_code == 0
        await alter(cluster, incrementally(TOPIC, "t", MIN_IN_SYNC, "2"))
        assert (await cluster.produce(1, "t", "b")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        assert (await cluster.produce(1, "t", "c", acks=1)).error_code == 0
        assert await cluster.texts(1, "t") == ["a"]
        await cluster.start(2)
        await cluster.until_in_sync("t", 1, 2)
        assert await cluster.texts(1, "t") == ["a", "c"]

    run(tmp_path, scenario)


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "t"), (BROKER, "")], ids=["topic", "all brokers"])
def test_a_replica_that_is_behind_leads_within_the_interval_once_that_is_switched_on(
    tmp_path: Path, kind: int, name: str
) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], min_insync_replicas="1")
        await cluster.stop(2)
        await cluster.produce(1, "t", "lost")
        await cluster.stop(1)
        await cluster.start(2)

        async def is_led() -> bool:
            return (await cluster.describe("t")).leader_id == 2

        await asyncio.sleep(3 * INTERVAL_SECONDS)
        assert not await is_led()
        answer = await cluster.ask(3, incrementally(kind, name, UNCLEAN, "true"))
        assert answer.responses[0].error_code == 0
        await wait_for_async(is_led, timeout=INTERVAL_SECONDS + 1)
        assert await cluster.texts(2, "t") == []

    run(tmp_path, scenario, config={"unclean.leader.election.interval.ms": str(INTERVAL_SECONDS * 1000)})
