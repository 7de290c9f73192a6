"""AIOProducer's buffer: its size and its time, and what becomes of messages in it."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_both, script
from tests.compat.differential.scripts.asynchronous.calls import attempt, run
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

# Without brokers, until they are told otherwise.
AWAY = {"bootstrap.servers": UNREACHABLE, "log_level": 0, "message.timeout.ms": 300}


def a_producer(aio: Any, stage: Stage, conf: dict[str, Any] | None = None, **arguments: Any) -> Any:
    return aio.AIOProducer(
        {"bootstrap.servers": stage.bootstrap, "log_level": 0, **(conf or {})}, **arguments
    )


async def tell(stage: Stage, label: str, futures: list[Any]) -> None:
    """What has become of messages: the offset and the value, or the error."""
    for number, future in enumerate(futures):
        try:
            message = await future
        except (Exception, asyncio.CancelledError) as error:
            stage.record(f"{label} {number}", error)
        else:
            stage.record(f"{label} {number}", [message.partition(), message.offset(), message.value()])


@on_both()
def a_buffer_is_emptied_by_its_size_by_its_time_and_by_flush(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic(2)

    async def main() -> None:
        cases: dict[str, dict[str, Any]] = {
            "by its size": {"batch_size": 3, "buffer_timeout": 0.2},
            "by its time": {"batch_size": 1000, "buffer_timeout": 0.2},
            "one by one": {"batch_size": 1, "buffer_timeout": 0.2},
        }
        for label, arguments in cases.items():
            producer = a_producer(aio, stage, **arguments)
            futures = [await producer.produce(topic, f"{label} {n}", partition=0) for n in range(3)]
            await tell(stage, label, futures)
            stage.record("length", len(producer))
            await producer.close()
        for timeout in (0, -1, 100):
            producer = a_producer(aio, stage, batch_size=1000, buffer_timeout=timeout)
            futures = [await producer.produce(topic, f"{timeout} {n}", partition=1) for n in range(3)]
            stage.record("length", len(producer))
            stage.record("flush", await producer.flush(WAIT))
            await tell(stage, f"time {timeout}", futures)
            await producer.close()

    run(main())


@on_both()
def a_producer_closes_with_messages_in_its_buffer(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        producer = a_producer(aio, stage)
        futures = [await producer.produce(topic, b"%d" % n) for n in range(3)]
        await attempt(stage, "close", producer.close)
        stage.record("length", len(producer))
        await tell(stage, "closed", futures)
        async with a_producer(aio, stage) as producer:
            futures = [await producer.produce(topic, b"%d" % n) for n in range(3)]
        await tell(stage, "left", futures)

    run(main())


@on_both()
def one_batch_goes_to_several_topics_and_partitions(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topics = [stage.topic(2), stage.topic(2)]

    async def main() -> None:
        producer = a_producer(aio, stage, batch_size=8)
        futures = [
            await producer.produce(topic, f"{number}-{partition}", f"{number}", partition=partition)
            for number in range(2)
            for topic in topics
            for partition in (0, 1)
        ]
        await producer.flush(WAIT)
        await tell(stage, "message", futures)
        stage.record("topics", [(await future).topic() for future in futures])
        by_key = [await producer.produce(topics[0], b"v", key=b"the same") for _ in range(3)]
        await producer.flush(WAIT)
        stage.record("one partition", len({(await future).partition() for future in by_key}))
        await producer.close()

    run(main())


@script()
def messages_of_a_producer_without_brokers_time_out(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        for end in ("flush", "close"):
            producer = aio.AIOProducer({**AWAY})
            futures = [await producer.produce("t", b"%d" % n) for n in range(3)]
            await attempt(stage, end, getattr(producer, end))
            await tell(stage, end, futures)

    run(main())


@script()
def purged_messages_fail(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        # Handed over: what is in the original's own buffer is cancelled instead.
        producer = aio.AIOProducer({**AWAY, "message.timeout.ms": 60_000}, batch_size=1, buffer_timeout=0)
        for arguments in ({}, {"in_queue": False}, {"in_flight": False}, {"blocking": False}):
            futures = [await producer.produce("t", b"%d" % n) for n in range(2)]
            stage.record("length", len(producer))
            await attempt(stage, f"purge {arguments}", producer.purge, **arguments)
            await producer.poll(0.1)
            stage.record("left", len(producer))
            await producer.purge()
            await producer.flush(0)
            await tell(stage, f"{arguments}", futures)
        await attempt(stage, "close", producer.close)

    run(main())


@script()
def a_flush_that_takes_too_long_is_given_up(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        producer = aio.AIOProducer({**AWAY, "message.timeout.ms": 1500}, batch_size=1, buffer_timeout=0)
        futures = [await producer.produce("t", b"%d" % n) for n in range(2)]
        for timeout in (0, 0.05):
            await attempt(stage, f"flush {timeout}", producer.flush, timeout)
        await attempt(stage, "flush by name", producer.flush, timeout=0.05)
        try:
            await asyncio.wait_for(producer.flush(), 0.1)
        except TimeoutError as error:
            stage.record("cancelled", error)
        stage.record("length", len(producer))
        await attempt(stage, "flush again", producer.flush)
        await tell(stage, "message", futures)
        await producer.close()

    run(main())


@on_both()
def messages_whose_futures_are_cancelled_are_delivered_nevertheless(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        producer = a_producer(aio, stage, batch_size=3)
        futures = [await producer.produce(topic, b"%d" % n) for n in range(3)]
        futures[1].cancel()
        await attempt(stage, "flush", producer.flush, WAIT)
        await tell(stage, "message", futures)
        task = asyncio.create_task(producer.produce(topic, b"begun"))
        await asyncio.sleep(0)
        task.cancel()
        await producer.close()

    run(main())
    consumer = stage.reader(topic)
    stage.values(consumer, 3)


@on_both()
def results_of_polls_while_messages_are_delivered(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        producer = a_producer(aio, stage, batch_size=1, buffer_timeout=0)
        future = await producer.produce(topic, b"v")
        count = 0
        while not future.done():
            count += await producer.poll(0.5)
        stage.record("counted", count)
        for timeout in (0, 0.01, True):
            await attempt(stage, f"poll {timeout}", producer.poll, timeout)
        await attempt(stage, "poll by name", producer.poll, timeout=0)
        for wrong in ("x", None, b"1", [1]):
            await attempt(stage, f"poll {wrong!r}", producer.poll, wrong)
        await attempt(stage, "poll of two", producer.poll, 0, 0)
        await producer.close()

    run(main())


@on_both()
def properties_of_delivery_reports_are_taken(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        called: list[Any] = []
        producer = a_producer(aio, stage, {"on_delivery": lambda *given: called.append(given)}, batch_size=1)
        future = await producer.produce(topic, b"v")
        await producer.flush(WAIT)
        await tell(stage, "message", [future])
        stage.record("on_delivery", len(called))
        await producer.close()

    run(main())
