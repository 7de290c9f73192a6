"""The Rust kernel: everything that costs per record or per byte.

All functions take any object with the buffer protocol for bytes. `bytes` and contiguous memoryviews of
`bytes` are read where they are; any other buffer is copied first, since someone might change it meanwhile.
The interpreter lock is released wherever no Python object is touched. Malformed bytes raise
`barnabas.errors.CorruptBatchError`, never a panic, and never allocate more than a small multiple of the
input plus `max_decompressed_bytes`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

Buffer = bytes | bytearray | memoryview
HeadersIn = Sequence[tuple[str, bytes | None]]

# Codec names everywhere: "none", "gzip", "snappy", "lz4", "zstd". Snappy is in xerial framing on encode;
# both xerial and raw snappy are read.

@final
class Record:
    """A record as read from a partition. `timestamp` in milliseconds since 1970, -1 if there is none.

    It points into the batch it came in and keeps that alive; `key`, `value` and `headers` are made anew at
    each access. Header keys that are not UTF-8 are read with replacement characters. Equal by all its
    parts; can be pickled."""

    def __new__(
        cls,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int = -1,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: HeadersIn = (),
        *,
        timestamp_type: int = 0,
        leader_epoch: int = -1,
    ) -> Record: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def timestamp_type(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]: ...
    @property
    def leader_epoch(self) -> int | None: ...
    @property
    def serialized_size(self) -> int:
        """Bytes of key and value together."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class RecordReader:
    """A cursor over the record batches of one partition in one fetch response.

    Batches are checked and decompressed when the cursor reaches them. A last batch cut short by the
    broker's size limit is left out. Records below `fetch_offset` are skipped, control batches are never
    returned but move `next_offset`. With `aborted` (pairs of producer id and first offset, from the fetch
    response) records of aborted transactions are skipped (read_committed); None reads everything.
    Message sets of magic 0 and 1, plain or compressed, are read too (down-conversion is not ours).

    A corrupt batch raises CorruptBatchError with topic, partition and offset, but only once everything
    before it was taken; the reader then stands before it, and every further call raises the same.
    """

    def __new__(
        cls,
        topic: str,
        partition: int,
        data: Buffer,
        *,
        fetch_offset: int = 0,
        aborted: Sequence[tuple[int, int]] | None = None,
        check_crcs: bool = True,
        max_decompressed_bytes: int = 1 << 30,
    ) -> RecordReader: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def next_offset(self) -> int:
        """The offset to continue from after what was taken so far."""
    @property
    def end_offset(self) -> int | None:
        """The offset after the last whole batch. None where there is no whole batch (`remaining_bytes` is 0),
        or where a batch that makes no sense, which `take` raises for when it gets there, hides the rest."""
    @property
    def last_leader_epoch(self) -> int:
        """Leader epoch of the last batch reached; -1 before the first."""
    @property
    def remaining_bytes(self) -> int:
        """Bytes not yet taken, as they came, from the batch on that was begun; 0 means exhausted. Not 0 with
        nothing left to take while only batches remain that are going to be skipped."""
    def take(self, max_records: int) -> list[Record]:
        """Up to `max_records` records; an empty list means exhausted."""
    def __iter__(self) -> Iterator[Record]: ...
    def __next__(self) -> Record: ...

@final
class ArrowRecords:
    """Columns key, value (binary), topic (string), partition (int32), offset (int64), timestamp
    (timestamp[us, UTC]), timestampType (int32) and, if asked for, headers (list<struct<key: string, value:
    binary>>): those of Spark's Kafka source. `pyarrow.record_batch(x)` takes it without a copy, as often as
    it is asked to. A record without headers has null there, as in Spark; one without a timestamp (-1) has a
    millisecond before 1970."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

def take_arrow(
    readers: Sequence[RecordReader],
    max_records: int,
    *,
    headers: bool = True,
    end_offsets: Sequence[int] | None = None,
    max_bytes: int = 1 << 30,
) -> ArrowRecords:
    """Records of all readers, in their order, as columns, up to `max_records` rows and about `max_bytes`.

    With `end_offsets`, one for each reader, records at or above it are not taken (the reader's next_offset
    then stands at that offset). A corrupt batch raises once everything before it was taken."""

@final
class BatchInfo:
    """The header of one record batch (magic 2), or of one entry of an older message set.

    What the older formats do not have is -1. Of a compressed old entry only the last offset is known
    (`base_offset` is the same, `record_count` -1) unless the records were checked."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    magic: int
    compression: str
    timestamp_type: int
    is_transactional: bool
    is_control: bool
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

def scan_batches(
    data: Buffer,
    *,
    check_crcs: bool = False,
    check_records: bool = False,
    max_decompressed_bytes: int = 1 << 30,
) -> list[BatchInfo]:
    """The headers of all whole batches in `data`; a cut-off tail is left out. With `check_records` every
    record is decoded as well and its offset deltas, counts and lengths are verified (what a broker does on
    produce: the offsets of a batch must have no gaps, so a compacted log does not pass).

    Raises: CorruptBatchError without topic and partition; `offset` is the base offset that the batch
    claims."""

def find_batch_offset_for_timestamp(data: Buffer, timestamp: int) -> tuple[int, int, int] | None:
    """(offset, timestamp, leader_epoch) of the first record with at least this timestamp, or None."""

def find_max_timestamp(data: Buffer) -> tuple[int, int, int] | None:
    """(offset, timestamp, leader_epoch) of the record with the greatest timestamp, the earliest of equals."""

def stamp_batches(
    data: Buffer, base_offset: int, leader_epoch: int, *, log_append_time: int | None = None
) -> bytes:
    """A copy with offsets assigned from `base_offset` on, the leader epoch set, and, with `log_append_time`
    (milliseconds), timestamps overruled and the checksums made anew.

    Raises: CorruptBatchError if `data` is not whole batches of magic 2."""

@final
class KeyOffsets:
    """For compaction: the last offset of every key. Kept as 16-byte key hashes, so memory is flat a key.
    Control batches and records without a key are passed over."""

    def __new__(cls) -> KeyOffsets: ...
    def add(self, data: Buffer) -> None: ...
    def __len__(self) -> int: ...

def compact_batches(data: Buffer, keys: KeyOffsets, *, keep_tombstones_from: int) -> bytes:
    """`data` without records whose key has a later offset in `keys`, without records that have no key, and
    without tombstones whose batch's max timestamp is before `keep_tombstones_from` (milliseconds). Offsets
    stay; batches that lose all records vanish, except that the last batch of each producer id in `data` is
    kept, empty (so that its sequence survives); control batches and messages of the old formats stay."""

@final
class BatchBuilder:
    """One record batch (magic 2) under construction."""

    def __new__(
        cls, *, compression: str = "none", compression_level: int | None = None, max_bytes: int = 1 << 20
    ) -> BatchBuilder: ...
    def append(
        self, timestamp: int, key: Buffer | None, value: Buffer | None, headers: HeadersIn = ()
    ) -> bool:
        """False when the record does not fit any more (the first record always fits)."""
    @property
    def record_count(self) -> int: ...
    @property
    def size(self) -> int:
        """Bytes so far, before compression."""
    def build(
        self,
        *,
        base_offset: int = 0,
        leader_epoch: int = -1,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        is_transactional: bool = False,
        is_control: bool = False,
    ) -> bytes:
        """The batch so far; may be called again. Raises: ValueError if there is no record."""

@final
class Delivery:
    """What becomes of one record that was handed to a producer, or of a run of Arrow rows in one batch
    (then the metadata of the last, or the first error). Thread safe, awaitable.

    Raises ClosedError if the batch was dropped before it was completed or failed."""

    def done(self) -> bool: ...
    def result(self, timeout: float | None = None) -> Any:
        """`barnabas.types.RecordMetadata`; raises the delivery's error, or KafkaTimeoutError after `timeout`
        seconds. Ctrl-C interrupts."""
    def exception(self, timeout: float | None = None) -> BaseException | None: ...
    def add_done_callback(self, callback: Callable[[Delivery], object]) -> None:
        """Called once, at once if done already, otherwise on the thread that completes the delivery. What it
        raises goes to sys.unraisablehook."""
    def __await__(self) -> Iterator[Any]: ...

@final
class ProducerBatch:
    """A closed batch on its way to a broker, with the deliveries that wait for it. Equal only to itself.

    The first of `complete` and `fail` decides; later calls change nothing. A batch that is dropped undecided
    fails its deliveries."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def record_count(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def created_ms(self) -> int:
        """Monotonic milliseconds (Python's time.monotonic() * 1000) when the first record was appended."""
    def encode(
        self,
        *,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        is_transactional: bool = False,
    ) -> bytes:
        """The batch in wire format; compresses once, later calls only write the header anew."""
    def complete(self, base_offset: int, log_append_time: int = -1) -> None:
        """Resolves the deliveries: record i of the batch has offset base_offset + i (or -1 with acks=0)."""
    def fail(self, error: BaseException) -> None: ...
    def fail_record(self, index: int, error: BaseException) -> None:
        """One record fails at once; the others wait for `complete`, `fail` or `split`, which leaves it
        out."""
    def split(self, max_bytes: int) -> list[ProducerBatch]:
        """The same records in smaller batches of at most `max_bytes` (or one record), deliveries and buffer
        memory carried over; this batch is used up, and releasing it changes nothing."""

@final
class Accumulator:
    """Records waiting to be sent, grouped into batches by partition.

    `append` is called from any thread; the rest from the event loop's thread. Knows partitioning
    (`partitioner`: "murmur2" as Java: sticky for records without a key, "murmur2_random", "consistent",
    "consistent_random", "fnv1a", "fnv1a_random") and nothing of brokers. `wake` is called (with no
    arguments, on the appending thread) when there is something new for the sender to do: a first record in
    an idle partition, or a batch that has become full.
    """

    def __new__(
        cls,
        *,
        batch_size: int,
        buffer_memory: int,
        max_record_bytes: int,
        compression: str,
        compression_level: int | None,
        partitioner: str,
        wake: Callable[[], object],
    ) -> Accumulator: ...
    def set_partition_count(self, topic: str, partition_count: int) -> None:
        """0 makes the topic unknown again; what waits for it stays."""
    def append(
        self,
        topic: str,
        partition: int | None,
        key: Buffer | None,
        value: Buffer | None,
        headers: HeadersIn | None,
        timestamp: int | None,
        callback: Callable[[Delivery], object] | None = None,
    ) -> Delivery | None:
        """None if the buffer is full, or the topic's partition count is not known (the caller then waits and
        tries again: `needs_metadata(topic)` tells which). Raises RecordTooLargeError, and ValueError for a
        partition that does not exist or a negative timestamp. `timestamp` None means now."""
    def needs_metadata(self, topic: str) -> bool: ...
    def append_arrow(
        self, topic: str, data: object, *, row_offset: int = 0, timestamp: int | None = None
    ) -> tuple[int, list[Delivery]]:
        """Rows of an Arrow table or record batch (anything with __arrow_c_stream__ or __arrow_c_array__;
        columns value, and optionally key, headers, timestamp, partition; binary or string, large or not,
        views too) from `row_offset` on, as many as the buffer takes: (rows taken, one delivery for each
        batch that rows went into, resolving to the metadata of the last such row).

        Rows without a timestamp get `timestamp`, or now; rows without a partition are partitioned by key. A
        row that cannot be a record ends the call before it, and raises (naming the row) in the call that
        begins with it. Columns topic, offset and timestampType are passed over, others raise.

        Raises: ValueError (columns, types, partition, timestamp), RecordTooLargeError, TypeError (not
        Arrow)."""
    def partitions(self) -> list[tuple[str, int]]:
        """Partitions that have records."""
    def ready_in_ms(self, topic: str, partition: int, now_ms: float, linger_ms: float) -> float:
        """0 when the oldest batch is full, was put back or has lingered long enough, else milliseconds to
        wait; infinity if there is none. `now_ms` is Python's time.monotonic() * 1000."""
    def drain(self, topic: str, partition: int) -> ProducerBatch | None:
        """Closes and takes the oldest batch. One that was put back comes out as the same object."""
    def put_back(self, batch: ProducerBatch) -> None:
        """A batch to be sent again goes before all others of its partition; several keep the order in which
        their records were appended, whatever order they are put back in."""
    def release(self, batch: ProducerBatch) -> None:
        """Gives the memory of a finished batch back to the buffer; a second time changes nothing."""
    @property
    def buffered_bytes(self) -> int: ...
    @property
    def buffered_records(self) -> int:
        """Records appended and not yet released."""

def crc32c(data: Buffer, value: int = 0) -> int: ...
def crc32(data: Buffer) -> int: ...
def murmur2(data: Buffer) -> int:
    """As Java's: a signed int32."""

def fnv1a(data: Buffer) -> int:
    """Unsigned, of 32 bits. (librdkafka's partitioner takes the absolute value of it as an int32.)"""

def compress(codec: str, data: Buffer, level: int | None = None) -> bytes:
    """`level`: 0 to 9 for gzip, zstd's own for zstd; codecs without levels pass it over. Raises:
    ValueError."""

def decompress(codec: str, data: Buffer, max_decompressed_bytes: int = 1 << 30) -> bytes:
    """Raises: CorruptBatchError, also for more than `max_decompressed_bytes`; ValueError for an unknown
    codec."""
