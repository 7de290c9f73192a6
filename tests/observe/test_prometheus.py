"""Clients' figures as Prometheus scrapes them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import Callable, Generator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from barnabas import Admin, Consumer, NewTopic, Producer, ShareConsumer, aio
from barnabas.observe.names import name_of
from barnabas.observe.prometheus import ClientCollector
from barnabas.testing import ApacheKafka, EmbeddedBroker


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
        "client": name_of(producer),
        "topic": name,
        "partition": "0",
    }
    read = {labels["partition"]: value for labels, value in found["barnabas_consumer_records_total"]}
    assert read == {"0": 20, "1": 10}
    assert {value for _, value in found["barnabas_consumer_lag"]} == {0}
    assert found["barnabas_consumer_assigned"] == [
        ({"client_id": "c", "client": name_of(consumer), "group_id": "g"}, 2)
    ]
    assert found["barnabas_producer_buffered_bytes"] == [({"client_id": "p", "client": name_of(producer)}, 0)]
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


@contextlib.contextmanager
def closed_port() -> Generator[str]:
    """An address that refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def series_of(registry: CollectorRegistry) -> list[str]:
    """Each with its labels, as often as it is there."""
    lines = generate_latest(registry).decode().splitlines()
    return [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]


def test_clients_of_one_client_id_have_series_of_their_own(
    broker: ApacheKafka | EmbeddedBroker, topic: Callable[[], str]
) -> None:
    name = new_topic(broker, topic())
    with (
        Producer(broker.bootstrap) as producer,
        Producer(broker.bootstrap) as other,
        Consumer(broker.bootstrap, topics=[name], auto_offset_reset="earliest") as consumer,
        Consumer(broker.bootstrap, topics=[name], auto_offset_reset="earliest") as reader,
        Admin(broker.bootstrap) as admin,
        Admin(broker.bootstrap) as second_admin,
        ShareConsumer(broker.bootstrap, group_id=name) as sharing,
    ):
        for sender in (producer, other):
            sender.send(name, b"x", partition=0).result(timeout=30)
        for each in (consumer, reader):
            assert each.poll(timeout=30)
        for each in (admin, second_admin):
            assert name in each.list_topics()
        registry = CollectorRegistry()
        registry.register(ClientCollector(producer, other, consumer, reader, admin, second_admin, sharing))
        series = series_of(registry)
        sent = scraped(registry)["barnabas_producer_records_total"]
    assert len(series) == len(set(series)) > 100
    assert {(labels["client"], value) for labels, value in sent} == {
        (name_of(producer), 1),
        (name_of(other), 1),
    }


def test_a_name_is_free_again_once_its_client_is_gone() -> None:
    class Speaker:
        pass

    first, second = Speaker(), Speaker()
    assert [name_of(each) for each in (first, second, first)] == ["speaker-1", "speaker-2", "speaker-1"]
    del first
    gc.collect()
    third, fourth = Speaker(), Speaker()
    assert [name_of(each) for each in (third, fourth)] == ["speaker-1", "speaker-3"]


def test_nothing_is_down_while_all_is_well(
    broker: ApacheKafka | EmbeddedBroker, topic: Callable[[], str]
) -> None:
    name = new_topic(broker, topic())
    with (
        Producer(broker.bootstrap) as producer,
        Consumer(broker.bootstrap, topics=[name], group_id=name, auto_offset_reset="earliest") as consumer,
    ):
        producer.send(name, b"x").result(timeout=30)
        assert consumer.poll(timeout=30)
        registry = CollectorRegistry()
        registry.register(ClientCollector(producer, consumer))
        up = scraped(registry)["barnabas_broker_up"]
    assert {value for _, value in up} == {1}
    assert {labels["client"] for labels, _ in up} == {name_of(producer), name_of(consumer)}


def test_a_server_that_nobody_is_at_is_down_until_another_tells_of_the_cluster(
    broker: ApacheKafka | EmbeddedBroker, topic: Callable[[], str], eventually: Callable[..., Any]
) -> None:
    with closed_port() as nobody, Consumer(nobody, topics=["t"]) as consumer:
        registry = CollectorRegistry()
        registry.register(ClientCollector(consumer))
        consumer.poll(timeout=0)
        (up,) = eventually(lambda: scraped(registry).get("barnabas_broker_up"))
        assert (up[0]["server_address"], up[1]) == (nobody, 0)
    with closed_port() as nobody, Admin([nobody, broker.bootstrap]) as admin:
        admin.list_topics()
        registry = CollectorRegistry()
        registry.register(ClientCollector(admin))
        assert [value for _, value in scraped(registry)["barnabas_broker_up"]] == [1]


@pytest.mark.integration
def test_a_broker_that_is_lost_is_down(eventually: Callable[..., Any]) -> None:
    with EmbeddedBroker() as broker, Producer(broker.bootstrap) as producer:
        producer.send("t", b"x").result(timeout=30)
        registry = CollectorRegistry()
        registry.register(ClientCollector(producer))
        assert [value for _, value in scraped(registry)["barnabas_broker_up"]] == [1]
        broker.stop()
        eventually(lambda: [value for _, value in scraped(registry)["barnabas_broker_up"]] == [0])
