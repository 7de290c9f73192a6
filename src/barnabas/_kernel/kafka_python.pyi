"""What programs for kafka-python see of records."""

from collections.abc import Callable, Generator
from typing import Any, Self, final, overload

from barnabas._kernel.consume import Poller, RecordReader
from barnabas._kernel.produce import Accumulator

@final
class FutureRecordMetadata:
    """The future of a record that was appended, as kafka-python's FutureRecordMetadata. It is done when the
    teller has come to it; whoever waits for it waits until all of its batch is told."""

    error_on_callbacks: bool
    @property
    def is_done(self) -> bool: ...
    @property
    def value(self) -> Any: ...
    @property
    def exception(self) -> BaseException | None: ...
    def succeeded(self) -> bool: ...
    def failed(self) -> bool: ...
    def retriable(self) -> bool: ...
    def __await__(self) -> Generator[Any, Any, Any]: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __delattr__(self, name: str) -> None: ...
    def get(self, timeout: float | None = None) -> Any: ...
    @overload
    def add_callback(self, f: Callable[[Any], object]) -> Self: ...
    @overload
    def add_callback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self: ...
    @overload
    def add_errback(self, f: Callable[[Any], object]) -> Self: ...
    @overload
    def add_errback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self: ...
    @overload
    def add_both(self, f: Callable[[Any], object]) -> Self: ...
    @overload
    def add_both(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self: ...
    def chain(self, future: Any) -> Self: ...

@final
class RecordTeller:
    """Calls the callbacks of one producer's records, in order, in the thread that is in `run`."""

    def __init__(
        self,
        *,
        record_metadata: type[tuple[Any, ...]],
        topic_partition: type[tuple[Any, ...]],
        has_sizes: bool,
        error_of: Callable[[BaseException], object],
        is_retriable: Callable[[BaseException], bool],
        timed_out: Callable[[Any], BaseException],
        log_failure: Callable[[str, BaseException], object],
        partial: Callable[..., Callable[..., object]],
        awaited: Callable[[Any], Generator[Any, Any, Any]],
        has_attributes: bool,
    ) -> None:
        """The classes are named tuples; `has_sizes`: whether metadata have a checksum and sizes.
        `has_attributes`: whether programs may set attributes of their own of futures. `error_of` makes a
        program's exception of the core's, `timed_out` that of a wait of so many seconds."""
    def run(self) -> None:
        """Calls what waits for decided batches, until `end`."""
    def end(self) -> None:
        """`run` returns when it has told what came before. Any thread."""
    def wait(self, timeout: float | None = None) -> bool:
        """Whether all that is decided now is told within `timeout` seconds."""

class TopicSender:
    """Base of kafka-python's KafkaProducer: its `send`, which appends plain records in the caller's thread
    with no Python in between, but for serializers. The subclass has `_send_slowly(topic, value, key, headers,
    partition, timestamp_ms)` for all else, `_send_serialized(topic, value, key, key_bytes, value_bytes,
    headers, partition, timestamp_ms)` for the same after serializers were called, `_serializer_raised(topic,
    partition, error)`, and `_after_late_append()` for a record that came while appending was stopped."""

    def __new__(cls, *_arguments: Any, **_settings: Any) -> Self: ...
    def _append_directly_to(
        self,
        accumulator: Accumulator,
        teller: RecordTeller,
        *,
        key_serializer: Callable[[Any], Any] | None = None,
        value_serializer: Callable[[Any], Any] | None = None,
        chooses_partitions: bool = True,
        takes_bytes_only: bool = False,
    ) -> None:
        """Once."""
    def _stop_appending_directly(self) -> None: ...
    def _append(
        self,
        topic: str,
        key: Any,
        value: Any,
        headers: list[tuple[str, bytes]] | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> FutureRecordMetadata | None:
        """Appends a record of plain parts; None where it takes waiting. Raises: RecordTooLargeError,
        NoSuchPartitionError."""
    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: list[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Any:
        """Hands a record over; `get()` of the future gives its RecordMetadata, or raises its error.

        `key` and `value`: what the serializers make bytes of, or bytes; one of them may be None. `headers`: a
        list of pairs of a str and bytes. `partition` None leaves the choice to the partitioner.
        `timestamp_ms`: milliseconds since 1970, None is now. Waits at most max_block_ms for the topic's
        metadata and for room in the buffer."""
    def _send_without_headers(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Any: ...

class RecordPoller(Poller):
    """Hands out records of a reader that is lent to it, one by one; what else there is to do when the next
    one is asked for is the subclass's `_next_record()`. A record that its deserializers refuse is told to the
    subclass's `_was_refused(offset)` before the error is raised."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def _shape_records(
        self,
        class_: type[tuple[Any, ...]],
        key_deserializer: tuple[Callable[..., Any], int] | None = None,
        value_deserializer: tuple[Callable[..., Any], int] | None = None,
    ) -> None:
        """Once, before the first record: a named tuple, and deserializers, each with the number of arguments
        that it takes (the bytes; topic and bytes; topic, headers and bytes). Raises: ValueError."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    @property
    def _being_made(self) -> int | None:
        """The offset of a record that counts as handed out while its deserializers still run. Any thread."""

    def _take(
        self, reader: RecordReader, max_records: int, /
    ) -> tuple[list[Any], tuple[int, BaseException] | None]:
        """Up to `max_records` records of a reader that is not lent; and, where a deserializer refuses one,
        its offset and what it raised: the reader is ahead of it then. Raises: CorruptBatchError."""
