"""The jobs of kafka-python 3 on a broker. It has no consumer protocol."""

# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.structs import OffsetAndMetadata

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS, EACH_CODEC, FIRST_TIME_MS = 3, 20, 1_700_000_000_000
TOTAL = len(CODECS) * EACH_CODEC
BOOTSTRAP, TOPIC = sys.argv[1:3]


def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.01)


def administrate(admin: Any) -> dict[str, Any]:
    configs = {"retention.ms": "86400000"}
    made = [NewTopic(TOPIC, PARTITIONS, 1, topic_configs=configs), NewTopic(f"{TOPIC}-copied", 1, 1)]
    admin.create_topics(made)
    (topic,) = admin.describe_topics([TOPIC])
    described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC)])
    retention = described["topic"][TOPIC]["retention.ms"]
    return {"partitions": len(topic["partitions"]), "retention": retention["value"]}


def produce(codec: str) -> None:
    compression = None if codec == "none" else codec
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, compression_type=compression)
    for index in range(EACH_CODEC):
        key, value = b"key %d" % index, f"{codec} {index}".encode()
        headers = [("codec", codec.encode())]
        producer.send(TOPIC, value, key=key, headers=headers, timestamp_ms=FIRST_TIME_MS + index)
    producer.close()


def consumer(group: str, topic: str = TOPIC, listener: Any = None) -> Any:
    made = KafkaConsumer(
        bootstrap_servers=BOOTSTRAP,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        heartbeat_interval_ms=100,
    )
    made.subscribe([topic], listener=listener)
    return made


def committed(admin: Any, group: str) -> int:
    (offsets,) = admin.list_group_offsets([group]).values()
    return sum(max(0, offset.offset) for offset in offsets.values())


def kind_of(record: Any) -> str:
    """Its codec, where it came as it was sent."""
    codec = dict(record.headers)["codec"].decode()
    index = record.timestamp - FIRST_TIME_MS
    is_as_sent = (record.key, record.value) == (b"key %d" % index, f"{codec} {index}".encode())
    return codec if is_as_sent else f"strange: {record!r}"


def consume(admin: Any, group: str) -> dict[str, Any]:
    reader = consumer(group)
    read = Counter([kind_of(next(reader)) for _ in range(TOTAL)])
    # What the iterator has read ahead is not committed.
    reader.commit()
    reader.close()
    return {"read": read, "committed": committed(admin, group)}


class Member(ConsumerRebalanceListener):
    """Polls in a thread of its own, and counts its partitions.

    Where each poll is shorter than the requests of a join take, kafka-python never joins.
    """

    def __init__(self, group: str) -> None:
        self.owned = 0
        self._ends = False
        self._consumer = consumer(group, listener=self)
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        while not self._ends:
            self._consumer.poll(timeout_ms=500)
        self._consumer.close()

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.owned = 0

    def on_partitions_assigned(self, assigned: Any) -> None:
        self.owned = len(assigned)

    def leave(self) -> None:
        self._ends = True
        self._thread.join()


def rebalance(group: str) -> list[int]:
    first = Member(group)
    until(lambda: first.owned == PARTITIONS)
    second = Member(group)
    until(lambda: first.owned + second.owned == PARTITIONS and second.owned > 0)
    counts = sorted([first.owned, second.owned])
    second.leave()
    until(lambda: first.owned == PARTITIONS)
    first.leave()
    return counts


def transact(admin: Any) -> dict[str, Any]:
    group, copied = f"{TOPIC}-copying", f"{TOPIC}-copied"
    reader = consumer(group)
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, transactional_id=TOPIC)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(copied, b"never").get(30)
    producer.abort_transaction()
    producer.begin_transaction()
    for _ in range(TOTAL):
        producer.send(copied, next(reader).value)
    offsets = {
        partition: OffsetAndMetadata(reader.position(partition), "", -1) for partition in reader.assignment()
    }
    producer.send_offsets_to_transaction(offsets, reader.group_metadata())
    producer.commit_transaction()
    producer.close()
    reader.close()
    reader = consumer(f"{TOPIC}-copied", copied)
    values = [next(reader).value for _ in range(TOTAL)]
    reader.close()
    aborted = values.count(b"never")
    return {"read": TOTAL - aborted, "aborted": aborted, "committed": committed(admin, group)}


def main() -> None:
    admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    results: dict[str, Any] = {"admin": administrate(admin)}
    for codec in CODECS:
        produce(codec)
    results["group"] = consume(admin, f"{TOPIC}-classic")
    results["rebalance"] = rebalance(f"{TOPIC}-classic-members")
    results["transactions"] = transact(admin)
    admin.close()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
