"""From a record that is handed over to a request."""

from collections.abc import Callable, Generator, Sequence
from types import GenericAlias
from typing import Any, Generic, Self, final

from typing_extensions import TypeVar

from barnabas._kernel.objects import Buffer, HeadersIn, Waker
from barnabas.errors import BarnabasError

KeyIn = TypeVar("KeyIn", default=Buffer)
ValueIn = TypeVar("ValueIn", default=Buffer)

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

    def done(self) -> bool:
        """Whether it was delivered or has failed; never waits."""
    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Where the record was stored; raises the delivery's error, or KafkaTimeoutError after `timeout`
        seconds. Ctrl-C interrupts. Raises: MisuseError instead of waiting on the thread that delivers, in
        an `on_delivery` callback for instance, or in a coroutine of the producer's event loop."""
    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The delivery's error, None where it was delivered. Waits at most `timeout` seconds; None is for as
        long as it takes. Raises: KafkaTimeoutError; MisuseError as `result`."""
    def add_done_callback(self, callback: Callable[[Delivery], object]) -> None:
        """Called once, at once if done already, otherwise on the thread that completes the delivery. What it
        raises goes to sys.unraisablehook."""
    def __await__(self) -> Generator[Any, None, RecordMetadata]: ...

@final
class RecordMetadata:
    """Where a record was stored. `timestamp` is in milliseconds since 1970; offset is -1 with acks=0. Equal
    by value, hashable, can be pickled."""

    __match_args__ = ("topic", "partition", "offset", "timestamp")
    def __new__(cls, topic: str, partition: int, offset: int, timestamp: int) -> RecordMetadata: ...
    @property
    def topic(self) -> str:
        """Name of the topic."""
    @property
    def partition(self) -> int:
        """Number of the partition."""
    @property
    def offset(self) -> int:
        """The record's number in its partition; -1 with acks=0, where no broker tells."""
    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970: the record's own, or with LogAppendTime the broker's."""

class RecordSender(Generic[KeyIn, ValueIn]):
    """Base of the sync Producer: its `send`, which appends in the caller's thread with no Python in between.
    What cannot be appended at once goes to the subclass's `_send_slowly`."""

    def __new__(cls, *_arguments: Any, **_settings: Any) -> Self: ...
    def __class_getitem__(cls, item: Any, /) -> GenericAlias: ...
    def _append_directly_to(
        self,
        accumulator: Accumulator,
        key_serializer: Callable[[Any], Any] | None = None,
        value_serializer: Callable[[Any], Any] | None = None,
    ) -> None:
        """From now on `send` appends there what the serializers make of keys and values. Once. A record
        whose serializer fails goes to `_send_slowly`."""
    def _stop_appending_directly(self) -> None:
        """From now on every `send` goes to `_send_slowly`; one that is under way on another thread calls
        `_after_late_append` when it is done."""
    def send(
        self,
        topic: str,
        value: ValueIn | None = None,
        *,
        key: KeyIn | None = None,
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
class ProducerBatch:
    """A closed batch on its way to a broker, with the deliveries that wait for it. Equal only to itself.

    The first of `complete` and `fail` decides; later calls change nothing. A batch that is dropped undecided
    fails its deliveries."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def needs_python(self) -> bool:
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
class DirectTarget:
    """A partition that records can be sent to directly, see `Accumulator.lend`, and how. `request` is the
    frame of a Produce request, of version 9 or later, for this partition alone and with empty records.
    `topic_id` where that is what answers name the topic by. Not there on Windows."""

    def __new__(
        cls, request: Buffer, topic: str, partition: int, topic_id: Buffer | None = None
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
    """What was done on a connection that was lent, see
    `Accumulator.take_back`. Not there on Windows."""

    @property
    def correlation_id(self) -> int:
        """Of the last request, or the one before the first if there was none."""
    @property
    def records_delivered(self) -> list[tuple[int, int]]:
        """In this loan, without the loop, by seat where there were any."""
    @property
    def exchanges(self) -> list[tuple[int, Exchanges]]:
        """As `Accumulator.direct_figures` gives them."""
    @property
    def sent(self) -> list[tuple[ProducerBatch, int, int, float, int, int]]:
        """The batches that were sent and not answered, the oldest first: each with its partition's seat, the
        correlation id of its request, the seconds since that was sent, the batch's bytes and the
        request's."""
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
    is made anew, with None after batch_size bytes. `seed` decides which free choices are made; None: chance.
    `wake`, a function or a Waker, is called (with nothing, on the appending thread) when there is something
    new for the sender to do: a first record in an idle partition, or a batch that has become full.
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
        lingers: bool = False,
        seed: int | None = None,
    ) -> Accumulator: ...
    def set_partition_count(self, topic: str, partition_count: int) -> None:
        """0 makes the topic unknown again; what waits for it stays."""
    def forget_topic(self, topic: str) -> bool:
        """Makes the topic unknown, and gives the memory of its queues back. False where records wait there:
        then nothing has changed."""
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
    def due(self, now_ms: float, linger_ms: float) -> tuple[list[tuple[str, int]], float]:
        """The partitions for which `ready_in_ms` is 0, and the least of the milliseconds that others have to
        wait; infinity if none waits. Costs as much as there are of the first."""
    def drain(self, topic: str, partition: int) -> ProducerBatch | None:
        """Closes and takes the oldest batch. One that was put back comes out as the same object."""
    def fail_rest(self, error: BaseException) -> int:
        """Fails every batch that is neither delivered nor failed, whoever holds it, and gives how many these
        were. Their memory is released only by `release`. For the end of a producer."""
    def lend(
        self,
        leader_id: int,
        descriptor: int,
        seats: list[tuple[DirectTarget, tuple[int, int, int]]],
        correlation_id: int,
        *,
        max_in_flight: int = 1,
        reads_answers: bool = False,
    ) -> None:
        """Lends the connection to a leader, whose socket's `descriptor` is duplicated for as long: `append`
        sends the next batches itself in place of waking anyone. They are those of these partitions that are
        their partition's only one, and small, while fewer than `max_in_flight` are not answered. Each
        partition comes with the producer id, epoch and base sequence of its next batch; the first request has
        this correlation id.

        With `reads_answers` a thread of the accumulator's reads the answers, decides the batches and
        releases them. It wakes with the Waker when there is anything else on the socket, or somebody has to
        be told of a batch in Python.

        Raises: OSError where the system has no more threads or descriptors. Not there on Windows."""
    def take_back(self, leader_id: int) -> DirectReturn | None:
        """Ends what `lend` began; None where this leader's connection is not lent. Not there on Windows."""
    def send_lingering(self) -> bool:
        """Sends all that waits on the connections that are lent. False where none is, or where any of it is
        for the loop to send. Any thread."""
    def end_direct(self) -> None:
        """Ends the threads that read answers, if there are any. Nothing is lent afterwards. Not there on
        Windows."""
    def direct_figures(self, leader_id: int) -> tuple[float, list[tuple[int, Exchanges]]]:
        """The seconds that a batch has been under way without an answer, 0 if none is; and, by seat, what was
        delivered since this or `take_back` was called last. Not there on Windows."""
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
