from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import aio
from barnabas.client.produce.sender import Sender
from barnabas.net.connection import Connection

MEBIBYTE = 1 << 20
# Of a request, but for its batches.
MOST_OVERHEAD_BYTES = 4_096
RECORDS, RECORD_BYTES, PARTITIONS = 160, 100_000, 4


@pytest.fixture
def produced_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of the batches in each request that leaves."""
    sent: list[int] = []
    submit_to = Connection.submit_to

    def noting_submit_to(connection: Connection, answer: Any, request: Any, **options: Any) -> None:
        if request.NAME == "Produce":
            partitions = [data for topic in request.topic_data for data in topic.partition_data]
            sent.append(sum(len(data.records) for data in partitions))
        submit_to(connection, answer, request, **options)

    monkeypatch.setattr(Connection, "submit_to", noting_submit_to)
    return sent


@pytest.fixture
def held_answers(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What brokers answered to producers, which hear of it when these are called."""
    held: list[Callable[[], None]] = []
    on_answer = Sender._on_answer

    def holding(sender: Sender, *answer: Any) -> None:
        held.append(lambda: on_answer(sender, *answer))

    monkeypatch.setattr(Sender, "_on_answer", holding)
    return held


async def send_all(producer: Any, topic: str) -> None:
    for number in range(RECORDS):
        await producer.send(topic, bytes(RECORD_BYTES), partition=number % PARTITIONS)


@pytest.mark.parametrize(("setting", "most"), [(None, 2 * MEBIBYTE), (MEBIBYTE, MEBIBYTE)])
def test_a_request_takes_two_full_batches_but_no_more_than_max_request_size(
    broker: Any,
    make_topic: Any,
    read_topic: Any,
    produced_bytes: list[int],
    setting: int | None,
    most: int,
) -> None:
    topic = make_topic(broker, partitions=PARTITIONS)

    async def main() -> None:
        # The first batches go alone: what is behind them waits until brokers know the producer.
        async with aio.Producer(broker.bootstrap, linger_ms=60_000, max_request_size=setting) as producer:
            await send_all(producer, topic)
            await producer.flush()

    asyncio.run(main())
    assert most - MEBIBYTE // 4 < max(produced_bytes) <= most + MOST_OVERHEAD_BYTES
    assert len(read_topic(broker, topic)) == RECORDS


def test_no_more_is_under_way_than_so_many_full_batches_as_requests_may_be(
    broker: Any,
    make_topic: Any,
    read_topic: Any,
    eventually_async: Any,
    produced_bytes: list[int],
    held_answers: list[Callable[[], None]],
) -> None:
    topic = make_topic(broker, partitions=PARTITIONS)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, enable_idempotence=False, linger_ms=60_000) as producer:
            await send_all(producer, topic)
            flushing = asyncio.ensure_future(producer.flush())
            try:
                await eventually_async(lambda: sum(produced_bytes) >= 5 * MEBIBYTE - RECORD_BYTES * 5)
                await eventually_async(lambda: len(held_answers) == len(produced_bytes))
                assert sum(produced_bytes) < 7 * MEBIBYTE
            finally:
                while not flushing.done():
                    while held_answers:
                        held_answers.pop(0)()
                    await asyncio.sleep(0)
            await flushing

    asyncio.run(main())
    assert len(read_topic(broker, topic)) == RECORDS
