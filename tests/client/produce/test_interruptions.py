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

from barnabas import Consumer, Delivery, Producer, TopicPartition, aio
from barnabas.client.cluster import lifetimes, loop_lifetimes
from barnabas.testing import EmbeddedBroker

RECORDS = 6
RUNS = 10
MOST_LINES = 1_100
MOST_LINES_OF_TRANSACTIONS = 2_400
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

    def run(self, raised: RaisedAt, error: type[BaseException]) -> None:
        """Ends in time, with each record decided and reported once."""
        began_at = time.monotonic()
        try:
            asyncio.run(self.main(raised))
        except error:
            assert raised.place
        finally:
            sys.settrace(None)
        assert time.monotonic() - began_at < LIMIT_SECONDS, raised.place
        # Of a record whose `send` was ended the program has no delivery, and it may be reported.
        assert all(count == 1 for count in self.told.values()), raised.place
        for value, delivery in self.deliveries.items():
            assert delivery.done(), raised.place
            assert self.told[value], raised.place

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


class Transactions(Program):
    """Three transactions, the second of which is aborted."""

    COUNT, ABORTED = 3, 1

    def __init__(self, bootstrap: str, topic: str, *, is_closed: bool) -> None:
        super().__init__(bootstrap, topic, linger_ms=0, is_closed=is_closed)
        self._producer = lambda: aio.Producer(bootstrap, transactional_id=topic, linger_ms=0)
        self.ended: set[int] = set()
        """Transactions whose end was answered."""

    async def _send(self, producer: aio.Producer, raised: RaisedAt) -> None:
        await producer.init_transactions()
        sys.settrace(raised)
        for place in range(self.COUNT):
            await producer.begin_transaction()
            for number in range(RECORDS):
                await self._send_one(producer, place * RECORDS + number)
            await (producer.abort_transaction() if place == self.ABORTED else producer.commit_transaction())
            self.ended.add(place)


def stored(broker: EmbeddedBroker, topic: str) -> Counter[bytes | None]:
    """What is there for those who read committed records."""
    settings = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    with Consumer(broker.bootstrap, **settings) as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        end, values = consumer.end_offsets([partition])[partition], Counter[bytes | None]()
        while consumer.position(partition) < end:
            values.update(record.value for record in consumer.poll(1))
        return values


@pytest.fixture
def short_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was interrupted may never be done, so that a program ends after all of these."""
    monkeypatch.setattr(lifetimes, "MOMENTS_SECONDS", 0.5)
    monkeypatch.setattr(loop_lifetimes, "MOMENTS_SECONDS", 0.5)
    monkeypatch.setattr(loop_lifetimes, "SILENT_SECONDS", 0.1)


@pytest.mark.usefixtures("short_moments")
@pytest.mark.filterwarnings("ignore:unclosed producer:ResourceWarning")
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "not closed"])
@pytest.mark.parametrize("linger_ms", [0, 5])
def test_each_record_is_decided_and_told_of_once_whatever_is_raised_at_any_line(
    embedded_broker: EmbeddedBroker,
    make_topic: Callable[..., str],
    error: type[BaseException],
    is_closed: bool,
    linger_ms: int,
) -> None:
    chance = random.Random(f"{error.__name__} {is_closed} {linger_ms}")
    for _ in range(RUNS):
        topic = make_topic(embedded_broker)
        program = Program(embedded_broker.bootstrap, topic, linger_ms=linger_ms, is_closed=is_closed)
        raised = RaisedAt(chance.randrange(1, MOST_LINES), error, STEPS)
        program.run(raised, error)
        in_topic = stored(embedded_broker, topic)
        assert all(count == 1 for count in in_topic.values()), raised.place
        for value, delivery in program.deliveries.items():
            assert delivery.exception() is not None or in_topic[value], raised.place


@pytest.mark.usefixtures("short_moments")
@pytest.mark.filterwarnings("ignore:unclosed producer:ResourceWarning")
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "not closed"])
def test_a_transaction_is_there_as_a_whole_or_not_at_all_whatever_is_raised_at_any_line(
    embedded_broker: EmbeddedBroker,
    make_topic: Callable[..., str],
    error: type[BaseException],
    is_closed: bool,
) -> None:
    chance = random.Random(f"{error.__name__} {is_closed}")
    raised_count = 0
    for _ in range(RUNS):
        topic = make_topic(embedded_broker)
        program = Transactions(embedded_broker.bootstrap, topic, is_closed=is_closed)
        raised = RaisedAt(chance.randrange(1, MOST_LINES_OF_TRANSACTIONS), error, STEPS)
        program.run(raised, error)
        raised_count += bool(raised.place)
        # Who comes next aborts what was left open.
        with Producer(embedded_broker.bootstrap, transactional_id=topic) as producer:
            producer.init_transactions()
        in_topic = stored(embedded_broker, topic)
        assert all(count == 1 for count in in_topic.values()), raised.place
        for place in range(Transactions.COUNT):
            values = {b"%d" % number for number in range(place * RECORDS, (place + 1) * RECORDS)}
            found = values & in_topic.keys()
            assert found in (set(), values), raised.place
            if place == Transactions.ABORTED:
                assert not found, raised.place
            elif place in program.ended:
                assert found == values, raised.place
    assert raised_count > RUNS / 2


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_metadata_is_asked_for_again_by_a_client_whose_last_update_was_ended(
    embedded_broker: EmbeddedBroker, make_topic: Callable[..., str], error: type[BaseException]
) -> None:
    topic = make_topic(embedded_broker)
    left = [error]

    def end(_: Any) -> None:
        if left:
            raise left.pop()

    async def make() -> aio.Producer:
        producer = aio.Producer(embedded_broker.bootstrap)
        producer._client.add_metadata_listener(end)  # pyright: ignore[reportPrivateUsage]
        return producer

    async def send() -> None:
        await (await producer.send(topic, b"value"))

    loop = asyncio.new_event_loop()
    try:
        producer = loop.run_until_complete(make())
        sending = loop.create_task(send())
        with pytest.raises(error):
            loop.run_until_complete(sending)
        loop.run_until_complete(asyncio.wait_for(sending, LIMIT_SECONDS))
        loop.run_until_complete(producer.close())
    finally:
        loop.close()
