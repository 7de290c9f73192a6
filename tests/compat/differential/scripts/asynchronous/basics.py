"""AIOProducer and AIOConsumer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_both, script
from tests.compat.differential.stage import Stage


async def _attempt(stage: Stage, label: str, call: Callable[[], Awaitable[Any]]) -> Any:
    try:
        result = await call()
    except Exception as error:
        stage.record(label, error)
        return None
    stage.record(label, result)
    return result


@script()
def asynchronous_clients_need_an_event_loop(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    stage.attempt("producer", aio.AIOProducer, {"log_level": 0})
    stage.attempt("consumer", aio.AIOConsumer, {"group.id": "g", "log_level": 0})


@script()
def asynchronous_clients_check_their_settings(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def run() -> None:
        stage.attempt("unknown", aio.AIOProducer, {"foo": 1})
        stage.attempt("workers", lambda: aio.AIOConsumer({"group.id": "g", "log_level": 0}, max_workers=0))
        stage.attempt("no group", aio.AIOConsumer, {})
        stage.attempt("nothing", aio.AIOConsumer)

    asyncio.run(run())


@script()
def closed_asynchronous_consumers_refuse_everything(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def run() -> None:
        consumer = aio.AIOConsumer({"group.id": "g", "log_level": 0})
        await _attempt(stage, "close", consumer.close)
        await _attempt(stage, "poll", lambda: consumer.poll(0))
        await _attempt(stage, "assignment", consumer.assignment)
        await _attempt(stage, "subscribe", lambda: consumer.subscribe(["t"]))

    asyncio.run(run())


@on_both()
def messages_are_produced_and_consumed_asynchronously(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def run() -> None:
        producer = aio.AIOProducer({"bootstrap.servers": stage.bootstrap}, batch_size=3, buffer_timeout=0.1)
        futures = [
            await producer.produce(topic, value=f"{index}".encode(), key=b"k", partition=0)
            for index in range(3)
        ]
        stage.record("a future", isinstance(futures[0], asyncio.Future))
        for future in futures:
            stage.record("message", await future)
        await _attempt(stage, "flush", producer.flush)
        await producer.close()
        consumer = aio.AIOConsumer(
            {"bootstrap.servers": stage.bootstrap, "group.id": stage.group(), "enable.auto.commit": False}
        )
        await _attempt(stage, "assign", lambda: consumer.assign([kafka.TopicPartition(topic, 0, 0)]))
        for _ in range(2):
            message = None
            while message is None:
                message = await consumer.poll(1)
            stage.record("consumed", message)
        rest = await consumer.consume(1, 40)
        stage.record("rest", [message.value() for message in rest])
        await _attempt(stage, "commit", lambda: consumer.commit(asynchronous=False))
        partitions = [kafka.TopicPartition(topic, 0)]
        await _attempt(stage, "committed", lambda: consumer.committed(partitions))
        await _attempt(stage, "position", lambda: consumer.position(partitions))
        await _attempt(stage, "watermarks", lambda: consumer.get_watermark_offsets(partitions[0]))
        await _attempt(stage, "seek", lambda: consumer.seek(kafka.TopicPartition(topic, 0, 1)))
        await _attempt(stage, "nonsense", lambda: consumer.seek(3))
        await _attempt(stage, "close", consumer.close)

    asyncio.run(run())


@on_both()
def asynchronous_rebalances_call_coroutines_in_the_loops_thread(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a")

    async def run() -> None:
        here = threading.get_ident()
        consumer = aio.AIOConsumer(
            {"bootstrap.servers": stage.bootstrap, "group.id": stage.group(), "auto.offset.reset": "earliest"}
        )

        async def assigned(member: Any, partitions: list[Any]) -> None:
            stage.record("on_assign", [partitions, threading.get_ident() == here])

        async def revoked(member: Any, partitions: list[Any]) -> None:
            stage.record("on_revoke", [len(partitions), threading.get_ident() == here])

        await consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked)
        message = None
        while message is None:
            message = await consumer.poll(0.5)
        stage.record("message", message.value())
        await consumer.unsubscribe()
        await consumer.close()

    asyncio.run(run())


@on_both()
def failed_messages_fail_their_futures(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic(max_message_bytes="500")

    async def run() -> None:
        producer = aio.AIOProducer({"bootstrap.servers": stage.bootstrap}, batch_size=1)
        future = await producer.produce(topic, b"x" * 1000)
        await _attempt(stage, "result", lambda: future)
        await producer.close()

    asyncio.run(run())
