"""`ClusterMetadata`: which brokers, topics and partitions there are, as the chosen generation has it."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka._known_cluster import KnownCluster
from barnabas.compat.kafka._tracking_cluster import TrackingCluster
from barnabas.compat.kafka._tracking_cluster import (
    expand_to_canonical_bootstrap_hosts as expand_to_canonical_bootstrap_hosts,
)
from barnabas.compat.kafka.conn import DEFAULT_KAFKA_PORT as DEFAULT_KAFKA_PORT
from barnabas.compat.kafka.conn import collect_hosts as collect_hosts
from barnabas.compat.kafka.conn import get_ip_port_afi as get_ip_port_afi
from barnabas.compat.kafka_engine.generations import generation

ClusterMetadata: Any = TrackingCluster if generation().clusters_track_topics else KnownCluster
ClusterMetadata.__name__ = ClusterMetadata.__qualname__ = "ClusterMetadata"
