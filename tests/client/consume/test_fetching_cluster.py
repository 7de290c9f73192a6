"""Fetching from three brokers: the closest replica, leaders that move, and elections that lose records."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.reading import read

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.broker_errors import OffsetOutOfRangeError
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import LogTruncationError
from barnabas.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.settings.table import CommonConfig, load
from barnabas.testing import ApacheKafkaCluster, EmbeddedBroker


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApacheKafkaCluster]:
    """Brokers that these tests may end; each test leaves all running."""
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    with ApacheKafkaCluster(racks=["a", "b", "c"], config={"replica.selector.class": selector}) as cluster:
        yield cluster


@pytest.fixture
def make_topic(
    cluster: ApacheKafkaCluster | EmbeddedBroker, eventually: Any
) -> Callable[..., TopicPartition]:
    """`make_topic(leader, *followers, **configs)` gives the one partition of a new topic."""

    def make(*replicas: int, **configs: str) -> TopicPartition:
        name = f"test-{uuid.uuid4().hex[:12]}"
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        with Admin(cluster.bootstrap) as admin:
            admin.create_topics([NewTopic(name, configs=dotted, replica_assignments={0: list(replicas)})])
            eventually(lambda: name in admin.list_topics())
        return TopicPartition(name, 0)

    return make


def fill(
    cluster: ApacheKafkaCluster | EmbeddedBroker,
    partition: TopicPartition,
    name: str,
    count: int,
    **settings: Any,
) -> None:
    """One batch for each record."""
    with Producer(cluster.bootstrap, linger_ms=0, **settings) as producer:
        for number in range(count):
            producer.send(partition.topic, f"{name} {number}".encode()).result(90)


def read_replica(consumer: Consumer, partition: TopicPartition) -> int | None:
    """The node that is fetched from in place of the leader."""
    node_id = consumer._core._fetcher.sources.replica(partition)
    return None if node_id < 0 else node_id


def move_leader(
    cluster: ApacheKafkaCluster | EmbeddedBroker, partition: TopicPartition, *replicas: int
) -> None:
    """Makes the first of these replicas the leader."""

    async def move() -> None:
        client = KafkaClient(load(CommonConfig, {"bootstrap_servers": cluster.bootstrap}))
        reassigned = AlterPartitionReassignmentsRequest.ReassignablePartition(0, list(replicas))
        reassignment = AlterPartitionReassignmentsRequest(
            timeout_ms=10_000,
            topics=[AlterPartitionReassignmentsRequest.ReassignableTopic(partition.topic, [reassigned])],
        )
        election = ElectLeadersRequest(
            topic_partitions=[ElectLeadersRequest.TopicPartitions(partition.topic, [0])], timeout_ms=10_000
        )
        try:
            assert (await client.send_to_any(reassignment)).error_code == 0
            response = await client.send_to_any(election)
            assert response.error_code == 0
            assert [r.error_code for t in response.replica_election_results for r in t.partition_result] == [
                0
            ]
        finally:
            await client.close()

    asyncio.run(move())


def test_the_replica_in_the_same_rack_is_read_and_the_leader_again_when_it_is_gone(
    cluster: ApacheKafkaCluster | EmbeddedBroker, make_topic: Callable[..., TopicPartition], eventually: Any
) -> None:
    partition = make_topic(1, 2, 3)
    fill(cluster, partition, "first", 10)
    with Consumer(
        cluster.bootstrap, client_rack="b", auto_offset_reset="earliest", fetch_max_wait_ms=50
    ) as consumer:
        consumer.assign([partition])
        records = read(consumer, 10)
        eventually(lambda: read_replica(consumer, partition) == 2)
        fill(cluster, partition, "second", 10)
        records += read(consumer, 10)
        assert read_replica(consumer, partition) == 2
        cluster.node(2).kill()
        fill(cluster, partition, "third", 10)
        records += read(consumer, 10)
        assert read_replica(consumer, partition) is None
        cluster.start()
        assert [record.offset for record in records] == list(range(30))


@pytest.mark.parametrize("reset", ["earliest", "none"])
def test_an_offset_that_the_closest_replica_does_not_have_is_for_the_leader_to_judge(
    reset: str,
    cluster: ApacheKafkaCluster | EmbeddedBroker,
    make_topic: Callable[..., TopicPartition],
    eventually: Any,
) -> None:
    partition = make_topic(1, 2, 3)
    fill(cluster, partition, "value", 10)
    with Consumer(
        cluster.bootstrap, client_rack="b", auto_offset_reset=reset, fetch_max_wait_ms=50
    ) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 0)
        read(consumer, 10)
        eventually(lambda: read_replica(consumer, partition) == 2)
        consumer.seek(partition, 1000)
        if reset == "earliest":
            assert read(consumer, 1)[0].offset == 0
        else:
            with pytest.raises(OffsetOutOfRangeError, match=r"offset 1000 of .* holds offsets 0 to 10"):
                read(consumer, 1)


def test_a_leader_that_moves_is_followed_without_metadata(
    cluster: ApacheKafkaCluster | EmbeddedBroker,
    make_topic: Callable[..., TopicPartition],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partition = make_topic(1, 2, 3)
    fill(cluster, partition, "old", 5)
    with Consumer(cluster.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=100) as consumer:
        consumer.assign([partition])
        read(consumer, 5)
        client = consumer._core.client
        monkeypatch.setattr(client, "request_metadata_update", lambda: None)
        move_leader(cluster, partition, 2, 1, 3)
        fill(cluster, partition, "new", 5)
        assert [record.offset for record in read(consumer, 5)] == [5, 6, 7, 8, 9]
        assert client.metadata.leader(partition) == 2


def test_a_leader_that_moves_is_followed_where_a_backlog_is_fetched_in_bulk(
    cluster: ApacheKafkaCluster | EmbeddedBroker, make_topic: Callable[..., TopicPartition]
) -> None:
    partition = make_topic(1, 2, 3)
    count = 30_000
    with Producer(cluster.bootstrap, batch_size=20_000) as producer:
        for number in range(count):
            producer.send(partition.topic, b"%06d" % number + b"x" * 200)
    with Consumer(
        cluster.bootstrap,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=200_000,
        queued_max_bytes=1_000_000,
    ) as consumer:
        consumer.assign([partition])
        direct = consumer._core._fetcher._direct
        assert direct is not None
        numbers: list[int] = []
        for replicas in ((2, 1, 3), (3, 1, 2), (1, 2, 3)):
            next_stop = len(numbers) + count // 4
            was_in_bulk = False
            while len(numbers) < next_stop:
                numbers += [int(record.value[:6]) for record in read(consumer, 500)]
                was_in_bulk |= any(lent.is_in_bulk for lent in direct.lent)
            assert was_in_bulk
            move_leader(cluster, partition, *replicas)
        numbers += [int(record.value[:6]) for record in read(consumer, count - len(numbers))]
        assert numbers == list(range(count))


def test_what_one_broker_has_for_us_is_not_forgotten_for_the_failure_of_another(
    cluster: ApacheKafkaCluster | EmbeddedBroker, make_topic: Callable[..., TopicPartition], eventually: Any
) -> None:
    partition, dry = make_topic(1), make_topic(2)
    with Producer(cluster.bootstrap, batch_size=20_000) as producer:
        for number in range(20_000):
            producer.send(partition.topic, b"%06d" % number + b"x" * 200)
    with Consumer(
        cluster.bootstrap,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=200_000,
        queued_max_bytes=1_000_000,
    ) as consumer:
        consumer.assign([partition, dry])
        fetcher = consumer._core._fetcher
        assert fetcher._direct is not None
        while not any(lent.is_in_bulk for lent in fetcher._direct.lent):
            read(consumer, 500)
        queue = next(queue for queue in fetcher._buffer.queues() if queue.partition == partition)
        # All that is queued waits for the caller, so nothing tells anew that there is more.
        eventually(lambda: [seconds for _, seconds, _ in consumer._waiting.figures()] == [0.0])
        assert queue.has_backlog
        cluster.node(2).kill()
        try:
            eventually(lambda: fetcher._failures[2])
            assert queue.has_backlog
        finally:
            cluster.node(2).start()


def test_an_unclean_election_that_lost_records_is_noticed(
    cluster: ApacheKafkaCluster | EmbeddedBroker, make_topic: Callable[..., TopicPartition]
) -> None:
    partition = make_topic(1, 2, unclean_leader_election_enable="true", min_insync_replicas="1")
    fill(cluster, partition, "kept", 10)
    settings: Any = {"fetch_max_wait_ms": 50, "metadata_max_age_ms": 1000}
    with (
        Consumer(cluster.bootstrap, auto_offset_reset="none", **settings) as careful,
        Consumer(cluster.bootstrap, auto_offset_reset="earliest", **settings) as easygoing,
    ):
        careful.assign([partition])
        careful.seek(partition, 0)
        easygoing.assign([partition])
        cluster.node(2).kill()
        fill(cluster, partition, "lost", 10)
        assert len(read(careful, 20)) == len(read(easygoing, 20)) == 20
        cluster.node(1).kill()
        cluster.node(2).start()
        fill(cluster, partition, "new", 15)
        cluster.start()
        with pytest.raises(LogTruncationError, match=f"{partition}: .* offset 10, .* position 20"):
            read(careful, 1)
        records = read(easygoing, 15)
        assert [(r.offset, r.value) for r in records] == [(10 + n, b"new %d" % n) for n in range(15)]
