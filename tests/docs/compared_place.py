"""Where the commands of docs/command-line-compared.md run: two clusters, a registry and a folder of files,
with all that the commands name."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.broker.transactions.hanging_transaction import TAKES_ANY_TRANSACTION, write_without_a_coordinator
from tests.cli.conftest import Cli, Ended, run_here

from barnabas import Admin, Consumer, NewTopic, Producer, Record, Registry, TopicPartition
from barnabas.registry import Schema
from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker, EmbeddedRegistry

Cluster = ApacheKafka | ApacheKafkaCluster | EmbeddedBroker

HOUR_MS = 3_600_000
# Everybody is a super user, and rules of access are kept.
GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
PAYMENT = '{"type": "record", "name": "Payment", "fields": [{"name": "amount", "type": "double"}]}'
REFUND = '{"type": "record", "name": "Refund", "fields": [{"name": "id", "type": "long"}]}'
REFUND_WITH_REASON = REFUND.replace("]}", ', {"name": "reason", "type": "string", "default": ""}]}')
TRIP = 'syntax = "proto3"; message Trip { int64 id = 1; string city = 2; }'
FILES: Mapping[str, str | bytes] = {
    "users.txt": "user-7:Ada\nuser-8:Bob\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\0\0\n",
    "notes.txt": "first\nsecond\n",
    "refunds.jsonl": '{"id": 7}\n',
    "gone.txt": "user-7:\n",
    "customers.csv": "id,name\n7,Ada\n8,Bob\n",
    "ledger.txt": "in 10\nout 5\n",
    "clicks.txt": "click\n" * 100,
    "trip.proto": TRIP,
    "parcel.avsc": PAYMENT.replace("Payment", "Parcel"),
    "refund.avsc": REFUND_WITH_REASON,
}
TOPICS = (
    "clicks",
    "customers",
    "eu.orders",
    "eu.returns",
    "ledger",
    "logs",
    "notes",
    "payments",
    "pictures",
    "refunds",
    "tmp-1",
    "tmp-2",
    "trips",
    "users",
)


@dataclass
class Place:
    here: Cli
    broker: Cluster
    other: Cluster
    folder: Path

    def rows(self, *arguments: str) -> Any:
        """What a command prints with --json."""
        return json.loads(self.here(*arguments, "--json").stdout)

    def records(self, topic: str, *, in_other: bool = False) -> list[Record]:
        """All records of a topic that were committed, in the order of their times."""
        bootstrap = (self.other if in_other else self.broker).bootstrap
        with Admin(bootstrap) as admin, Consumer(bootstrap, isolation_level="read_committed") as consumer:
            places = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
            consumer.assign(places)
            consumer.seek_to_beginning(*places)
            # A commit is answered before the partitions have it: the consumer's own ends may be older.
            latest = admin.list_offsets(dict.fromkeys(places, "latest"))
            ends = {place: found.offset for place, found in latest.items()}
            found: list[Record] = []
            while any(consumer.position(each) < ends[each] for each in places):
                found += consumer.poll(timeout=1)
        return sorted(found, key=lambda record: record.timestamp)


@contextmanager
def prepared(folder: Path, kind: str) -> Generator[Place]:
    """`kind`: "apache" or "embedded"."""
    for name, text in FILES.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    clusters = apache_clusters() if kind == "apache" else embedded_clusters(folder / "data")
    with clusters as (broker, other), EmbeddedRegistry() as registry:
        fill(broker)
        register(broker, registry.url)
        make_groups(broker)
        run = run_here(broker.bootstrap)

        def here(*arguments: str, **more: Any) -> Ended:
            return run(*arguments, BARNABAS_REGISTRY=registry.url, **more)

        here("topics", "create", "only-there", BARNABAS_BOOTSTRAP=other.bootstrap)
        # In the file is offset 2 of partition 0, and the group stands at 1 again.
        reset = ("groups", "reset-offsets", "archive", "--yes")
        here(*reset, "--to-datetime", "30m", "--export", "offsets.csv")
        here(*reset, "--to-offset", "1")
        yield Place(here, broker, other, folder)


@contextmanager
def apache_clusters() -> Generator[tuple[ApacheKafkaCluster, ApacheKafka]]:
    config = {**GUARDED, **TAKES_ANY_TRANSACTION}
    with ApacheKafkaCluster(brokers=2, config=config) as cluster, ApacheKafka() as other:
        with Admin(cluster.bootstrap) as admin:
            admin.create_topics([NewTopic("hung", 1)])
        hung = TopicPartition("hung", 0)
        asyncio.run(write_without_a_coordinator(cluster.bootstrap, hung, now_ms() - HOUR_MS))
        yield cluster, other


@contextmanager
def embedded_clusters(data: Path) -> Generator[tuple[EmbeddedBroker, EmbeddedBroker]]:
    with EmbeddedBroker(data, config=GUARDED, nodes=2) as broker, EmbeddedBroker() as other:
        leave_a_transaction_open(broker, data)
        yield broker, other


def leave_a_transaction_open(broker: EmbeddedBroker, data: Path) -> None:
    """In the topic hung, an hour ago. Its coordinator loses its log, and knows nothing of it any more."""
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic("hung", 1)])
    producer = Producer(broker.bootstrap, transactional_id="lost")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("hung", b"a", timestamp=now_ms() - HOUR_MS).result()
    broker.kill()
    producer.close(timeout=0)
    for log in data.rglob("__transaction_state-*"):
        shutil.rmtree(log)
    broker.start()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def fill(broker: Cluster) -> None:
    now = now_ms()
    with Admin(broker.bootstrap) as admin:
        admin.create_topics(
            [
                NewTopic("accounts", 1, configs={"cleanup.policy": "compact"}),
                NewTopic("orders", replica_assignments={0: [1, 2], 1: [2, 1]}),
                NewTopic("parcels", 2),
                NewTopic("parts", replica_assignments={0: [1]}),
                *(NewTopic(name, 1) for name in TOPICS),
            ]
        )
    with Producer(broker.bootstrap) as producer:

        def order(number: int, amount: int, hours_ago: int, partition: int, source: str) -> None:
            producer.send(
                "orders",
                json.dumps({"id": number, "amount": amount}).encode(),
                key=f"user-{number}".encode(),
                headers=[("source", source.encode())],
                partition=partition,
                timestamp=now - hours_ago * HOUR_MS,
            )

        order(1, 50, 3, 0, "web")
        order(2, 250, 1, 0, "web")
        order(3, 300, 1, 1, "app")
        order(4, 20, 0, 0, "web")
        producer.send("eu.orders", b"from the EU", timestamp=now)
        producer.send("eu.returns", b"back to the EU", timestamp=now)
        producer.send("trips", b"\x08\x07\x12\x04Graz")
        producer.send("accounts", b"Ada", key=b"user-7")
        producer.send("logs", b"old", timestamp=now - 48 * HOUR_MS)
        producer.send("logs", b"new", timestamp=now)


def register(broker: Cluster, url: str) -> None:
    with Registry(url) as registry:
        registry.register("refunds-value", Schema(REFUND))
        payment = registry.register("payments-value", Schema(PAYMENT)).id
        trip = registry.register("trip", Schema(TRIP, "PROTOBUF")).id
    with Producer(broker.bootstrap) as producer:
        producer.send("payments", b"\0" + payment.to_bytes(4, "big") + b"\0\0\0\0\0\0)@")
        producer.send("payments", b"\0" + trip.to_bytes(4, "big") + b"\0\x08\x07\x12\x04Graz")
        producer.send("payments", b"by hand")


def make_groups(broker: Cluster) -> None:
    for name in ("archive", "billing", "old-team", "reports"):
        with Consumer(broker.bootstrap, group_id=name) as consumer:
            consumer.commit({("orders", 0): 1, ("orders", 1): 1})
    # It stays a member when it goes, as those with an id of their own do, while the tests run.
    with Consumer(
        broker.bootstrap,
        topics=["orders"],
        group_id="workers",
        group_instance_id="worker-1",
        session_timeout_ms=900_000,
    ) as consumer:
        while not consumer.assignment():
            consumer.poll(timeout=0.1)
