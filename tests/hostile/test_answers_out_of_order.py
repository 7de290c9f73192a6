"""Answers that come twice, in each other's place or with another number: nothing more is believed of the
connection, and what was sent on it is sent again. Sequence numbers (KIP-98) make that safe."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Consumer, Producer, aio

from . import proxy
from .proxy import Harm, HostileProxy, framed

RECORDS = 200
SETTINGS: dict[str, Any] = {
    "linger_ms": 0,
    "batch_size": 200,
    "retry_backoff_ms": 5,
    "retry_backoff_max_ms": 20,
    "reconnect_backoff_ms": 5,
    "reconnect_backoff_max_ms": 20,
    # How long an answer is waited for that is held back for the next one, if none comes.
    "request_timeout_ms": 500,
}


def swapped() -> Harm:
    """Every second answer to be harmed comes before the one before it."""
    held: list[bytes] = []

    def swap(_: random.Random, answer: bytes) -> bytes:
        if not held:
            held.append(answer)
            return b""
        return framed(answer) + framed(held.pop())

    return swap


HARMS: dict[str, Callable[[], Harm]] = {
    "twice": lambda: proxy.twice,
    "swapped": swapped,
    "with another number": lambda: proxy.other_correlation_id,
}


async def produce_awaited(bootstrap: str, topic: str) -> None:
    async with aio.Producer(bootstrap, **SETTINGS) as producer:
        deliveries = [await producer.send(topic, b"%d" % number) for number in range(RECORDS)]
        for delivery in deliveries:
            await delivery


async def produce_in_a_thread(bootstrap: str, topic: str) -> None:
    def produce() -> None:
        with Producer(bootstrap, **SETTINGS) as producer:
            for number in range(RECORDS):
                delivery = producer.send(topic, b"%d" % number)
                if number % 10 == 0:
                    delivery.result()
            producer.flush()

    await asyncio.to_thread(produce)


@pytest.mark.parametrize("produce", [produce_awaited, produce_in_a_thread])
@pytest.mark.parametrize("harm", HARMS)
def test_records_whose_answers_are_out_of_order_are_delivered_once(
    broker: Any, make_topic: Callable[..., str], harm: str, produce: Callable[..., Any]
) -> None:
    topic = make_topic(broker)

    async def main() -> int:
        hostile = HostileProxy(broker.bootstrap, HARMS[harm](), seed=7, spared=3, share=0.2)
        async with hostile:
            await produce(hostile.bootstrap, topic)
        return hostile.harmed

    assert asyncio.run(main()) > 0
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        values: Counter[bytes | None] = Counter()
        while consumer.position((topic, 0)) < consumer.end_offsets([(topic, 0)])[topic, 0]:
            values.update(record.value for record in consumer.poll(1))
    assert values == Counter({b"%d" % number: 1 for number in range(RECORDS)})
