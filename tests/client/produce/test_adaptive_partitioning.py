"""KIP-794: where records go that no key and no caller sends anywhere."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Admin, NewTopic, aio
from barnabas.testing import ApacheKafkaCluster

BATCH_SIZE = 1000


@pytest.fixture
def patient_cluster() -> Iterator[ApacheKafkaCluster]:
    """One that does not notice by itself, within a test, that a broker hangs."""
    with ApacheKafkaCluster(config={"broker.session.timeout.ms": "300000"}) as cluster:
        yield cluster


def test_records_without_a_key_avoid_a_broker_that_hangs_and_none_is_lost(
    patient_cluster: ApacheKafkaCluster, eventually: Any
) -> None:
    topic = f"adaptive-{uuid.uuid4().hex[:8]}"
    with Admin(patient_cluster.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 3, 1)])
        eventually(lambda: topic in admin.list_topics())

    async def main() -> None:
        async with aio.Producer(
            patient_cluster.bootstrap,
            batch_size=BATCH_SIZE,
            linger_ms=0,
            max_in_flight_requests_per_connection=1,
            partitioner_availability_timeout_ms=200,
        ) as producer:

            async def send_some(count: int) -> list[Any]:
                # Each fills a batch, so that each is a choice anew.
                return [await producer.send(topic, b"v" * BATCH_SIZE) for _ in range(count)]

            first = await asyncio.gather(*await send_some(60))
            assert {metadata.partition for metadata in first} == {0, 1, 2}
            leaders = {info.partition: info.leader for info in await producer.partitions_for(topic)}
            hung = patient_cluster.node(leaders[0])
            hung.pause()
            try:
                all_sent = await send_some(60)
                # The shorter queues alone would take most of the records, but hardly ever all of 300. Of the
                # first round some are sent before it shows that the broker hangs, and are not waited for.
                for patience_seconds in (1, 20, 20, 20):
                    latest = [asyncio.ensure_future(delivery) for delivery in await send_some(300)]
                    all_sent += latest
                    _, undelivered = await asyncio.wait(latest, timeout=patience_seconds)
                    if not undelivered:
                        break
                assert not undelivered
                assert {delivery.result().partition for delivery in latest} == {1, 2}
            finally:
                hung.resume()
            await asyncio.gather(*all_sent)

    asyncio.run(main())


def test_partitioner_ignore_keys_spreads_records_of_one_key(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker, partitions=3)

    async def main() -> set[int]:
        async with aio.Producer(
            broker.bootstrap, batch_size=BATCH_SIZE, partitioner_ignore_keys=True
        ) as producer:
            sent = [await producer.send(topic, b"v" * BATCH_SIZE, key=b"same") for _ in range(60)]
            return {metadata.partition for metadata in await asyncio.gather(*sent)}

    assert asyncio.run(main()) == {0, 1, 2}
