"""Figures of producers, from their `ProducerStats` and the batches that each topic got."""

from __future__ import annotations

import math
from collections.abc import Mapping

from barnabas.client.produce.counters import TopicBatches
from barnabas.compat.kafka_engine.metrics.connections import average, greatest, requests_of, total
from barnabas.compat.kafka_engine.metrics.counts import Figure, Rate, Share
from barnabas.stats import ProducerStats, WindowStats
from barnabas.values import frozen


@frozen
class ProducerView:
    """What is to be seen of a producer, or of one of its topics."""

    stats: ProducerStats
    batches: Mapping[str, TopicBatches]


def _sizes(view: ProducerView) -> list[WindowStats]:
    return [batches.latest_bytes.stats() for batches in view.batches.values()]


def _bytes(view: ProducerView) -> float:
    return float(sum(batches.size_bytes for batches in view.batches.values()))


def _records(view: ProducerView) -> float:
    return float(sum(batches.records for batches in view.batches.values()))


def _failed(view: ProducerView) -> float:
    return float(sum(each.records_failed for each in view.stats.partitions.values()))


def _retries(view: ProducerView) -> float:
    return float(sum(each.batch_retries for each in view.stats.partitions.values()))


def _requests(view: ProducerView) -> float:
    return requests_of(view.stats.client.brokers, "Produce")


def _metadata_age(view: ProducerView) -> float:
    age = view.stats.client.metadata_age_seconds
    return math.nan if age is None else age


def _unknown(_: ProducerView) -> float:
    return math.nan


SEND_FIGURES: Mapping[str, Figure] = {
    "batch-size-avg": Figure("Bytes of a batch on average", lambda view: average(_sizes(view))),
    "batch-size-max": Figure("Bytes of a batch at most", lambda view: greatest(_sizes(view))),
    "compression-rate-avg": Figure("Not known here", _unknown),
    "record-queue-time-avg": Figure(
        "Milliseconds that a batch waited on average", lambda view: average([view.stats.queue_time_ms])
    ),
    "record-queue-time-max": Figure(
        "Milliseconds that a batch waited at most", lambda view: greatest([view.stats.queue_time_ms])
    ),
    "record-send-rate": Rate("Records delivered per second", _records),
    "records-per-request-avg": Share("Records of a request on average", _records, _requests),
    "byte-rate": Rate("Bytes delivered per second", _bytes),
    "record-retry-rate": Rate("Batches sent again, per second", _retries),
    "record-error-rate": Rate("Records that failed, per second", _failed),
    "record-size-max": Share(
        "The most bytes of a record on average between two looks", _bytes, _records, largest=True
    ),
    "record-size-avg": Share("Bytes of a record on average", _bytes, _records),
    "requests-in-flight": Figure(
        "Requests without an answer", lambda view: total("requests_in_flight")(view.stats.client.brokers)
    ),
    "metadata-age": Figure("Seconds since the cluster was asked what it is like", _metadata_age),
    "compression-rate": Figure("Not known here", _unknown),
}
