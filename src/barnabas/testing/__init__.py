"""Real brokers for tests, Apache Kafka out of its published jars and Barnabas's embedded broker, and a schema
registry.

    from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker, SecureListeners

    with EmbeddedBroker() as broker:            # a process of its own, ready in a fraction of a second
        Producer(broker.bootstrap)
        broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=3)       # see `fault_control`
    with EmbeddedBroker(nodes=3) as cluster:    # three of them in that process
        cluster.nodes[2].stop()
    with ApacheKafka("4.3.0") as kafka:         # needs Java 17 and, the first time, Maven
        kafka.kill()                            # as a crash would
        kafka.start()                           # the same data, the same address
    with ApacheKafkaCluster() as cluster:       # three brokers, replication factor 3
        cluster.nodes[0].pause()                # alive, and silent
    with ApacheKafka(has_dynamic_quorum=True) as kafka:
        JoiningNode(kafka, 2, role="controller").start()
    with ApacheKafka(security=SecureListeners()) as kafka:
        kafka.bootstrap_for("SASL_SSL")         # see `secure_listeners`

    with KafkaProxy("localhost:9092") as proxy:     # the same before any Kafka, in a thread of this process
        proxy.faults.delay("Fetch", ms=100)

    with EmbeddedRegistry() as registry:        # in a thread of this process, ready in a fraction of a second
        Registry(registry.url)

All but the registry and the proxy run as separate processes that end with this one, even when this one is
killed. This package starts programs; it must not know the client or the broker from inside.
"""

from __future__ import annotations

from barnabas.testing.apache_kafka import ApacheKafka
from barnabas.testing.apache_kafka_cluster import ApacheKafkaCluster, ClusterNode
from barnabas.testing.certificates import Certificates
from barnabas.testing.distribution import KafkaDistribution, run_kafka_tool
from barnabas.testing.embedded_broker import EmbeddedBroker
from barnabas.testing.embedded_node import EmbeddedNode
from barnabas.testing.embedded_registry import EmbeddedRegistry
from barnabas.testing.fault_control import (
    ControlledFault,
    Disconnect,
    FaultControl,
    FaultControlError,
    RecordedRequest,
)
from barnabas.testing.joining_node import JoiningNode
from barnabas.testing.kafka_proxy import KafkaProxy
from barnabas.testing.process import MissingProgramError, ServerStartError, free_ports
from barnabas.testing.secure_listeners import SecureListeners

__all__ = [
    "ApacheKafka",
    "ApacheKafkaCluster",
    "Certificates",
    "ClusterNode",
    "ControlledFault",
    "Disconnect",
    "EmbeddedBroker",
    "EmbeddedNode",
    "EmbeddedRegistry",
    "FaultControl",
    "FaultControlError",
    "JoiningNode",
    "KafkaDistribution",
    "KafkaProxy",
    "MissingProgramError",
    "RecordedRequest",
    "SecureListeners",
    "ServerStartError",
    "free_ports",
    "run_kafka_tool",
]
