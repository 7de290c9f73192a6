"""Figures of consumers, from their `ConsumerStats`: what they fetch, and their membership of a group."""

from __future__ import annotations

import math
from collections.abc import Mapping

from barnabas.compat.kafka_engine.metrics.connections import average, greatest, requests_of, throttles
from barnabas.compat.kafka_engine.metrics.counts import Figure, Rate, Share
from barnabas.stats import ConsumerStats


def _fetches(stats: ConsumerStats) -> float:
    return requests_of(stats.client.brokers, "Fetch")


def _heartbeats(stats: ConsumerStats) -> float:
    return requests_of(stats.client.brokers, "Heartbeat", "ConsumerGroupHeartbeat")


def _syncs(stats: ConsumerStats) -> float:
    return requests_of(stats.client.brokers, "SyncGroup")


def _bytes(stats: ConsumerStats) -> float:
    return float(sum(each.fetched_bytes for each in stats.partitions.values()))


def _records(stats: ConsumerStats) -> float:
    return float(sum(each.returned_records for each in stats.partitions.values()))


def _lag(stats: ConsumerStats) -> float:
    return float(max((each.lag for each in stats.partitions.values() if each.lag >= 0), default=-math.inf))


FETCH_FIGURES: Mapping[str, Figure] = {
    "fetch-size-avg": Share("Bytes that a fetch brought on average", _bytes, _fetches),
    "fetch-size-max": Share(
        "The most bytes of a fetch on average between two looks", _bytes, _fetches, largest=True
    ),
    "bytes-consumed-rate": Rate("Bytes fetched per second", _bytes),
    "records-per-request-avg": Share("Records that a fetch brought on average", _records, _fetches),
    "records-consumed-rate": Rate("Records handed out per second", _records),
    "fetch-latency-avg": Figure(
        "Milliseconds of a fetch on average", lambda stats: average([stats.fetch_latency_ms])
    ),
    "fetch-latency-max": Figure(
        "Milliseconds of a fetch at most", lambda stats: greatest([stats.fetch_latency_ms])
    ),
    "fetch-rate": Rate("Fetches per second", _fetches),
    "records-lag-max": Figure("How many records the partition that is most behind has still", _lag),
    "fetch-throttle-time-avg": Figure(
        "Milliseconds that brokers asked to be left alone, on average",
        lambda stats: average(throttles(stats.client.brokers)),
    ),
    "fetch-throttle-time-max": Figure(
        "Milliseconds that brokers asked to be left alone, at most",
        lambda stats: greatest(throttles(stats.client.brokers)),
    ),
}
MEMBER_FIGURES: Mapping[str, Figure] = {
    "heartbeat-response-time-max": Figure(
        "Milliseconds from request to answer at most", lambda stats: _coordinator_latency(stats)
    ),
    "heartbeat-rate": Rate("Heartbeats per second", _heartbeats),
    "join-time-avg": Figure(
        "Milliseconds of a rebalance on average", lambda stats: average([stats.rebalance_latency_ms])
    ),
    "join-time-max": Figure(
        "Milliseconds of a rebalance at most", lambda stats: greatest([stats.rebalance_latency_ms])
    ),
    "join-rate": Rate("Rebalances per second", lambda stats: float(stats.rebalances)),
    "sync-time-avg": Figure(
        "Milliseconds of a rebalance on average", lambda stats: average([stats.rebalance_latency_ms])
    ),
    "sync-time-max": Figure(
        "Milliseconds of a rebalance at most", lambda stats: greatest([stats.rebalance_latency_ms])
    ),
    "sync-rate": Rate("Assignments taken over per second", _syncs),
    "last-heartbeat-seconds-ago": Figure("Not known here", lambda stats: math.nan),
    "commit-latency-avg": Figure(
        "Milliseconds of a commit on average", lambda stats: average([stats.commit_latency_ms])
    ),
    "commit-latency-max": Figure(
        "Milliseconds of a commit at most", lambda stats: greatest([stats.commit_latency_ms])
    ),
    "commit-rate": Rate("Commits per second", lambda stats: float(stats.commits)),
    "assigned-partitions": Figure("Partitions that are assigned", lambda stats: float(len(stats.partitions))),
}


def _coordinator_latency(stats: ConsumerStats) -> float:
    """Of brokers that heartbeats went to, whose requests of other kinds it cannot be told from."""
    asked = [
        each for each in stats.client.brokers if requests_of([each], "Heartbeat", "ConsumerGroupHeartbeat")
    ]
    return greatest([each.latency_ms for each in asked])
