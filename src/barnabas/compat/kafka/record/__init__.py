"""Record batches made and read by hand."""

from barnabas.compat.kafka_python.wire.record_batches import MemoryRecords, MemoryRecordsBuilder

__all__ = ["MemoryRecords", "MemoryRecordsBuilder"]
