"""What batches of records, and the records in them, have in common in all formats of messages."""

from barnabas.compat.kafka_python.wire.record_bases import (
    ABCRecord,
    ABCRecordBatch,
    ABCRecordBatchBuilder,
    ABCRecords,
)

__all__ = ["ABCRecord", "ABCRecordBatch", "ABCRecordBatchBuilder", "ABCRecords"]
