"""A program for kafka-python 1.2.1, of which `soak` runs several: it writes or reads until it is told to end.

It prints what was acknowledged, or what it read. The module `kafka` is the one of the chosen generation.
"""

from __future__ import annotations

import logging
import signal
import sys
import time
from typing import Any

import kafka
from kafka.common import KafkaError

OVER: list[bool] = []
PAUSE_SECONDS = 0.1


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: OVER.append(True))
    role, bootstrap, topic, *arguments = sys.argv[1:]
    ROLES[role](patiently(lambda: kafka.SimpleClient(bootstrap)), topic, *arguments)


def patiently(call: Any) -> Any:
    """The result of a call, which is made again while there is no broker."""
    while True:
        try:
            return call()
        except KafkaError:
            if OVER:
                sys.exit()
            time.sleep(PAUSE_SECONDS)


def produce(client: Any, topic: str, name: str) -> None:
    producer = kafka.SimpleProducer(client, req_acks=kafka.SimpleProducer.ACK_AFTER_CLUSTER_COMMIT)
    write(client, topic, name, lambda value: producer.send_messages(topic, value))


def produce_keyed(client: Any, topic: str, name: str) -> None:
    producer = kafka.KeyedProducer(client, codec=kafka.protocol.CODEC_GZIP)
    write(client, topic, name, lambda value: producer.send_messages(topic, value, value))


def write(client: Any, topic: str, name: str, send: Any) -> None:
    for number in range(10**9):
        value = f"{name}-{number}"
        while True:
            try:
                send(value.encode())
            except KafkaError:
                if OVER:
                    return
                time.sleep(PAUSE_SECONDS)
                patiently(lambda: client.load_metadata_for_topics(topic))
            else:
                break
        print(value, flush=True)
        if OVER:
            return
        time.sleep(0.002)


def produce_in_thread(client: Any, topic: str, name: str) -> None:
    given_up = logging.Handler(logging.ERROR)
    given_up.emit = lambda record: found.append(record.getMessage())
    found: list[str] = []
    logging.getLogger("kafka.producer").addHandler(given_up)
    settings = {"async": True, "batch_send_every_t": 0.2, "batch_send_every_n": 100}
    producer = kafka.SimpleProducer(client, req_acks=-1, **settings)
    values = [f"{name}-{number}" for number in range(200_000)]
    sent: list[str] = []
    for value in values:
        if OVER:
            break
        patiently(lambda value=value: producer.send_messages(topic, value.encode()))
        sent.append(value)
        time.sleep(0.002)
    producer.stop()
    if sent and not any("unsent messages" in text for text in found):
        print("\n".join(sent), flush=True)


def consume(client: Any, topic: str, group: str, partitions: str) -> None:
    settings = {"partitions": [int(each) for each in partitions.split(",")], "auto_commit_every_t": 500}
    make = kafka.SimpleConsumer
    read(patiently(lambda: make(client, group, topic, auto_offset_reset="smallest", **settings)))


def consume_in_processes(client: Any, topic: str, group: str, count: str) -> None:
    settings = {"num_procs": int(count), "auto_offset_reset": "smallest", "auto_commit_every_t": 500}
    read(patiently(lambda: kafka.MultiProcessConsumer(client, group, topic, **settings)))


def read(consumer: Any) -> None:
    while not OVER:
        try:
            messages = consumer.get_messages(count=200, block=1, timeout=0.5)
        except KafkaError:
            time.sleep(PAUSE_SECONDS)
            continue
        if messages:
            print("\n".join(each.message.value.decode() for each in messages), flush=True)
    consumer.stop()


ROLES: dict[str, Any] = {
    "produce": produce,
    "produce_keyed": produce_keyed,
    "produce_in_thread": produce_in_thread,
    "consume": consume,
    "consume_in_processes": consume_in_processes,
}

if __name__ == "__main__":
    main()
