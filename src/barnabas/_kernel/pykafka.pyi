"""What programs for pykafka see of messages."""

from collections.abc import Callable, Mapping
from typing import Any, Self, final

from barnabas._kernel.consume import Poller
from barnabas._kernel.produce import Accumulator

class PartitionPoller(Poller):
    """Base of pykafka's SimpleConsumer: its `consume`, which hands out messages of a reader that is lent to
    it. What else there is to do when the next one is asked for is the subclass's `_consume(block,
    unblock_event)`."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def _shape_messages(
        self,
        class_: type,
        partitions: Mapping[int, Any],
        protocol_version: int,
        deserializer: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Once, before the first message: its class, which has slots; the partitions by number; the version
        of messages, whose first, 0, has no timestamps; and what makes another value and key of two."""

    def consume(self, block: bool = True, unblock_event: Any = None) -> Any:
        """The next message. `block`: waits for one, for consumer_timeout_ms if there is one; None where none
        came, or where `unblock_event` was set meanwhile.

        Raises: ConsumerStoppedException; and what went wrong in the background."""

@final
class MessageIterator:
    """The messages of a consumer, until it has none for consumer_timeout_ms."""

    def __init__(self, consumer: PartitionPoller, /) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...

@final
class ReportQueue:
    """Pairs of a message and None or the exception that it failed with, as a queue.Queue has them."""

    def __init__(self) -> None: ...
    def put(self, item: tuple[Any, Any], block: bool = True, timeout: float | None = None) -> None: ...
    def get(self, block: bool = True, timeout: float | None = None) -> tuple[Any, Any]:
        """Raises: queue.Empty."""
    def get_nowait(self) -> tuple[Any, Any]: ...
    def qsize(self) -> int: ...
    def empty(self) -> bool: ...

class MessageOutlet:
    """Base of pykafka's Producer: its `produce`, which appends in the caller's thread with no Python in
    between. The subclass has `_produce(message, partition_key, timestamp)` for all that is not plain,
    `_flush_soon()` where min_queued_messages wait, `_raise_failure(error)`, which raises what a `produce`
    that waits is to raise, and `_after_late_append()` for a message that came while appending was stopped."""

    def __new__(cls, *args: Any, **settings: Any) -> Self: ...
    def _open(
        self,
        accumulator: Accumulator,
        topic: str,
        *,
        message_class: type,
        protocol_version: int,
        partitions: dict[int, Any],
        max_request_size: int,
        max_queued_messages: int,
        min_queued_messages: int,
        error_of: Callable[[BaseException], Any],
        is_plain: bool,
        sync_timeout: float | None = None,
        reports: Any = None,
    ) -> None:
        """Starts the producer, anew where it was stopped. `is_plain`: partitions take turns, and messages are
        bytes; else all goes to `_produce`. `sync_timeout`: of a `produce` that waits, in seconds, negative
        for without end. `reports`: has an attribute `queue`, a ReportQueue, for each thread."""

    def _set_plain(self, is_plain: bool) -> None:
        """Whether `produce` may append by itself; else it goes to `_produce`. Any thread."""

    def _stop_appending(self) -> None:
        """From now on `produce` goes to `_produce`, and what is appended nevertheless is late. Any thread."""

    def _append_message(
        self, message: Any, value: Any, key: Any, partition: int, timestamp_ms: int | None = None
    ) -> bool:
        """Hands a message over that `_produce` made; False where it takes waiting.

        Raises: RecordTooLargeError, NoSuchPartitionError, and what `_raise_failure` raises."""

    @property
    def _outstanding(self) -> int:
        """How many messages are appended and neither delivered nor failed."""

    def _wait_below(self, limit: int, timeout: float) -> bool:
        """Whether fewer than `limit` messages are outstanding within `timeout` seconds."""

    def produce(self, message: Any, partition_key: Any = None, timestamp: Any = None) -> Any:
        """Hands a message over, to be sent when min_queued_messages of them wait, or after linger_ms.

        `message`: bytes, or None; with a serializer, what that takes. `partition_key`: for the partitioner.
        `timestamp`: a datetime in UTC, for brokers from 0.10 on. Gives the Message, which knows its offset
        when it is delivered.

        Raises: TypeError, ProducerStoppedException, ProducerQueueFullError; with sync=True what the message
        failed with."""
