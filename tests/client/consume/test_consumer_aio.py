from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.waiting import NEVER_SECONDS, Patience, wait_for_async

from barnabas import TopicPartition, Watermarks, aio
from barnabas.errors import ClosedError, MisuseError

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


async def read(consumer: aio.Consumer, count: int, timeout: float = 60.0) -> list[Any]:
    patience = Patience(timeout)
    records: list[Any] = []
    while len(records) < count:
        patience.check(f"{len(records)} of {count} records came")
        records += await consumer.poll(0.2, count - len(records))
    return records


def test_a_consumer_that_has_nothing_to_read_says_so_rather_than_wait() -> None:
    async def main() -> None:
        async with aio.Consumer("127.0.0.1:1") as consumer:
            with pytest.raises(MisuseError, match="no topics to read"):
                await consumer.poll()
            with pytest.raises(MisuseError, match="no topics to read"):
                await consumer.poll_arrow()
            with pytest.raises(MisuseError, match="no topics to read"):
                await anext(aiter(consumer))

    asyncio.run(main())


def test_records_come_by_poll_by_iteration_one_by_one_and_as_columns(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 100))

    async def main() -> None:
        async with aio.Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([(topic, 0)])
            assert [record.value for record in await read(consumer, 10)] == numbers(0, 10)
            seen = []
            async for record in consumer:
                seen.append(record.value)
                if len(seen) == 10:
                    break
            assert seen == numbers(10, 20)
            record = await consumer.poll_one(30)
            assert record is not None
            assert record.value == b"20"
            batch = await consumer.poll_arrow(10, 10)
            assert batch["value"].to_pylist() == numbers(21, 31)
            assert await consumer.position((topic, 0)) == 31
            consumer.seek((topic, 0), 5)
            assert [record.offset for record in await read(consumer, 2)] == [5, 6]
            consumer.pause((topic, 0))
            assert await consumer.poll(0.1) == []
            consumer.resume((topic, 0))
            assert len(await read(consumer, 93)) == 93
            assert await consumer.end_offsets([(topic, 0)]) == {TopicPartition(topic, 0): 100}
            assert await consumer.lag((topic, 0)) == 0

    asyncio.run(main())


def test_members_share_a_group_and_coroutine_callbacks_are_awaited(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 4)
    told: list[tuple[str, int]] = []

    async def member(stop: asyncio.Event, found: list[Any]) -> None:
        async def on_assigned(partitions: list[TopicPartition]) -> None:
            await asyncio.sleep(0)
            told.append(("assigned", len(partitions)))

        consumer = aio.Consumer(
            broker.bootstrap, group_id=topic, auto_offset_reset="earliest", heartbeat_interval_ms=200
        )
        consumer.subscribe([topic], on_assigned=on_assigned)
        async with consumer:
            while not stop.is_set():
                found += await consumer.poll(0.1)
            await consumer.commit()

    async def main() -> None:
        stop = asyncio.Event()
        found: list[list[Any]] = [[], []]
        tasks = [asyncio.create_task(member(stop, mine)) for mine in found]
        await wait_for_async(lambda: told[-2:] == [("assigned", 2)] * 2)
        for partition in range(4):
            await asyncio.to_thread(fill_topic, broker, topic, numbers(0, 10), partition)
        await wait_for_async(lambda: sum(map(len, found)) == 40)
        stop.set()
        await asyncio.gather(*tasks)
        assert sorted((r.partition, r.offset) for mine in found for r in mine) == [
            (partition, offset) for partition in range(4) for offset in range(10)
        ]
        assert all(mine for mine in found)
        async with aio.Consumer(broker.bootstrap, group_id=topic) as consumer:
            committed = await consumer.committed([(topic, partition) for partition in range(4)])
            assert [offset and offset.offset for offset in committed.values()] == [10] * 4

    asyncio.run(main())


def test_a_poll_can_be_cancelled_and_the_consumer_goes_on(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)

    async def main() -> None:
        async with aio.Consumer(broker.bootstrap, topics=[topic], group_id=topic) as consumer:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await consumer.poll(60)
            patience = Patience()
            while not consumer.assignment():
                patience.check()
                await consumer.poll(0.1)
            await consumer.position((topic, 0))
            await asyncio.to_thread(fill_topic, broker, topic, [b"x"])
            assert len(await read(consumer, 1)) == 1

    asyncio.run(main())


def test_the_loop_is_not_held_up_by_a_consumer_that_waits(broker: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(broker)

    async def main() -> None:
        async with aio.Consumer(broker.bootstrap) as consumer:
            consumer.assign([(topic, 0)])
            poll = asyncio.create_task(consumer.poll(NEVER_SECONDS))
            # Each comes back by the loop.
            for _ in range(20):
                await asyncio.to_thread(lambda: None)
            assert not poll.done()
            consumer.wakeup()
            assert await poll == []
        with pytest.raises(ClosedError):
            await consumer.poll(1)

    asyncio.run(main())


def test_an_iteration_ends_when_its_consumer_is_closed(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 3))

    async def main() -> list[bytes | None]:
        consumer = aio.Consumer(broker.bootstrap, auto_offset_reset="earliest")
        consumer.assign([(topic, 0)])
        seen = []
        async for record in consumer:
            seen.append(record.value)
            if len(seen) == 3:
                await consumer.close()
        return seen

    assert asyncio.run(main()) == numbers(0, 3)


def test_ends_and_watermarks_are_told(broker: Any, make_topic: MakeTopic, fill_topic: FillTopic) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 5))

    async def main() -> None:
        async with aio.Consumer(
            broker.bootstrap, auto_offset_reset="earliest", enable_partition_eof=True, fetch_max_wait_ms=50
        ) as consumer:
            consumer.assign([(topic, 0)])
            seen = 0
            while not (ends := consumer.ends_reached()):
                seen += len(await consumer.poll(20))
            assert (seen, ends) == (5, {TopicPartition(topic, 0): 5})
            assert await consumer.watermarks((topic, 0)) == Watermarks(0, 5)
            assert consumer.cached_watermarks((topic, 0)) == Watermarks(0, 5)

    asyncio.run(main())


def test_a_second_coroutine_that_polls_meanwhile_is_told_so_and_nothing_is_lost(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)

    async def main() -> None:
        async with aio.Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([(topic, 0)])
            first = asyncio.create_task(consumer.poll(60))
            await asyncio.sleep(0)
            with pytest.raises(MisuseError, match="another thread or coroutine is polling"):
                await consumer.poll(0)
            await asyncio.to_thread(fill_topic, broker, topic, numbers(0, 10))
            records = await first
            records += await read(consumer, 10 - len(records))
            assert [record.value for record in records] == numbers(0, 10)

    asyncio.run(main())


def test_a_callback_may_poll(broker: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(broker)
    polled = []

    async def main() -> None:
        async def on_assigned(_: list[TopicPartition]) -> None:
            polled.append(await consumer.poll(0))

        async with aio.Consumer(broker.bootstrap, group_id=f"group-{topic}") as consumer:
            consumer.subscribe([topic], on_assigned=on_assigned)
            async with asyncio.timeout(60):
                while not polled:
                    await consumer.poll(0.1)

    asyncio.run(main())
