"""kafka-python."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from bench.works import PARTITIONS, START, Measure, Stopwatch, Task, keys, stopwatch_of_writing, values

STARTS = 5
FIRST_MESSAGE = """
import sys, time
began = time.perf_counter()
exec(sys.argv[1])
from kafka import KafkaConsumer, TopicPartition
consumer = KafkaConsumer(bootstrap_servers=sys.argv[2], enable_auto_commit=False)
partitions = [TopicPartition(sys.argv[3], partition) for partition in (0, 1)]
consumer.assign(partitions)
consumer.seek_to_beginning(*partitions)
next(consumer).value
print(time.perf_counter() - began, time.process_time())
"""


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


def consume_iterated(task: Task) -> Measure:
    consumer = consumer_of(task)
    next(consumer)
    left = task.records - 1
    size = 0
    watch = Stopwatch()
    for message in consumer:
        size += len(message.value)
        left -= 1
        if not left:
            break
    measure = watch.stop(task.records - 1)
    consumer.close()
    return measure


def consume_polled(task: Task) -> Measure:
    consumer = consumer_of(task)
    next(consumer)
    watch = Stopwatch()
    count = size = 0
    while count < task.records - 1:
        for messages in consumer.poll(timeout_ms=1000, max_records=500).values():
            for message in messages:
                size += len(message.value)
            count += len(messages)
    measure = watch.stop(count)
    consumer.close()
    return measure


def produce_plain(task: Task) -> Measure:
    producer = producer_of(task)
    key_pool, value_pool = keys(), values()
    size = len(value_pool)
    topic = task.topic
    send = producer.send
    watch = stopwatch_of_writing()
    future = send(topic, value_pool[0], key_pool[0])
    for number in range(1, task.records):
        index = number % size
        future = send(topic, value_pool[index], key_pool[index])
    producer.flush(timeout=120)
    future.get(timeout=10)
    measure = watch.stop(task.records)
    producer.close()
    return measure


def produce_callback(task: Task) -> Measure:
    delivered = 0

    def on_delivery(_metadata: Any) -> None:
        nonlocal delivered
        delivered += 1

    producer = producer_of(task)
    key_pool, value_pool = keys(), values()
    size = len(value_pool)
    topic = task.topic
    send = producer.send
    watch = stopwatch_of_writing()
    for number in range(task.records):
        index = number % size
        send(topic, value_pool[index], key_pool[index]).add_callback(on_delivery)
    producer.flush(timeout=120)
    measure = watch.stop(task.records)
    producer.close()
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return measure


def producer_of(task: Task) -> KafkaProducer:
    producer = KafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
        batch_size=1_000_000,
    )
    producer.partitions_for(task.topic)
    return producer


def start_first(task: Task) -> Measure:
    return measured_starts(task, "import kafka")


def measured_starts(task: Task, imports: str) -> Measure:
    """Processes that import the package and read one message, after each other; each tells of itself, from
    where Python runs its first line."""
    seconds = cpu_seconds = 0.0
    for _ in range(STARTS):
        command = [sys.executable, "-c", FIRST_MESSAGE, imports, task.bootstrap, task.topic]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        wall, cpu = map(float, done.stdout.split())
        seconds, cpu_seconds = seconds + wall, cpu_seconds + cpu
    return Measure(STARTS, seconds, cpu_seconds)


WORKS = {
    "consume/list": consume_list,
    "consume/one": consume_one,
    "consume/iterated": consume_iterated,
    "consume/polled": consume_polled,
    "produce/plain": produce_plain,
    "produce/callback": produce_callback,
    "produce/sent": produce_plain,
    "produce/called_back": produce_callback,
    START: start_first,
}
