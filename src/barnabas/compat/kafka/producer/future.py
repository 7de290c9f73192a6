"""Futures of records that were sent, and what they give.

A KafkaProducer's own futures are the kernel's `SentRecord`, which counts as a FutureRecordMetadata. These
are for programs that make some themselves, and for records that were never appended.
"""

from __future__ import annotations

import threading
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.future import Future
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.produce.record_metadata import RecordMetadata as RecordMetadata
from barnabas.compat.kafka_engine.produce.record_metadata import metadata_of

Partition = Any


class FutureProduceResult(Future):
    """What becomes of a batch for a partition."""

    def __init__(self, topic_partition: Partition) -> None:
        super().__init__()
        self.topic_partition = topic_partition
        self._latch = threading.Event()

    def success(self, value: Any) -> Any:
        super().success(value)
        self._latch.set()
        return self

    def failure(self, error: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] the original's
        super().failure(error)
        self._latch.set()
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is complete, within `timeout` seconds: its callbacks have returned by then."""
        return self._latch.wait(timeout)


class _ResultOfRecord(Future):
    def __init__(self, produce_future: FutureProduceResult) -> None:
        super().__init__()
        self._produce_future = produce_future

    def get(self, timeout: float | None = None) -> Any:
        """The RecordMetadata. Raises: what the record failed with; KafkaTimeoutError after `timeout`
        seconds."""
        if not self.is_done and not self._produce_future.wait(timeout):
            raise Errors.KafkaTimeoutError(f"Timeout after waiting for {timeout} secs.")
        if self.exception is not None:
            raise self.exception
        return self.value


class _FutureRecordMetadataOf1(_ResultOfRecord):
    def __init__(
        self, produce_future: FutureProduceResult, relative_offset: int, timestamp_ms: int | None
    ) -> None:
        super().__init__(produce_future)
        self.relative_offset = relative_offset
        self.timestamp_ms = timestamp_ms
        produce_future.add_callback(self._produced).add_errback(self.failure)

    def _produced(self, result: Any) -> None:
        base_offset, timestamp_ms = result
        timestamp_ms = self.timestamp_ms if timestamp_ms is None else timestamp_ms
        partition = self._produce_future.topic_partition
        self.success(RecordMetadata(partition, base_offset, timestamp_ms, self.relative_offset))


class _FutureRecordMetadataWithSizes(_ResultOfRecord):
    def __init__(
        self,
        produce_future: FutureProduceResult,
        batch_index: int | None,
        timestamp_ms: int | None,
        checksum: int | None,
        serialized_key_size: int,
        serialized_value_size: int,
        serialized_header_size: int,
    ) -> None:
        super().__init__(produce_future)
        sizes = (serialized_key_size, serialized_value_size, serialized_header_size)
        self.args = (batch_index, timestamp_ms, checksum, *sizes)
        produce_future.add_callback(self._produced).add_errback(self.failure)

    def _produced(self, result: Any) -> None:
        offset, append_time_ms, errors_of_records = result
        batch_index, timestamp_ms, checksum, *sizes = self.args
        if errors_of_records is not None:
            self.failure(errors_of_records(batch_index))
            return
        if append_time_ms is not None and append_time_ms != -1:
            timestamp_ms = append_time_ms
        if offset != -1 and batch_index is not None:
            offset += batch_index
        partition = self._produce_future.topic_partition
        self.success(metadata_of(partition, offset, timestamp_ms, checksum, *sizes))


FutureRecordMetadata: Any = (
    _FutureRecordMetadataWithSizes if generation().record_metadata_has_sizes else _FutureRecordMetadataOf1
)
FutureRecordMetadata.__name__ = FutureRecordMetadata.__qualname__ = "FutureRecordMetadata"
