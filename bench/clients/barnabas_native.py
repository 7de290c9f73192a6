"""Barnabas's native API."""

from __future__ import annotations

import pyarrow

from barnabas import Consumer, Producer, RecordMetadata, TopicPartition
from bench.works import PARTITIONS, Measure, Stopwatch, Task, keys, stopwatch_of_writing, values

TABLE_ROWS = 100_000


def consumer_of(task: Task) -> Consumer:
    consumer = Consumer(task.bootstrap)
    partitions = [TopicPartition(task.topic, partition) for partition in range(PARTITIONS)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    return consumer


def consume_list(task: Task) -> Measure:
    consumer = consumer_of(task)
    first = consumer.poll(timeout=30.0, max_records=1)
    count = size = 0
    watch = Stopwatch()
    while count < task.records - len(first):
        records = consumer.poll(timeout=1.0, max_records=10_000)
        for record in records:
            size += len(record.value)
        count += len(records)
    measure = watch.stop(count)
    consumer.close()
    return measure


def consume_one(task: Task) -> Measure:
    consumer = consumer_of(task)
    watch = Stopwatch()
    size = 0
    wanted = task.records - 1
    for count, record in enumerate(consumer):
        if count == 0:
            watch.start()
        size += len(record.value)
        if count == wanted:
            break
    measure = watch.stop(wanted)
    consumer.close()
    return measure


def consume_arrow(task: Task) -> Measure:
    consumer = consumer_of(task)
    first = consumer.poll_arrow(timeout=30.0, max_records=1)
    count = size = 0
    watch = Stopwatch()
    while count < task.records - first.num_rows:
        batch = consumer.poll_arrow(timeout=1.0)
        size += batch.column("value").nbytes
        count += batch.num_rows
    measure = watch.stop(count)
    consumer.close()
    return measure


def producer_of(task: Task) -> Producer:
    producer = Producer(task.bootstrap, compression=task.compression)
    producer.send(task.topic, b"first").result(30)
    return producer


def produce_plain(task: Task) -> Measure:
    key_pool, value_pool = keys(), values()
    with producer_of(task) as producer:
        size = len(value_pool)
        watch = stopwatch_of_writing()
        for number in range(task.records):
            index = number % size
            delivery = producer.send(task.topic, value_pool[index], key=key_pool[index])
        producer.flush(120)
        delivery.result(10)
        return watch.stop(task.records)


def produce_callback(task: Task) -> Measure:
    delivered = 0

    def on_delivery(error: BaseException | None, _metadata: RecordMetadata | None) -> None:
        nonlocal delivered
        if error is None:
            delivered += 1

    key_pool, value_pool = keys(), values()
    with producer_of(task) as producer:
        size = len(value_pool)
        watch = stopwatch_of_writing()
        for number in range(task.records):
            index = number % size
            producer.send(task.topic, value_pool[index], key=key_pool[index], on_delivery=on_delivery)
        producer.flush(120)
        measure = watch.stop(task.records)
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return measure


def produce_arrow(task: Task) -> Measure:
    repeats = TABLE_ROWS // len(values())
    table = pyarrow.table(
        {"key": pyarrow.array(keys() * repeats), "value": pyarrow.array(values() * repeats)}
    )
    with producer_of(task) as producer:
        watch = stopwatch_of_writing()
        deliveries = [
            producer.send_arrow(task.topic, table.slice(0, task.records - row))
            for row in range(0, task.records, TABLE_ROWS)
        ]
        delivered = sum(delivery.result(120) for delivery in deliveries)
        measure = watch.stop(task.records)
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return measure


WORKS = {
    "consume/list": consume_list,
    "consume/one": consume_one,
    "consume/arrow": consume_arrow,
    "produce/plain": produce_plain,
    "produce/callback": produce_callback,
    "produce/arrow": produce_arrow,
}
