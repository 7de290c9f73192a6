"""The broker that everything is measured on: Apache Kafka as it would start itself, not as tests start it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.testing import ApacheKafka
from barnabas.testing.distribution import DEFAULT_VERSION

# Kafka's defaults where those of `barnabas.testing`, which wants it small and quick to start, differ.
KAFKA_SETTINGS = {
    "num.network.threads": "3",
    "num.io.threads": "8",
    "log.segment.bytes": str(1 << 30),
    "log.index.size.max.bytes": str(10 << 20),
}
# Those of Kafka's kafka-run-class.sh and kafka-server-start.sh.
KAFKA_JAVA_OPTIONS = [
    "-Xms1g",
    "-XX:TieredStopAtLevel=4",
    "-XX:-UseSerialGC",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
]


@contextmanager
def kafka(bootstrap: str | None, release: str = DEFAULT_VERSION) -> Iterator[str]:
    """Bootstrap servers: those given, or of a broker of that release, which runs meanwhile."""
    if bootstrap is not None:
        yield bootstrap
        return
    with ApacheKafka(release, heap_mb=1024, config=KAFKA_SETTINGS, java_options=KAFKA_JAVA_OPTIONS) as broker:
        yield broker.bootstrap
