"""pykafka, the genuine package where nothing else is installed under its name."""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
from typing import Any

from tests.compat.pykafka.packages import genuine

from bench.works import Measure, Stopwatch, Task, keys, stopwatch_of_writing, values

if importlib.util.find_spec("pykafka") is None:
    sys.path.insert(0, str(genuine()))

# As a message that waits for no others is sent soon, by either.
LINGER_MS = 100
WITHOUT_END = -1
BROKER_VERSION = "0.10.2"


def topic_of(task: Task) -> Any:
    client: Any = import_module("pykafka").KafkaClient(hosts=task.bootstrap, broker_version=BROKER_VERSION)
    topic = client.topics[task.topic.encode()]
    # A topic does not keep its cluster's client.
    topic.client_of_bench = client
    return topic


def consume_iterated(task: Task, **settings: Any) -> Measure:
    consumer = topic_of(task).get_simple_consumer(**settings)
    consumer.consume()
    left = task.records - 1
    size = 0
    watch = Stopwatch()
    for message in consumer:
        size += len(message.value)
        left -= 1
        if not left:
            break
    measure = watch.stop(task.records - 1)
    consumer.stop()
    return measure


def produce_async(task: Task, **settings: Any) -> Measure:
    settings = settings or {"pending_timeout_ms": WITHOUT_END}
    producer = topic_of(task).get_producer(linger_ms=LINGER_MS, **settings)
    key_pool, value_pool = keys(), values()
    size = len(value_pool)
    produce = producer.produce
    watch = stopwatch_of_writing()
    for number in range(task.records):
        index = number % size
        produce(value_pool[index], key_pool[index])
    producer.stop()
    return watch.stop(task.records)


def produce_sync(task: Task, **settings: Any) -> Measure:
    producer = topic_of(task).get_producer(sync=True, **settings)
    value_pool = values()
    producer.produce(value_pool[0])
    watch = stopwatch_of_writing()
    for number in range(1, task.records):
        producer.produce(value_pool[number % len(value_pool)])
    measure = watch.stop(task.records - 1)
    producer.stop()
    return measure


WORKS = {
    "consume/pykafka": consume_iterated,
    "produce/pykafka": produce_async,
    "produce/pykafka_sync": produce_sync,
}
