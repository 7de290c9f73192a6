"""A node that is parted from the others, and whom its clients still reach."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.broker.in_process import fetch_request
from tests.waiting import wait_for_async

from barnabas.broker.server import Broker
from barnabas.broker_errors import ErrorCode
from barnabas.errors import MisuseError
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse

from .cluster_of_three import ClusterOfThree, run

SOON_MISSED = {"broker.session.timeout.ms": "100"}


async def known_by(cluster: ClusterOfThree, node: int, topic: str) -> MetadataResponse:
    return await cluster.ask(node, MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)]))


async def until_led_by(cluster: ClusterOfThree, topic: str, leader: int) -> None:
    async def is_so() -> bool:
        return (await cluster.describe(topic)).leader_id == leader

    await wait_for_async(is_so, timeout=30)


def test_the_others_elect_and_the_parted_leader_goes_on_in_its_old_epoch(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        assert (await cluster.produce(1, "t", "kept")).error_code == 0
        cluster.broker.nodes[1].part()
        await until_led_by(cluster, "t", 2)
        assert sorted((await cluster.describe("t")).isr_nodes) == [2, 3]
        stale = await known_by(cluster, 1, "t")
        assert [broker.node_id for broker in stale.brokers] == [1, 2, 3]
        assert (stale.topics[0].partitions[0].leader_id, stale.topics[0].partitions[0].leader_epoch) == (1, 0)
        assert (await cluster.produce(1, "t", "lost", acks=1)).error_code == 0
        unheard = await cluster.produce(1, "t", "never acknowledged", timeout_ms=50)
        assert unheard.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert await cluster.texts(1, "t") == ["kept"]
        assert (await cluster.produce(2, "t", "elected")).error_code == 0

        newer, older = fetch_request("t", 0), fetch_request("t", 0)
        newer.topics[0].partitions[0].current_leader_epoch = 1
        older.topics[0].partitions[0].current_leader_epoch = 0
        at_old = await cluster.ask(1, newer, 12)
        at_new = await cluster.ask(2, older, 12)
        assert at_old.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert at_new.responses[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH

        cluster.broker.nodes[1].join()
        await cluster.until_in_sync("t", 1, 2, 3)
        refused = await cluster.produce(1, "t", "late")
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (2, 1)
        assert await cluster.texts(2, "t") == ["kept", "elected"]
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t") == cluster.log_of(3, "t")

    run(tmp_path, scenario, config=SOON_MISSED)


def test_a_leader_that_joins_before_it_is_missed_leads_on_and_loses_nothing(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        cluster.broker.nodes[1].part()
        assert (await cluster.produce(1, "t", "a", acks=1)).error_code == 0
        assert await cluster.texts(1, "t") == []
        cluster.broker.nodes[1].join()

        async def is_shown() -> bool:
            return await cluster.texts(1, "t") == ["a"]

        await wait_for_async(is_shown, timeout=30)
        described = await cluster.describe("t")
        assert (described.leader_id, described.leader_epoch) == (1, 0)
        assert (await cluster.produce(1, "t", "b")).error_code == 0
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t") == cluster.log_of(3, "t")

    run(tmp_path, scenario, config={"broker.session.timeout.ms": "60000"})


def test_acks_all_waits_for_a_parted_follower_until_the_others_do_without_it(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        cluster.broker.nodes[3].part()
        assert (await cluster.produce(1, "t", "a", timeout_ms=30_000)).error_code == 0
        assert sorted((await cluster.describe("t")).isr_nodes) == [1, 2]
        assert (await cluster.fetch(3, "t")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        cluster.broker.nodes[3].join()
        await cluster.until_in_sync("t", 1, 2, 3)
        assert cluster.log_of(3, "t") == cluster.log_of(1, "t")

    run(tmp_path, scenario, config=SOON_MISSED)


def test_a_parted_follower_that_is_elected_serves_no_log_before_it_hears_of_it(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        assert (await cluster.produce(1, "t", "a")).error_code == 0
        cluster.broker.nodes[3].part()
        # It is held to be alive and in sync, and the log of the leader before it is deleted.
        assert await cluster.reassign("t", [3]) == 0
        assert (await cluster.describe("t")).leader_id == 3
        assert (await cluster.fetch(3, "t")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        cluster.broker.nodes[3].join()
        assert (await cluster.produce(3, "t", "b")).error_code == 0
        assert await cluster.texts(3, "t") == ["a", "b"]

    run(tmp_path, scenario, config={"broker.session.timeout.ms": "60000"})


def test_what_the_controller_is_asked_at_a_parted_node_waits_and_coordinators_are_not_available(
    tmp_path: Path,
) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        cluster.broker.nodes[1].part()
        await cluster.create("made-meanwhile", [2, 3])
        unheard_of = await known_by(cluster, 1, "made-meanwhile")
        assert unheard_of.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        beaten = await cluster.ask(1, HeartbeatRequest("g", 1, "m"))
        assert beaten.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        asked = CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic("t", 1, 3)])
        creating = asyncio.create_task(cluster.ask(1, asked))
        assert (await known_by(cluster, 2, "t")).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert not creating.done()
        cluster.broker.nodes[1].join()
        assert (await creating).topics[0].error_code == 0

    run(tmp_path, scenario, config={"auto.create.topics.enable": "false"})


def test_a_parted_node_that_stops_or_is_killed_comes_back_as_any_other(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        cluster.broker.nodes[1].part()
        assert (await cluster.produce(1, "t", "lost", acks=1)).error_code == 0
        await cluster.stop(1)
        assert (await cluster.produce(2, "t", "a")).error_code == 0
        await cluster.start(1)
        await cluster.until_in_sync("t", 1, 2, 3)
        cluster.broker.nodes[2].part()
        assert (await cluster.produce(2, "t", "lost", acks=1)).error_code == 0
        await cluster.kill(2)
        await cluster.start(2)
        await cluster.until_in_sync("t", 1, 2, 3)
        assert not cluster.broker.nodes[2].is_parted
        assert await cluster.texts((await cluster.describe("t")).leader_id, "t") == ["a"]

    run(tmp_path, scenario)


def test_the_only_node_has_nobody_to_be_parted_from(tmp_path: Path) -> None:
    async def main() -> None:
        broker = Broker(tmp_path)
        await broker.start()
        try:
            with pytest.raises(MisuseError, match="node 1 is the only one"):
                broker.nodes[1].part()
        finally:
            await broker.stop()

    asyncio.run(main())
