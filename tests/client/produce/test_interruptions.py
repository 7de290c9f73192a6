"""Whatever is raised at any line of a producer's steps, each record is decided, and the program ends."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.interrupting import RaisedAt, in_modules

from barnabas import Consumer, Delivery, TopicPartition, aio
from barnabas.client.cluster import lifetimes, loop_lifetimes
from barnabas.testing import EmbeddedBroker

RECORDS = 6
RUNS = 10
MOST_LINES = 1_100
LIMIT_SECONDS = 20.0
STEPS = in_modules("/barnabas/client/produce/", "/barnabas/client/cluster/waking", "/barnabas/net/")


class Program:
    """Sends records with asyncio, and is ended by an exception."""

    def __init__(self, bootstrap: str, topic: str, *, linger_ms: int, is_closed: bool) -> None:
        self.deliveries: dict[bytes, Delivery] = {}
        self.told: Counter[bytes] = Counter()
        self._is_closed = is_closed
        self._producer: Callable[[], aio.Producer] = lambda: aio.Producer(bootstrap, linger_ms=linger_ms)
        self._topic = topic

    async def main(self, raised: RaisedAt) -> None:
        if self._is_closed:
            async with self._producer() as producer:
                await self._send(producer, raised)
        else:
            await self._send(self._producer(), raised)

    async def _send(self, producer: aio.Producer, raised: RaisedAt) -> None:
        # Batches leave without the event loop only after one has left by it.
        await (await self._send_one(producer, 0))
        sys.settrace(raised)
        for number in range(1, RECORDS):
            delivery = await self._send_one(producer, number)
            if number == RECORDS // 2:
                await delivery
        await producer.flush()

    async def _send_one(self, producer: aio.Producer, number: int) -> Delivery:
        value = b"%d" % number

        def tell(*_: Any) -> None:
            self.told[value] += 1

        delivery = self.deliveries[value] = await producer.send(self._topic, value, on_delivery=tell)
        return delivery


def stored(broker: EmbeddedBroker, topic: str) -> Counter[bytes | None]:
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        end, values = consumer.end_offsets([partition])[partition], Counter[bytes | None]()
        while consumer.position(partition) < end:
            values.update(record.value for record in consumer.poll(1))
        return values


@pytest.mark.filterwarnings("ignore:unclosed producer:ResourceWarning")
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "not closed"])
@pytest.mark.parametrize("linger_ms", [0, 5])
def test_each_record_is_decided_and_told_of_once_whatever_is_raised_at_any_line(
    embedded_broker: EmbeddedBroker,
    make_topic: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    is_closed: bool,
    linger_ms: int,
) -> None:
    # What was interrupted may never be done, so that a program ends after all of these.
    monkeypatch.setattr(lifetimes, "MOMENTS_SECONDS", 0.5)
    monkeypatch.setattr(loop_lifetimes, "MOMENTS_SECONDS", 0.5)
    monkeypatch.setattr(loop_lifetimes, "SILENT_SECONDS", 0.1)
    chance = random.Random(f"{error.__name__} {is_closed} {linger_ms}")
    for _ in range(RUNS):
        topic = make_topic(embedded_broker)
        program = Program(embedded_broker.bootstrap, topic, linger_ms=linger_ms, is_closed=is_closed)
        raised = RaisedAt(chance.randrange(1, MOST_LINES), error, STEPS)
        began_at = time.monotonic()
        try:
            asyncio.run(program.main(raised))
        except error:
            assert raised.place
        finally:
            sys.settrace(None)
        assert time.monotonic() - began_at < LIMIT_SECONDS, raised.place
        in_topic = stored(embedded_broker, topic)
        assert all(count == 1 for count in in_topic.values()), raised.place
        assert all(count == 1 for count in program.told.values()), raised.place
        for value, delivery in program.deliveries.items():
            assert delivery.done(), raised.place
            assert program.told[value], raised.place
            assert delivery.exception() is not None or in_topic[value], raised.place
