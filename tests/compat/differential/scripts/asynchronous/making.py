"""How clients for asyncio are made, on which event loop they are used, and what they are after their end."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_both, script
from tests.compat.differential.scripts.asynchronous.calls import (
    CONSUMER_CALLS,
    PRODUCER_CALLS,
    a_consumer,
    attempt,
    read,
    run,
)
from tests.compat.differential.stage import WAIT, Stage

QUIET = {"log_level": 0}
GROUP = {"group.id": "g", **QUIET}


@script()
def arguments_of_asynchronous_constructors(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    cases: dict[str, tuple[Any, ...]] = {
        "max_workers": (0, -1, None, "x", 1.5, True, 3),
        "batch_size": (0, -1, None, "x", 1.5),
        "buffer_timeout": (0, -1, None, "x", 1.5, True),
        "executor": (None, "x", 0),
        "nonsense": (1,),
    }

    async def main() -> None:
        for name, values in cases.items():
            for value in values:
                stage.record(f"producer's {name} {value!r}", None)
                producer = stage.within("made", lambda n=name, v=value: aio.AIOProducer({**QUIET}, **{n: v}))
                if producer is not None and name != "executor":
                    await attempt(stage, "closed", producer.close)
                consumer = stage.within("made", lambda n=name, v=value: aio.AIOConsumer({**GROUP}, **{n: v}))
                if consumer is not None and name != "executor":
                    await attempt(stage, "closed", consumer.close)
        for conf in (None, 3, "x", [], {}, [("group.id", "g")]):
            stage.within(f"producer of {conf!r}", aio.AIOProducer, conf)
            stage.within(f"consumer of {conf!r}", aio.AIOConsumer, conf)
        stage.within("producer of keywords", lambda: aio.AIOProducer(log_level=0))
        stage.within("five", lambda: aio.AIOProducer({}, 4, None, 1000, 1.0, 3))

    run(main())


@script()
def callbacks_of_asynchronous_clients_must_be_callable_in_the_end(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        for name in ("error_cb", "throttle_cb", "stats_cb", "oauth_cb", "on_commit", "on_delivery", "logger"):
            for value in (None, 3, "x"):
                if name in ("error_cb", "throttle_cb", "stats_cb", "on_commit", "logger"):
                    # The original wraps whatever it is given.
                    continue
                stage.within(f"{name} {value!r}", aio.AIOProducer, {**QUIET, name: value})
                stage.within(f"{name} {value!r}", aio.AIOConsumer, {**GROUP, name: value})

    run(main())


async def _ended(stage: Stage, producer: Any) -> None:
    """The original's pool of threads says that it has ended, not the producer."""
    for name in PRODUCER_CALLS:
        for arguments in ((), ([],)):
            try:
                await getattr(producer, name)(*arguments)
            except Exception as error:
                stage.record(f"{name}{arguments}", type(error))


@script()
def an_asynchronous_producer_after_its_end(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        producer = aio.AIOProducer({**QUIET})
        async with producer as entered:
            stage.record("itself", entered is producer)
        await _ended(stage, producer)
        stage.record("length", len(producer))

    run(main())


@script()
def what_the_body_of_an_asynchronous_client_raises_goes_through(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        for make in (lambda: aio.AIOProducer({**QUIET}), lambda: aio.AIOConsumer({**GROUP})):
            try:
                async with make() as client:
                    raise ValueError("from the body")
            except ValueError as error:
                stage.record("raised", error)
            try:
                await client.list_topics(timeout=0.1)
            except RuntimeError as error:
                stage.record("closed", type(error))

    run(main())


@script()
def asynchronous_clients_are_closed_on_another_loop(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    made: list[Any] = []

    async def make() -> None:
        made.extend((aio.AIOProducer({**QUIET}), aio.AIOConsumer({**GROUP})))

    async def use() -> None:
        producer, consumer = made
        await attempt(stage, "flush", producer.flush)
        await attempt(stage, "poll the producer", producer.poll, 0.05)
        await attempt(stage, "poll", consumer.poll, 0.05)
        await attempt(stage, "consume", consumer.consume, 2, 0.05)
        await attempt(stage, "assignment", consumer.assignment)
        await attempt(stage, "close the producer", producer.close)
        await attempt(stage, "close", consumer.close)

    run(make())
    run(use())


async def _use(stage: Stage, topic: str, producer: Any, consumer: Any) -> None:
    """Reads what was there, what is delivered meanwhile, and what comes while it waits."""
    stage.record("read", [message.value() for message in await read(consumer, 2)])
    future = await producer.produce(topic, b"c", partition=0)
    await attempt(stage, "flush", producer.flush, WAIT)
    await attempt(stage, "delivered", lambda: future)
    stage.record("read more", [message.value() for message in await read(consumer, 1)])
    waiting = asyncio.create_task(consumer.consume(2, WAIT))
    await asyncio.sleep(0.1)
    for value in (b"d", b"e"):
        await producer.produce(topic, value, partition=0)
    await attempt(stage, "flush", producer.flush, WAIT)
    stage.record("waited for", [message.value() for message in await waiting])


def _clients(aio: Any, stage: Stage) -> tuple[Any, Any]:
    conf = {"bootstrap.servers": stage.bootstrap, **QUIET}
    return aio.AIOProducer(conf, batch_size=1, buffer_timeout=0), a_consumer(aio, stage)


@on_both()
def asynchronous_clients_are_used_on_another_loop(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a")
    made: list[Any] = []

    async def make() -> None:
        made.extend(_clients(aio, stage))
        await made[1].assign([kafka.TopicPartition(topic, 0, 0)])
        made.append(await made[0].produce(topic, b"b", partition=0))

    async def use() -> None:
        producer, consumer, future = made
        await producer.flush(WAIT)
        stage.record("of the loop before", future.result().value())
        await _use(stage, topic, producer, consumer)
        await attempt(stage, "close the producer", producer.close)
        await attempt(stage, "close", consumer.close)

    run(make())
    run(use())


@on_both()
def asynchronous_clients_are_lent_to_another_threads_loop(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a", "b")

    async def main() -> None:
        producer, consumer = _clients(aio, stage)
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        await asyncio.to_thread(lambda: run(_use(stage, topic, producer, consumer)))
        await consumer.seek(kafka.TopicPartition(topic, 0, 0))
        await _use(stage, topic, producer, consumer)
        await producer.close()
        await consumer.close()

    run(main())


@on_both()
def asynchronous_clients_of_several_threads(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic(3)
    seen: dict[int, list[Any]] = {}

    async def main(number: int) -> None:
        conf = {"bootstrap.servers": stage.bootstrap, **QUIET}
        async with aio.AIOProducer(conf, batch_size=5) as producer:
            futures = [await producer.produce(topic, b"%d" % n, partition=number) for n in range(5)]
            await producer.flush(WAIT)
            offsets = [(await future).offset() for future in futures]
        async with a_consumer(aio, stage) as consumer:
            await consumer.assign([kafka.TopicPartition(topic, number, 0)])
            seen[number] = [offsets, [message.value() for message in await consumer.consume(5, WAIT)]]

    threads = [threading.Thread(target=lambda n=number: run(main(n))) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stage.record("seen", seen)


@on_both()
def asynchronous_clients_take_an_executor(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        with ThreadPoolExecutor(2) as executor:
            conf = {"bootstrap.servers": stage.bootstrap, **QUIET}
            producer = aio.AIOProducer(conf, executor=executor, batch_size=1, max_workers=0)
            stage.record("kept", producer.executor is executor)
            future = await producer.produce(topic, b"v")
            await producer.flush(WAIT)
            await attempt(stage, "delivered", lambda: future)
            consumer = aio.AIOConsumer(
                {"bootstrap.servers": stage.bootstrap, **GROUP}, executor=executor, max_workers=0
            )
            stage.record("kept", consumer.executor is executor)
            await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
            stage.record("read", [message.value() for message in await read(consumer, 1)])
            await attempt(stage, "close", consumer.close)
            stage.record("open after a consumer", executor.submit(int).result())
            await attempt(stage, "close the producer", producer.close)

    run(main())


@script()
def closed_asynchronous_consumers_of_serialized_messages(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        consumer = await aio.AsyncDeserializingConsumer({**GROUP})
        await attempt(stage, "close", consumer.close)
        for name in (*CONSUMER_CALLS, "close"):
            await attempt(stage, name, getattr(consumer, name))
        producer = await aio.AsyncSerializingProducer({**QUIET})
        await attempt(stage, "close", producer.close)
        await _ended(stage, producer)
        await attempt(stage, "close again", producer.close)
        await attempt(stage, "produce", producer.produce, "t")
        for wrong in (3, None, "", b"t"):
            await attempt(stage, f"produce to {wrong!r}", producer.produce, wrong)

    run(main())
