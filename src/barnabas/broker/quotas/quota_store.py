"""Quotas of clients over restarts. Owns how they are changed, each kept before it counts. Must not know
requests."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.metadata_part import MetadataPart
from barnabas.broker.quotas.client_quotas import Changes, ClientQuota, Entity, QuotaFilter, changed
from barnabas.broker.quotas.client_throttle import ClientThrottle


class QuotaStore:
    def __init__(self, kept: MetadataPart[list[ClientQuota]], throttle: ClientThrottle) -> None:
        self._kept = kept
        self._throttle = throttle
        throttle.load(kept.value)

    def matching(self, asked: QuotaFilter) -> list[ClientQuota]:
        return [quota for quota in self._kept.value if asked.matches(quota.entity)]

    def change(self, changes: Iterable[tuple[Entity, Changes]]) -> None:
        """Raises: KafkaStorageError."""
        quotas = changed(self._kept.value, changes)
        self._kept.change(quotas)
        self._throttle.load(quotas)
