"""A program that has the metrics of a KafkaAdminClient reported, and what is logged of its broker's death."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from typing import Any, ClassVar

from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import KafkaError
from kafka.metrics.metrics_reporter import AbstractMetricsReporter

from barnabas.testing import EmbeddedBroker

DEADLINE_SECONDS = 20


class Reporter(AbstractMetricsReporter):
    heard: ClassVar[set[str]] = set()

    def init(self, metrics: Any) -> None:
        for metric in metrics:
            self.metric_change(metric)

    def metric_change(self, metric: Any) -> None:
        self.heard.add(metric.metric_name.group)

    def metric_removal(self, metric: Any) -> None:
        pass

    def configure(self, configs: Any) -> None:
        pass

    def close(self) -> None:
        self.heard.add("closed")


class Kept(logging.Handler):
    lines: ClassVar[list[tuple[str, str]]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.name, record.getMessage()))


def until(is_so: Any) -> bool:
    end = time.monotonic() + DEADLINE_SECONDS
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    return is_so()


def main() -> None:
    logging.getLogger().addHandler(Kept(logging.WARNING))
    with EmbeddedBroker() as broker:
        settings = {"bootstrap_servers": broker.bootstrap, "metric_reporters": [Reporter]}
        admin = KafkaAdminClient(request_timeout_ms=2000, **settings)
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
        admin.list_topics()
        until(lambda: "admin-node-metrics.node-1" in Reporter.heard)
        before = len(Kept.lines)
        broker.kill()
        with contextlib.suppress(KafkaError):
            admin.list_topics()
        until(lambda: any("refused" in text or "returned error 111" in text for _, text in Kept.lines))
        producer.close(timeout=0)
        admin.close()
    loggers = sorted({name.partition(".")[0] for name, _ in Kept.lines})
    print(json.dumps([before, loggers, sorted(Reporter.heard)]))


main()
