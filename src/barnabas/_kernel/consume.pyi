"""From a response to records and columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import GenericAlias
from typing import Any, Generic, Self, final

from typing_extensions import TypeVar

from barnabas._kernel.message import Message
from barnabas._kernel.objects import Buffer, HeadersIn, ReceiveBuffer, Waker

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

K = TypeVar("K", default=bytes)
V = TypeVar("V", default=bytes)

class Record(Generic[K, V]):
    """A record as read from a partition. `timestamp` in milliseconds since 1970, -1 if there is none.

    It points into the batch it came in and keeps that alive; `key`, `value` and `headers` are new objects
    at each access. Header keys that are not UTF-8 are read with replacement characters. Equal by all its
    parts; can be pickled.

    With `key_deserializer` or `value_deserializer` of a consumer, `key` and `value` are what these return.
    They are called when the key or the value is first asked for, once. Where one fails, the access raises
    SerializationError, each time. Records are equal by their bytes."""

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
    ) -> Self: ...
    def __class_getitem__(cls, item: Any, /) -> GenericAlias: ...
    @property
    def raw(self) -> Record:
        """The record with its key and value as bytes; the record itself where nothing deserializes."""
    @property
    def topic(self) -> str:
        """Name of the topic."""
    @property
    def partition(self) -> int:
        """Number of the partition."""
    @property
    def offset(self) -> int:
        """The record's number in its partition."""
    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970; -1 where there is none."""
    @property
    def timestamp_type(self) -> int:
        """Who set `timestamp`, as a number of `barnabas.TimestampType`."""
    @property
    def key(self) -> K | None:
        """Bytes are made again at each access; None where there is none."""
    @property
    def value(self) -> V | None:
        """Bytes are made again at each access; None is a tombstone in a compacted topic."""
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Pairs of name and value in the order of the producer; a name may come more than once."""
    @property
    def leader_epoch(self) -> int | None:
        """Epoch of the leader that took the record; None where the broker does not tell."""
    @property
    def serialized_size(self) -> int:
        """Bytes of key and value together."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class DecodedRecord(Record[K, V]):
    """A record whose key and value are read when they are first asked for, by `decoder(record)`, which gets
    the record with bytes; without a decoder they are the bytes. Not called for None."""

    def __new__(
        cls,
        record: Record,
        key_decoder: Callable[[Record], K] | None,
        value_decoder: Callable[[Record], V] | None,
    ) -> Self: ...

def decoded_records(
    records: list[Record],
    key_decoder: Callable[[Record], K] | None,
    value_decoder: Callable[[Record], V] | None,
) -> list[Record[K, V]]:
    """The records with these decoders; one that has some already stays as it is."""

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

class Poller:
    """Base of classes that hand out the records of one reader at a time, without Python. A subclass has a
    method for whatever else there is to do when the next record is asked for: no reader is lent, it has no
    more records, or `_attend` was called."""

    def _attend(self) -> None:
        """Has the next record that is asked for go to the subclass. Any thread."""
    def _attended(self) -> None:
        """The subclass has seen to it."""
    @property
    def _handed_out(self) -> int:
        """How many records were handed out one by one so far, of all readers."""
    def _next_lent(self) -> Any | None:
        """The subclass's: the next record of the reader that is lent, None when there is no reader or it has
        no more. Raises: CorruptBatchError, and what a deserializer raises."""
    def _lend(self, reader: RecordReader, /) -> int:
        """Records are handed out of `reader` from here on. The number of this loan, counted from 1."""
    @property
    def _progress(self) -> tuple[int, int, int, int] | None:
        """How far the loan has come: its number, the records handed out of it, the offset behind the last of
        them and its leader epoch or -1. None before the first one, without a loan, and while it is just
        changing. Any thread; waits for nobody."""
    def _take_back(self) -> tuple[int, RecordReader, int, int, int] | None:
        """Ends `_lend`: number, reader, records handed out, and offset and leader epoch as `_progress`, -1
        where none was."""

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
    earliest_timestamp: int
    """Of those records that have one, once they were checked; of the header before that."""
    latest_timestamp: int
    """Of the records, once they were checked; of the header before that."""
    has_all_keys: bool
    """Whether every record has a key; False before they were checked."""

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

def check_batches(data: Buffer, *, max_decompressed_bytes: int) -> list[BatchInfo] | None:
    """As `scan_batches` with all checks; None where the records of a batch take more bytes than that. However
    many they take, few of them are in memory at a time.

    Raises: CorruptBatchError."""

def with_max_timestamp(data: Buffer, max_timestamp: int) -> bytes:
    """A copy of one batch of magic 2 whose header says that this is the greatest timestamp of its records.

    Raises: CorruptBatchError."""

def find_batch_offset_for_timestamp(
    data: Buffer, timestamp: int, *, from_offset: int = 0, max_decompressed_bytes: int = 1 << 30
) -> tuple[int, int, int] | None:
    """(offset, timestamp, leader_epoch) of the first record from an offset on with at least this timestamp.

    Raises: CorruptBatchError."""

def find_max_timestamp(data: Buffer) -> tuple[int, int, int] | None:
    """(offset, timestamp, leader_epoch) of the record with the greatest timestamp, the earliest of equals."""

def stamp_batches(
    data: Buffer, base_offset: int, leader_epoch: int, *, log_append_time: int | None = None
) -> bytes:
    """A copy with offsets assigned from `base_offset` on, the leader epoch set, and, with `log_append_time`
    (milliseconds), timestamps overruled and the checksums made anew.

    Raises: CorruptBatchError if `data` is not whole batches of magic 2."""

def convert_to_current(set: Buffer, *, max_decompressed_bytes: int = 1 << 30) -> bytes:
    """One batch of magic 2, from offset 0 on, with all records of a message set of magic 0 or 1 as producers
    send them: offsets are not looked at, a message at the end that is cut short is left out. Empty if there
    is no message. Raises: CorruptBatchError."""

def convert_to_old(batches: Buffer, magic: int, *, first_offset: int) -> bytes:
    """A message set of magic 0 or 1 with the records from an offset on; those of a compressed batch come all,
    compressed. Headers and control batches have no place there.

    Raises: CorruptBatchError, also for zstd, which the old formats do not have."""

@final
class KeyOffsets:
    """For compaction: the last offset of every key. Kept as 16-byte key hashes, so memory is flat a key.
    Control batches and records without a key are passed over."""

    def __new__(cls) -> KeyOffsets: ...
    def add(self, data: Buffer) -> None: ...
    def __len__(self) -> int: ...

@final
class LogCleaner:
    """One pass over a log, as Kafka's cleaner makes it. Superseded records go, and those without a key, and
    those of aborted transactions. Tombstones, and markers of transactions of which no batch was there any
    more, stay for `delete_retention_ms` from the pass on that found them so (KIP-534). Offsets stay. The last
    batch of a producer stays even if it is empty, so that its sequence survives.

    `last_batches`: by producer id the offset that its records end with, None where its epoch has a marker
    alone, and the epoch. `aborted`: producer id, offset of the first record, offset of the marker."""

    def __new__(
        cls,
        *,
        now_ms: int,
        delete_retention_ms: int,
        last_batches: Mapping[int, tuple[int | None, int]],
        aborted: Sequence[tuple[int, int, int]],
    ) -> LogCleaner: ...
    def decided(self, data: Buffer) -> bytes:
        """The whole batches of `data` but those of aborted transactions. Raises: CorruptBatchError."""
    def clean(self, data: Buffer, keys: KeyOffsets) -> bytes:
        """What stays of the next batches of the log. Raises: CorruptBatchError."""

def compact_batches(data: Buffer, keys: KeyOffsets, *, keep_tombstones_from: int) -> bytes:
    """`data` without records whose key has a later offset in `keys`, without records that have no key, and
    without tombstones whose batch's max timestamp is before `keep_tombstones_from` (milliseconds). Offsets
    stay; batches that lose all records vanish, except that the last batch of each producer id in `data` is
    kept, empty (so that its sequence survives); control batches and messages of the old formats stay."""

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
        max_decompressed_bytes: int = 1 << 30,
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
        max_decompressed_bytes: int = 1 << 30,
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
