"""A program for kafka-python: `producer_program.py FUNCTION BOOTSTRAP TOPIC` prints what the function gives,
as JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from typing import Any

import kafka as package  # pyright: ignore[reportMissingImports]

kafka: Any = package


def left_open(bootstrap: str, topic: str) -> Any:
    """Ends without a close, with records on their way and callbacks to be called."""
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=500)
    for number in range(50):
        producer.send(topic, b"%d" % number).add_callback(called.append)
    sys.modules["the program's producer"] = producer
    return "sent"


called: list[Any] = []


def dropped(bootstrap: str, topic: str) -> Any:
    """A producer that nobody keeps delivers, and its thread ends."""
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=300)
    name = f"{producer.config['client_id']}-network-thread"
    futures = [producer.send(topic, b"%d" % number).add_callback(called.append) for number in range(50)]
    del producer
    gc.collect()
    offsets = [future.get(timeout=30).offset for future in futures]
    deadline = time.monotonic() + 30
    while any(thread.name == name for thread in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return offsets == list(range(50)), len(called), [t.name for t in threading.enumerate() if t.name == name]


def closed_in_callback(bootstrap: str, topic: str) -> Any:
    """A callback closes the producer: it does not wait for itself."""
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap)
    closed = threading.Event()

    def close(_: Any) -> None:
        producer.flush()
        producer.close()
        closed.set()

    producer.send(topic, b"value").add_callback(close)
    return closed.wait(30)


def full_buffer(bootstrap: str, topic: str) -> Any:
    """Senders of much more than the buffer holds wait for room, and nothing is lost."""
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, buffer_memory=200_000)
    threads = [
        threading.Thread(target=lambda: [producer.send(topic, b"x" * 1000) for _ in range(1500)])
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer.flush()
    last = producer.send(topic, b"last").get(timeout=30)
    producer.close()
    return last.offset


def no_room(bootstrap: str, topic: str) -> Any:
    """A buffer stays full, since the broker is gone."""
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, buffer_memory=200_000, max_block_ms=200)
    producer.send(topic, b"first").get(timeout=30)
    wait_until_broker_has_stopped()
    for _ in range(300):
        try:
            producer.send(topic, b"x" * 1000)
        except kafka.errors.KafkaTimeoutError as error:
            print(json.dumps(str(error)), flush=True)
            # Nobody takes what is left.
            os._exit(0)
    return "never full"


def wait_until_broker_has_stopped() -> None:
    print("stop the broker", flush=True)
    sys.stdin.readline()


def forked(bootstrap: str, topic: str) -> Any:
    """In the child of a fork the producer refuses, and the parent goes on."""
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap)
    producer.send(topic, b"before").get(timeout=30)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            producer.send(topic, b"child")
            os.write(write, b"sent")
        except Exception as error:
            os.write(write, type(error).__name__.encode())
        os._exit(0)
    os.waitpid(child, 0)
    after = producer.send(topic, b"after").get(timeout=30)
    return os.read(read, 100).decode(), after.offset


def many_threads(bootstrap: str, topic: str) -> Any:
    """Every callback is called once, though records are sent, flushed and waited for by many threads."""
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, batch_size=2000)
    lock, counted = threading.Lock(), [0]
    offsets: set[int] = set()

    def count(metadata: Any) -> None:
        with lock:
            counted[0] += 1
            offsets.add(metadata.offset)

    def send(number: int) -> None:
        for index in range(2000):
            future = producer.send(topic, b"%d" % index, key=b"%d" % number).add_callback(count)
            if index % 500 == 0:
                future.get(timeout=30)
            if index % 700 == 0:
                producer.flush(timeout=30)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer.flush()
    return counted[0], len(offsets), max(offsets)


def unreachable_after(bootstrap: str, topic: str) -> Any:
    """What cannot be delivered fails in its time, as the generation's own errors."""
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap, delivery_timeout_ms=1000, request_timeout_ms=500, linger_ms=0
    )
    producer.send(topic, b"first").get(timeout=30)
    wait_until_broker_has_stopped()
    errors: list[Any] = []
    future = producer.send(topic, b"second").add_errback(errors.append)
    try:
        future.get(timeout=30)
    except Exception as error:
        caught = type(error).__name__
    else:
        caught = "nothing"
    return caught, [type(error).__name__ for error in errors], future.retriable()


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
