"""The Rust kernel: everything that costs per record or per byte.

All functions take any object with the buffer protocol for bytes. `bytes` and contiguous memoryviews of
`bytes` or of a frozen ReceiveBuffer are read where they are; any other buffer is copied first, since someone
might change it meanwhile.
The interpreter lock is released wherever no Python object is touched. Malformed bytes raise
`barnabas.errors.CorruptBatchError`, never a panic, and never allocate more than a small multiple of the
input plus `max_decompressed_bytes`.

The stubs beside this one are parts of the one module that there is.
"""

from barnabas._kernel.consume import (
    ArrowRecords,
    BatchInfo,
    BatchOpeners,
    DecodedRecord,
    DirectFetches,
    FetchCredit,
    FrameReceiver,
    KeyOffsets,
    LogCleaner,
    Poller,
    Record,
    RecordReader,
    TakenBack,
    check_batches,
    compact_batches,
    convert_to_current,
    convert_to_old,
    decoded_records,
    find_batch_offset_for_timestamp,
    find_max_timestamp,
    scan_batches,
    stamp_batches,
    take_arrow,
    with_max_timestamp,
)
from barnabas._kernel.kafka_python import FutureRecordMetadata, RecordPoller, RecordTeller, TopicSender
from barnabas._kernel.librdkafka import EventQueue, MessagePoller, MessageSender, ParkedMessages
from barnabas._kernel.message import Message
from barnabas._kernel.objects import (
    ArrowColumn,
    Buffer,
    Format,
    FrameRoom,
    HeadersIn,
    NamePattern,
    ReceiveBuffer,
    Waker,
    acknowledge_at_once,
    compress,
    crc32,
    crc32c,
    decompress,
    fnv1a,
    murmur2,
    schema_keys,
    set_time,
)
from barnabas._kernel.produce import (
    Accumulator,
    BatchBuilder,
    BatchBytes,
    Delivery,
    DirectReturn,
    DirectTarget,
    Exchanges,
    ProducerBatch,
    RecordMetadata,
    RecordSender,
)
from barnabas._kernel.pykafka import MessageIterator, MessageOutlet, PartitionPoller, ReportQueue
from barnabas._kernel.values import AvroCodec, check_json_depth, read_json, write_json

__all__ = [
    "VERSION",
    "Accumulator",
    "ArrowColumn",
    "ArrowRecords",
    "AvroCodec",
    "BatchBuilder",
    "BatchBytes",
    "BatchInfo",
    "BatchOpeners",
    "Buffer",
    "DecodedRecord",
    "Delivery",
    "DirectFetches",
    "DirectReturn",
    "DirectTarget",
    "EventQueue",
    "Exchanges",
    "FetchCredit",
    "Format",
    "FrameReceiver",
    "FrameRoom",
    "FutureRecordMetadata",
    "HeadersIn",
    "KeyOffsets",
    "LogCleaner",
    "Message",
    "MessageIterator",
    "MessageOutlet",
    "MessagePoller",
    "MessageSender",
    "NamePattern",
    "ParkedMessages",
    "PartitionPoller",
    "Poller",
    "ProducerBatch",
    "ReceiveBuffer",
    "Record",
    "RecordMetadata",
    "RecordPoller",
    "RecordReader",
    "RecordSender",
    "RecordTeller",
    "ReportQueue",
    "TakenBack",
    "TopicSender",
    "Waker",
    "acknowledge_at_once",
    "check_batches",
    "check_json_depth",
    "compact_batches",
    "compress",
    "convert_to_current",
    "convert_to_old",
    "crc32",
    "crc32c",
    "decoded_records",
    "decompress",
    "find_batch_offset_for_timestamp",
    "find_max_timestamp",
    "fnv1a",
    "murmur2",
    "read_json",
    "scan_batches",
    "schema_keys",
    "set_time",
    "stamp_batches",
    "take_arrow",
    "with_max_timestamp",
    "write_json",
]

VERSION: str
"""Of the package, as kernel/Cargo.toml has it."""
