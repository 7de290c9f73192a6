"""Clients' figures as Prometheus scrapes them."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from barnabas import Admin, Consumer, NewTopic, Producer, aio
from barnabas.observe.prometheus import ClientCollector


def new_topic(broker: Any, name: str) -> str:
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 2, 1)])
    return name


def scraped(registry: CollectorRegistry) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Samples by name, read back from what Prometheus would be served."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_a_scrape_has_the_figures_of_all_clients(broker: Any, topic: Any) -> None:
    name = new_topic(broker, topic())
    registry = CollectorRegistry()
    collector = ClientCollector()
    registry.register(collector)
    assert scraped(registry) == {}
    with (
        Producer(broker.bootstrap, client_id="p") as producer,
        Consumer(
            broker.bootstrap, topics=[name], group_id="g", client_id="c", auto_offset_reset="earliest"
        ) as consumer,
    ):
        collector.add(producer)
        collector.add(consumer)
        for number in range(30):
            producer.send(name, b"x" * 10, partition=number % 3 // 2)
        producer.flush()
        taken = 0
        while taken < 30:
            taken += len(consumer.poll(timeout=1.0))
        found = scraped(registry)
        collector.remove(producer)
        without_producer = scraped(registry)
    sent = {labels["partition"]: value for labels, value in found["barnabas_producer_records_total"]}
    assert sent == {"0": 20, "1": 10}
    assert found["barnabas_producer_records_total"][0][0] == {
        "client_id": "p",
        "topic": name,
        "partition": "0",
    }
    read = {labels["partition"]: value for labels, value in found["barnabas_consumer_records_total"]}
    assert read == {"0": 20, "1": 10}
    assert {value for _, value in found["barnabas_consumer_lag"]} == {0}
    assert found["barnabas_consumer_assigned"] == [({"client_id": "c", "group_id": "g"}, 2)]
    assert found["barnabas_producer_buffered_bytes"] == [({"client_id": "p"}, 0)]
    up = {
        labels["client_id"]: value
        for labels, value in found["barnabas_broker_up"]
        if labels["node_id"] == "1"
    }
    assert up == {"p": 1, "c": 1}
    latencies = [
        (labels["quantile"], value)
        for labels, value in found["barnabas_broker_request_latency_seconds"]
        if labels["client_id"] == "p" and labels["node_id"] == "1"
    ]
    assert [quantile for quantile, _ in latencies] == ["0.5", "0.95", "0.99", "1"]
    assert [value for _, value in latencies] == sorted(value for _, value in latencies)
    assert 0 < latencies[0][1] < 10
    assert "barnabas_producer_records_total" not in without_producer
    assert "barnabas_consumer_records_total" in without_producer


def test_a_client_that_is_gone_is_not_kept_alive(broker: Any) -> None:
    async def main() -> None:
        collector = ClientCollector()
        admin: aio.Admin | None = aio.Admin(broker.bootstrap)
        assert admin is not None
        collector.add(admin)
        await admin.list_topics()
        assert list(collector.collect())
        await admin.close()
        admin = None
        await asyncio.sleep(0)
        gc.collect()
        assert list(collector.collect()) == []

    asyncio.run(main())
