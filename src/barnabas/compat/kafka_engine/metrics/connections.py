"""Figures of connections to brokers, from their `BrokerStats`: of all, or of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from barnabas.compat.kafka_engine.metrics.counts import Figure, Rate, Share
from barnabas.stats import BrokerStats, WindowStats

Brokers = Sequence[BrokerStats]

COORDINATOR_REQUESTS = (
    *("JoinGroup", "Heartbeat", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "OffsetCommit"),
    *("OffsetFetch", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"),
)
"""What kafka-python sends over a connection of its own to a broker that coordinates."""


def total(name: str) -> Callable[[Brokers], float]:
    """A function that adds up a figure of all brokers."""
    return lambda brokers: float(sum(getattr(each, name) for each in brokers))


def requests_of(brokers: Brokers, *kinds: str) -> float:
    """How many requests of these kinds were sent."""
    return float(sum(each.requests_by_api.get(kind, 0) for each in brokers for kind in kinds))


def average(windows: Sequence[WindowStats]) -> float:
    """Over the samples of several windows, 0 where there are none."""
    count = sum(window.count for window in windows)
    return sum(window.sum for window in windows) / count if count else 0.0


def greatest(windows: Sequence[WindowStats]) -> float:
    """Over the samples of several windows; as kafka-python says where there are none."""
    return max((window.max for window in windows if window.count), default=-math.inf)


def latencies(brokers: Brokers) -> list[WindowStats]:
    return [each.latency_ms for each in brokers]


def throttles(brokers: Brokers) -> list[WindowStats]:
    return [each.throttle_time_ms for each in brokers]


def _operations(brokers: Brokers) -> float:
    return float(sum(each.requests + each.responses for each in brokers))


def _unknown(_: Brokers) -> float:
    return math.nan


_NO_SELECT = "There is no loop of a client's own whose time this could be"

CONNECTION_FIGURES: Mapping[str, Figure] = {
    "connection-close-rate": Rate("Connections that ended, per second", total("disconnects")),
    "connection-creation-rate": Rate("Connections that were opened, per second", total("connects")),
    "connection-count": Figure("Open connections", total("open_connections")),
    "network-io-rate": Rate("Requests and answers per second", _operations),
    "outgoing-byte-rate": Rate("Bytes sent per second", total("bytes_sent")),
    "request-rate": Rate("Requests sent per second", total("requests")),
    "request-size-avg": Share("Bytes of a request on average", total("bytes_sent"), total("requests")),
    "request-size-max": Share(
        "The most bytes of a request on average between two looks",
        total("bytes_sent"),
        total("requests"),
        largest=True,
    ),
    "incoming-byte-rate": Rate("Bytes received per second", total("bytes_received")),
    "response-rate": Rate("Answers per second", total("responses")),
    "request-latency-avg": Figure(
        "Milliseconds from request to answer on average", lambda brokers: average(latencies(brokers))
    ),
    "request-latency-max": Figure(
        "Milliseconds from request to answer at most", lambda brokers: greatest(latencies(brokers))
    ),
    "throttle-time-avg": Figure(
        "Milliseconds that brokers asked to be left alone, on average",
        lambda brokers: average(throttles(brokers)),
    ),
    "throttle-time-max": Figure(
        "Milliseconds that brokers asked to be left alone, at most",
        lambda brokers: max(greatest(throttles(brokers)), 0.0),
    ),
    "select-rate": Rate("Times that the network was looked at, per second", _operations),
    "io-wait-time-ns-avg": Figure(_NO_SELECT, _unknown),
    "io-wait-ratio": Figure(_NO_SELECT, _unknown),
    "io-time-ns-avg": Figure(_NO_SELECT, _unknown),
    "io-ratio": Figure(_NO_SELECT, _unknown),
}
