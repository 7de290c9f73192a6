"""A program for kafka-python 1.2.1: prints what one of its functions gives, as JSON."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import sys
from typing import Any

import kafka
from kafka.errors import KafkaError
from kafka.structs import (
    FetchRequestPayload,
    OffsetCommitRequestPayload,
    OffsetFetchRequestPayload,
    ProduceRequestPayload,
)

logging.disable(logging.CRITICAL)


def read(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        found += consumer.get_messages(count - len(found), timeout=5)
    return found


def texts(messages: list[Any]) -> list[str]:
    return [each.message.value.decode() for each in messages]


def write_and_read(client: Any, topic: str) -> Any:
    producer = kafka.SimpleProducer(client)
    for number in range(10):
        producer.send_messages(topic, b"value %d" % number)
    return texts(read(kafka.SimpleConsumer(client, None, topic, auto_commit=False), 10))


def use_bytes(client: Any, topic: str) -> Any:
    name = topic.encode()
    message = kafka.create_message("text")
    client.send_produce_request([ProduceRequestPayload(name, 0, [message])])
    kafka.KeyedProducer(client).send_messages(name, b"key", b"bytes")
    return texts(read(kafka.SimpleConsumer(client, b"a group", name, auto_commit=False), 2))


def read_one_by_one(client: Any, topic: str, count: str) -> Any:
    consumer = kafka.SimpleConsumer(client, None, topic, auto_commit=False)
    found = [consumer.get_message(timeout=20) for _ in range(int(count))]
    return [(each.offset, each.message.value.decode()) for each in found]


def commit(client: Any, topic: str, group: str, offset: str) -> Any:
    client.send_offset_commit_request(group, [OffsetCommitRequestPayload(topic, 0, int(offset), None)])
    return None


def committed(client: Any, topic: str, group: str) -> Any:
    [answer] = client.send_offset_fetch_request(group, [OffsetFetchRequestPayload(topic, 0)])
    return answer.offset


def coordinator(client: Any, group: str) -> Any:
    return client.send_consumer_metadata_request(group)


def read_around_an_error(client: Any, topic: str) -> Any:
    kafka.SimpleProducer(client).send_messages(topic, b"small", b"large" * 1000)
    consumer = kafka.SimpleConsumer(
        client, None, topic, auto_commit=False, buffer_size=1000, max_buffer_size=2000
    )
    found: list[Any] = []
    for _ in range(3):
        try:
            found.append(texts(consumer.get_messages(2, timeout=5)))
        except KafkaError as error:
            found.append(type(error).__name__)
    return found


def read_during_a_commit(client: Any, topic: str, group: str) -> Any:
    kafka.SimpleProducer(client).send_messages(topic, b"first", b"second")
    consumer = kafka.SimpleConsumer(client, group, topic, auto_commit_every_n=None, auto_commit_every_t=None)
    consumer.get_message(timeout=20)
    send = client.send_offset_commit_request

    def send_while_reading(*arguments: Any) -> Any:
        answers = send(*arguments)
        if consumer.offsets[0] == 1:
            consumer.get_message(timeout=20)
        return answers

    client.send_offset_commit_request = send_while_reading
    told = [consumer.commit(), consumer.count_since_commit, consumer.commit(), consumer.count_since_commit]
    other = kafka.SimpleConsumer(client, group, topic, auto_commit=False)
    return [*told, other.offsets[0]]


def read_in_processes(client: Any, topic: str) -> Any:
    producer = kafka.SimpleProducer(client)
    for number in range(9):
        producer.send_messages(topic, b"value %d" % number)
    consumer = kafka.MultiProcessConsumer(client, None, topic, auto_commit=False, partitions_per_proc=2)
    count = len(consumer.procs)
    found = read(consumer, 9)
    consumer.stop()
    return count, texts(found)


LEFT_OPEN: list[Any] = []


def leave_processes(client: Any, topic: str, group: str) -> Any:
    kafka.SimpleProducer(client).send_messages(topic, b"a", b"b", b"c")
    settings = {"auto_offset_reset": "smallest", "auto_commit_every_t": 3600_000}
    LEFT_OPEN.append(kafka.MultiProcessConsumer(client.copy(), group, topic, **settings))
    return texts(read(LEFT_OPEN[0], 2))


def tell_processes(client: Any, topic: str) -> Any:
    """Prints the processes that a MultiProcessConsumer has begun, and reads for ever."""
    kafka.SimpleProducer(client).send_messages(topic, b"a")
    others = set(multiprocessing.active_children())
    consumer = kafka.MultiProcessConsumer(client.copy(), None, topic, auto_commit=False, num_procs=2)
    processes = set(multiprocessing.active_children()) - others
    # Forked later, it has every pipe that the program has, and lives on.
    sleeper = multiprocessing.get_context("fork").Process(target=signal.pause, daemon=True)
    sleeper.start()
    read(consumer, 1)
    print(json.dumps([[each.pid for each in processes], sleeper.pid]), flush=True)
    read(consumer, 1)


def ask_all_leaders(client: Any, topic: str) -> Any:
    order = (5, 3, 1, 0, 2, 4)
    message = kafka.create_message(b"a")
    produced = client.send_produce_request([ProduceRequestPayload(topic, each, [message]) for each in order])
    fetched = client.send_fetch_request([FetchRequestPayload(topic, each, 0, 100) for each in order])
    assert all(len(each.messages) == 1 for each in fetched)
    leaders = {client.topics_to_brokers[each] for each in client.topics_to_brokers if each.topic == topic}
    return len(leaders), [each.partition for each in produced], [each.partition for each in fetched]


def commit_without_a_broker(client: Any, topic: str, pid: str) -> Any:
    kafka.SimpleProducer(client).send_messages(topic, b"a")
    consumer = kafka.SimpleConsumer(client, "group", topic, auto_commit_every_t=3600_000)
    found = read(consumer, 1)
    os.kill(int(pid), signal.SIGKILL)
    return len(found), consumer.commit()


if __name__ == "__main__":
    name, bootstrap, *arguments = sys.argv[1:]
    simple_client = kafka.SimpleClient(bootstrap)
    result = globals()[name](simple_client, *arguments)
    simple_client.close()
    print(json.dumps(result))
