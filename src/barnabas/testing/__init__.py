"""Real brokers for tests: Apache Kafka out of its published jars, and Barnabas's embedded broker.

    from barnabas.testing import ApacheKafka, EmbeddedBroker

    with EmbeddedBroker() as broker:            # a process of its own, ready in a fraction of a second
        Producer(broker.bootstrap)
    with ApacheKafka("4.3.0") as kafka:         # needs Java 17 and, the first time, Maven
        kafka.kill()                            # as a crash would
        kafka.start()                           # the same data, the same address

Both run as separate processes that end with this one, even when this one is killed. This package starts
programs; it must not know the client or the broker from inside.
"""

from __future__ import annotations

from barnabas.testing.apache_kafka import ApacheKafka
from barnabas.testing.distribution import KafkaDistribution, run_kafka_tool
from barnabas.testing.embedded_broker import EmbeddedBroker
from barnabas.testing.process import MissingProgramError, ServerStartError, free_ports

__all__ = [
    "ApacheKafka",
    "EmbeddedBroker",
    "KafkaDistribution",
    "MissingProgramError",
    "ServerStartError",
    "free_ports",
    "run_kafka_tool",
]
