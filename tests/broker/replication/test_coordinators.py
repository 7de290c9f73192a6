"""What coordinators of a cluster of three answer outlives their node. In each test the follower of the
coordinator's partition is held back, something is asked for, and the coordinator's node ends before the
follower has it: nobody was told that it was done, and it is not."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest

from barnabas import _kernel
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.protocol.messages.share_fetch import ShareFetchRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

from .cluster_of_three import ClusterOfThree, run

CONFIG = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "2",
    "share.coordinator.state.topic.replication.factor": "2",
    "share.coordinator.write.timeout.ms": "20000",
    "offsets.commit.timeout.ms": "20000",
    "min.insync.replicas": "1",
}
GROUP, TRANSACTION = 0, 1
OFFSETS, TRANSACTIONS, SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
Batch = ProduceRequest.PartitionProduceData


class Coordinated:
    """A cluster, in which `coordinator` leads the only partition of a state topic, `follower` follows, and
    `third` has nothing of it."""

    def __init__(self, cluster: ClusterOfThree, topic: str) -> None:
        self.cluster = cluster
        self.topic = topic
        self.coordinator = self.follower = self.third = 0

    async def look(self) -> None:
        known = await self.cluster.describe(self.topic)
        self.coordinator = known.leader_id
        (self.follower,) = set(known.replica_nodes) - {known.leader_id}
        (self.third,) = {1, 2, 3} - set(known.replica_nodes)

    def hold_follower(self) -> None:
        self.cluster.broker.nodes[self.follower].pause()

    async def lose_coordinator(self) -> None:
        """Its node is killed, and comes back: the follower leads from then on, as far as it has come."""
        await self.cluster.kill(self.coordinator)
        self.cluster.broker.nodes[self.follower].resume()
        await self.cluster.start(self.coordinator)
        assert (await self.cluster.describe(self.topic)).leader_id == self.follower

    async def waits(
        self, request: Any, version: int | None = None, *, node: int | None = None
    ) -> asyncio.Task[Any]:
        """The answer that does not come."""
        asked = self.coordinator if node is None else node
        task = asyncio.create_task(self.cluster.ask(asked, request, version))
        done, _ = await asyncio.wait([task], timeout=0.15)
        assert not done
        return task


async def coordinated(cluster: ClusterOfThree, kind: int, topic: str) -> Coordinated:
    await cluster.ask(1, FindCoordinatorRequest(key_type=kind, coordinator_keys=["any"]))
    stage = Coordinated(cluster, topic)
    await stage.look()
    return stage


def commit(group: str, offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
    return OffsetCommitRequest(
        group, topics=[OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[partition])]
    )


async def committed(cluster: ClusterOfThree, node: int, group: str) -> int:
    asked = OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=None)
    (answer,) = (await cluster.ask(node, OffsetFetchRequest(groups=[asked]), 9)).groups
    assert answer.error_code == 0
    return answer.topics[0].partitions[0].committed_offset if answer.topics else -1


def commit_code(answer: Any) -> int:
    return answer.topics[0].partitions[0].error_code


def test_an_offset_is_not_committed_before_the_replicas_have_it(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1])
        stage = await coordinated(cluster, GROUP, OFFSETS)
        await cluster.ask(stage.coordinator, commit("g", 5), 8)
        stage.hold_follower()
        writing = asyncio.create_task(cluster.ask(stage.coordinator, commit("g", 6), 8))
        reading = asyncio.create_task(committed(cluster, stage.coordinator, "g"))
        done, _ = await asyncio.wait([writing, reading], timeout=0.15)
        assert not done
        await stage.lose_coordinator()
        for task in (writing, reading):
            with pytest.raises(BarnabasError):
                await task
        assert await committed(cluster, stage.follower, "g") == 5
        assert commit_code(await cluster.ask(stage.follower, commit("g", 7), 8)) == 0

    run(tmp_path, scenario, config=CONFIG)


def test_a_commit_is_answered_once_the_replica_that_was_held_back_has_it(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1])
        stage = await coordinated(cluster, GROUP, OFFSETS)
        stage.hold_follower()
        writing = asyncio.create_task(cluster.ask(stage.coordinator, commit("g", 6), 8))
        done, _ = await asyncio.wait([writing], timeout=0.15)
        assert not done
        cluster.broker.nodes[stage.follower].resume()
        assert commit_code(await writing) == 0
        assert cluster.log_of(stage.coordinator, OFFSETS) == cluster.log_of(stage.follower, OFFSETS)
        await cluster.stop(stage.coordinator)
        assert await committed(cluster, stage.follower, "g") == 6

    run(tmp_path, scenario, config=CONFIG)


def test_what_does_not_get_to_the_replicas_in_time_is_an_error(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1])
        stage = await coordinated(cluster, GROUP, OFFSETS)
        stage.hold_follower()
        answer = await cluster.ask(stage.coordinator, commit("g", 6), 8)
        assert commit_code(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE

    run(tmp_path, scenario, config={**CONFIG, "offsets.commit.timeout.ms": "100"})


def test_with_too_few_replicas_in_sync_nothing_is_committed(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1])
        stage = await coordinated(cluster, GROUP, OFFSETS)
        await cluster.ask(stage.coordinator, commit("g", 5), 8)
        await cluster.stop(stage.follower)
        answer = await cluster.ask(stage.coordinator, commit("g", 6), 8)
        assert commit_code(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await committed(cluster, stage.coordinator, "g") == 5

    run(tmp_path, scenario, config={**CONFIG, "min.insync.replicas": "2"})


def test_a_member_has_not_joined_before_the_replicas_have_it(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1])
        stage = await coordinated(cluster, GROUP, OFFSETS)
        join = ConsumerGroupHeartbeatRequest(
            "g", str(uuid.uuid4()), 0, rebalance_timeout_ms=60_000, subscribed_topic_names=["t"]
        )
        join.topic_partitions = []
        stage.hold_follower()
        joining = await stage.waits(join)
        await stage.lose_coordinator()
        with pytest.raises(BarnabasError):
            await joining
        described = await cluster.ask(stage.follower, ConsumerGroupDescribeRequest(["g"]))
        assert described.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
        joined = await cluster.ask(stage.follower, join)
        assert (joined.error_code, joined.member_epoch) == (0, 2)

    run(tmp_path, scenario, config=CONFIG)


def test_groups_of_all_kinds_are_where_their_coordinator_has_moved_to(tmp_path: Path) -> None:
    member = str(uuid.uuid4())

    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1])
        stage = await coordinated(cluster, GROUP, OFFSETS)
        consumer = ConsumerGroupHeartbeatRequest(
            "consumer", member, 0, rebalance_timeout_ms=60_000, subscribed_topic_names=["t"]
        )
        consumer.topic_partitions = []
        subtopology = StreamsGroupHeartbeatRequest.Subtopology("0", source_topics=["t"])
        streams = StreamsGroupHeartbeatRequest(
            "streams",
            member,
            0,
            rebalance_timeout_ms=60_000,
            process_id=member,
            topology=StreamsGroupHeartbeatRequest.Topology(0, [subtopology]),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
        )
        share = ShareGroupHeartbeatRequest("share", member, 0, subscribed_topic_names=["t"])
        joins: list[Any] = [consumer, streams, share]
        epochs: list[int] = []
        for join in joins:
            answer = await cluster.ask(stage.coordinator, join)
            assert answer.error_code == 0
            epochs.append(answer.member_epoch)
        await stage.lose_coordinator()
        for join, epoch in zip(joins, epochs, strict=True):
            beat = type(join)(join.group_id, member, epoch)
            answer = await cluster.ask(stage.follower, beat)
            assert (answer.error_code, answer.member_epoch) == (0, epoch), join.group_id

    run(tmp_path, scenario, config=CONFIG)


def transactional_batch(transactional_id: str, producer: tuple[int, int], text: str) -> ProduceRequest:
    builder = _kernel.BatchBuilder(max_bytes=1 << 16)
    builder.append(1_700_000_000_000, None, text.encode())
    batch = builder.build(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=0, is_transactional=True
    )
    topics = [ProduceRequest.TopicProduceData(name="t", partition_data=[Batch(index=0, records=batch)])]
    return ProduceRequest(transactional_id, acks=-1, timeout_ms=10_000, topic_data=topics)


async def stable_offset(cluster: ClusterOfThree, node: int) -> int:
    wanted = FetchRequest.FetchPartition(0, fetch_offset=0, partition_max_bytes=1000)
    request = FetchRequest(
        isolation_level=1,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic="t", partitions=[wanted])],
    )
    return (await cluster.ask(node, request, 12)).responses[0].partitions[0].last_stable_offset


async def begun(cluster: ClusterOfThree) -> tuple[Coordinated, tuple[int, int]]:
    """A transaction with a record in topic t, which the third node leads."""
    stage = await coordinated(cluster, TRANSACTION, TRANSACTIONS)
    await cluster.create("t", [stage.third])
    answer = await cluster.ask(stage.coordinator, InitProducerIdRequest("id", 60_000))
    return stage, (answer.producer_id, answer.producer_epoch)


def test_a_partition_belongs_to_a_transaction_before_anything_is_written_there(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        stage, producer = await begun(cluster)
        stage.hold_follower()
        writing = await stage.waits(transactional_batch("id", producer, "a"), 12, node=stage.third)
        assert cluster.log_of(stage.third, "t") == b""
        await stage.lose_coordinator()
        refused = (await writing).responses[0].partition_responses[0]
        assert refused.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        assert cluster.log_of(stage.third, "t") == b""
        again = await cluster.ask(stage.third, transactional_batch("id", producer, "a"), 12)
        assert again.responses[0].partition_responses[0].error_code == 0

    run(tmp_path, scenario, config=CONFIG)


def test_no_partition_shows_a_transaction_before_its_decision_is_safe(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        stage, producer = await begun(cluster)
        await cluster.ask(stage.third, transactional_batch("id", producer, "a"), 12)
        stage.hold_follower()
        ending = await stage.waits(EndTxnRequest("id", *producer, committed=True))
        assert await stable_offset(cluster, stage.third) == 0
        await stage.lose_coordinator()
        with pytest.raises(BarnabasError):
            await ending
        asked = DescribeTransactionsRequest(["id"])
        (known,) = (await cluster.ask(stage.follower, asked)).transaction_states
        assert known.transaction_state == "Ongoing"
        aborted = await cluster.ask(stage.follower, EndTxnRequest("id", *producer, committed=False))
        assert aborted.error_code == 0
        assert await stable_offset(cluster, stage.third) == 2

    run(tmp_path, scenario, config=CONFIG)


def test_a_transaction_ends_once_the_decision_is_safe(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        stage, producer = await begun(cluster)
        await cluster.ask(stage.third, transactional_batch("id", producer, "a"), 12)
        stage.hold_follower()
        ending = await stage.waits(EndTxnRequest("id", *producer, committed=True))
        cluster.broker.nodes[stage.follower].resume()
        assert (await ending).error_code == 0
        assert await stable_offset(cluster, stage.third) == 2

    run(tmp_path, scenario, config=CONFIG)


def test_what_became_of_a_record_is_not_known_before_the_replicas_have_it(tmp_path: Path) -> None:
    member = str(uuid.uuid4())

    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.ask(1, FindCoordinatorRequest(key_type=GROUP, coordinator_keys=["g"]))
        stage = Coordinated(cluster, SHARES)
        await cluster.create("first", [1])
        for node in (1, 2, 3):
            join = ShareGroupHeartbeatRequest("other", member, 0, subscribed_topic_names=["first"])
            if (await cluster.ask(node, join)).error_code == 0:
                break
        await stage.look()
        await cluster.create("t", [stage.third])
        described = await cluster.ask(1, MetadataRequest([MetadataRequest.MetadataRequestTopic(name="t")]))
        topic_id = described.topics[0].topic_id
        for node in (1, 2, 3):
            join = ShareGroupHeartbeatRequest("g", member, 0, subscribed_topic_names=["t"])
            if (await cluster.ask(node, join)).error_code == 0:
                break
        fetch = ShareFetchRequest(
            "g",
            member,
            0,
            max_wait_ms=0,
            min_bytes=1,
            max_records=10,
            batch_size=10,
            topics=[ShareFetchRequest.FetchTopic(topic_id, [ShareFetchRequest.FetchPartition(0)])],
        )
        assert (await cluster.ask(stage.third, fetch)).responses == []
        await cluster.produce(stage.third, "t", "a")
        fetch.share_session_epoch, fetch.topics = 1, []
        lent = (await cluster.ask(stage.third, fetch)).responses[0].partitions[0]
        assert [(one.first_offset, one.delivery_count) for one in lent.acquired_records] == [(0, 1)]
        stage.hold_follower()
        accept = ShareAcknowledgeRequest.AcknowledgementBatch(0, 0, [1])
        asked = ShareAcknowledgeRequest.AcknowledgeTopic(
            topic_id, [ShareAcknowledgeRequest.AcknowledgePartition(0, [accept])]
        )
        accepting = await stage.waits(
            ShareAcknowledgeRequest("g", member, 2, topics=[asked]), node=stage.third
        )
        await stage.lose_coordinator()
        refused = (await accepting).responses[0].partitions[0]
        assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        fetch.share_session_epoch = 3
        again = (await cluster.ask(stage.third, fetch)).responses[0].partitions[0]
        assert [one.first_offset for one in again.acquired_records] == [0]

    run(tmp_path, scenario, config=CONFIG)
