"""The Producer for callers without an event loop.

Records are appended in the caller's thread; only waiting crosses to the loop's thread. Owns no delivery
logic.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from barnabas import fork
from barnabas._kernel import Delivery
from barnabas.client import producer as core
from barnabas.client.arrow_delivery import ArrowDelivery
from barnabas.client.producer import ArrowRows, OnDelivery
from barnabas.settings import ProducerSettings
from barnabas.sync.loop import close_at_exit, loop_thread
from barnabas.types import Buffer, Headers, PartitionInfo

T = TypeVar("T")


class Producer:
    """Sends records to a cluster. Used with `with`, or closed with `close`; all threads may share one.

    `bootstrap_servers`: `host:port`, several separated by commas or as a sequence. `settings`: Kafka's names
    in snake_case, see `barnabas.config.ProducerConfig`. What is still unsent when the interpreter ends is
    delivered then, as by `close`.

    Raises: UnknownSettingError, InvalidSettingError. An unreachable cluster shows at the first call. In the
    child of a fork every call raises ClosedError: make a new Producer there.
    """

    def __init__(self, bootstrap_servers: str | Sequence[str], **settings: Unpack[ProducerSettings]) -> None:
        self._thread = loop_thread()

        async def make() -> core.Producer:
            return core.Producer(bootstrap_servers, **settings)

        self._core = self._thread.run(make(), what="producer")
        self._append = self._core.accumulator.append
        self._generation = fork.current
        close_at_exit(self)

    def send(
        self,
        topic: str,
        value: Buffer | None = None,
        *,
        key: Buffer | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Hands a record over; `result()` of the Delivery gives its RecordMetadata, or raises its error.

        `partition` None lets the key choose, or spreads records without a key. `timestamp` in milliseconds
        since 1970, None is now. Waits at most max_block_ms for the topic's metadata and for room in
        buffer_memory. `on_delivery(error, metadata)` is called on the thread that does the network's work,
        which it holds up: it should be quick, and may send but not wait.

        Raises: ClosedError, RecordTooLargeError, BufferFullError, UnknownTopicOrPartitionError (nobody
        created the topic in time), BootstrapError (no broker was reachable in time), MisuseError (no such
        partition).
        """
        callback = None if on_delivery is None else self._core.delivery_callback(on_delivery)
        if self._core.is_closed or self._generation != fork.current:
            self._core.check_usable()
        try:
            delivery = self._append(topic, partition, key, value, headers, timestamp, callback)
        except ValueError:
            # The partition may be newer than what is known of the topic: append_later makes sure.
            delivery = None
        if delivery is None:
            return self._run(
                self._core.append_later(topic, value, key, headers, partition, timestamp, callback)
            )
        if self._core.is_closed:
            # close() may have looked for the last time before this record came.
            self._thread.call(self._core.fail_leftovers)
        return delivery

    def send_arrow(self, topic: str, table: Any, *, timeout: float | None = None) -> ArrowDelivery:
        """Sends the rows of an Arrow table or record batch: the columns `value` and, where they are there,
        `key`, `headers`, `timestamp` and `partition`.

        Returns when all rows are handed over; waits for room for at most `timeout` seconds, by default
        max_block_ms from one row that finds room to the next.
        Raises: as `send`. Rows handed over before the error may be delivered nevertheless.
        """
        rows = ArrowRows(self._core, topic, table, timeout)
        if self._core.accumulator.needs_metadata(topic):
            self._run(self._core.wait_for_partition_count(topic, rows.deadline()))
        while not rows.append():
            self._run(self._core.wait_for_room(rows.deadline()))
        if self._core.is_closed:
            self._thread.call(self._core.fail_leftovers)
        return rows.delivery

    def flush(self, timeout: float | None = None) -> None:
        """Returns when every record sent before is delivered or has failed; its Delivery tells which.

        `timeout` in seconds; None waits as long as it takes, which delivery_timeout_ms bounds.
        Raises: KafkaTimeoutError, ClosedError.
        """
        self._run(self._core.flush(timeout))

    def close(self, timeout: float | None = None) -> None:
        """Delivers what was sent, for at most `timeout` seconds (default_api_timeout_ms), and closes. Records
        that are not delivered by then fail with ClosedError. May be called twice."""
        if not self._core.is_closed:
            self._run(self._core.close(timeout))

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> list[PartitionInfo]:
        """The partitions of a topic, by number. `timeout` in seconds, default max_block_ms.

        Raises: UnknownTopicOrPartitionError, BootstrapError, ClosedError.
        """
        return self._run(self._core.partitions_for(topic, timeout=timeout))

    def stats(self) -> dict[str, int]:
        """Counts since the producer was made, and what is in the buffer now."""
        return self._core.stats()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(work, what="producer")
