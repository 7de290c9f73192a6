"""Clients' figures for Prometheus. Needs the extra `prometheus`.

    from prometheus_client import REGISTRY
    from barnabas.observe.prometheus import ClientCollector

    collector = ClientCollector(producer, consumer)
    REGISTRY.register(collector)

Figures are read when Prometheus asks for them. `exposition` is the text that it scrapes, for figures that are
served without a registry. Owns how names are spelt for Prometheus.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator

from barnabas.errors import MissingExtraError
from barnabas.observe.figures import Family, ObservableClient, collect
from barnabas.observe.names import name_of

try:
    from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector
except ImportError as error:
    raise MissingExtraError("barnabas.observe.prometheus", "prometheus") from error

PREFIX = "barnabas_"
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
UNITS = {"By": "bytes", "s": "seconds", "1": "ratio"}


class ClientCollector(Collector):
    """A collector over any number of clients, which it does not keep alive. A client that is closed shows its
    last figures until it is removed, or gone."""

    def __init__(self, *clients: ObservableClient) -> None:
        self._clients: weakref.WeakSet[ObservableClient] = weakref.WeakSet()
        for client in clients:
            self.add(client)

    def add(self, client: ObservableClient) -> None:
        """Producers, Consumers and Admins, for asyncio or not. The label `client` tells them apart:
        `producer-1`, `producer-2`, in the order in which they are added first."""
        name_of(client)
        self._clients.add(client)

    def remove(self, client: ObservableClient) -> None:
        """Nothing happens if it was not added."""
        self._clients.discard(client)

    def collect(self) -> Iterator[Metric]:
        """Called by prometheus_client at each scrape: the figures of that moment."""
        for family in collect(list(self._clients)):
            yield _metric(family)

    def describe(self) -> list[Metric]:
        """Nothing: what there is changes with the clients, and is not to be collected on registering."""
        return []


class _Families(Collector):
    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return map(_metric, self._families)


def exposition(families: Iterable[Family]) -> bytes:
    """Prometheus' text of figures."""
    return generate_latest(_Families(families))


def _metric(family: Family) -> Metric:
    names = list(dict.fromkeys(name for labels, _ in family.samples for name in labels))
    unit = UNITS.get(family.unit, "")
    name = PREFIX + family.name.replace(".", "_")
    if unit and not (unit == "ratio" and family.name.endswith(".up")):
        name += f"_{unit}"
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = kind(name, family.description, labels=names)
    for labels, value in family.samples:
        metric.add_metric([labels.get(label, "") for label in names], value)
    return metric
