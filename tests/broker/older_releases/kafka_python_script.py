"""`python kafka_python_script.py BOOTSTRAP TOPIC API_VERSION`, for kafka-python 1.2 to 2.3.

Produces, reads in a group, commits, goes on in another member, looks offsets up. Prints what it saw. It runs
on Python 3.6 too, as 1.2 does.
"""

import json
import sys

import kafka
import kafka.codec

CODECS = [None, "gzip"] + [name for name in ("snappy", "lz4") if getattr(kafka.codec, "has_" + name)()]


def main(bootstrap, topic, api_version):
    options = {"bootstrap_servers": bootstrap}
    if api_version != "asked":
        options["api_version"] = tuple(map(int, api_version.split(".")))
    seen = {"offsets": []}
    for codec in CODECS:
        producer = kafka.KafkaProducer(compression_type=codec, acks="all", linger_ms=20, **options)
        sent = [producer.send(topic, key=b"k%d" % index, value=b"%d" % index) for index in range(5)]
        seen["offsets"] += [future.get(20).offset for future in sent]
        producer.close()
    group = {"group_id": topic, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    seen["read"] = []
    for count in (7, len(seen["offsets"]) - 7):
        consumer = kafka.KafkaConsumer(topic, consumer_timeout_ms=20000, **dict(options, **group))
        for _ in range(count):
            record = next(consumer)
            seen["read"].append([record.offset, record.key.decode(), record.value.decode()])
        partition = kafka.TopicPartition(topic, 0)
        # What was polled beyond is not committed.
        consumer.seek(partition, record.offset + 1)
        consumer.commit()
        seen["committed"] = consumer.committed(partition)
        consumer.close()
    consumer = kafka.KafkaConsumer(**options)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    first = consumer.position(partition)
    consumer.seek_to_end(partition)
    seen["ends"] = [first, consumer.position(partition)]
    seen["topics"] = topic in consumer.topics()
    consumer.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
