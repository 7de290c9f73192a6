"""How long a message takes from `send` to the consumer's hands, at a thousand messages a second and linger 0.

    python -m bench.latency CLIENT BOOTSTRAP TOPIC SECONDS

Producer and consumer are in one process, so that one clock does. Prints JSON: milliseconds.
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
# Connections and caches get warm in these.
WARM_UP_SECONDS = 1
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


def measure(send: Send, receive: Receive, seconds: int) -> list[float]:
    """Milliseconds of each message."""
    total = (seconds + WARM_UP_SECONDS) * MESSAGES_A_SECOND
    warm_up = WARM_UP_SECONDS * MESSAGES_A_SECOND
    taken: list[float] = []

    def read() -> None:
        while len(taken) < total:
            value = receive()
            if value is not None:
                taken.append((time.monotonic_ns() - _STAMP.unpack_from(value)[0]) / 1e6)

    reader = threading.Thread(target=read)
    reader.start()
    began = time.monotonic()
    for number in range(total):
        wait = began + number / MESSAGES_A_SECOND - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        send(_STAMP.pack(time.monotonic_ns()) + _PADDING)
    reader.join()
    return sorted(taken[warm_up:])


def main() -> None:
    client, bootstrap, topic, seconds = sys.argv[1:]
    taken = measure(*{OURS: ours, PEER: peer}[client](bootstrap, topic), int(seconds))
    print(json.dumps({"p50_ms": taken[len(taken) // 2], "p99_ms": taken[len(taken) * 99 // 100]}))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
