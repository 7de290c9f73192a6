"""How long a message takes from `send` to the consumer's hands, at a thousand messages a second and linger 0.

    python -m bench.latency CLIENT BOOTSTRAP TOPIC

For each line of its input it sends for a second, and prints JSON: milliseconds. Producer and consumer are in
one process, so that one clock does; between two lines they stay as they are.
"""

from __future__ import annotations

import json
import struct
import sys
import threading
import time
from collections.abc import Callable

from bench.works import OURS, PEER, VALUE_BYTES

MESSAGES_A_SECOND = 1000
_STAMP = struct.Struct(">q")
_PADDING = b"x" * (VALUE_BYTES - _STAMP.size)

Send = Callable[[bytes], object]
Receive = Callable[[], bytes | None]


def ours(bootstrap: str, topic: str) -> tuple[Send, Receive]:
    from barnabas import Consumer, Producer, TopicPartition

    producer = Producer(bootstrap, linger_ms=0)
    consumer = Consumer(bootstrap)
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek_to_end(TopicPartition(topic, 0))
    consumer.position(TopicPartition(topic, 0))

    def receive() -> bytes | None:
        record = consumer.poll_one(1.0)
        return None if record is None else record.value

    return lambda value: producer.send(topic, value, partition=0), receive


def peer(bootstrap: str, topic: str) -> tuple[Send, Receive]:
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all", "enable.idempotence": True}
    )
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])

    def send(value: bytes) -> None:
        producer.produce(topic, value, partition=0)
        producer.poll(0)

    def receive() -> bytes | None:
        message = consumer.poll(1.0)
        return None if message is None or message.error() else message.value()

    return send, receive


def measure(send: Send, receive: Receive) -> list[float]:
    """Milliseconds of each message of a second, in order of size."""
    taken: list[float] = []

    def read() -> None:
        while len(taken) < MESSAGES_A_SECOND:
            value = receive()
            if value is not None:
                taken.append((time.monotonic_ns() - _STAMP.unpack_from(value)[0]) / 1e6)

    reader = threading.Thread(target=read)
    reader.start()
    began = time.monotonic()
    for number in range(MESSAGES_A_SECOND):
        wait = began + number / MESSAGES_A_SECOND - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        send(_STAMP.pack(time.monotonic_ns()) + _PADDING)
    reader.join()
    return sorted(taken)


def main() -> None:
    client, bootstrap, topic = sys.argv[1:]
    send, receive = {OURS: ours, PEER: peer}[client](bootstrap, topic)
    for _ in sys.stdin:
        taken = measure(send, receive)
        figures = {"p50_ms": taken[len(taken) // 2], "p99_ms": taken[len(taken) * 99 // 100]}
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
