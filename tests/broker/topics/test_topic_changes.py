"""Topics with many partitions are made and deleted in turns: what may happen between two of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_for_async

from barnabas import _kernel
from barnabas.broker.cluster import Cluster
from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.settings import LogSettings
from barnabas.broker.topic import Partition, Topic
from barnabas.broker_errors import ErrorCode
from barnabas.errors import KafkaConnectionError
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.types import TopicPartition

from ..conftest import batch_of, values
from ..in_process import Client, produce_request, run
from ..replication.cluster_of_three import ClusterOfThree
from ..replication.cluster_of_three import run as run_three

MANY = 1000
TOPIC, BROKER = 2, 4


def creation(name: str = "many", partitions: int = MANY, replicas: int = 1) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, partitions, replicas)], 60_000)


def deletion(name: str = "many") -> DeleteTopicsRequest:
    return DeleteTopicsRequest([DeleteTopicsRequest.DeleteTopicState(name=name)], [], 60_000)


def more_partitions(count: int, name: str = "many") -> CreatePartitionsRequest:
    asked = [CreatePartitionsRequest.CreatePartitionsTopic(name, count, None)]
    return CreatePartitionsRequest(asked, 60_000)


def folders(directory: Path) -> list[str]:
    """Those of partitions, and of such as are to be deleted."""
    return sorted(path.name for path in directory.glob("*-*") if path.is_dir())


class Halfway:
    """Calls `then` once, when half of a topic's partitions are made; others have their turn after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
        self.is_over = False
        make = Cluster.make_partitions

        def made(cluster: Cluster, topic: Topic, assignments: Sequence[Sequence[int]]) -> Iterator[Partition]:
            for place, partition in enumerate(make(cluster, topic, assignments)):
                if place == len(assignments) // 2 and not self.is_over:
                    self.is_over = True
                    then()
                yield partition

        monkeypatch.setattr(Cluster, "make_partitions", made)


def test_a_topic_is_made_to_the_end_when_its_client_hangs_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(client: Client) -> None:
        other = await client.another()
        Halfway(monkeypatch, other.connection.close)
        with pytest.raises(KafkaConnectionError):
            await other.send(creation())
        assert "many" not in client.broker._parts.cluster.topics  # pyright: ignore

        async def is_there() -> bool:
            asked = MetadataRequest([MetadataRequest.MetadataRequestTopic(name="many")], False)
            return not (await client.send(asked)).topics[0].error_code

        await wait_for_async(is_there, timeout=30)
        answer = await client.send(more_partitions(MANY))
        assert answer.results[0].error_message == f"Topic already has {MANY} partition(s)."

    run(tmp_path, scenario)


def test_of_two_that_create_the_same_topic_one_does_and_the_other_is_told(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        other = await client.another()
        answers = await asyncio.gather(client.send(creation()), other.send(creation(partitions=3)))
        codes = [answer.topics[0].error_code for answer in answers]
        assert sorted(codes) == [0, ErrorCode.TOPIC_ALREADY_EXISTS]
        count = MANY if codes[0] == 0 else 3
        assert len(folders(tmp_path)) == count
        answer = await client.send(more_partitions(count))
        assert answer.results[0].error_message == f"Topic already has {count} partition(s)."

    run(tmp_path, scenario)


def test_a_topic_is_created_again_while_its_old_logs_are_deleted(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        other = await client.another()
        await client.send(creation())
        deleted, created = await asyncio.gather(client.send(deletion()), other.send(creation(partitions=7)))
        assert deleted.responses[0].error_code == 0
        if created.topics[0].error_code:
            # It came first.
            assert created.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
            created = await other.send(creation(partitions=7))
        assert created.topics[0].error_code == 0
        assert folders(tmp_path) == sorted(f"many-{index}" for index in range(7))
        for index in range(7):
            assert (await client.fetch("many", 0, partition=index)).error_code == 0

    run(tmp_path, scenario)


def test_settings_that_change_meanwhile_hold_for_partitions_that_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Resource, Config = (
        IncrementalAlterConfigsRequest.AlterConfigsResource,
        IncrementalAlterConfigsRequest.AlterableConfig,
    )

    async def scenario(client: Client) -> None:
        other = await client.another()
        await client.send(creation(partitions=1))
        altering: list[Awaitable[Any]] = []
        asked = IncrementalAlterConfigsRequest([Resource(TOPIC, "many", [Config("retention.ms", 0, "77")])])
        Halfway(monkeypatch, lambda: altering.append(other.start(asked)))
        assert (await client.send(more_partitions(MANY))).results[0].error_code == 0
        assert (await altering[0]).responses[0].error_code == 0
        partitions = client.broker._parts.cluster.topic("many").partitions  # pyright: ignore
        assert len(partitions) == MANY
        assert {partition.log.settings.retention_ms for partition in partitions} == {77}

    run(tmp_path, scenario)


def test_settings_of_the_broker_that_change_meanwhile_hold_for_a_new_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(client: Client) -> None:
        other = await client.another()
        altering: list[Awaitable[Any]] = []
        changes = [
            IncrementalAlterConfigsRequest.AlterableConfig(name, 0, "77")
            for name in ("log.retention.ms", "message.max.bytes")
        ]
        of_all = IncrementalAlterConfigsRequest.AlterConfigsResource(BROKER, "", changes)
        asked = IncrementalAlterConfigsRequest([of_all])
        Halfway(monkeypatch, lambda: altering.append(other.start(asked)))
        assert (await client.send(creation())).topics[0].error_code == 0
        assert (await altering[0]).responses[0].error_code == 0
        topic = client.broker._parts.cluster.topic("many")  # pyright: ignore
        assert topic.rules.max_message_bytes == 77
        assert {partition.log.settings.retention_ms for partition in topic.partitions} == {77}

    run(tmp_path, scenario)


def test_nothing_is_left_of_a_topic_whose_partitions_cannot_all_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, made = LogManager.create, []

    def full(manager: LogManager, *about: Any) -> Any:
        made.append(about)
        if len(made) == MANY:
            raise OSError(28, "No space left on device", str(tmp_path / "many-999"))
        return create(manager, *about)

    async def scenario(client: Client) -> None:
        monkeypatch.setattr(LogManager, "create", full)
        result = (await client.send(creation())).topics[0]
        assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert "many-999" in (result.error_message or "")
        assert folders(tmp_path) == []
        assert (await client.send(creation())).topics[0].error_code == 0
        assert len(folders(tmp_path)) == MANY

    run(tmp_path, scenario)


def test_a_broker_that_stops_finishes_the_topic_that_it_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(client: Client) -> None:
        stopping: list[asyncio.Task[None]] = []
        Halfway(
            monkeypatch, lambda: stopping.append(asyncio.get_running_loop().create_task(client.broker.stop()))
        )
        with pytest.raises(KafkaConnectionError):
            await client.send(creation())
        await stopping[0]

    async def look(client: Client) -> None:
        answer = await client.send(more_partitions(MANY))
        assert answer.results[0].error_message == f"Topic already has {MANY} partition(s)."

    run(tmp_path, scenario)
    run(tmp_path, look)
    assert len(folders(tmp_path)) == MANY


def test_a_log_that_has_the_place_of_another_outlives_that_ones_deletion(tmp_path: Path) -> None:
    partition, settings = TopicPartition("t", 0), LogSettings()
    logs = LogManager(tmp_path, 0)
    first = logs.create(partition, settings)
    second = logs.create(partition, settings)
    assert not first.segments
    logs.delete(first)
    assert logs.get(partition) is second
    batch = batch_of(values("a"))
    second.append(batch, _kernel.scan_batches(batch), now_ms=0)
    assert second.read(0, 1000, at_least_one=True)
    logs.delete(second)
    assert folders(tmp_path) == []


async def stop(cluster: ClusterOfThree) -> None:
    await cluster.stop(2)


async def kill(cluster: ClusterOfThree) -> None:
    await cluster.kill(2)


async def start_again(cluster: ClusterOfThree) -> None:
    await cluster.stop(2)
    await cluster.start(2)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("end", [stop, kill, start_again])
def test_no_partition_is_led_by_a_node_that_ended_while_it_was_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[[ClusterOfThree], Coroutine[Any, Any, None]],
    replicas: int,
) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        ending: list[asyncio.Task[None]] = []
        Halfway(monkeypatch, lambda: ending.append(asyncio.get_running_loop().create_task(end(cluster))))
        answer = await cluster.ask(1, creation(replicas=replicas))
        assert answer.topics[0].error_code == 0
        await ending[0]
        partitions = cluster.broker._parts.cluster.topic("many").partitions  # pyright: ignore
        assert len(partitions) == MANY
        for partition in partitions:
            assert partition.replicas is not None
            assert partition.registration.leader in partition.replicas.logs
        for index in range(6):
            request = produce_request("many", batch_of(values("a")), partition=index, acks=1)
            response = await cluster.ask(partitions[index].registration.leader, request, 12)
            assert response.responses[0].partition_responses[0].error_code == 0

    run_three(tmp_path, scenario)


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_topic_is_created_while_a_killed_node_is_not_missed_yet(tmp_path: Path, replicas: int) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.kill(2)
        answer = await cluster.ask(1, creation(partitions=9, replicas=replicas))
        assert answer.topics[0].error_code == 0
        leaders = {(await cluster.describe("many", index)).leader_id for index in range(9)}
        assert leaders == {1, 3}
        by_hand = CreateTopicsRequest.CreatableReplicaAssignment(0, [2])
        topic = CreateTopicsRequest.CreatableTopic("by-hand", -1, -1, [by_hand])
        answer = await cluster.ask(1, CreateTopicsRequest([topic], 1000))
        assert answer.topics[0].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT

    run_three(tmp_path, scenario)
