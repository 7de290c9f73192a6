"""Quotas of clients over restarts. Owns how they are changed, each kept before it counts. Must not know
requests."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.cluster import Cluster
from barnabas.broker.quotas.client_quotas import Changes, ClientQuota, Entity, QuotaFilter, changed
from barnabas.broker.quotas.client_throttle import ClientThrottle


class QuotaStore:
    """The quotas in a cluster's metadata."""

    def __init__(self, cluster: Cluster, throttle: ClientThrottle) -> None:
        self._cluster = cluster
        self._throttle = throttle
        throttle.load(cluster.metadata.client_quotas)

    def matching(self, asked: QuotaFilter) -> list[ClientQuota]:
        return [quota for quota in self._cluster.metadata.client_quotas if asked.matches(quota.entity)]

    def change(self, changes: Iterable[tuple[Entity, Changes]]) -> None:
        """Raises: KafkaStorageError."""
        quotas = changed(self._cluster.metadata.client_quotas, changes)
        self._cluster.change_metadata("quotas", client_quotas=quotas)
        self._throttle.load(quotas)
