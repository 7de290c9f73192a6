"""Messages of magic 0 and 1."""

from barnabas.compat.kafka_python.wire.legacy_records import (
    LegacyRecord,
    LegacyRecordBase,
    LegacyRecordBatch,
    LegacyRecordBatchBuilder,
    LegacyRecordMetadata,
)

__all__ = [
    "LegacyRecord",
    "LegacyRecordBase",
    "LegacyRecordBatch",
    "LegacyRecordBatchBuilder",
    "LegacyRecordMetadata",
]
