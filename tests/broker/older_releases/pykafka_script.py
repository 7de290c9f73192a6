"""`python pykafka_script.py BOOTSTRAP TOPIC BROKER_VERSION`, for pykafka 2.8.

Produces, reads in a group of Kafka's, commits, goes on in another member. Prints what it saw.
"""

import json
import sys

import pykafka
from pykafka.common import CompressionType, OffsetType


def main(bootstrap: str, name: str, version: str) -> None:
    client = pykafka.KafkaClient(hosts=bootstrap, broker_version=version)
    topic = client.topics[name.encode()]
    for codec in (CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY):
        with topic.get_sync_producer(compression=codec, linger_ms=10) as producer:
            for index in range(5):
                producer.produce(b"%d" % index, partition_key=b"k%d" % index)
    seen = {"read": []}
    for count in (7, 8):
        consumer = topic.get_balanced_consumer(
            consumer_group=name.encode(),
            managed=True,
            auto_offset_reset=OffsetType.EARLIEST,
            consumer_timeout_ms=20000,
        )
        for _ in range(count):
            message = consumer.consume()
            seen["read"].append([message.offset, message.partition_key.decode(), message.value.decode()])
        consumer.commit_offsets()
        consumer.stop()
    seen["earliest"] = [topic.earliest_available_offsets()[0].offset[0]]
    seen["latest"] = [topic.latest_available_offsets()[0].offset[0]]
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
