"""Record batches of magic 2, and what is in them."""

from barnabas.compat.kafka_python.wire.record_batches import (
    DefaultRecord,
    DefaultRecordBatch,
    DefaultRecordMetadata,
)

__all__ = ["DefaultRecord", "DefaultRecordBatch", "DefaultRecordMetadata"]
