"""A cluster of fixed contents, with all that the page can stand beside: a registry, a listener of Spark, a
checkpoint, and faults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ui.page_in_thread import PageInThread

from barnabas import Admin, Consumer, NewTopic, Producer, Registry
from barnabas.http.server import Page, PageServer
from barnabas.registry import Schema
from barnabas.spark.queries.progress import BatchProgress, PartitionProgress, SourceProgress, StateProgress
from barnabas.spark.queries.query_figures import Queries
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry
from barnabas.types import TopicPartition
from barnabas.ui.settings import UiSettings

FIRST = '{"type": "record", "name": "Flight", "fields": [{"name": "delay", "type": "int"}]}'
SECOND = FIRST.replace("}]}", '}, {"name": "gate", "type": "string", "default": ""}]}')
TIMESTAMP = 1_767_225_600_000
FLIGHTS = ("BA 117", "LH 400", "AF 006", "IB 6251", "KL 641")


class Parts:
    """`url`: of a page that may change things."""

    def __init__(
        self, broker: EmbeddedBroker, registry: EmbeddedRegistry, queries: Queries, checkpoint: Path
    ) -> None:
        self.broker = broker
        self.registry = registry
        self.queries = queries
        self.checkpoint = checkpoint
        self.url = ""


@contextmanager
def parts_in(folder: Path, **settings: Any) -> Iterator[Parts]:
    """`settings`: of the page, besides where the parts are."""
    queries = Queries()
    checkpoint = folder / "delays-to-the-lake"
    status = Page("application/json", lambda: json.dumps({"queries": queries.status()}).encode())
    server = PageServer("127.0.0.1", 0, {"/status": status})
    try:
        with EmbeddedBroker() as broker, EmbeddedRegistry() as registry:
            parts = Parts(broker, registry, queries, checkpoint)
            fill(parts)
            told = UiSettings(
                client={"bootstrap_servers": broker.bootstrap},
                registry=registry.url,
                listener=server.url,
                checkpoints=(str(checkpoint),),
                faults=broker.faults.url,
                allows_writes=True,
                refresh_seconds=0.5,
                **settings,
            )
            with PageInThread(told) as page:
                parts.url = page.url
                yield parts
    finally:
        server.close()


def fill(parts: Parts) -> None:
    with Admin(parts.broker.bootstrap) as admin:
        admin.create_topics([NewTopic(n, 3, 1) for n in ("departures", "delays", "gates", "weather")])
    with Producer(parts.broker.bootstrap) as producer:
        for number in range(40):
            flight = FLIGHTS[number % len(FLIGHTS)]
            value = json.dumps({"flight": flight, "delay": number * 7 % 45, "gate": f"B{number % 9}"})
            producer.send(
                "delays",
                value.encode(),
                key=flight.encode(),
                partition=number % 3,
                timestamp=TIMESTAMP + number * 1_000,
            )
        producer.flush()
    with Consumer(parts.broker.bootstrap, group_id="delays-to-lake") as consumer:
        consumer.commit({("delays", 0): 14, ("delays", 1): 9, ("delays", 2): 13})
    with Registry(parts.registry.url) as registry:
        registry.register("delays-value", Schema(FIRST))
        registry.register("delays-value", Schema(SECOND))


def batch(number: int = 7, seconds: float = 1.5) -> BatchProgress:
    """Of a query that is not done with four records of `delays`."""
    positions = {0: (14, 12), 1: (9, 8), 2: (13, 11)}
    progress = {
        TopicPartition("delays", partition): PartitionProgress(at, at, passed)
        for partition, (at, passed) in positions.items()
    }
    return BatchProgress(
        number,
        f"2026-01-01T12:{number // 6:02}:{number % 6 * 10:02}.000Z",
        seconds,
        (SourceProgress(0, 31, progress),),
        rows=28 + number % 5,
        phases_ms={
            "addBatch": round(seconds * 820),
            "queryPlanning": 110,
            "walCommit": 40,
            "commitOffsets": 30,
        },
        state=(StateProgress("stateStoreSave", 300 + 12 * number, 31, 260_000 + 4_000 * number, 0),),
        watermark="2026-01-01T11:58:00.000Z",
    )


def plan(checkpoint: Path, batch: int, ends: tuple[int, int, int], *, is_committed: bool) -> None:
    """As Spark writes it of a query that reads `delays`."""
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True, exist_ok=True)
    (checkpoint / "metadata").write_text('{"id":"6b1c"}')
    offsets = json.dumps({"delays": {str(number): end for number, end in enumerate(ends)}})
    planned = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": TIMESTAMP + batch * 1_000, "conf": {}})
    (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{planned}\n{offsets}")
    if is_committed:
        (checkpoint / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
