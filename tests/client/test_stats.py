"""The figures of `stats()`, held against what was really done."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from typing import Any

import pytest

from barnabas import Admin, Consumer, Producer, TopicPartition, aio
from barnabas.windows import RollingWindow


def test_a_window_tells_percentiles_of_the_last_minute() -> None:
    window = RollingWindow()
    now = time.monotonic()
    window.add(now - 61, 1e9)
    for value in range(1, 101):
        window.add(now, value)
    stats = window.stats()
    assert (stats.count, stats.sum, stats.min, stats.max) == (100, 5050, 1, 100)
    assert (stats.avg, stats.p50, stats.p75, stats.p90, stats.p95, stats.p99) == (50.5, 50, 75, 90, 95, 99)
    assert stats.p99_99 == 100
    assert stats.stddev == pytest.approx(28.866, abs=0.001)


def test_a_window_keeps_the_latest_samples_in_bounded_memory() -> None:
    window = RollingWindow(10)
    for value in range(25):
        window.add(time.monotonic(), value)
    stats = window.stats()
    assert (stats.count, stats.min, stats.max, stats.sum) == (10, 15, 24, sum(range(15, 25)))


def test_a_window_without_samples_is_all_zeros() -> None:
    assert set(dataclasses.astuple(RollingWindow().stats())) == {0}


def test_a_producer_counts_what_it_delivered_by_broker_and_partition(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker, partitions=2)
    with Producer(broker.bootstrap, client_id="counted") as producer:
        for number in range(300):
            producer.send(topic, b"x" * 100, partition=number % 3 // 2)
        producer.flush()
        stats = producer.stats()
    assert stats.client.client_id == "counted"
    assert stats.client.cluster_id
    assert stats.client.metadata_age_seconds is not None
    assert (stats.records_delivered, stats.records_failed, stats.buffered_records) == (300, 0, 0)
    by_partition = [stats.partitions[TopicPartition(topic, number)] for number in (0, 1)]
    assert [p.records_delivered for p in by_partition] == [200, 100]
    assert sum(p.bytes_delivered for p in by_partition) == stats.bytes_delivered > 30_000
    assert sum(p.batches_delivered for p in by_partition) == stats.batches_sent
    assert all(p.leader == 1 and p.batches_in_flight == p.batches_queued == 0 for p in by_partition)
    assert all(0 < p.delivery_latency_ms.min <= p.delivery_latency_ms.max < 10_000 for p in by_partition)
    assert stats.queue_time_ms.count == stats.batches_sent
    (node,) = [b for b in stats.client.brokers if b.node_id == 1]
    assert (node.state, node.open_connections, node.requests_in_flight) == ("up", 1, 0)
    assert node.requests_by_api["Produce"] == stats.requests_sent
    assert node.requests == node.responses + node.request_errors
    assert node.bytes_sent > stats.bytes_delivered
    assert node.bytes_received > 0
    assert node.latency_ms.count > 0
    assert json.dumps([dataclasses.asdict(b) for b in stats.client.brokers])


def test_records_that_failed_and_requests_without_an_answer_are_counted(
    own_broker: Any, make_topic: Any
) -> None:
    topic = make_topic(own_broker)

    async def main() -> None:
        async with aio.Producer(
            own_broker.bootstrap, request_timeout_ms=1_500, delivery_timeout_ms=6_000, linger_ms=0
        ) as producer:
            await (await producer.send(topic, b"value"))
            delivered = 1

            async def deliver_on() -> None:
                nonlocal delivered
                while True:
                    await (await producer.send(topic, b"value"))
                    delivered += 1

            own_broker.pause()
            try:
                # A request or two may still be answered before the broker stands still.
                with pytest.raises(TimeoutError):
                    await deliver_on()
                stats = producer.stats()
            finally:
                own_broker.resume()
            partition = stats.partitions[TopicPartition(topic, 0)]
            assert (stats.records_delivered, stats.records_failed) == (delivered, 1)
            assert (partition.records_delivered, partition.records_failed) == (delivered, 1)
            assert partition.batch_retries == stats.batch_retries >= 1
            (node,) = [b for b in stats.client.brokers if b.node_id == 1]
            assert node.request_timeouts >= 1
            assert node.request_errors >= node.request_timeouts
            assert node.disconnects >= 1
            assert node.state != "up"

    asyncio.run(main())


def test_a_consumer_counts_what_it_read_and_how_far_behind_it_is(
    broker: Any, make_topic: Any, fill_topic: Any, eventually: Any
) -> None:
    topic = make_topic(broker, partitions=2)
    fill_topic(broker, topic, [b"%d" % number for number in range(1_000)])
    settings: dict[str, Any] = {"auto_offset_reset": "earliest", "auto_commit_interval_ms": 600_000}
    with Consumer(broker.bootstrap, topics=[topic], group_id=topic, **settings) as consumer:
        taken = 0
        while taken < 600:
            taken += len(consumer.poll(timeout=1.0, max_records=600 - taken))
        consumer.commit()
        consumer.pause((topic, 1))
        stats = consumer.stats()
        read, idle = (stats.partitions[TopicPartition(topic, number)] for number in (0, 1))
        assert (read.position, read.high_watermark, read.lag, read.returned_records) == (600, 1_000, 400, 600)
        assert read.fetched_bytes >= read.queued_bytes > 0
        assert stats.queued_bytes == read.queued_bytes
        assert (read.leader, read.preferred_read_replica) == (1, -1)
        assert (read.is_paused, idle.is_paused) == (False, True)
        assert (idle.position, idle.lag, idle.returned_records) == (0, 0, 0)
        assert (stats.group_id, stats.generation) == (topic, 1)
        assert stats.member_id.startswith("barnabas")
        assert (stats.commits, stats.commit_failures) == (1, 0)
        assert stats.commit_latency_ms.count == 1
        assert stats.rebalances == stats.rebalance_latency_ms.count == 1
        assert stats.rebalance_time_ms == pytest.approx(stats.rebalance_latency_ms.sum)
        assert stats.fetch_latency_ms.count > 0
        assert 0 < stats.poll_idle_ratio <= 1
        (node,) = [b for b in stats.client.brokers if b.node_id == 1]
        # Fetches, the group and the rest go over connections of their own.
        assert node.open_connections >= 3
        assert node.requests_by_api["JoinGroup"] >= 1


def test_an_admin_counts_its_requests(broker: Any) -> None:
    with Admin(broker.bootstrap) as admin:
        admin.list_topics()
        stats = admin.stats()
    assert sum(b.requests_by_api.get("Metadata", 0) for b in stats.brokers) >= 1
    assert stats.controller_id == 1


@pytest.mark.integration
def test_a_bootstrap_server_that_is_down_is_shown_as_such() -> None:
    async def main() -> None:
        async with aio.Admin("127.0.0.1:9") as admin:
            with pytest.raises(ConnectionError):
                await admin.list_topics(timeout=0.3)
            (server,) = admin.stats().brokers
            assert (server.node_id, server.host, server.port, server.state) == (-1, "127.0.0.1", 9, "down")
            assert server.connect_failures >= 1
            assert (server.connects, server.requests) == (0, 0)

    asyncio.run(main())


def test_figures_can_be_read_on_any_thread_while_the_client_works(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker, partitions=8)
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        delivered: list[int] = []
        for number in range(20_000):
            producer.send(topic, b"%d" % number)
            if number % 200 == 0:
                delivered.append(producer.stats().records_delivered)
        producer.flush()
        delivered.append(producer.stats().records_delivered)
    assert delivered == sorted(delivered)
    assert delivered[-1] == 20_000


def test_a_window_tells_of_its_latest_samples_by_their_number() -> None:
    window = RollingWindow(samples=4)
    assert window.latest(3).count == 0
    for value in (9, 8, 1, 2, 10):
        window.add(0.0, value)
    latest = window.latest(3)
    assert (latest.count, latest.min, latest.p50, latest.p75, latest.max) == (3, 1, 2, 2, 10)
    assert window.latest(99).sum == 8 + 1 + 2 + 10
    assert window.latest(0).count == 0
