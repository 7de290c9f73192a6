"""What a consumer asks brokers about topics and offsets, whatever it reads itself.

Must not know positions, or what is assigned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.groups.offsets import list_offsets
from barnabas.clock import CLOCK
from barnabas.errors import MisuseError
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.settings.table import ConsumerConfig
from barnabas.types import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    OffsetAndTimestamp,
    PartitionInfo,
    TopicPartition,
    Watermarks,
)


class ConsumerLookups:
    """Of one consumer, until that is closed (`check_open` raises)."""

    def __init__(self, client: KafkaClient, config: ConsumerConfig, check_open: Callable[[], None]) -> None:
        self._client = client
        self._config = config
        self._check_open = check_open

    async def offsets_at(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """See `list_offsets`."""
        self._check_open()
        return await list_offsets(
            self._client, timestamps, isolation_level=self._config.isolation_level, timeout_ms=timeout_ms
        )

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, int]:
        found = await self.offsets_at(dict.fromkeys(partitions, EARLIEST_OFFSET), timeout_ms)
        return {partition: end.offset for partition, end in found.items()}

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, int]:
        found = await self.offsets_at(dict.fromkeys(partitions, LATEST_OFFSET), timeout_ms)
        return {partition: end.offset for partition, end in found.items()}

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        if any(timestamp < 0 for timestamp in timestamps.values()):
            raise MisuseError("timestamps are milliseconds since 1970, not negative")
        found = await self.offsets_at(timestamps, timeout_ms)
        return {partition: None if at.offset < 0 else at for partition, at in found.items()}

    async def watermarks(self, partition: TopicPartition, timeout_ms: float) -> Watermarks:
        """See `list_offsets`. The high watermark does not depend on the isolation level."""
        self._check_open()
        low, high = await asyncio.gather(
            *(
                list_offsets(
                    self._client, {partition: end}, isolation_level="read_uncommitted", timeout_ms=timeout_ms
                )
                for end in (EARLIEST_OFFSET, LATEST_OFFSET)
            )
        )
        return Watermarks(low[partition].offset, high[partition].offset)

    async def partitions_for(self, topic: str, timeout_ms: float) -> list[PartitionInfo]:
        """Raises: UnknownTopicOrPartitionError."""
        self._check_open()
        await self._client.wait_for_topics([topic], CLOCK.monotonic() + timeout_ms / 1000)
        return self._client.metadata.partitions_for(topic)

    async def topics(self, timeout_ms: float) -> list[str]:
        """All topics of the cluster, in order, without Kafka's own."""
        self._check_open()
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        response = await self._client.send_to_any(request, timeout_ms)
        return sorted(t.name for t in response.topics if t.name is not None and not t.is_internal)
