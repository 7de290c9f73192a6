"""The Rust kernel: everything that costs per record or per byte.

All functions take any object with the buffer protocol for bytes. `bytes` and contiguous memoryviews of
`bytes` or of a frozen ReceiveBuffer are read where they are; any other buffer is copied first, since someone
might change it meanwhile.
The interpreter lock is released wherever no Python object is touched. Malformed bytes raise
`barnabas.errors.CorruptBatchError`, never a panic, and never allocate more than a small multiple of the
input plus `max_decompressed_bytes`.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, final

from barnabas.errors import BarnabasError

Buffer = bytes | bytearray | memoryview
HeadersIn = Sequence[tuple[str, bytes | None]]

VERSION: str
"""Of the package, as kernel/Cargo.toml has it."""

# Codec names everywhere: "none", "gzip", "snappy", "lz4", "zstd". Snappy is in xerial framing on encode;
# both xerial and raw snappy are read.

@final
class ReceiveBuffer:
    """Memory for one frame: written through memoryviews, then frozen and only read, without a copy."""

    def __new__(cls, size: int) -> ReceiveBuffer:
        """The contents are whatever the memory held before."""
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def freeze(self) -> memoryview:
        """A read-only view. Raises: BufferError while a writable view is in use."""

@final
class FrameRoom:
    """While it is there, memory for so many bytes of frames is kept, beside what others asked for, and used
    in turn: the next frame gets what has been spare for longest."""

    def __new__(cls, bytes: int) -> FrameRoom: ...

@final
class FrameReceiver:
    """Receives the rest of a large frame on a thread of its own, without the interpreter lock. Not there on
    Windows."""

    def __new__(cls, socket: int, wake: int) -> FrameReceiver:
        """File descriptors, of which it keeps duplicates: a connected socket, and one to which a byte is
        written when a frame is there."""
    def receive(self, buffer: ReceiveBuffer, start: int) -> None:
        """Fills the buffer from `start` to its end. Until the byte arrives, nothing else may read from the
        socket, and no view of the buffer may be in use. Raises: RuntimeError."""
    def finish(self) -> None:
        """Call it when the byte arrived. Raises: OSError if the frame did not; an end of the connection is
        one without `errno`."""
    def close(self) -> None:
        """Ends the thread, and reading from the socket."""

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

class Message:
    """`confluent_kafka.cimpl.Message`: a consumed record, which points into the batch it came in, or parts
    given one by one, all optional. An event if `error()` is not None."""

    def __init__(
        self,
        topic: Any = None,
        partition: int = -1,
        offset: int = -1001,
        key: Any = None,
        value: Any = None,
        headers: Any = None,
        error: Any = None,
        timestamp: tuple[int, int] | None = None,
        latency: float = -1,
        leader_epoch: int = -1,
        delivery_count: int = -1,
    ) -> None: ...
    def topic(self) -> Any: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> Any: ...
    def value(self) -> Any: ...
    def deserialized_key(self) -> Any: ...
    def deserialized_value(self) -> Any: ...
    def headers(self) -> Any: ...
    def error(self) -> Any: ...
    def timestamp(self) -> tuple[int, int]: ...
    def latency(self) -> float | None: ...
    def leader_epoch(self) -> int | None: ...
    def delivery_count(self) -> int | None: ...
    def set_topic(self, value: Any, /) -> None: ...
    def set_key(self, value: Any, /) -> None: ...
    def set_value(self, value: Any, /) -> None: ...
    def set_headers(self, value: Any, /) -> None: ...
    def set_error(self, value: Any, /) -> None: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # pyright: ignore[reportIncompatibleMethodOverride]

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
    def show_topic(self, name: str, /) -> None:
        """Records from here on call their topic so. Errors and `topic` do not."""
    def take(self, max_records: int) -> list[Record]:
        """Up to `max_records` records; an empty list means exhausted."""
    def take_messages(self, max_messages: int) -> list[Message]:
        """`take`, as messages of `confluent_kafka`."""
    def __iter__(self) -> Iterator[Record]: ...
    def __next__(self) -> Record: ...

class MessagePoller:
    """Base of `confluent_kafka`'s Consumer: hands out the messages of one reader at a time, without Python.

    A subclass has `_poll`, which is called with the arguments of `poll` whenever there is more to do: no
    reader is lent, it has no more messages, or `_attend` was called."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def poll(self, timeout: float | None = None) -> Message | None: ...
    def _attend(self) -> None:
        """Has the next `poll` call `_poll`. Any thread."""
    def _attended(self) -> None:
        """Ends `_attend`."""
    @property
    def _handed_out(self) -> int:
        """How many messages were handed out so far, of all readers."""
    def _next_message(self) -> Message | None:
        """The next one of the lent reader, None when there is no reader or it has no more. Raises:
        CorruptBatchError."""
    def _lend(self, reader: RecordReader, /) -> None: ...
    def _lent(self) -> tuple[RecordReader, int, int] | None:
        """The lent reader, how many messages were handed out of it, and the offset of the last one or -1."""
    def _take_back(self) -> tuple[RecordReader, int, int] | None:
        """Ends `_lend`: what `_lent` gives."""

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

@final
class BatchOpeners:
    """Threads that check and decompress batches ahead of the readers that give their records, up to about
    `max_opened_bytes` of what was not read yet, and make columns ahead for `take_arrow`. They start with the
    first compressed batch in a frozen ReceiveBuffer, or with the first columns, and end when this is dropped.
    What is wrong with a batch shows where its reader gets to it."""

    def __new__(cls, max_opened_bytes: int) -> Self: ...
    def open_ahead(self, reader: RecordReader) -> None:
        """Behind all that was given before. Batches that no thread gets to in time are opened by the
        reader."""

@final
class ArrowColumn:
    """A column. `pyarrow.array(x)` takes it without a copy, as often as one likes."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Format:
    """Columns of bytes into columns of types and back (`barnabas.formats`)."""

    def __new__(
        cls,
        name: str,
        data_type: object,
        error_type: object,
        bytes_type: object,
        *,
        plan: str = "",
        has_header: bool = False,
        schema_id: int | None = None,
        message_index: list[int] | None = None,
    ) -> Format:
        """`name` is string, json, avro or protobuf; the latter two need a `plan` of how a value lies in the
        bytes. Types are objects with `__arrow_c_schema__`, which columns are given out with: that of the
        values, struct<row: int64, field: string, error: string>, and binary. With `has_header` each value
        stands behind the header of a schema registry, which must name `schema_id` and `message_index` where
        those are given. Raises: ValueError."""
    def decode(self, values: object, *, stop_at_error: bool = False) -> tuple[ArrowColumn, ArrowColumn]:
        """An Arrow array of binary or string as a column of values, null where one is null or cannot be read,
        and what cannot be read, in order of rows. With `stop_at_error` the column ends with the first such.
        Raises: ValueError (the array is of another type)."""
    def encode(self, values: object) -> tuple[ArrowColumn | None, tuple[int, str, str] | None]:
        """An Arrow array of exactly the format's type as bytes, or row, field and reason of the first value
        that has none. Raises: ValueError (the array is of another type)."""

def take_arrow(
    readers: Sequence[RecordReader],
    max_records: int,
    *,
    headers: bool = True,
    end_offsets: Sequence[int] | None = None,
    max_bytes: int = 1 << 30,
    openers: BatchOpeners | None = None,
) -> ArrowRecords:
    """Records of all readers, in their order, as columns, up to `max_records` rows and about `max_bytes`. The
    threads of `openers` make columns ahead, for the next calls for the same columns.

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
    def __await__(self) -> Generator[Any, None, Any]: ...

@final
class RecordMetadata:
    """Where a record was stored. `timestamp` is in milliseconds since 1970; offset is -1 with acks=0. Equal
    by value, hashable, can be pickled."""

    __match_args__ = ("topic", "partition", "offset", "timestamp")
    def __new__(cls, topic: str, partition: int, offset: int, timestamp: int) -> RecordMetadata: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...

class RecordSender:
    """Base of the sync Producer: its `send`, which appends in the caller's thread with no Python in between.
    What cannot be appended at once goes to the subclass's `_send_slowly`."""

    def __new__(cls, *_arguments: Any, **_settings: Any) -> Self: ...
    def _append_directly_to(self, accumulator: Accumulator) -> None:
        """From now on `send` appends there. Once."""
    def _stop_appending_directly(self) -> None:
        """From now on every `send` goes to `_send_slowly`; one that is under way on another thread calls
        `_after_late_append` when it is done."""
    def send(
        self,
        topic: str,
        value: Buffer | None = None,
        *,
        key: Buffer | None = None,
        headers: HeadersIn | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: Callable[[BarnabasError | None, RecordMetadata | None], object] | None = None,
    ) -> Delivery:
        """Hands a record over; `result()` of the Delivery gives its RecordMetadata, or raises its error.

        `partition` None lets the key choose, or spreads records without a key. `timestamp` in milliseconds
        since 1970, None is now. Waits at most max_block_ms for the topic's metadata and for room in
        buffer_memory, and 5 s of these for a partition that is not there yet. `on_delivery(error, metadata)`
        is called on the thread that does the network's work, which it holds up: it should be quick, and may
        send but not wait.

        Raises: ClosedError, RecordTooLargeError, BufferFullError, UnknownTopicOrPartitionError (nobody
        created the topic in time), BootstrapError (no broker was reachable in time), NoSuchPartitionError,
        UnusableRecordError; with a transactional_id also TransactionStateError and TransactionFailedError."""

@final
class EventQueue:
    """What a client has to tell its user, who hears of it by `serve`: in that thread, in order.

    Any thread may add to it. It also knows how many messages of a MessageSender are outstanding: produced,
    and their reports not served."""

    def __new__(cls) -> EventQueue: ...
    def put(self, call: Callable[[], object]) -> None:
        """`call()` is made by a later `serve`."""
    def notify(self, listener: Callable[[], object]) -> None:
        """`listener()` is called after each addition, on the thread that adds. Once."""
    def serve(self, timeout: float = 0.0) -> int:
        """Waits up to `timeout` seconds for something to serve (negative: without end), serves all that is
        there, and gives its number. What a call raises ends it; the rest is left for the next time."""
    def serve_all(self, timeout: float) -> None:
        """Serves until no message is outstanding and nothing is left, for at most `timeout` seconds
        (negative: without end). What calls raise is raised at the end, the last of it; Ctrl-C at once."""
    @property
    def outstanding_messages(self) -> int: ...
    @property
    def outstanding_bytes(self) -> int:
        """Of the values of these messages."""
    def __len__(self) -> int:
        """How much there is to serve. The reports of one batch count as one."""

@final
class ParkedMessages:
    """The messages of one MessageSender whose topics' partitions are not known: they wait here, and further
    ones of the same topic behind them, until `unpark` or `fail`. Any thread."""

    def topics(self) -> list[str]:
        """Topics that messages wait for."""
    def unpark(self, topic: str) -> None:
        """Appends what waits for a topic, if the accumulator knows its partitions by now."""
    def fail(self, topic: str | None, error: BaseException, *, until_ms: int = 9223372036854775807) -> int:
        """Fails what waits for a topic, or for any, and was produced until then, in milliseconds since 1970.
        Gives the number of messages."""

class MessageSender:
    """Base of confluent_kafka's Producer: its `produce`, which appends in the caller's thread with no Python
    in between, and takes its arguments as a function in C does. The subclass has a method `_refuse(code)`,
    which raises the exception for one of librdkafka's codes, `_failed_message(topic, reason)`, which makes
    the error of one of a batch out of a code or an exception, and `_before_parking(topic)`, which raises
    unless a message for a topic without known partitions is to wait for them."""

    def __new__(cls, *_arguments: Any, **_settings: Any) -> Self: ...
    def _open(
        self,
        accumulator: Accumulator,
        events: EventQueue,
        *,
        max_messages: int,
        max_bytes: int,
        max_message_bytes: int,
        error_of: Callable[[Any], object],
        only_errors: bool,
        default_callback: Callable[[Any, Message], object] | None,
        kafka_name: Callable[[str], str] | None = None,
        shown_name: Callable[[str], str] | None = None,
        takes_null_values: bool = True,
    ) -> ParkedMessages:
        """Once; gives the messages that wait for their topics. `error_of` makes the error of a report out of
        an exception or of librdkafka's code; with `only_errors` callbacks are not called for what was
        delivered. Where a program has names of its own for topics, `kafka_name` is asked once for each of
        them (it may raise), and `shown_name` gives what reports call a topic. A message without a value is
        not sent unless `takes_null_values`: its callback hears of _INVALID_ARG."""
    def _shut(self) -> None:
        """From now on `produce` raises."""
    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        callback: Callable[[Any, Message], object] | None = None,
        on_delivery: Callable[[Any, Message], object] | None = None,
        timestamp: int = 0,
        headers: Mapping[Any, Any] | list[tuple[Any, Any]] | None = None,
    ) -> None:
        """Hands a message over, and returns before it is sent.

        key and value: bytes, or str that is sent as UTF-8, or None. partition -1 leaves the choice to the
        `partitioner`. `callback(error, message)`, also called on_delivery, is called from poll() or flush()
        when the message was delivered or has failed for good; without one that of the configuration is.
        timestamp: milliseconds since 1970 (UTC), 0 is now. headers: a dictionary, or a list of pairs of a
        name and a value (bytes, str or None); messages in callbacks do not show them.

        Raises BufferError while more messages wait than queue.buffering.max.messages or .kbytes allows: call
        poll(); KafkaException for other reasons, with a code in it; RuntimeError after close()."""
    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: Callable[[Any, Message], object] | None = None,
        on_delivery: Callable[[Any, Message], object] | None = None,
    ) -> int:
        """Hands several messages over, and says how many were taken.

        messages: a list of dictionaries with, all optional, `value` and `key` (bytes, str or None) and
        `callback`. What is not taken gets its error as `_error`. `partition` and the default callback are for
        all of them; there are no timestamps and headers here, and no partitions of single messages.

        Raises TypeError before anything is taken, where a message is not one; RuntimeError after close()."""
    def poll(self, timeout: float = -1) -> int:
        """Calls the callbacks that are due: delivery reports, error_cb, stats_cb and the like.

        timeout: how many seconds to wait for the first of them; a negative one waits without end. Returns the
        number of events, where the reports of one batch are one. What a callback raises comes out of here;
        the others are left for the next call."""
    def __len__(self) -> int:
        """How many messages and reports wait."""
    def __bool__(self) -> bool: ...

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
    def is_awaited(self) -> bool:
        """Whether somebody has to be told in Python of what becomes of it."""
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
    ) -> memoryview:
        """The batch in wire format, without a copy; later calls write the header anew, and leave what was
        given before as it is."""
    @property
    def is_sealed(self) -> bool:
        """Whether it is compressed: until then `encode` takes long."""
    @property
    def broken_because(self) -> str | None:
        """Why compressing it failed, which takes an error of the kernel's: it has no bytes then."""
    def seal(self) -> None:
        """Compresses the batch, or waits until another thread has."""
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
class BatchBytes:
    """The bytes of an encoded batch, for memoryviews."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Waker:
    """Wakes an event loop that watches its descriptor, from any thread, without the interpreter lock. Not
    there on Windows."""

    def __new__(cls) -> Waker: ...
    def fileno(self) -> int:
        """Readable when the loop was woken. Belongs to this object."""
    def wake(self) -> None: ...
    def clear(self) -> None:
        """The loop is about to do what it was woken for; from now on it may be woken again."""
    @property
    def is_due(self) -> bool:
        """Whether it was woken and has not begun."""

_FetchFigures = tuple[int, int, int, int, float]
"""Answers, requests, bytes received, bytes sent, and the milliseconds that all answers took."""

_FetchPartition = tuple[object, str, bytes, int, int, int, int, int]
"""What `take_arrivals` calls it by, topic, topic id, number, the leader's epoch, fetch offset, last fetched
epoch, and most bytes."""

@final
class FetchCredit:
    """How much may be fetched ahead in bulk: `partition_bytes` of each partition, of which `queued` are there
    already. Not there on Windows."""

    def __new__(cls, queued: Sequence[int], partition_bytes: int) -> FetchCredit: ...
    def was_taken(self, place: int, bytes: int) -> None:
        """Of the partition at this place."""

@final
class TakenBack:
    """What became of a fetch that was lent. Not there on Windows."""

    @property
    def correlation_id(self) -> int:
        """Of the last request."""
    @property
    def session_epoch(self) -> int:
        """Of the last request."""
    @property
    def seconds_under_way(self) -> float | None:
        """Since the last request was sent. None where its answer has come."""
    @property
    def received(self) -> bytes:
        """The beginning of its answer, with the length."""
    @property
    def frame(self) -> tuple[ReceiveBuffer, int] | None:
        """Its answer without the length, as far as it came, and how many bytes did."""
    @property
    def is_broken(self) -> bool:
        """Whether the request left in part only."""
    @property
    def places(self) -> list[tuple[int, int]]:
        """Fetch offset and last fetched epoch of each partition."""
    @property
    def figures(self) -> _FetchFigures: ...

@final
class DirectFetches:
    """What a thread waits with that polls for records, and how it fetches meanwhile: without the event loop,
    and without the interpreter lock. Not there on Windows.

    `wait` is for one thread at a time, `wake` for any, the rest for those that hold the interpreter lock.
    """

    def __new__(cls) -> DirectFetches: ...
    @property
    def loop_waker(self) -> Waker:
        """Woken when `over` has something."""
    def wake(self) -> None:
        """Ends the present `wait`, or the next one."""
    def clear(self) -> None:
        """Forgets what `wake` was called for."""
    def wait(self, timeout: float) -> None:
        """Returns when something arrived, after `wake`, or after so many seconds; may return earlier. Runs
        the handlers of signals, and raises what they raise."""
    @property
    def is_lent(self) -> bool:
        """Whether something comes in only when a thread waits."""
    @property
    def has_arrived(self) -> bool:
        """Whether something came in bulk since `take_arrivals` was called."""
    def seconds_since_wait(self) -> float:
        """0 while a thread waits."""
    def lend(
        self,
        socket: int,
        request: Buffer,
        partitions: Sequence[_FetchPartition],
        *,
        check_crcs: bool,
        reads_committed: bool,
    ) -> int:
        """Has the waiting thread go on with a fetch of a session that was sent on a socket, which is
        duplicated. `request`: its frame, of version 13 or later, but without any topics. `partitions`: all of
        the session. Gives the id of what is lent."""
    def lend_in_bulk(
        self,
        socket: int,
        request: Buffer,
        partitions: Sequence[_FetchPartition],
        credit: FetchCredit,
        end_offsets: Sequence[int],
        *,
        check_crcs: bool,
        reads_committed: bool,
    ) -> int:
        """As `lend`, but a thread of the kernel's goes on, while answers are large and `credit` gives room
        for them, up to the end offset of any partition."""
    def over(self) -> list[int]:
        """Ids of those that can only go on when they are taken back."""
    def take_back(self, id: int) -> TakenBack | None:
        """Ends a loan; None where there is no such one."""
    def figures(self) -> list[tuple[int, float, _FetchFigures]]:
        """Of each loan its id, the seconds that a request has been under way (0: none is), and what was
        counted since this was asked last."""
    def take_arrivals(
        self,
        into: list[tuple[Any, tuple[int, int, int], tuple[RecordReader, int, int, int, int] | None]],
        /,
    ) -> None:
        """Appends what came since the last time, in the order of each partition: the partition, its high
        watermark, last stable offset and log start offset, and, where there are records, their reader, the
        offset fetched from, the offset after the last of them, their bytes, and the leader epoch of the last
        batch."""

@final
class DirectTarget:
    """A partition that records can be sent to directly, see `Accumulator.lend`, and how. `socket` is
    duplicated; `request` is the frame of a Produce request, of version 9 or later, for this partition alone
    and with empty records. `topic_id` where that is what answers name the topic by. Not there on Windows."""

    def __new__(
        cls, socket: int, request: Buffer, topic: str, partition: int, topic_id: Buffer | None = None
    ) -> DirectTarget: ...

@final
class Exchanges:
    """Requests that were answered without the event loop, each with one batch. Not there on Windows."""

    @property
    def count(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def batch_bytes(self) -> int: ...
    @property
    def bytes_sent(self) -> int: ...
    @property
    def bytes_received(self) -> int: ...
    @property
    def milliseconds(self) -> float:
        """From each request to its answer, all together."""

@final
class DirectReturn:
    """What was done with a connection that was lent, see `Accumulator.take_back`. Not there on Windows."""

    @property
    def correlation_id(self) -> int:
        """Of the last request, or the one before the first if there was none."""
    @property
    def records_delivered(self) -> int:
        """In this loan, without the loop."""
    @property
    def exchanges(self) -> Exchanges:
        """As `Accumulator.direct_figures` gives them."""
    @property
    def sent(self) -> list[tuple[ProducerBatch, int, float, int, int]]:
        """The batches that were sent and not answered, the oldest first: each with the correlation id of its
        request, the seconds since that was sent, the batch's bytes and the request's."""
    @property
    def unsent(self) -> bytes:
        """What is yet to be written of the last request."""
    @property
    def received(self) -> bytes:
        """What has come of answers that the loop is to read, with their lengths."""

@final
class Accumulator:
    """Records waiting to be sent, grouped into batches by partition.

    `append` is called from any thread; the rest from the event loop's thread. Knows partitioning
    (`partitioner`: "murmur2" as Java: sticky for records without a key, "murmur2_random", "consistent",
    "consistent_random", "fnv1a", "fnv1a_random", "random", and "murmur2_consistent", which hashes a missing
    key as an empty one) and nothing of brokers. With `ignore_keys` all records go where those without a key
    do; `is_adaptive` prefers partitions with shorter queues (KIP-794); after `sticky_linger_ms` a free choice
    is made anew, with None after batch_size bytes. `wake`, a function or a Waker, is called (with nothing, on
    the appending thread) when there is something new for the sender to do: a first record in an idle
    partition, or a batch that has become full.
    With a Waker, threads of its own compress batches as soon as they are full, and small ones when they are
    drained; it is woken when a batch that was drained is sealed. Otherwise that is the caller's to see to.
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
        wake: Callable[[], object] | Waker,
        ignore_keys: bool = False,
        is_adaptive: bool = True,
        sticky_linger_ms: float | None = None,
        max_batch_records: int = 4294967295,
    ) -> Accumulator: ...
    def set_partition_count(self, topic: str, partition_count: int) -> None:
        """0 makes the topic unknown again; what waits for it stays."""
    def set_unavailable(self, topic: str, partitions: Sequence[int]) -> None:
        """Records that may go to any partition leave these out, unless they are all; the other partitions of
        the topic are available. An unknown topic is passed over."""
    def set_shut(self, is_shut: bool) -> None:
        """While it is shut nothing is appended: `append` gives None, `append_arrow` takes no row. Once this
        returns, no append on another thread comes late."""
    def append(
        self,
        topic: str,
        partition: int | None,
        key: Buffer | None,
        value: Buffer | None,
        headers: HeadersIn | None,
        timestamp: int | None,
        on_delivery: Callable[[Any, RecordMetadata | None], object] | None = None,
    ) -> Delivery | None:
        """None if the buffer is full or shut, or the topic's partition count is not known (the caller then
        waits and tries again: `needs_metadata(topic)` tells which). `timestamp` None means now.
        Raises: RecordTooLargeError, NoSuchPartitionError, UnusableRecordError (a negative timestamp or
        partition).

        `on_delivery(error, metadata)`, one of them None, is called once, on the thread that completes the
        record's batch. What it raises goes to sys.unraisablehook."""
    @property
    def is_shut(self) -> bool: ...
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

        Raises: NoSuchPartitionError, UnusableRecordError (columns, types, timestamp), RecordTooLargeError,
        TypeError (not Arrow)."""
    def partitions(self) -> list[tuple[str, int]]:
        """Partitions that have records."""
    def ready_in_ms(self, topic: str, partition: int, now_ms: float, linger_ms: float) -> float:
        """0 when the oldest batch is full, was put back or has lingered long enough, else milliseconds to
        wait; infinity if there is none. `now_ms` is Python's time.monotonic() * 1000."""
    def drain(self, topic: str, partition: int) -> ProducerBatch | None:
        """Closes and takes the oldest batch. One that was put back comes out as the same object."""
    def lend(
        self,
        target: DirectTarget,
        place: tuple[int, int, int],
        correlation_id: int,
        *,
        max_in_flight: int = 1,
        reads_answers: bool = False,
    ) -> None:
        """Lends a connection: `append` sends the next batches itself in place of waking anyone: those of this partition that
        are its only one, and small, while fewer than `max_in_flight` are not answered. `place`: producer id,
        epoch and base sequence of the first, which has this correlation id.

        With `reads_answers` a thread of the accumulator's reads the answers, decides the batches and
        releases them. It wakes with the Waker when there is anything else on the socket, or somebody has to
        be told of a batch in Python.

        Raises: OSError where the system has no more threads or descriptors. Not there on Windows."""
    def take_back(self) -> DirectReturn | None:
        """Ends what `lend` began; None where nothing is lent. Not there on Windows."""
    def end_direct(self) -> None:
        """Ends the thread that reads answers, if there is one. Nothing is lent afterwards. Not there on
        Windows."""
    def direct_figures(self) -> tuple[float, Exchanges]:
        """The seconds that a batch has been under way without an answer, 0 if none is; and what was delivered
        since this or `take_back` was called last. Not there on Windows."""
    @property
    def has_sent_directly(self) -> bool:
        """Whether a batch was sent and not answered. Not there on Windows."""
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
