"""aiokafka."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from bench.works import PARTITIONS, Measure, Stopwatch, Task, keys, stopwatch_of_writing, values


async def consumer_of(task: Task) -> AIOKafkaConsumer:
    consumer = AIOKafkaConsumer(bootstrap_servers=task.bootstrap, enable_auto_commit=False)
    await consumer.start()
    partitions = [TopicPartition(task.topic, partition) for partition in range(PARTITIONS)]
    consumer.assign(partitions)
    await consumer.seek_to_beginning(*partitions)
    return consumer


async def consume_list(task: Task) -> Measure:
    consumer = await consumer_of(task)
    await consumer.getone()
    watch = Stopwatch()
    count = size = 0
    while count < task.records - 1:
        for messages in (await consumer.getmany(timeout_ms=1000, max_records=10_000)).values():
            for message in messages:
                size += len(message.value)
            count += len(messages)
    measure = watch.stop(count)
    await consumer.stop()
    return measure


async def consume_one(task: Task) -> Measure:
    consumer = await consumer_of(task)
    await consumer.getone()
    watch = Stopwatch()
    count = size = 0
    async for message in consumer:
        size += len(message.value)
        count += 1
        if count == task.records - 1:
            break
    measure = watch.stop(count)
    await consumer.stop()
    return measure


async def produce_plain(task: Task) -> Measure:
    return await _produce(task, lambda future: None)


async def produce_callback(task: Task) -> Measure:
    delivered = 0

    def on_delivery(future: asyncio.Future) -> None:
        nonlocal delivered
        future.result()
        delivered += 1

    measure = await _produce(task, lambda future: future.add_done_callback(on_delivery))
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return measure


async def _produce(task: Task, note: Callable[[asyncio.Future], None]) -> Measure:
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
    size = len(value_pool)
    watch = stopwatch_of_writing()
    for number in range(task.records):
        index = number % size
        future = await producer.send(task.topic, value_pool[index], key_pool[index])
        note(future)
        last.append(future)
    await producer.flush()
    await last[0]
    measure = watch.stop(task.records)
    await producer.stop()
    return measure


def run(work: Callable[[Task], Awaitable[Measure]]) -> Callable[[Task], Measure]:
    return lambda task: asyncio.run(work(task))


WORKS = {
    "consume/list": run(consume_list),
    "consume/one": run(consume_one),
    "produce/plain": run(produce_plain),
    "produce/callback": run(produce_callback),
}
