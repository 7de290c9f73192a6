"""confluent-kafka (librdkafka)."""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from bench.works import PARTITIONS, Task, keys, values


def consumer_of(task: Task) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": task.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    consumer.assign(
        [TopicPartition(task.topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)]
    )
    return consumer


def consume_list(task: Task) -> float:
    began = time.perf_counter()
    consumer = consumer_of(task)
    count = size = 0
    while count < task.records:
        messages = consumer.consume(10_000, timeout=1.0)
        for message in messages:
            if message.error() is None:
                size += len(message.value())
        count += len(messages)
    took = time.perf_counter() - began
    consumer.close()
    return took


def consume_one(task: Task) -> float:
    began = time.perf_counter()
    consumer = consumer_of(task)
    count = size = 0
    while count < task.records:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            size += len(message.value())
            count += 1
    took = time.perf_counter() - began
    consumer.close()
    return took


def producer_of(task: Task) -> Producer:
    producer = Producer({"bootstrap.servers": task.bootstrap, "acks": "all", "enable.idempotence": True})
    producer.list_topics(task.topic, timeout=10)
    return producer


def produce_plain(task: Task) -> float:
    return _produce(task, {})


def produce_callback(task: Task) -> float:
    delivered = 0

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        nonlocal delivered
        if error is not None:
            raise RuntimeError(str(error))
        delivered += 1

    took = _produce(task, {"on_delivery": on_delivery})
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return took


def _produce(task: Task, options: dict) -> float:
    producer = producer_of(task)
    key_pool, value_pool = keys(), values()
    began = time.perf_counter()
    for number in range(task.records):
        index = number % 1000
        while True:
            try:
                producer.produce(task.topic, value_pool[index], key_pool[index], **options)
                break
            except BufferError:
                producer.poll(0.1)
        if index == 0:
            producer.poll(0)
    left = producer.flush(120)
    took = time.perf_counter() - began
    if left:
        raise RuntimeError(f"{left} records were not delivered")
    return took


WORKS = {
    "consume/list": consume_list,
    "consume/one": consume_one,
    "produce/plain": produce_plain,
    "produce/callback": produce_callback,
}
