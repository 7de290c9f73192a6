"""Record batches of magic 2, and what is in them."""

from barnabas.compat.kafka_python.wire.default_records import (
    ControlRecord,
    DefaultRecord,
    DefaultRecordBase,
    DefaultRecordBatch,
    DefaultRecordBatchBuilder,
    DefaultRecordMetadata,
)

__all__ = [
    "ControlRecord",
    "DefaultRecord",
    "DefaultRecordBase",
    "DefaultRecordBatch",
    "DefaultRecordBatchBuilder",
    "DefaultRecordMetadata",
]
