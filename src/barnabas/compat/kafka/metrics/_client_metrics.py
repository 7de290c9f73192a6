"""The metrics of a client: the names of its generation in a registry, measured by what the core counts.

Nodes and topics that are met later get theirs when metrics are looked at, or within a second where the
program has reporters. Knows the core's clients by their `stats` only.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from barnabas.client.produce.counters import TopicBatches
from barnabas.compat.kafka.metrics.measurable import AnonMeasurable
from barnabas.compat.kafka.metrics.metric_config import MetricConfig
from barnabas.compat.kafka.metrics.metrics import Metrics
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.metrics.connections import (
    CONNECTION_FIGURES,
    COORDINATOR_REQUESTS,
    requests_of,
)
from barnabas.compat.kafka_engine.metrics.consumers import FETCH_FIGURES, MEMBER_FIGURES
from barnabas.compat.kafka_engine.metrics.counts import Figure
from barnabas.compat.kafka_engine.metrics.producers import SEND_FIGURES, ProducerView
from barnabas.stats import BrokerStats, ConsumerStats, ProducerStats
from barnabas.types import TopicPartition

T = TypeVar("T")
S = TypeVar("S", ConsumerStats, ProducerStats)

_LOOK_SECONDS = 1.0
# All metrics of one look are of one moment.
_FRESH_SECONDS = 0.002


class ClientMetrics:
    """`prefix`: "admin", "consumer" or "producer", with which the names of groups begin."""

    def __init__(
        self, prefix: str, config: Mapping[str, Any], brokers: Callable[[], Iterable[BrokerStats]]
    ) -> None:
        settings = MetricConfig(
            samples=config["metrics_num_samples"],
            time_window_ms=config["metrics_sample_window_ms"],
            tags={"client-id": config["client_id"]},
        )
        reporters = [reporter() for reporter in config["metric_reporters"]]
        self.registry = Metrics(settings, reporters)
        self._prefix = prefix
        self._brokers = brokers
        self._names = generation().metric_names
        self._known: set[str] = set()
        self._bootstrap_numbers: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self._add(f"{prefix}-metrics", "connections", CONNECTION_FIGURES, lambda: tuple(brokers()))
        self._is_closed = threading.Event()
        if reporters:
            of = weakref.ref(self), self._is_closed
            threading.Thread(target=_watch, args=of, name="kafka-metrics", daemon=True).start()

    def _add(
        self,
        group: str,
        names: str,
        figures: Mapping[str, Figure],
        of: Callable[[], Any],
        tags: dict[str, Any] | None = None,
    ) -> None:
        for name in self._names[names]:
            measure = figures[name].measured(of)
            self.registry.add_metric(
                self.registry.metric_name(name, group, figures[name].description, tags),
                AnonMeasurable(lambda config, now, measure=measure: measure(config)),
            )

    def look(self) -> None:
        """Adds metrics of what was not known yet."""
        with self._lock:
            for broker in self._brokers():
                if broker.node_id < 0:
                    number = len(self._bootstrap_numbers)
                    self._bootstrap_numbers.setdefault((broker.host, broker.port), number)
                node = self._node(broker)
                self._add_once(f"node-{node}", lambda key, node=node: self._add_node(key, node))
                if requests_of([broker], *COORDINATOR_REQUESTS):
                    self._add_once(
                        f"node-coordinator-{node}", lambda key, node=node: self._add_node(key, node)
                    )
            self._look_for_topics()

    def _look_for_topics(self) -> None:
        """Adds metrics of topics that were not known yet."""

    def _add_once(self, key: str, add: Callable[[str], None]) -> None:
        if key not in self._known:
            self._known.add(key)
            add(key)

    def _node(self, broker: BrokerStats) -> str:
        if broker.node_id >= 0:
            return str(broker.node_id)
        return f"bootstrap-{self._bootstrap_numbers.get((broker.host, broker.port))}"

    def _add_node(self, key: str, node: str) -> None:
        brokers = self._brokers
        self._add(
            f"{self._prefix}-node-metrics.{key}",
            "node-metrics",
            CONNECTION_FIGURES,
            lambda: tuple(each for each in brokers() if self._node(each) == node),
        )

    def metrics(self, raw: bool) -> dict[Any, Any]:
        """Values by group and name; with `raw`, each KafkaMetric by its MetricName."""
        if not self._is_closed.is_set():
            self.look()
        found = dict(self.registry.metrics)
        if raw:
            return found
        values: dict[str, dict[str, Any]] = {}
        for name, metric in found.items():
            values.setdefault(name.group, {})[name.name] = metric.value()
        return values

    def close(self) -> None:
        """Closes the reporters."""
        if not self._is_closed.is_set():
            self._is_closed.set()
            self.registry.close()


class ConsumerMetrics(ClientMetrics):
    """Of a KafkaConsumer."""

    def __init__(self, config: Mapping[str, Any], stats: Callable[[], ConsumerStats]) -> None:
        self._stats = now = _Fresh(stats)
        super().__init__("consumer", config, lambda: now().client.brokers)
        self._add("consumer-fetch-manager-metrics", "fetch-manager-metrics", FETCH_FIGURES, now)
        self._add("consumer-coordinator-metrics", "coordinator-metrics", MEMBER_FIGURES, now)

    def _look_for_topics(self) -> None:
        for topic in {partition.topic for partition in self._stats().partitions}:
            self._add_once(f"topic {topic}", lambda _, topic=topic: self._add_topic(topic))

    def _add_topic(self, topic: str) -> None:
        now = self._stats
        self._add(
            "consumer-fetch-manager-metrics",
            "fetched topics",
            FETCH_FIGURES,
            lambda: _of_topic(now(), topic),
            {"topic": topic.replace(".", "_")},
        )


class ProducerMetrics(ClientMetrics):
    """Of a KafkaProducer."""

    def __init__(
        self,
        config: Mapping[str, Any],
        stats: Callable[[], ProducerStats],
        batches: Callable[[], Mapping[str, TopicBatches]],
    ) -> None:
        self._stats = now = _Fresh(stats)
        self._batches = batches
        super().__init__("producer", config, lambda: now().client.brokers)
        self._add("producer-metrics", "sends", SEND_FIGURES, lambda: ProducerView(now(), batches()))

    def _look_for_topics(self) -> None:
        for topic in self._batches():
            self._add_once(f"topic {topic}", lambda _, topic=topic: self._add_topic(topic))

    def _add_topic(self, topic: str) -> None:
        now, batches = self._stats, self._batches

        def view() -> ProducerView:
            sent = batches()
            return ProducerView(_of_topic(now(), topic), {topic: sent[topic]} if topic in sent else {})

        self._add(f"producer-topic-metrics.{topic}", "topic-metrics", SEND_FIGURES, view)


class _Fresh(Generic[T]):
    """What a function gives, asked for again once it is no longer of now."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._told: tuple[float, T] | None = None

    def __call__(self) -> T:
        told, now = self._told, time.monotonic()
        if told is None or now - told[0] > _FRESH_SECONDS:
            self._told = told = now, self._ask()
        return told[1]


def _of_topic(stats: S, topic: str) -> S:
    partitions: dict[TopicPartition, Any] = {
        partition: figures for partition, figures in stats.partitions.items() if partition.topic == topic
    }
    return dataclasses.replace(stats, partitions=partitions)


def _watch(metrics_of: weakref.ref[ClientMetrics], is_closed: threading.Event) -> None:
    while not is_closed.wait(_LOOK_SECONDS):
        metrics = metrics_of()
        if metrics is None:
            return
        metrics.look()
        del metrics
