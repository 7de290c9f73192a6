"""Records that come while an earlier one of their partition was to be tried again later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import aio
from barnabas.client.produce.batches.partition_queue import PartitionQueue
from barnabas.errors import KafkaTimeoutError
from barnabas.testing import EmbeddedBroker

LONG_MS = 60_000
SHORT_MS = 500
SETTINGS: dict[str, Any] = {
    "linger_ms": 0,
    "request_timeout_ms": SHORT_MS,
    "delivery_timeout_ms": SHORT_MS,
    "retry_backoff_ms": LONG_MS,
    "retry_backoff_max_ms": LONG_MS,
}


async def expire_while_it_backs_off(producer: aio.Producer, broker: EmbeddedBroker, topic: str) -> None:
    broker.faults.error("Produce", "NOT_ENOUGH_REPLICAS", topic=topic, times=1)
    delivery = await producer.send(topic, b"first")
    with pytest.raises(KafkaTimeoutError):
        await delivery


def test_a_record_does_not_wait_for_the_back_off_of_one_whose_time_is_up(
    embedded_broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(embedded_broker)

    async def main() -> None:
        async with aio.Producer(embedded_broker.bootstrap, **SETTINGS) as producer:
            await expire_while_it_backs_off(producer, embedded_broker, topic)
            delivery = await producer.send(topic, b"second")
            assert (await asyncio.wait_for(delivery, 30)).offset == 0

    asyncio.run(main())


def test_the_time_of_a_record_that_cannot_be_sent_yet_is_up_in_time(
    embedded_broker: EmbeddedBroker, make_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the queue waits for: here it backs off, without a batch to be tried again."""
    topic = make_topic(embedded_broker)
    failed = PartitionQueue.failed

    def failed_with_back_off(queue: PartitionQueue, pending: Any) -> None:
        not_before = queue.not_before
        failed(queue, pending)
        queue.not_before = not_before

    monkeypatch.setattr(PartitionQueue, "failed", failed_with_back_off)

    async def main() -> None:
        async with aio.Producer(embedded_broker.bootstrap, **SETTINGS) as producer:
            await expire_while_it_backs_off(producer, embedded_broker, topic)
            delivery = await producer.send(topic, b"second")
            with pytest.raises(KafkaTimeoutError):
                await asyncio.wait_for(delivery, 30)

    asyncio.run(main())
