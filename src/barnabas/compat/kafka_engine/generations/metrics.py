"""The names of metrics that clients have, by their group (without "consumer-" or "producer-")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

MetricNames: TypeAlias = Mapping[str, tuple[str, ...]]

_OF_NODES = (
    *("outgoing-byte-rate", "request-rate", "request-size-avg", "request-size-max", "incoming-byte-rate"),
    *("response-rate", "request-latency-avg", "request-latency-max"),
    *("throttle-time-avg", "throttle-time-max"),
)
_OF_CONNECTIONS = (
    *("connection-close-rate", "connection-creation-rate", "connection-count", "network-io-rate"),
    *_OF_NODES,
)
_OF_SELECT = ("select-rate", "io-wait-time-ns-avg", "io-wait-ratio", "io-time-ns-avg", "io-ratio")
_OF_COMMITS = ("commit-latency-avg", "commit-latency-max", "commit-rate", "assigned-partitions")
_OF_MEMBERS = (
    *("heartbeat-response-time-max", "heartbeat-rate", "join-time-avg", "join-time-max", "join-rate"),
    *("sync-time-avg", "sync-time-max", "sync-rate", "last-heartbeat-seconds-ago"),
)
_OF_FETCHES = (
    *("fetch-size-avg", "fetch-size-max", "bytes-consumed-rate", "records-per-request-avg"),
    *("records-consumed-rate", "fetch-latency-avg", "fetch-latency-max", "fetch-rate", "records-lag-max"),
)
_OF_TOPICS_FETCHED = (
    *("fetch-size-avg", "fetch-size-max", "bytes-consumed-rate"),
    *("records-per-request-avg", "records-consumed-rate"),
)
_OF_SENDS = (
    *("batch-size-avg", "batch-size-max", "compression-rate-avg", "record-queue-time-avg"),
    *("record-queue-time-max", "record-send-rate", "records-per-request-avg", "byte-rate"),
    *("record-retry-rate", "record-error-rate", "record-size-max", "record-size-avg"),
    *("requests-in-flight", "metadata-age"),
)
_OF_TOPICS_SENT = (
    *("record-send-rate", "byte-rate", "compression-rate", "record-retry-rate", "record-error-rate"),
)

METRIC_NAMES_OF_3: MetricNames = {
    "connections": _OF_CONNECTIONS,
    "node-metrics": _OF_NODES,
    "fetch-manager-metrics": _OF_FETCHES,
    "fetched topics": _OF_TOPICS_FETCHED,
    "coordinator-metrics": (*_OF_MEMBERS, *_OF_COMMITS),
    "sends": _OF_SENDS,
    "topic-metrics": _OF_TOPICS_SENT,
}
METRIC_NAMES_OF_2: MetricNames = {**METRIC_NAMES_OF_3, "connections": (*_OF_CONNECTIONS, *_OF_SELECT)}
METRIC_NAMES_OF_1: MetricNames = {
    **METRIC_NAMES_OF_3,
    "connections": (),
    "node-metrics": (),
    "fetch-manager-metrics": (*_OF_FETCHES, "fetch-throttle-time-avg", "fetch-throttle-time-max"),
    "coordinator-metrics": _OF_COMMITS,
}
