"""What a producer has under way to one broker, and whether more may follow.

Knows nothing of what answers mean.
"""

from __future__ import annotations

from dataclasses import field

from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.settings.table import ProducerConfig
from barnabas.types import TopicPartition
from barnabas.values import mutable


@mutable
class SentBatch:
    """A batch in a request under way."""

    queue: PartitionQueue
    pending: PendingBatch
    bytes: int


@mutable
class LeaderInFlight:
    """What is under way to one broker."""

    in_flight: int = 0
    bytes_in_flight: int = 0
    is_connecting: bool = False
    sendable: list[PartitionQueue] = field(default_factory=list["PartitionQueue"])

    def departed(self, sent: dict[TopicPartition, SentBatch]) -> None:
        self.in_flight += 1
        self.bytes_in_flight += sum(entry.bytes for entry in sent.values())

    def answered(self, sent: dict[TopicPartition, SentBatch]) -> None:
        self.in_flight -= 1
        self.bytes_in_flight -= sum(entry.bytes for entry in sent.values())

    def has_room_for_request(self, config: ProducerConfig) -> bool:
        # Requests of several batches are not to make a slow network's answers later than time-outs allow for.
        max_requests = config.max_in_flight_requests_per_connection
        return self.in_flight < max_requests and self.bytes_in_flight < max_requests * config.max_record_bytes
