"""The topics that both connectors read: written once, with whatever a topic can hold that is not plain."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field

import confluent_kafka
import confluent_kafka.admin
from tests.spark.conftest import TIMEOUT_SECONDS, Kafka, Message
from tests.waiting import wait_for

STARTED_MS = 1_700_000_000_000
"""The time of the first record of a partition; those that follow are a second younger each."""
COMPACTED = {
    "cleanup_policy": "compact",
    "segment_bytes": "1048576",
    "segment_ms": "100",
    "min_cleanable_dirty_ratio": "0.01",
    "delete_retention_ms": "0",
}


@dataclass(frozen=True)
class Prepared:
    """`names` are what cases call the topics: `plain`, `stamped`, ...; `stem` begins them all."""

    kafka: Kafka
    stem: str
    names: dict[str, str] = field(default_factory=dict)
    _open: list[confluent_kafka.Producer] = field(default_factory=list)

    def create(self, short: str, partitions: int = 1, **config: str) -> str:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        self.names[short] = self.kafka.create(partitions, name=f"{self.stem}-{short}", config=settings)
        return self.names[short]

    def leave_a_transaction_open(self, topic: str) -> None:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": self.kafka.bootstrap,
                "transactional.id": uuid.uuid4().hex,
                "transaction.timeout.ms": 900_000,
            }
        )
        producer.init_transactions(TIMEOUT_SECONDS)
        producer.begin_transaction()
        producer.produce(topic, b"open", partition=0)
        assert producer.flush(TIMEOUT_SECONDS) == 0
        self._open.append(producer)

    def close(self) -> None:
        self._open.clear()


def prepare(kafka: Kafka) -> Prepared:
    topics = Prepared(kafka, f"side-{uuid.uuid4().hex[:8]}")
    for make in (_plain, _times, _shortened, _in_transactions, _with_gaps):
        make(topics)
    return topics


def records(count: int, partition: int = 0, step_ms: int = 1000) -> list[Message]:
    return [
        Message(
            b"%d" % number, b"key %d" % number, partition, timestamp=STARTED_MS + partition + number * step_ms
        )
        for number in range(count)
    ]


def _plain(topics: Prepared) -> None:
    plain = topics.create("plain", 3)
    topics.kafka.write(plain, records(30) + records(20, 1))
    odd = topics.create("odd", 2)
    headers = [("a", b"1"), ("a", None), ("", b"")]
    topics.kafka.write(
        odd,
        [
            Message(None, b"key", 0, timestamp=1),
            Message(b"value", None, 1, headers, timestamp=STARTED_MS),
            Message(None, None, 1, timestamp=STARTED_MS + 1),
            Message(b"", b"", 0, [("ü", b"\x00\xff")], timestamp=STARTED_MS + 2),
        ],
    )
    topics.create("empty", 2)


def _times(topics: Prepared) -> None:
    stamped = topics.create("stamped", message_timestamp_type="LogAppendTime")
    topics.kafka.write(stamped, records(5))
    unordered = topics.create("unordered")
    seconds = [20, 50, 10, 40, 30, 0]
    topics.kafka.write(unordered, [Message(b"%d" % at, timestamp=STARTED_MS + at * 1000) for at in seconds])


def _shortened(topics: Prepared) -> None:
    shortened = topics.create("shortened", 2)
    topics.kafka.write(shortened, records(12) + records(7, 1))
    topics.kafka.delete_records_before(shortened, 0, 5)
    topics.kafka.delete_records_before(shortened, 1, 7)


def _in_transactions(topics: Prepared) -> None:
    """Offsets 0-2 committed, 4-5 aborted, 7-9 committed, with a control record behind each."""
    for short in ("transactions", "undecided"):
        topic = topics.create(short)
        for values, commit in (((b"a", b"b", b"c"), True), ((b"x", b"y"), False), ((b"d", b"e", b"f"), True)):
            topics.kafka.write_in_transaction(topic, values, commit=commit)
    topics.leave_a_transaction_open(topics.names["undecided"])
    topics.kafka.write(topics.names["undecided"], [b"behind"])


def _with_gaps(topics: Prepared) -> None:
    compacted = topics.create("compacted", **COMPACTED)
    topics.kafka.write(compacted, [Message(b"%d" % number, b"%d" % (number % 4)) for number in range(400)])
    deadline = time.monotonic() + 60
    # A segment is closed by the next write only.
    while topics.kafka.read(compacted, 1)[0].value != b"396":
        assert time.monotonic() < deadline, "the broker does not compact"
        topics.kafka.write(compacted, [Message(b"x", b"another key")])
    # It must not change while it is read.
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": topics.kafka.bootstrap})
    entries = [
        confluent_kafka.admin.ConfigEntry(
            name, text, incremental_operation=confluent_kafka.admin.AlterConfigOpType.SET
        )
        for name, text in {"cleanup.policy": "delete", "retention.ms": "-1"}.items()
    ]
    resource = confluent_kafka.admin.ConfigResource(
        confluent_kafka.admin.ConfigResource.Type.TOPIC, compacted, incremental_configs=entries
    )
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_SECONDS)
    wait_for(lambda: described(admin, resource)["cleanup.policy"].value == "delete")


def described(
    admin: confluent_kafka.admin.AdminClient, resource: confluent_kafka.admin.ConfigResource
) -> dict[str, confluent_kafka.admin.ConfigEntry]:
    return admin.describe_configs([resource])[resource].result(TIMEOUT_SECONDS)
