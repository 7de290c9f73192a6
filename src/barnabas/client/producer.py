"""The asyncio Producer: what a caller hands over, its back-pressure, flushing and closing.

Owns the waiting of callers. The records themselves are in the kernel's accumulator, and what happens to them
is the sender's. `accumulator.append` is what any thread may call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

from barnabas import fork
from barnabas._kernel import Delivery
from barnabas.client.arrow_delivery import ArrowDelivery
from barnabas.client.client import KafkaClient
from barnabas.client.metadata import ClusterMetadata
from barnabas.client.sender import Sender
from barnabas.config import ProducerConfig, load
from barnabas.errors import (
    BarnabasError,
    BufferFullError,
    ClosedError,
    KafkaTimeoutError,
    MisuseError,
)
from barnabas.settings import ProducerSettings
from barnabas.types import Buffer, Headers, PartitionInfo, RecordMetadata

OnDelivery = Callable[[BarnabasError | None, RecordMetadata | None], object]
DeliveryCallback = Callable[[Delivery], object]


class Producer:
    """Sends records to a cluster. Made on a running event loop; used with `async with`, or closed by `close`.

    `bootstrap_servers`: `host:port`, several separated by commas or as a sequence. `settings`: Kafka's names
    in snake_case, see `barnabas.config.ProducerConfig`.

    Raises: UnknownSettingError, InvalidSettingError. An unreachable cluster shows at the first call.
    """

    def __init__(self, bootstrap_servers: str | Sequence[str], **settings: Unpack[ProducerSettings]) -> None:
        self.config = load(ProducerConfig, {"bootstrap_servers": bootstrap_servers, **settings})
        self.is_closed = False
        self.generation = fork.current
        self._client = KafkaClient(self.config, allow_auto_topic_creation=True)
        self._client.add_metadata_listener(self._learn_partition_counts)
        self._sender = Sender(self.config, self._client)
        self.accumulator = self._sender.accumulator
        self._last_callback: tuple[OnDelivery | None, DeliveryCallback | None] = (None, None)

    async def send(
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
        """Hands a record over; await the Delivery for the RecordMetadata, or the error, of the record.

        `partition` None lets the key choose, or spreads records without a key. `timestamp` in milliseconds
        since 1970, None is now. `on_delivery(error, metadata)` is called on the event loop. Waits at most
        max_block_ms for the topic's metadata and for room in buffer_memory.

        Raises: ClosedError, RecordTooLargeError, BufferFullError, UnknownTopicOrPartitionError (nobody
        created the topic in time), BootstrapError (no broker was reachable in time), MisuseError (no such
        partition).
        """
        callback = None if on_delivery is None else self.delivery_callback(on_delivery)
        if self.is_closed or self.generation != fork.current:
            self.check_usable()
        try:
            delivery = self.accumulator.append(topic, partition, key, value, headers, timestamp, callback)
        except ValueError:
            # The partition may be newer than what is known of the topic: append_later makes sure.
            delivery = None
        if delivery is None:
            return await self.append_later(topic, value, key, headers, partition, timestamp, callback)
        if self._sender.wake_is_due:
            # A caller that only ever sends would keep the loop, and the sender with it, from running.
            await asyncio.sleep(0)
        return delivery

    async def append_later(
        self,
        topic: str,
        value: Buffer | None,
        key: Buffer | None,
        headers: Headers | None,
        partition: int | None,
        timestamp: int | None,
        callback: DeliveryCallback | None,
    ) -> Delivery:
        """Waits until the record can be appended, at most max_block_ms, and appends it."""
        deadline = time.monotonic() + self.config.max_block_ms / 1000
        has_refreshed = False
        while True:
            await self.wait_for_partition_count(topic, deadline)
            try:
                delivery = self.accumulator.append(topic, partition, key, value, headers, timestamp, callback)
            except ValueError as error:
                if has_refreshed:
                    raise MisuseError(f"topic {topic!r}: {error}") from None
                has_refreshed = True
                remaining_ms = (deadline - time.monotonic()) * 1000
                await self._client.refresh_metadata([topic], timeout_ms=remaining_ms)
                continue
            if delivery is not None:
                return delivery
            if not self.accumulator.needs_metadata(topic):
                await self.wait_for_room(deadline)

    async def send_arrow(self, topic: str, table: Any, *, timeout: float | None = None) -> ArrowDelivery:
        """Sends the rows of an Arrow table or record batch: the columns `value` and, where they are there,
        `key`, `headers`, `timestamp` and `partition`.

        Returns when all rows are handed over; waits for room for at most `timeout` seconds, by default
        max_block_ms from one row that finds room to the next.
        Raises: as `send`. Rows handed over before the error may be delivered nevertheless.
        """
        rows = ArrowRows(self, topic, table, timeout)
        await self.wait_for_partition_count(topic, rows.deadline())
        while not rows.append():
            await self.wait_for_room(rows.deadline())
        return rows.delivery

    async def flush(self, timeout: float | None = None) -> None:
        """Returns when every record sent before is delivered or has failed; its Delivery tells which.

        `timeout` in seconds; None waits as long as it takes, which delivery_timeout_ms bounds.
        Raises: KafkaTimeoutError, ClosedError.
        """
        self.check_usable()
        try:
            async with asyncio.timeout(timeout):
                await self._sender.flush()
        except TimeoutError:
            left = self.accumulator.buffered_records
            raise KafkaTimeoutError(f"{left} records were not yet delivered after {timeout} s") from None

    async def close(self, timeout: float | None = None) -> None:
        """Delivers what was sent, for at most `timeout` seconds (default_api_timeout_ms), and closes. Records
        that are not delivered by then fail with ClosedError. May be called twice."""
        if self.is_closed:
            return
        self.check_usable()
        self.is_closed = True
        if timeout is None:
            timeout = self.config.default_api_timeout_ms / 1000
        try:
            async with asyncio.timeout(timeout):
                await self._sender.flush()
        except TimeoutError:
            pass
        finally:
            error = ClosedError(f"the producer was closed, the record not delivered within {timeout} s")
            await self._sender.close(error)
            await self._client.close()

    def fail_leftovers(self) -> None:
        """Fails records that another thread appended while `close` was at work."""
        self._sender.fail_all(ClosedError("the producer was closed while the record was sent"))

    async def partitions_for(self, topic: str, *, timeout: float | None = None) -> list[PartitionInfo]:
        """The partitions of a topic, by number. `timeout` in seconds, default max_block_ms.

        Raises: UnknownTopicOrPartitionError, BootstrapError, ClosedError.
        """
        self.check_usable()
        seconds = self.config.max_block_ms / 1000 if timeout is None else timeout
        await self._client.wait_for_topics([topic], time.monotonic() + seconds)
        return self._client.metadata.partitions_for(topic)

    def stats(self) -> dict[str, int]:
        """Counts since the producer was made, and what is in the buffer now."""
        counts = self._sender.stats
        return {
            "records_delivered": counts.records_delivered,
            "records_failed": counts.records_failed,
            "bytes_delivered": counts.bytes_delivered,
            "batches_sent": counts.batches,
            "batch_retries": counts.batch_retries,
            "batch_splits": counts.batch_splits,
            "requests_sent": counts.requests,
            "batches_in_flight": self._sender.batches_in_flight,
            "buffered_records": self.accumulator.buffered_records,
            "buffered_bytes": self.accumulator.buffered_bytes,
        }

    def delivery_callback(self, on_delivery: OnDelivery) -> DeliveryCallback:
        """What the kernel calls, out of what a user gives. May be called from any thread."""
        known, callback = self._last_callback
        if known is on_delivery and callback is not None:
            # Mostly it is the same for each record, and a function more for each of them costs dearly.
            return callback

        def tell(delivery: Delivery) -> object:
            try:
                metadata = delivery.result()
            except BarnabasError as error:
                return on_delivery(error, None)
            return on_delivery(None, metadata)

        self._last_callback = (on_delivery, tell)
        return tell

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def wait_for_partition_count(self, topic: str, deadline: float) -> None:
        """Returns when records of the topic can be given partitions. `deadline` as of `time.monotonic()`."""
        self.check_usable()
        if self.accumulator.needs_metadata(topic):
            await self._client.wait_for_topics([topic], deadline)
            self._learn_partition_counts(self._client.metadata)

    async def wait_for_room(self, deadline: float) -> None:
        """Returns when memory has come free. Raises: BufferFullError at the deadline."""
        if not self.accumulator.buffered_records:
            # All was delivered between the attempt, on another thread, and now.
            return
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await self._sender.progress()
        except TimeoutError:
            raise BufferFullError(
                f"buffer_memory={self.config.buffer_memory} bytes stayed full for max_block_ms="
                f"{self.config.max_block_ms}: the brokers take records more slowly than they are sent; "
                f"{self.accumulator.buffered_records} records wait"
            ) from None

    def _learn_partition_counts(self, metadata: ClusterMetadata) -> None:
        for topic, known in metadata.topic_metadata.items():
            self.accumulator.set_partition_count(topic, len(known.partitions))

    def check_usable(self) -> None:
        """Raises: ClosedError if the producer is closed, or was made before a fork."""
        if self.generation != fork.current:
            raise fork.forked_error("producer")
        if self.is_closed:
            raise ClosedError("the producer is closed")


class ArrowRows:
    """The rows of one send_arrow on their way into the buffer."""

    def __init__(self, producer: Producer, topic: str, table: Any, timeout: float | None) -> None:
        producer.check_usable()
        self.delivery = ArrowDelivery()
        self._append = producer.accumulator.append_arrow
        self._topic = topic
        self._table = table
        self._row_count = int(table.num_rows)
        self._taken = 0
        self._last = None if timeout is None else time.monotonic() + timeout
        self._block_seconds = producer.config.max_block_ms / 1000

    def append(self) -> bool:
        """Appends as many rows as there is room for; whether these were the last. On any thread."""
        taken, deliveries = self._append(self._topic, self._table, row_offset=self._taken)
        self.delivery.add(taken, deliveries)
        self._taken += taken
        return self._taken >= self._row_count

    def deadline(self) -> float:
        """Until when the next row may wait."""
        return time.monotonic() + self._block_seconds if self._last is None else self._last
