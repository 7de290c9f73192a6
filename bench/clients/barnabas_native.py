"""Barnabas's native API."""

from __future__ import annotations

import time

import pyarrow

from barnabas import Consumer, Producer, RecordMetadata, TopicPartition
from bench.works import PARTITIONS, Task, keys, values

TABLE_ROWS = 100_000


def consumer_of(task: Task) -> Consumer:
    consumer = Consumer(task.bootstrap)
    partitions = [TopicPartition(task.topic, partition) for partition in range(PARTITIONS)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    return consumer


def consume_list(task: Task) -> float:
    began = time.perf_counter()
    consumer = consumer_of(task)
    count = size = 0
    while count < task.records:
        records = consumer.poll(timeout=1.0, max_records=10_000)
        for record in records:
            size += len(record.value)
        count += len(records)
    took = time.perf_counter() - began
    consumer.close()
    return took


def consume_one(task: Task) -> float:
    began = time.perf_counter()
    consumer = consumer_of(task)
    size = 0
    for count, record in enumerate(consumer, 1):
        size += len(record.value)
        if count == task.records:
            break
    took = time.perf_counter() - began
    consumer.close()
    return took


def consume_arrow(task: Task) -> float:
    began = time.perf_counter()
    consumer = consumer_of(task)
    count = size = 0
    while count < task.records:
        batch = consumer.poll_arrow(timeout=1.0)
        size += batch.column("value").nbytes
        count += batch.num_rows
    took = time.perf_counter() - began
    consumer.close()
    return took


def produce_plain(task: Task) -> float:
    key_pool, value_pool = keys(), values()
    with Producer(task.bootstrap) as producer:
        producer.partitions_for(task.topic)
        began = time.perf_counter()
        for number in range(task.records):
            index = number % 1000
            delivery = producer.send(task.topic, value_pool[index], key=key_pool[index])
        producer.flush(120)
        delivery.result(10)
        return time.perf_counter() - began


def produce_callback(task: Task) -> float:
    delivered = 0

    def on_delivery(error: BaseException | None, _metadata: RecordMetadata | None) -> None:
        nonlocal delivered
        if error is None:
            delivered += 1

    key_pool, value_pool = keys(), values()
    with Producer(task.bootstrap) as producer:
        producer.partitions_for(task.topic)
        began = time.perf_counter()
        for number in range(task.records):
            index = number % 1000
            producer.send(task.topic, value_pool[index], key=key_pool[index], on_delivery=on_delivery)
        producer.flush(120)
        took = time.perf_counter() - began
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return took


def produce_arrow(task: Task) -> float:
    repeats = TABLE_ROWS // 1000
    table = pyarrow.table(
        {"key": pyarrow.array(keys() * repeats), "value": pyarrow.array(values() * repeats)}
    )
    with Producer(task.bootstrap) as producer:
        producer.partitions_for(task.topic)
        began = time.perf_counter()
        deliveries = [
            producer.send_arrow(task.topic, table.slice(0, task.records - row))
            for row in range(0, task.records, TABLE_ROWS)
        ]
        delivered = sum(delivery.result(120) for delivery in deliveries)
        took = time.perf_counter() - began
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return took


WORKS = {
    "consume/list": consume_list,
    "consume/one": consume_one,
    "consume/arrow": consume_arrow,
    "produce/plain": produce_plain,
    "produce/callback": produce_callback,
    "produce/arrow": produce_arrow,
}
