"""A program with KafkaProducer or KafkaConsumer, of which `soak` runs several: it writes or reads until it is
told to end.

It prints what was acknowledged, or what it read. The module `kafka` is the one of the chosen generation.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import kafka
from kafka.errors import KafkaError

OVER = threading.Event()
PAUSE_SECONDS = 0.1
GROUP = "readers"
RESULT_SECONDS = 90
BATCH = 20
READING: dict[str, Any] = {
    "group_id": GROUP,
    "auto_offset_reset": "earliest",
    "session_timeout_ms": 6000,
    "heartbeat_interval_ms": 300,
}


def main() -> None:
    signal.signal(signal.SIGTERM, end)
    role, bootstrap, topic, *arguments = sys.argv[1:]
    ROLES[role](bootstrap, topic, *arguments)


def end(*_: Any) -> None:
    OVER.set()


def patiently(make: Any, **settings: Any) -> Any:
    """A client, which is made again while there is no broker."""
    while True:
        try:
            return make(**settings)
        except KafkaError:
            if OVER.wait(PAUSE_SECONDS):
                sys.exit()


def tell(values: list[str]) -> None:
    if values:
        sys.stdout.write("".join(f"{value}\n" for value in values))
        sys.stdout.flush()


def acknowledged(value: str, _: Any) -> None:
    tell([value])


def values_of(name: str) -> Iterator[list[str]]:
    """Some at a time, until the program is to end."""
    for number in range(10**9):
        if OVER.wait(0.04):
            return
        yield [f"{name}-{number}-{place}" for place in range(BATCH)]


# Writing


def produce(bootstrap: str, topic: str, name: str) -> None:
    """Told by callbacks."""
    producer = patiently(kafka.KafkaProducer, bootstrap_servers=bootstrap, acks="all", retries=10**6)
    for values in values_of(name):
        for value in values:
            producer.send(topic, value.encode()).add_callback(acknowledged, value)
    producer.flush()
    producer.close()


def produce_and_wait(bootstrap: str, topic: str, name: str) -> None:
    """Told by the results that it waits for."""
    producer = patiently(kafka.KafkaProducer, bootstrap_servers=bootstrap, acks="all", retries=10**6)
    for values in values_of(name):
        sent = [producer.send(topic, value.encode(), value.encode()) for value in values]
        for future, value in zip(sent, values, strict=True):
            future.get(timeout=RESULT_SECONDS)
            tell([value])
    producer.close()


def produce_in_transactions(bootstrap: str, topic: str, name: str) -> None:
    """Told by transactions that are committed; one in four is aborted."""
    settings = {"bootstrap_servers": bootstrap, "retries": 10**6, "transactional_id": name}
    producer = patiently(kafka.KafkaProducer, **settings)
    is_begun = False
    for place, values in enumerate(values_of(name)):
        try:
            if not is_begun:
                producer.init_transactions()
                is_begun = True
            producer.begin_transaction()
            for value in values:
                producer.send(topic, value.encode() if place % 4 else b"aborted")
            if place % 4:
                producer.commit_transaction()
                tell(values)
            else:
                producer.abort_transaction()
        except KafkaError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            producer.close(timeout=0)
            producer = patiently(kafka.KafkaProducer, **settings)
            is_begun = False
    producer.close()


# Reading


def consume_iterating(bootstrap: str, topic: str) -> None:
    consumer = reader(bootstrap, topic, auto_commit_interval_ms=200, consumer_timeout_ms=300)
    while not OVER.is_set():
        for message in consumer:
            keep([message])
            if OVER.is_set():
                break
    consumer.close()


def consume_polling(bootstrap: str, topic: str) -> None:
    consumer = reader(bootstrap, topic, auto_commit_interval_ms=200)
    for number in range(10**9):
        if OVER.is_set():
            break
        for messages in consumer.poll(timeout_ms=300, max_records=1 + number * 37 % 700).values():
            keep(messages)
    consumer.close()


def consume_committing(bootstrap: str, topic: str) -> None:
    """Commits what it has read by itself."""
    consumer = reader(bootstrap, topic, enable_auto_commit=False)
    while not OVER.is_set():
        for messages in consumer.poll(timeout_ms=300).values():
            keep(messages)
        try:
            consumer.commit()
        except KafkaError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
    consumer.close()


def reader(bootstrap: str, topic: str, **settings: Any) -> Any:
    if "isolation_level" in kafka.KafkaConsumer.DEFAULT_CONFIG:
        settings["isolation_level"] = "read_committed"
    consumer = patiently(kafka.KafkaConsumer, bootstrap_servers=bootstrap, **READING, **settings)
    consumer.subscribe([topic])
    return consumer


def keep(messages: list[Any]) -> None:
    tell([message.value.decode() for message in messages])


ROLES: dict[str, Any] = {
    "produce": produce,
    "produce_and_wait": produce_and_wait,
    "produce_in_transactions": produce_in_transactions,
    "consume_iterating": consume_iterating,
    "consume_polling": consume_polling,
    "consume_committing": consume_committing,
}

if __name__ == "__main__":
    main()
