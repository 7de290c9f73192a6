"""A partition that a SimpleConsumer reads: how far that is, and what it asks brokers about it.

Knows no consumer, and sends nothing.
"""

from __future__ import annotations

import datetime as dt
import json
import socket
import threading
import time
from typing import Any

from barnabas.compat.pykafka._consume.message_loans import HeldOffset
from barnabas.compat.pykafka.common import EPOCH, OffsetType
from barnabas.compat.pykafka.protocol import (
    PartitionFetchRequest,
    PartitionOffsetCommitRequest,
    PartitionOffsetFetchRequest,
    PartitionOffsetRequest,
)
from barnabas.compat.pykafka.utils.compat import get_bytes, get_string

__all__ = ["MAGIC_OFFSETS", "OwnedPartition"]

MAGIC_OFFSETS = [OffsetType.EARLIEST, OffsetType.LATEST]


class OwnedPartition:
    """A partition that a SimpleConsumer reads, and how far."""

    __module__ = "barnabas.compat.pykafka.simpleconsumer"

    def __init__(
        self,
        partition: Any,
        handler: Any = None,
        semaphore: Any = None,
        compacted_topic: bool = False,
        consumer_id: bytes = b"",
    ) -> None:
        self.partition = partition
        self._is_compacted_topic = compacted_topic
        self._messages_arrived = semaphore
        self.fetch_lock: Any = threading.RLock() if handler is None else handler.RLock()
        # Held for moments, by the core's thread too, which is no greenlet.
        self.held = HeldOffset(threading.RLock())
        self.set_consumer_id(consumer_id)

    def set_consumer_id(self, value: Any) -> None:
        """Which is committed with each offset, for those who look at them."""
        self._consumer_id = value
        self._offset_metadata = {"consumer_id": get_string(value), "hostname": socket.gethostname()}
        self.offset_metadata_json = json.dumps(self._offset_metadata)

    @property
    def last_offset_consumed(self) -> int:
        return self.held.get()

    @property
    def next_offset(self) -> int:
        return self.held.get() + 1

    def set_offset(self, last_offset_consumed: int) -> None:
        self.held.set(last_offset_consumed)

    def build_offset_request(self, offsets_before: Any) -> PartitionOffsetRequest:
        """Raises: ValueError for what is neither a time nor an OffsetType."""
        if isinstance(offsets_before, dt.datetime):
            offsets_before = round((offsets_before - EPOCH).total_seconds() * 1000)
        elif offsets_before not in MAGIC_OFFSETS:
            raise ValueError(f"offsets_before is an invalid timestamp: {offsets_before}")
        return PartitionOffsetRequest(self.partition.topic.name, self.partition.id, offsets_before, 1)

    def build_fetch_request(self, max_bytes: int) -> PartitionFetchRequest:
        return PartitionFetchRequest(
            self.partition.topic.name, self.partition.id, self.next_offset, max_bytes
        )

    def build_offset_commit_request(self, offset: int | None = None) -> PartitionOffsetCommitRequest:
        """`offset` None: behind what was consumed."""
        return PartitionOffsetCommitRequest(
            self.partition.topic.name,
            self.partition.id,
            self.next_offset if offset is None else offset,
            int(time.time() * 1000),
            get_bytes(self.offset_metadata_json),
        )

    def build_offset_fetch_request(self) -> PartitionOffsetFetchRequest:
        return PartitionOffsetFetchRequest(self.partition.topic.name, self.partition.id)
