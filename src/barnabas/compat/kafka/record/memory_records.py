"""Record batches one after the other."""

from barnabas.compat.kafka_engine.wire.memory_records import MemoryRecords, MemoryRecordsBuilder

__all__ = ["MemoryRecords", "MemoryRecordsBuilder"]
