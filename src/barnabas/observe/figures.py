"""What `stats()` of a client means for monitoring: named families of samples with labels.

Owns names, units and labels, which all adapters share. Pure functions; knows no monitoring system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from barnabas.observe.names import name_of
from barnabas.stats import (
    BrokerStats,
    ClientStats,
    ConsumerPartitionStats,
    ConsumerStats,
    ProducerPartitionStats,
    ProducerStats,
    WindowStats,
)

T = TypeVar("T")

Labels = dict[str, str]
Kind = Literal["counter", "gauge"]
AnyStats = ProducerStats | ConsumerStats | ClientStats

MILLISECONDS_PER_SECOND = 1000


class ObservableClient(Protocol):
    """Any client: Producer, Consumer and Admin, for asyncio or not."""

    def stats(self) -> AnyStats: ...


@dataclass(slots=True)
class Family:
    """Samples of one name. A `counter` only grows while its client lives. `unit` is of UCUM."""

    name: str
    kind: Kind
    unit: str
    description: str
    samples: list[tuple[Labels, float]] = field(default_factory=list[tuple[Labels, float]])


_Rows = tuple[tuple[str, Kind, str, str, Callable[[T], float]], ...]
"""Name, kind, unit, description, and where the value comes from."""

_BROKER: _Rows[BrokerStats] = (
    ("broker.connections", "gauge", "{connection}", "Open connections", lambda b: b.open_connections),
    ("broker.connects", "counter", "{connection}", "Connections opened", lambda b: b.connects),
    ("broker.disconnects", "counter", "{connection}", "Connections ended", lambda b: b.disconnects),
    ("broker.connect_failures", "counter", "{attempt}", "Attempts that failed", lambda b: b.connect_failures),
    ("broker.requests", "counter", "{request}", "Requests sent", lambda b: b.requests),
    ("broker.responses", "counter", "{response}", "Answers received", lambda b: b.responses),
    ("broker.requests_in_flight", "gauge", "{request}", "Without answer", lambda b: b.requests_in_flight),
    ("broker.request_timeouts", "counter", "{request}", "Requests timed out", lambda b: b.request_timeouts),
    ("broker.request_errors", "counter", "{request}", "Requests never answered", lambda b: b.request_errors),
    ("broker.sent", "counter", "By", "Bytes sent", lambda b: b.bytes_sent),
    ("broker.received", "counter", "By", "Bytes received", lambda b: b.bytes_received),
    ("broker.throttled", "counter", "{response}", "Answers that asked for silence", lambda b: b.throttled),
)
_PRODUCER: _Rows[ProducerStats] = (
    ("producer.buffered_records", "gauge", "{record}", "Not delivered yet", lambda p: p.buffered_records),
    ("producer.buffered", "gauge", "By", "Bytes not delivered yet", lambda p: p.buffered_bytes),
    ("producer.batches_in_flight", "gauge", "{batch}", "Without answer", lambda p: p.batches_in_flight),
)
_PRODUCER_PARTITION: _Rows[ProducerPartitionStats] = (
    ("producer.records", "counter", "{record}", "Records delivered", lambda p: p.records_delivered),
    ("producer.record_errors", "counter", "{record}", "Records that failed", lambda p: p.records_failed),
    ("producer.batches", "counter", "{batch}", "Batches delivered", lambda p: p.batches_delivered),
    ("producer.batch_retries", "counter", "{batch}", "Batches sent again", lambda p: p.batch_retries),
    ("producer.delivered", "counter", "By", "Bytes delivered, compressed", lambda p: p.bytes_delivered),
)
_CONSUMER: _Rows[ConsumerStats] = (
    ("consumer.assigned", "gauge", "{partition}", "Assigned partitions", lambda c: len(c.partitions)),
    ("consumer.commits", "counter", "{commit}", "Commits that succeeded", lambda c: c.commits),
    ("consumer.commit_failures", "counter", "{commit}", "Commits that failed", lambda c: c.commit_failures),
    ("consumer.rebalances", "counter", "{rebalance}", "Rebalances", lambda c: c.rebalances),
    ("consumer.poll_idle", "gauge", "1", "Share of time spent in polls", lambda c: c.poll_idle_ratio),
)
_CONSUMER_PARTITION: _Rows[ConsumerPartitionStats] = (
    ("consumer.position", "gauge", "{offset}", "Next offset to return", lambda p: p.position),
    ("consumer.high_watermark", "gauge", "{offset}", "End of the partition", lambda p: p.high_watermark),
    ("consumer.lag", "gauge", "{record}", "Behind the end; -1 unknown", lambda p: p.lag),
    ("consumer.records", "counter", "{record}", "Records returned", lambda p: p.returned_records),
    ("consumer.fetched", "counter", "By", "Bytes fetched, compressed", lambda p: p.fetched_bytes),
    ("consumer.queued", "gauge", "By", "Bytes fetched and not returned", lambda p: p.queued_bytes),
)


def collect(clients: Iterable[ObservableClient]) -> list[Family]:
    """The figures of all these clients as they are now, one family for each name."""
    families: dict[str, Family] = {}
    for client in clients:
        stats = client.stats()
        common = stats if isinstance(stats, ClientStats) else stats.client
        labels = {"client_id": common.client_id, "client": name_of(client)}
        for family in (*_of_client(common, labels), *_of_kind(stats, labels)):
            known = families.get(family.name)
            if known is None:
                families[family.name] = family
            else:
                known.samples += family.samples
    return list(families.values())


def _of_client(stats: ClientStats, labels: Labels) -> Iterator[Family]:
    brokers = [
        ({**labels, "node_id": str(b.node_id), "server_address": f"{b.host}:{b.port}"}, b)
        for b in stats.brokers
    ]
    up = [(of_broker, float(b.state == "up")) for of_broker, b in brokers if _tells_up(b, stats)]
    yield Family("broker.up", "gauge", "1", "Whether there is a connection, if one is wanted", up)
    for name, kind, unit, description, get in _BROKER:
        yield Family(name, kind, unit, description, [(of_broker, get(b)) for of_broker, b in brokers])
    latencies = [(of_broker, b.latency_ms) for of_broker, b in brokers]
    yield _quantiles("broker.request_latency", "From a request to its answer", latencies)


def _tells_up(broker: BrokerStats, stats: ClientStats) -> bool:
    """Nothing is wrong with a broker that nobody wants a connection to. A server of bootstrap_servers counts
    until the brokers of the cluster are known: from then on these are connected to in its place."""
    is_in_use = broker.node_id >= 0 or all(other.node_id < 0 for other in stats.brokers)
    return is_in_use and broker.state != "init"


def _of_kind(stats: AnyStats, labels: Labels) -> Iterator[Family]:
    if isinstance(stats, ProducerStats):
        for name, kind, unit, description, get in _PRODUCER:
            yield Family(name, kind, unit, description, [(labels, get(stats))])
        partitions = [
            ({**labels, "topic": topic, "partition": str(number)}, partition)
            for (topic, number), partition in stats.partitions.items()
        ]
        for name, kind, unit, description, of_partition in _PRODUCER_PARTITION:
            samples = [(where, of_partition(partition)) for where, partition in partitions]
            yield Family(name, kind, unit, description, samples)
        latencies = [(where, partition.delivery_latency_ms) for where, partition in partitions]
        yield _quantiles("producer.delivery_latency", "From send to delivery, by batch", latencies)
    elif isinstance(stats, ConsumerStats):
        of_group = {**labels, "group_id": stats.group_id or ""}
        for name, kind, unit, description, get in _CONSUMER:
            yield Family(name, kind, unit, description, [(of_group, get(stats))])
        yield _quantiles("consumer.commit_latency", "Of commits", [(of_group, stats.commit_latency_ms)])
        yield _quantiles("consumer.fetch_latency", "Of fetches", [(of_group, stats.fetch_latency_ms)])
        for name, kind, unit, description, of_partition in _CONSUMER_PARTITION:
            samples = [
                ({**of_group, "topic": topic, "partition": str(number)}, of_partition(partition))
                for (topic, number), partition in stats.partitions.items()
            ]
            yield Family(name, kind, unit, description, samples)


def _quantiles(name: str, description: str, windows: Iterable[tuple[Labels, WindowStats]]) -> Family:
    """The last minute's quantiles, in seconds; left out where there was nothing to measure."""
    samples: list[tuple[Labels, float]] = []
    for labels, window in windows:
        if window.count:
            quantiles = {"0.5": window.p50, "0.95": window.p95, "0.99": window.p99, "1": window.max}
            samples += [
                ({**labels, "quantile": quantile}, milliseconds / MILLISECONDS_PER_SECOND)
                for quantile, milliseconds in quantiles.items()
            ]
    return Family(name, "gauge", "s", description, samples)
