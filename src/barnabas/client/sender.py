"""Takes records out of the accumulator and brings them to the partitions' leaders.

Owns which batches leave when, what each answer means for them, and their time-outs. Runs on the event loop
alone; knows nothing of who appends records.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import uuid
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from barnabas._kernel import Accumulator, ProducerBatch
from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.client import KafkaClient
from barnabas.client.metadata import NO_TOPIC_ID
from barnabas.client.partition_queue import NO_PRODUCER_ID, PartitionQueue, PendingBatch
from barnabas.config import ProducerConfig
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    BrokerError,
    KafkaTimeoutError,
    RecordTooLargeError,
)
from barnabas.net.addresses import in_thread
from barnabas.net.connection import Connection
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse
from barnabas.types import Node, TopicPartition

logger = logging.getLogger("barnabas.producer")

HIGHEST_VERSION_WITH_NAMES = 12
# Batches of a partition that are compressed ahead, on other threads, while earlier ones are under way.
COMPRESSED_AHEAD = 2
LOG_INTERVAL_SECONDS = 10.0
RECOVERY_SECONDS = 0.1
NEVER = 1e15
NO_OFFSET = -1
TRANSACTION_TIMEOUT_MS = 2**31 - 1

SEQUENCE_ERRORS = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})
TOO_LARGE_ERRORS = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})


@dataclass(slots=True)
class SenderStats:
    """Counted since the producer was made."""

    requests: int = 0
    batches: int = 0
    records_delivered: int = 0
    records_failed: int = 0
    bytes_delivered: int = 0
    """After compression."""
    batch_retries: int = 0
    batch_splits: int = 0


@dataclass(slots=True)
class _Sent:
    """A batch in a request under way."""

    queue: PartitionQueue
    pending: PendingBatch
    bytes: int


@dataclass(slots=True)
class _Leader:
    """What is under way to one broker."""

    in_flight: int = 0
    is_connecting: bool = False
    sendable: list[PartitionQueue] = field(default_factory=list["PartitionQueue"])


class Sender:
    """Everything but `wake_from_any_thread` and `append` on the accumulator belongs to the loop's thread."""

    def __init__(self, config: ProducerConfig, client: KafkaClient) -> None:
        self.stats = SenderStats()
        self._config = config
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._acks = -1 if config.acks in ("all", "-1") else int(config.acks)
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._busy: dict[TopicPartition, PartitionQueue] = {}
        self._filled: set[TopicPartition] = set()
        self._is_compressing = config.compression != "none"
        self._leaders: dict[int, _Leader] = {}
        self._outstanding: set[PendingBatch] = set()
        self._progress: list[asyncio.Future[None]] = []
        self._producer_id = NO_PRODUCER_ID
        self._producer_epoch = -1
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_getting_producer_id = False
        self._wake_is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._rotation = itertools.count()
        self._hurried = 0
        self._is_closed = False
        self._logged_at = -LOG_INTERVAL_SECONDS
        self.accumulator = Accumulator(
            batch_size=config.batch_size,
            buffer_memory=config.buffer_memory,
            max_record_bytes=config.max_request_size,
            compression=config.compression,
            compression_level=config.compression_level,
            partitioner=config.partitioner,
            wake=self.wake_from_any_thread,
        )
        client.add_metadata_listener(lambda _: self.wake())

    def wake_from_any_thread(self) -> None:
        # One crossing to the loop is enough, however many records follow before it arrives.
        if not self._wake_is_due and not self._is_closed:
            self._wake_is_due = True
            self._loop.call_soon_threadsafe(self._cycle)

    def wake(self) -> None:
        """There may be something to do."""
        if not self._wake_is_due and not self._is_closed:
            self._wake_is_due = True
            self._loop.call_soon(self._cycle)

    @property
    def wake_is_due(self) -> bool:
        return self._wake_is_due

    @property
    def batches_in_flight(self) -> int:
        return sum(len(queue.in_flight) for queue in self._queues.values())

    async def progress(self) -> None:
        """Returns when the next batch is done: its memory is free again. Until then nothing lingers."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._progress.append(waiter)
        self._hurried += 1
        self.wake()
        try:
            await waiter
        finally:
            self._hurried -= 1

    async def flush(self) -> None:
        """Returns when all records that were appended before are delivered or have failed."""
        for topic, number in self.accumulator.partitions():
            queue = self._queue(TopicPartition(topic, number))
            while (batch := self.accumulator.drain(topic, number)) is not None:
                self._add(queue, batch)
        due = set(self._outstanding)
        while due & self._outstanding:
            await self.progress()

    async def close(self, error: BarnabasError) -> None:
        """Stops. What is not delivered fails with `error`."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.fail_all(error)

    def fail_all(self, error: BarnabasError) -> None:
        """Fails all that waits and all that is under way."""
        for topic, number in self.accumulator.partitions():
            queue = self._queue(TopicPartition(topic, number))
            while (batch := self.accumulator.drain(topic, number)) is not None:
                self._add(queue, batch)
        for queue in self._queues.values():
            for pending in [*queue.in_flight, *queue.waiting]:
                self._fail(queue, pending, error)

    # What leaves now

    def _cycle(self) -> None:
        self._wake_is_due = False
        if self._is_closed:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            wait = self._send_what_is_due()
        except Exception:
            logger.exception("client %s: the sender stumbled", self._config.client_id)
            wait = RECOVERY_SECONDS
        if wait is not None:
            self._timer = self._loop.call_later(wait, self.wake)

    def _send_what_is_due(self) -> float | None:
        """Sends; gives the seconds until there is more to do by the clock alone."""
        now = time.monotonic()
        waits: list[float] = []
        for leader in self._leaders.values():
            leader.sendable.clear()
        for queue in self._busy_queues():
            expires = self._expire(queue, now)
            if expires is not None:
                waits.append(expires - now)
            wait = self._wait_of(queue, now)
            if wait is None:
                continue
            if wait > 0:
                waits.append(wait)
                continue
            leader_id = self._client.metadata.leader(queue.partition)
            if leader_id < 0:
                self._client.add_topics([queue.partition.topic])
                self._client.request_metadata_update()
                self._hold(queue)
                continue
            self._leaders.setdefault(leader_id, _Leader()).sendable.append(queue)
        for leader_id, leader in self._leaders.items():
            if leader.sendable:
                self._send_to(leader_id, leader)
        return max(min(waits), 0.001) if waits else None

    def _busy_queues(self) -> Iterable[PartitionQueue]:
        """Queues with anything to send, beginning with another one each time."""
        self._filled = {TopicPartition(*partition) for partition in self.accumulator.partitions()}
        for partition in self._filled:
            if partition not in self._busy:
                self._busy[partition] = self._queue(partition)
        queues = list(self._busy.values())
        first = next(self._rotation) % len(queues) if queues else 0
        return queues[first:] + queues[:first]

    def _wait_of(self, queue: PartitionQueue, now: float) -> float | None:
        """Seconds until the queue has something to send; None while only an event can tell."""
        topic, number = queue.partition
        if queue.waiting or self._is_compressing:
            self._compress_ahead(queue, now)
        if queue.waiting:
            if queue.needs_producer_id:
                self._give_producer_id(queue)
            if queue.not_before > now:
                return queue.not_before - now
            return 0 if self._head(queue) is not None else None
        if queue.partition not in self._filled:
            if not queue.in_flight:
                self._busy.pop(queue.partition, None)
            return None
        if not self._has_room(queue):
            return None
        return self.accumulator.ready_in_ms(topic, number, now * 1000, self._linger_ms) / 1000

    @property
    def _linger_ms(self) -> float:
        return 0 if self._hurried else self._config.linger_ms

    def _has_room(self, queue: PartitionQueue) -> bool:
        return len(queue.in_flight) < self._config.max_in_flight_requests_per_connection

    def _head(self, queue: PartitionQueue) -> PendingBatch | None:
        return queue.next_to_send(self._config.max_in_flight_requests_per_connection)

    def _take(self, queue: PartitionQueue, now: float) -> PendingBatch | None:
        """The next batch to send, closed only now, so that it had time to grow."""
        if not queue.waiting:
            topic, number = queue.partition
            if queue.partition not in self._filled:
                return None
            if self.accumulator.ready_in_ms(topic, number, now * 1000, self._linger_ms) > 0:
                return None
            batch = self.accumulator.drain(topic, number)
            if batch is None:
                return None
            self._add(queue, batch)
            if queue.needs_producer_id:
                self._give_producer_id(queue)
            self._compress_ahead(queue, now)
        return self._head(queue) if queue.not_before <= now else None

    def _hold(self, queue: PartitionQueue) -> None:
        """Closes the oldest batch of a queue that cannot be sent, so that its time-out is watched."""
        if not queue.waiting:
            batch = self.accumulator.drain(*queue.partition)
            if batch is not None:
                self._add(queue, batch)
                self.wake()

    def _send_to(self, leader_id: int, leader: _Leader) -> None:
        connection = self._client.ready_connection(leader_id)
        if connection is None:
            if not leader.is_connecting:
                leader.is_connecting = True
                self._spawn(self._connect(leader_id, leader))
            for queue in leader.sendable:
                self._hold(queue)
            return
        if not connection.can_write:
            self._spawn(self._wait_until_writable(connection))
            return
        now = time.monotonic()
        queues = leader.sendable
        while queues and leader.in_flight < self._config.max_in_flight_requests_per_connection:
            group: list[tuple[PartitionQueue, PendingBatch]] = []
            size = 0
            for queue in list(queues):
                pending = self._take(queue, now)
                if pending is None:
                    queues.remove(queue)
                elif not group or size + pending.size <= self._config.max_request_size:
                    group.append((queue, pending))
                    size += pending.size
            if not group:
                return
            self._send(leader_id, leader, connection, group)

    def _send(
        self,
        leader_id: int,
        leader: _Leader,
        connection: Connection,
        group: list[tuple[PartitionQueue, PendingBatch]],
    ) -> None:
        topics: dict[str, ProduceRequest.TopicProduceData] = {}
        sent: dict[TopicPartition, _Sent] = {}
        max_version: int | None = None
        for queue, pending in group:
            name, number = queue.partition
            data = queue.sent(pending)
            sent[queue.partition] = _Sent(queue, pending, len(data))
            topic = topics.get(name)
            if topic is None:
                topic_id = self._client.metadata.topic_id(name)
                if topic_id == NO_TOPIC_ID:
                    max_version = HIGHEST_VERSION_WITH_NAMES
                topic = topics[name] = ProduceRequest.TopicProduceData(
                    name=name, topic_id=topic_id, partition_data=[]
                )
            topic.partition_data.append(ProduceRequest.PartitionProduceData(index=number, records=data))
        request = ProduceRequest(
            transactional_id=None,
            acks=self._acks,
            timeout_ms=self._config.request_timeout_ms,
            topic_data=list(topics.values()),
        )
        self.stats.requests += 1
        self.stats.batches += len(group)
        try:
            if self._acks == 0:
                connection.send_no_response(request, max_version=max_version)
                for entry in sent.values():
                    self._deliver(entry, NO_OFFSET, -1)
                return
            future = connection.submit(
                request, timeout_ms=self._config.request_timeout_ms, max_version=max_version
            )
        except BarnabasError as error:
            self._not_answered(sent, error)
            return
        leader.in_flight += 1
        names = {topic.topic_id: name for name, topic in topics.items()}
        future.add_done_callback(partial(self._on_answer, leader_id, leader, sent, names))

    # What came back

    def _on_answer(
        self,
        leader_id: int,
        leader: _Leader,
        sent: dict[TopicPartition, _Sent],
        names: dict[uuid.UUID, str],
        future: asyncio.Future[ProduceResponse],
    ) -> None:
        leader.in_flight -= 1
        if self._is_closed:
            return
        error = future.exception()
        if isinstance(error, BarnabasError):
            self._not_answered(sent, error)
        elif error is not None:
            self._not_answered(sent, BrokenProtocolError(f"node {leader_id}: {error!r}"))
        else:
            self._answered(leader_id, sent, names, future.result())
        self.wake()

    def _answered(
        self,
        leader_id: int,
        sent: dict[TopicPartition, _Sent],
        names: dict[uuid.UUID, str],
        response: ProduceResponse,
    ) -> None:
        for topic in response.responses:
            name = topic.name or names.get(topic.topic_id, "")
            for answer in topic.partition_responses:
                entry = sent.pop(TopicPartition(name, answer.index), None)
                if entry is None or entry.pending.is_done:
                    continue
                if answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    self._deliver(entry, answer.base_offset, answer.log_append_time_ms)
                else:
                    self._refused(entry, answer, response.node_endpoints)
        if sent:
            self._not_answered(
                sent, BrokenProtocolError(f"node {leader_id} left a partition out of its answer")
            )

    def _not_answered(self, sent: dict[TopicPartition, _Sent], error: BarnabasError) -> None:
        if error.retriable:
            self._client.request_metadata_update()
        for entry in sent.values():
            if entry.pending.is_done:
                continue
            if error.retriable:
                self._retry(entry, error)
            else:
                self._fail(entry.queue, entry.pending, error)

    def _refused(
        self,
        entry: _Sent,
        answer: ProduceResponse.PartitionProduceResponse,
        endpoints: list[ProduceResponse.NodeEndpoint],
    ) -> None:
        queue, pending = entry.queue, entry.pending
        code = answer.error_code
        context = f"{queue.partition}" + (f" ({answer.error_message})" if answer.error_message else "")
        error = error_for(code, context)
        if code in SEQUENCE_ERRORS and self._config.enable_idempotence:
            pending.last_error = error
            self.stats.batch_retries += 1
            queue.sequence_refused(pending, self._retry_at(pending))
        elif code in TOO_LARGE_ERRORS:
            self._split(queue, pending, error)
        elif error.retriable:
            if error.invalid_metadata:
                self._new_leader(queue.partition, answer, endpoints)
            self._retry(entry, error)
        else:
            for record_error in answer.record_errors:
                reason = record_error.batch_index_error_message or answer.error_message or ""
                record = f"{queue.partition}, record {record_error.batch_index} of its batch"
                pending.batch.fail_record(
                    record_error.batch_index, error_for(code, f"{record} ({reason})" if reason else record)
                )
            if answer.record_errors:
                error = error_for(code, f"{context}: another record of the same batch was refused")
            self._fail(queue, pending, error)

    def _new_leader(
        self,
        partition: TopicPartition,
        answer: ProduceResponse.PartitionProduceResponse,
        endpoints: list[ProduceResponse.NodeEndpoint],
    ) -> None:
        leader = answer.current_leader
        if leader.leader_id >= 0 and endpoints:
            nodes = [Node(node.node_id, node.host, node.port, node.rack) for node in endpoints]
            self._client.update_leader(partition, leader.leader_id, leader.leader_epoch, nodes)
        self._client.request_metadata_update()

    def _retry(self, entry: _Sent, error: BarnabasError) -> None:
        queue, pending = entry.queue, entry.pending
        pending.last_error = error
        if pending.attempts > self._config.retries:
            self._fail(queue, pending, error)
            return
        self.stats.batch_retries += 1
        queue.retry(pending, self._retry_at(pending))

    def _retry_at(self, pending: PendingBatch) -> float:
        return time.monotonic() + self._client.backoff.delay_ms(pending.attempts) / 1000

    def _split(self, queue: PartitionQueue, pending: PendingBatch, error: BrokerError) -> None:
        if pending.record_count == 1:
            too_large = RecordTooLargeError(
                f"{queue.partition}: a record of {pending.size} bytes is larger than the topic takes: "
                "raise its max.message.bytes (or the broker's message.max.bytes), or send less"
            )
            too_large.__cause__ = error
            self._fail(queue, pending, too_large)
            return
        self.stats.batch_splits += 1
        self._outstanding.discard(pending)
        pending.is_done = True
        parts = pending.batch.split(max(pending.size // 2, 1))
        for part in queue.replace(pending, parts):
            part.is_encoded = not self._is_compressing
            self._outstanding.add(part)

    def _expire(self, queue: PartitionQueue, now: float) -> float | None:
        """Fails what has waited for delivery_timeout_ms; gives the moment when the next one will have."""
        for pending in [*queue.in_flight, *queue.waiting]:
            expires = (pending.batch.created_ms + self._config.delivery_timeout_ms) / 1000
            if expires > now:
                return expires
            reason = f"; the last error was: {pending.last_error}" if pending.last_error else ""
            if not reason and self._client.metadata.leader(queue.partition) < 0:
                reason = "; the partition has no leader"
            error = KafkaTimeoutError(
                f"{queue.partition}: {pending.record_count} records were not delivered within "
                f"delivery_timeout_ms={self._config.delivery_timeout_ms}{reason}"
            )
            error.__cause__ = pending.last_error
            self._fail(queue, pending, error)
        return None

    def _deliver(self, entry: _Sent, base_offset: int, log_append_time: int) -> None:
        entry.queue.succeeded(entry.pending)
        self.stats.records_delivered += entry.pending.record_count
        self.stats.bytes_delivered += entry.bytes
        self._done(entry.pending)
        entry.pending.batch.complete(base_offset, log_append_time)

    def _fail(self, queue: PartitionQueue, pending: PendingBatch, error: BarnabasError) -> None:
        queue.failed(pending)
        self.stats.records_failed += pending.record_count
        self._done(pending)
        now = time.monotonic()
        if now - self._logged_at >= LOG_INTERVAL_SECONDS:
            self._logged_at = now
            logger.error("%d records were not delivered: %s", pending.record_count, error)
        pending.batch.fail(error)

    def _done(self, pending: PendingBatch) -> None:
        pending.is_done = True
        self._outstanding.discard(pending)
        self.accumulator.release(pending.batch)
        waiters, self._progress = self._progress, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    # Batches, compression, producer ids, connections

    def _queue(self, partition: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(partition)
        if queue is None:
            queue = PartitionQueue(partition, is_idempotent=self._config.enable_idempotence)
            self._queues[partition] = queue
        return queue

    def _add(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        pending = queue.add(batch)
        pending.is_encoded = not self._is_compressing
        self._outstanding.add(pending)
        self._busy[queue.partition] = queue

    def _compress_ahead(self, queue: PartitionQueue, now: float) -> None:
        """Keeps the first batches of a queue compressed, closing full ones for that."""
        if not self._is_compressing:
            return
        topic, number = queue.partition
        while len(queue.waiting) < COMPRESSED_AHEAD:
            # A batch that is not full keeps growing unless it is the next to leave.
            is_next = not queue.waiting and self._has_room(queue)
            if (
                self.accumulator.ready_in_ms(topic, number, now * 1000, self._linger_ms if is_next else NEVER)
                > 0
            ):
                break
            batch = self.accumulator.drain(topic, number)
            if batch is None:
                break
            self._add(queue, batch)
        for pending in queue.waiting[:COMPRESSED_AHEAD]:
            if not pending.is_encoded and not pending.is_encoding:
                pending.is_encoding = True
                self._spawn(self._compress(pending))

    async def _compress(self, pending: PendingBatch) -> None:
        await in_thread(pending.batch.encode)
        pending.is_encoded = True
        self.wake()

    def _give_producer_id(self, queue: PartitionQueue) -> None:
        if self._producer_id == queue.exhausted_producer_id:
            self._producer_id = NO_PRODUCER_ID
        if self._producer_id != NO_PRODUCER_ID:
            queue.set_producer_id(self._producer_id, self._producer_epoch)
        elif not self._is_getting_producer_id:
            self._is_getting_producer_id = True
            self._spawn(self._get_producer_id())

    async def _get_producer_id(self) -> None:
        try:
            producer_id, epoch = await self._client.retry(
                self._ask_for_producer_id, what="getting a producer id"
            )
        except BarnabasError as error:
            if not error.retriable:
                self.fail_all(error)
            return
        finally:
            self._is_getting_producer_id = False
        self._producer_id, self._producer_epoch = producer_id, epoch
        self.wake()

    async def _ask_for_producer_id(self) -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS)
        response = await self._client.send_to_any(request)
        if response.error_code:
            raise error_for(response.error_code, "asking for a producer id (enable_idempotence)")
        return response.producer_id, response.producer_epoch

    async def _connect(self, leader_id: int, leader: _Leader) -> None:
        try:
            await self._client.connect(leader_id)
        except BarnabasError as error:
            logger.info("client %s: %s", self._config.client_id, error)
            self._client.request_metadata_update()
        finally:
            leader.is_connecting = False
        self.wake()

    async def _wait_until_writable(self, connection: Connection) -> None:
        await connection.wait_until_writable()
        self.wake()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
