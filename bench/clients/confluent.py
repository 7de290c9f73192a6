"""confluent-kafka (librdkafka)."""

from __future__ import annotations

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from bench.works import PARTITIONS, Measure, Stopwatch, Task, keys, stopwatch_of_writing, values

# By default it stops fetching for a second whenever its queue is full: a sixth of this speed.
TUNING = {"fetch.queue.backoff.ms": 1}


def consumer_of(task: Task, tuning: dict) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": task.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "check.crcs": True,
            **tuning,
        }
    )
    consumer.assign(
        [TopicPartition(task.topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)]
    )
    return consumer


def consume_list(task: Task, tuning: dict = TUNING) -> Measure:
    consumer = consumer_of(task, tuning)
    first = consumer.consume(1, timeout=30.0)
    count = size = 0
    watch = Stopwatch()
    while count < task.records - len(first):
        messages = consumer.consume(10_000, timeout=1.0)
        for message in messages:
            if message.error() is None:
                size += len(message.value())
        count += len(messages)
    measure = watch.stop(count)
    consumer.close()
    return measure


def consume_one(task: Task, tuning: dict = TUNING) -> Measure:
    consumer = consumer_of(task, tuning)
    consumer.consume(1, timeout=30.0)
    count = size = 0
    watch = Stopwatch()
    while count < task.records - 1:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            size += len(message.value())
            count += 1
    measure = watch.stop(count)
    consumer.close()
    return measure


def producer_of(task: Task) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": task.bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": task.compression,
        }
    )
    producer.produce(task.topic, b"first")
    producer.flush(30)
    return producer


# Both loops are written out: what they share would cost each message a call, or a dictionary of arguments.


def produce_plain(task: Task) -> Measure:
    producer = producer_of(task)
    topic, key_pool, value_pool = task.topic, keys(), values()
    size = len(value_pool)
    watch = stopwatch_of_writing()
    for number in range(task.records):
        index = number % size
        while True:
            try:
                producer.produce(topic, value_pool[index], key_pool[index])
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    return _flushed(producer, watch, task)


def produce_callback(task: Task) -> Measure:
    delivered = 0

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        nonlocal delivered
        if error is not None:
            raise RuntimeError(str(error))
        delivered += 1

    producer = producer_of(task)
    topic, key_pool, value_pool = task.topic, keys(), values()
    size = len(value_pool)
    watch = stopwatch_of_writing()
    for number in range(task.records):
        index = number % size
        while True:
            try:
                producer.produce(topic, value_pool[index], key_pool[index], on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    measure = _flushed(producer, watch, task)
    if delivered != task.records:
        raise RuntimeError(f"{delivered} of {task.records} records were reported delivered")
    return measure


def _flushed(producer: Producer, watch: Stopwatch, task: Task) -> Measure:
    left = producer.flush(120)
    measure = watch.stop(task.records)
    if left:
        raise RuntimeError(f"{left} records were not delivered")
    return measure


WORKS = {
    "consume/list": consume_list,
    "consume/one": consume_one,
    "produce/plain": produce_plain,
    "produce/callback": produce_callback,
}
