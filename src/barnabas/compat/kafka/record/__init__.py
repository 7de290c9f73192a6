"""Record batches made and read by hand."""

from barnabas.compat.kafka_engine.wire.memory_records import MemoryRecords, MemoryRecordsBuilder

__all__ = ["MemoryRecords", "MemoryRecordsBuilder"]
