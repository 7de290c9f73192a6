"""A managed balanced consumer of the genuine package: says its partitions when they change, until its end.

For a subprocess. Lines: `partitions [0, 1]`, and `message 0 5` for each message.
"""

import sys
import threading
import time

import pykafka


def main():
    hosts, topic, group = sys.argv[1:4]
    client = pykafka.KafkaClient(hosts=hosts, broker_version="0.9.0")
    consumer = client.topics[topic.encode()].get_balanced_consumer(
        group.encode(), managed=True, heartbeat_interval_ms=200, consumer_timeout_ms=200
    )
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    said = None
    while not ended.is_set():
        partitions = sorted(consumer.partitions)
        if partitions != said:
            said = partitions
            print(f"partitions {partitions}", flush=True)
        message = consumer.consume()
        if message is not None:
            print(f"message {message.partition_id} {message.offset}", flush=True)
        time.sleep(0.01)
    consumer.stop()


if __name__ == "__main__":
    main()
