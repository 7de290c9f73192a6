"""Followers that lag: they leave those in sync after replica.lag.time.max.ms, and come back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.broker.conftest import batch_of, values
from tests.broker.in_process import produce_request

from barnabas import _kernel
from barnabas.broker.cluster import Cluster
from barnabas.broker.controller import Controller
from barnabas.broker.data_directory import DataDirectory
from barnabas.broker.replication.acknowledgement import Written
from barnabas.broker.replication.replica_logs import STEP_BYTES
from barnabas.broker.server import Broker
from barnabas.broker.topic import Partition
from barnabas.broker_errors import ErrorCode
from barnabas.errors import MisuseError
from barnabas.net.connection import Connection

from .cluster_of_three import ClusterOfThree, run

SOON = {"replica.lag.time.max.ms": "50"}
NEVER = {"replica.lag.time.max.ms": "600000"}
AT_ONCE = {"replica.lag.time.max.ms": "0"}


@pytest.mark.integration
def test_a_follower_that_lags_leaves_those_in_sync_and_comes_back_when_it_has_caught_up(
    tmp_path: Path,
) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        assert (await cluster.produce(1, "t", "a")).error_code == 0
        cluster.broker.nodes[3].lag()
        assert (await cluster.produce(1, "t", "b", timeout_ms=30_000)).error_code == 0
        known = await cluster.describe("t")
        assert (known.isr_nodes, known.leader_id, known.leader_epoch) == ([1, 2], 1, 0)
        assert known.offline_replicas == []
        assert await cluster.texts(3, "t") == ["a"]
        cluster.broker.nodes[3].catch_up()
        await cluster.until_in_sync("t", 1, 2, 3)
        assert (await cluster.produce(1, "t", "c")).error_code == 0
        assert cluster.log_of(3, "t") == cluster.log_of(1, "t")

    run(tmp_path, scenario, config=SOON)


@pytest.mark.integration
def test_acks_all_waits_for_a_follower_that_lags_while_it_is_in_sync(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        cluster.broker.nodes[3].lag()
        refused = await cluster.produce(1, "t", "a", timeout_ms=50)
        assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert await cluster.texts(1, "t") == []
        assert (await cluster.describe("t")).isr_nodes == [1, 2, 3]
        cluster.broker.nodes[3].catch_up()
        assert (await cluster.produce(1, "t", "b")).error_code == 0
        assert await cluster.texts(1, "t") == ["a", "b"]

    run(tmp_path, scenario, config=NEVER)


@pytest.mark.integration
def test_with_too_few_in_sync_acks_all_is_refused_until_enough_have_caught_up(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], min_insync_replicas="2")
        cluster.broker.nodes[2].lag()
        connection = await Connection.open("127.0.0.1", cluster.broker.nodes[1].port, client_id="waits")
        request = produce_request("t", batch_of(values("a")))
        request.timeout_ms = 30_000
        waiting = connection.submit(request, timeout_ms=60_000, max_version=12)
        await cluster.until_in_sync("t", 1)
        refused = await cluster.produce(1, "t", "refused")
        assert (refused.error_code, refused.error_message) == (ErrorCode.NOT_ENOUGH_REPLICAS, None)
        assert await cluster.texts(1, "t") == []
        assert not waiting.done()
        cluster.broker.nodes[2].catch_up()
        answer = await waiting
        connection.close()
        assert answer.responses[0].partition_responses[0].error_code == 0
        await cluster.until_in_sync("t", 1, 2)
        assert await cluster.texts(1, "t") == ["a"]

    run(tmp_path, scenario, config=SOON)


@pytest.mark.integration
def test_a_follower_that_lags_may_lead_if_it_is_in_sync_and_nothing_acknowledged_is_lost(
    tmp_path: Path,
) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2])
        assert (await cluster.produce(1, "t", "a")).error_code == 0
        cluster.broker.nodes[2].lag()
        assert (await cluster.produce(1, "t", "given up", acks=1)).error_code == 0
        await cluster.stop(1)
        assert (await cluster.produce(2, "t", "b", acks=1)).error_code == 0
        await cluster.start(1)
        await cluster.until_in_sync("t", 1, 2)
        assert await cluster.texts(2, "t") == ["a", "b"]
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t")

    run(tmp_path, scenario, config=NEVER)


@pytest.mark.integration
def test_a_topic_that_is_made_while_a_follower_lags_acknowledges_nothing_that_it_lacks(
    tmp_path: Path,
) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        cluster.broker.nodes[3].lag()
        await cluster.create("t", [1, 2, 3])
        refused = await cluster.produce(1, "t", "a", timeout_ms=50)
        assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert await cluster.texts(1, "t") == []

    run(tmp_path, scenario, config=NEVER)


@pytest.mark.integration
def test_a_node_that_lags_and_starts_again_lags_no_more(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        cluster.broker.nodes[3].lag()
        await cluster.stop(3)
        assert (await cluster.produce(1, "t", "a")).error_code == 0
        await cluster.start(3)
        await cluster.until_in_sync("t", 1, 2, 3)
        assert not cluster.broker.nodes[3].is_lagging

    run(tmp_path, scenario, config=NEVER)


@pytest.mark.integration
def test_the_only_node_does_not_lag() -> None:
    async def main() -> None:
        broker = Broker(storage="memory")
        await broker.start()
        try:
            with pytest.raises(MisuseError, match="node 1 is the only one, and follows nobody"):
                broker.nodes[1].lag()
        finally:
            await broker.stop()

    asyncio.run(main())


class Replicated:
    """A partition of three nodes without servers, so that a test has each step of replication in its hand."""

    def __init__(self, directory: Path) -> None:
        self.directory = DataDirectory(directory)
        self.cluster = Cluster(self.directory, {"min.insync.replicas": "2"} | AT_ONCE, [None] * 3)
        self.controller = Controller(self.cluster)
        topic = self.cluster.create_topic("t", {}, [(1, 2, 3)])
        self.partition: Partition = topic.partitions[0]

    def append(self, size: int) -> Written:
        data = batch_of(values("x" * size))
        self.partition.append(data, _kernel.scan_batches(data))
        return Written.all_of(self.partition)

    def lag(self, node_id: int) -> None:
        self.cluster.nodes[node_id].is_lagging = True
        self.controller.node_fell_silent(node_id)

    def end_of(self, node_id: int) -> int:
        assert self.partition.replicas is not None
        return self.partition.replicas.logs[node_id].log_end_offset

    @property
    def in_sync(self) -> tuple[int, ...]:
        return self.partition.registration.in_sync

    def close(self) -> None:
        self.controller.close()
        self.cluster.close()
        self.directory.release()


def test_a_follower_that_is_counted_out_between_two_steps_of_catching_up_comes_back_with_all(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        world = Replicated(tmp_path)
        world.lag(3)
        written = [world.append(STEP_BYTES // 2 + 1) for _ in range(4)][-1]
        assert not written.is_replicated
        world.cluster.nodes[3].is_lagging = False
        world.controller.start_catching_up(3)
        # One turn of the loop is one step.
        await asyncio.sleep(0)
        assert 0 < world.end_of(3) < world.end_of(1)
        world.controller.shrink_in_sync()
        assert world.in_sync == (1, 2)
        assert written.is_replicated
        assert not world.append(1).has_moved
        while world.in_sync != (1, 2, 3):
            assert world.end_of(3) < world.end_of(1)
            await asyncio.sleep(0)
        assert world.end_of(3) == world.end_of(1) == 5
        world.close()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_who_is_in_sync_no_more_is_kept_before_what_it_lacks_is_acknowledged(tmp_path: Path) -> None:
    async def main() -> None:
        world = Replicated(tmp_path)
        world.lag(3)
        written = world.append(1)
        kept: list[tuple[int, ...]] = []

        async def note_what_is_kept() -> None:
            await written.until_replicated(30_000)
            (topic,) = world.cluster.metadata.content.topics
            kept.append(topic.registrations[0].in_sync)

        waiting = asyncio.create_task(note_what_is_kept())
        await asyncio.sleep(0)
        world.controller.shrink_in_sync()
        await waiting
        assert kept == [(1, 2)]
        world.close()

    asyncio.run(asyncio.wait_for(main(), 60))
