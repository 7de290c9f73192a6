"""kafka-python."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from bench.works import PARTITIONS, Measure, Stopwatch, Task, keys, stopwatch_of_writing, values


def consumer_of(task: Task) -> KafkaConsumer:
    consumer = KafkaConsumer(bootstrap_servers=task.bootstrap, enable_auto_commit=False)
    partitions = [TopicPartition(task.topic, partition) for partition in range(PARTITIONS)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    return consumer


def consume_list(task: Task) -> Measure:
    consumer = consumer_of(task)
    next(consumer)
    watch = Stopwatch()
    count = size = 0
    while count < task.records - 1:
        for messages in consumer.poll(timeout_ms=1000, max_records=10_000).values():
            for message in messages:
                size += len(message.value)
            count += len(messages)
    measure = watch.stop(count)
    consumer.close()
    return measure


def consume_one(task: Task) -> Measure:
    consumer = consumer_of(task)
    next(consumer)
    watch = Stopwatch()
    size = 0
    for count, message in enumerate(consumer, 1):
        size += len(message.value)
        if count == task.records - 1:
            break
    measure = watch.stop(count)
    consumer.close()
    return measure


def produce_plain(task: Task) -> Measure:
    return _produce(task, lambda future: None)


def produce_callback(task: Task) -> Measure:
    delivered = 0

    def on_delivery(_metadata: Any) -> None:
        nonlocal delivered
        delivered += 1

    measure = _produce(task, lambda future: future.add_callback(on_delivery))
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return measure


def _produce(task: Task, note: Any) -> Measure:
    producer = KafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
        batch_size=1_000_000,
    )
    producer.partitions_for(task.topic)
    key_pool, value_pool = keys(), values()
    future = None
    size = len(value_pool)
    watch = stopwatch_of_writing()
    for number in range(task.records):
        index = number % size
        future = producer.send(task.topic, value_pool[index], key_pool[index])
        note(future)
    producer.flush(timeout=120)
    if future is not None:
        future.get(timeout=10)
    measure = watch.stop(task.records)
    producer.close()
    return measure


WORKS = {
    "consume/list": consume_list,
    "consume/one": consume_one,
    "produce/plain": produce_plain,
    "produce/callback": produce_callback,
}
