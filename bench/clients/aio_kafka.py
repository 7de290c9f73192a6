"""aiokafka."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from bench.works import PARTITIONS, Task, keys, values


async def consumer_of(task: Task) -> AIOKafkaConsumer:
    consumer = AIOKafkaConsumer(bootstrap_servers=task.bootstrap, enable_auto_commit=False)
    await consumer.start()
    partitions = [TopicPartition(task.topic, partition) for partition in range(PARTITIONS)]
    consumer.assign(partitions)
    await consumer.seek_to_beginning(*partitions)
    return consumer


async def consume_list(task: Task) -> float:
    began = time.perf_counter()
    consumer = await consumer_of(task)
    count = size = 0
    while count < task.records:
        for messages in (await consumer.getmany(timeout_ms=1000, max_records=10_000)).values():
            for message in messages:
                size += len(message.value)
            count += len(messages)
    took = time.perf_counter() - began
    await consumer.stop()
    return took


async def consume_one(task: Task) -> float:
    began = time.perf_counter()
    consumer = await consumer_of(task)
    count = size = 0
    async for message in consumer:
        size += len(message.value)
        count += 1
        if count == task.records:
            break
    took = time.perf_counter() - began
    await consumer.stop()
    return took


async def produce_plain(task: Task) -> float:
    return await _produce(task, lambda future: None)


async def produce_callback(task: Task) -> float:
    delivered = 0

    def on_delivery(future: asyncio.Future) -> None:
        nonlocal delivered
        future.result()
        delivered += 1

    took = await _produce(task, lambda future: future.add_done_callback(on_delivery))
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return took


async def _produce(task: Task, watch: Callable[[asyncio.Future], None]) -> float:
    producer = AIOKafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
        max_batch_size=1_000_000,
    )
    await producer.start()
    key_pool, value_pool = keys(), values()
    last: deque[asyncio.Future] = deque(maxlen=1)
    began = time.perf_counter()
    for number in range(task.records):
        index = number % 1000
        future = await producer.send(task.topic, value_pool[index], key_pool[index])
        watch(future)
        last.append(future)
    await producer.flush()
    await last[0]
    took = time.perf_counter() - began
    await producer.stop()
    return took


def run(work: Callable[[Task], Awaitable[float]]) -> Callable[[Task], float]:
    return lambda task: asyncio.run(work(task))


WORKS = {
    "consume/list": run(consume_list),
    "consume/one": run(consume_one),
    "produce/plain": run(produce_plain),
    "produce/callback": run(produce_callback),
}
