"""Record batches one after the other."""

from barnabas.compat.kafka_python.wire.record_batches import MemoryRecords, MemoryRecordsBuilder

__all__ = ["MemoryRecords", "MemoryRecordsBuilder"]
