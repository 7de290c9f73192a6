"""The user's own Python in a producer: interceptors, serializers, and a function as partitioner.

Owns calling them for each record, in the thread that sends. A producer that has neither never comes here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from barnabas._kernel import RecordMetadata
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.produce.serializing import Serializing
from barnabas.errors import BarnabasError
from barnabas.interceptors import ProducerInterceptor
from barnabas.settings.table import PartitionerFunction, ProducerConfig
from barnabas.types import ProducerRecord

logger = logging.getLogger("barnabas.producer")

OnDelivery = Callable[[BarnabasError | None, RecordMetadata | None], object]


class SendHooks:
    """`partitioner` is None where the kernel chooses partitions by itself."""

    def __init__(
        self,
        interceptors: tuple[ProducerInterceptor, ...],
        partitioner: PartitionerFunction | None,
        serializing: Serializing,
    ) -> None:
        self.partitioner = partitioner
        self.serializing = serializing
        self._interceptors = interceptors

    @classmethod
    def of(cls, config: ProducerConfig) -> SendHooks | None:
        """None if the settings name no Python to call."""
        partitioner: PartitionerFunction | None = (
            None if isinstance(config.partitioner, str) else config.partitioner
        )
        serializing = Serializing(config.key_serializer, config.value_serializer)
        if partitioner is None and not config.interceptors and not serializing:
            return None
        return cls(config.interceptors, partitioner, serializing)

    @property
    def only_serializes(self) -> bool:
        """Whether serializers that are called with one value are all that there is."""
        return self.partitioner is None and not self._interceptors and self.serializing.is_of_values

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """The record to send, as the interceptors make it, each from what the one before gave."""
        for interceptor in self._interceptors:
            try:
                record = interceptor.on_send(record)
            except Exception:
                logger.exception("on_send of interceptor %r failed", interceptor)
        return record

    def with_partition(self, record: ProducerRecord, metadata: ClusterMetadata) -> ProducerRecord:
        """The record with the partition that the function chooses, unless it has one. Raises what it does."""
        if self.partitioner is None or record.partition is not None:
            return record
        count = len(metadata.partitions_for(record.topic))
        return replace(record, partition=self.partitioner(record.topic, record.key, record.value, count))

    def reporting_to(self, on_delivery: OnDelivery | None) -> OnDelivery | None:
        """What is called on delivery: the interceptors, then `on_delivery`. Raises: TypeError."""
        if on_delivery is not None and not callable(on_delivery):
            raise TypeError(f"on_delivery must be callable, not {on_delivery!r}")
        return partial(self._delivered, on_delivery) if self._interceptors else on_delivery

    def _delivered(
        self, on_delivery: OnDelivery | None, error: BarnabasError | None, metadata: RecordMetadata | None
    ) -> None:
        self.acknowledged(metadata, error)
        if on_delivery is not None:
            on_delivery(error, metadata)

    def acknowledged(self, metadata: RecordMetadata | None, error: BarnabasError | None) -> None:
        for interceptor in self._interceptors:
            try:
                interceptor.on_acknowledgement(metadata, error)
            except Exception:
                logger.exception("on_acknowledgement of interceptor %r failed", interceptor)

    def close(self) -> None:
        for interceptor in self._interceptors:
            try:
                interceptor.close()
            except Exception:
                logger.exception("closing interceptor %r failed", interceptor)
