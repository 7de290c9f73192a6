"""Takes records out of the accumulator and brings them to the partitions' leaders.

Owns which batches leave when, what each answer means for them, and their time-outs. Runs on the event loop
alone; knows nothing of who appends records.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import uuid
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas._kernel import ProducerBatch
from barnabas.client.cluster.counted import records_were
from barnabas.client.cluster.error_table import SEQUENCE_ERRORS, TOO_LARGE_ERRORS
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import NO_TOPIC_ID
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.cluster.topics_in_use import TopicsInUse
from barnabas.client.cluster.waking import LoopWaking
from barnabas.client.produce.accumulators import accumulator_for
from barnabas.client.produce.availability import LeaderAvailability
from barnabas.client.produce.batch_errors import (
    expired_error,
    too_large_error,
    unanswered_error,
    unended_error,
)
from barnabas.client.produce.batch_steps import BatchSteps
from barnabas.client.produce.counters import SenderStats
from barnabas.client.produce.direct_sending import DirectSending
from barnabas.client.produce.expiry import ExpiryWatch
from barnabas.client.produce.leader_in_flight import LeaderInFlight, SentBatch
from barnabas.client.produce.outstanding import OutstandingBatches
from barnabas.client.produce.partition_queue import NO_PRODUCER_ID, PartitionQueue, PendingBatch
from barnabas.client.produce.produce_requests import (
    HIGHEST_VERSION_OF_TRANSACTION_VERSION_1,
    HIGHEST_VERSION_WITH_NAMES,
    check_codec,
    produce_request,
)
from barnabas.client.produce.producer_ids import get_producer_id
from barnabas.client.produce.unconfirmed import UnconfirmedConnections
from barnabas.client.produce.unended_steps import UnendedSteps, in_doubt
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    AuthenticationError,
    BarnabasError,
    BrokenProtocolError,
    BrokerError,
    CompressionError,
    PurgedError,
    TransactionAbortedError,
)
from barnabas.net.addresses import in_thread
from barnabas.net.answers import AnswerTo
from barnabas.net.connection import Connection
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse
from barnabas.settings.table import ProducerConfig
from barnabas.types import Node, TopicPartition

if TYPE_CHECKING:
    from barnabas.client.produce.transactions import Transactions

logger = logging.getLogger("barnabas.producer")

LOG_INTERVAL_SECONDS = 10.0
RECOVERY_SECONDS = 0.1
NO_OFFSET = -1
# The transaction before is still being ended, which takes moments.
CONCURRENT_TRANSACTIONS_BACKOFF_SECONDS = 0.02


class Sender:
    """Everything but `wake_from_any_thread` and `append` on the accumulator belongs to the loop's thread."""

    def __init__(
        self, config: ProducerConfig, client: KafkaClient, transactions: Transactions | None = None
    ) -> None:
        self.stats = SenderStats()
        self._config = config
        self._client = client
        self._steps = BatchSteps(client.steps)
        self._transactions = transactions
        self._loop = asyncio.get_running_loop()
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._waiting: dict[TopicPartition, PartitionQueue] = {}
        """Queues with batches that wait; some may have none by now."""
        self._expiry = ExpiryWatch()
        self._due: set[TopicPartition] = set()
        """Partitions with a batch that may leave, as of this cycle."""
        self._availability = LeaderAvailability(
            config.partitioner_availability_timeout_ms / 1000
            if config.partitioner_adaptive_partitioning_enable
            else 0
        )
        self._leaders: dict[int, LeaderInFlight] = {}
        self._unconfirmed = UnconfirmedConnections(config.client_id, config.request_timeout_ms)
        self._outstanding = OutstandingBatches()
        self._unended = UnendedSteps()
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = -1
        self._tasks = Tasks[None]()
        self._is_getting_producer_id = False
        self._wake_is_due = False
        self._waking = LoopWaking.of(self._loop, self._cycle)
        self._timer: asyncio.TimerHandle | None = None
        self._rotation = itertools.count()
        self._hurried = 0
        self._hurry_reasons: set[object] = set()
        self._is_closed = False
        self._logged_at = -LOG_INTERVAL_SECONDS
        self.topics_in_use = TopicsInUse(config.metadata_max_idle_ms)
        wake = self.wake_from_any_thread if self._waking is None else self._waking.waker
        self.accumulator = accumulator_for(config, wake)
        self._direct: DirectSending | None = None
        if self._waking is not None and DirectSending.is_possible(config):
            self._direct = DirectSending(
                config,
                client,
                self.accumulator,
                self.stats,
                self.topics_in_use,
                self._unended,
                on_sent=self._sent_directly,
                wake=self.wake,
            )
        client.add_metadata_listener(lambda _: self.wake())
        client.add_refusal_listener(partial(self._refused_by, None))

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
        return self._wake_is_due or (self._waking is not None and self._waking.is_due)

    def queues(self) -> list[PartitionQueue]:
        """Of all partitions that were sent to, with their figures as of now. May be called on any thread."""
        if self._direct is not None:
            self._direct.count()
        return list(self._queues.values())

    async def progress(self) -> None:
        """Returns when the next batch is done: its memory is free again. Until then nothing lingers."""
        self._hurried += 1
        self.wake()
        try:
            await self._outstanding.next_done()
        finally:
            self._hurried -= 1

    def hurry(self, reason: object) -> None:
        """Nothing lingers from now on, until `relax` with the same object. On any thread, at once."""
        self._hurry_reasons.add(reason)
        if self._config.linger_ms:
            self.wake_from_any_thread()

    def relax(self, reason: object) -> None:
        """Ends what `hurry` began. On any thread, at once."""
        self._hurry_reasons.discard(reason)

    async def flush(self) -> None:
        """Returns when all records that were appended before are delivered or have failed; with acks=0 when
        the brokers have read them, or their connections are lost."""
        self._close_batches()
        with self._outstanding.of_now() as due:
            while due:
                await self.progress()
        await self._unconfirmed.confirm()

    async def close(self, error: BarnabasError) -> None:
        """Stops. What is not delivered fails with `error`, also what lost its way when an exception of a
        signal's handler ended a step of this."""
        self._is_closed = True
        try:
            if self._direct is not None:
                self._direct.close(error)
            if self._waking is not None:
                self._waking.close()
            if self._timer is not None:
                self._timer.cancel()
            await self._tasks.end()
            self.fail_all(error)
        finally:
            if self.accumulator.fail_rest(error):
                self.stats.records_failed += self.accumulator.buffered_records

    def use_producer_id(self, producer_id: int, producer_epoch: int) -> None:
        """From now on batches carry these, and sequences from 0 on. Nothing may be on its way."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self._steps.received_producer_id(producer_id, producer_epoch)
        for queue in self._queues.values():
            queue.set_producer_id(producer_id, producer_epoch)

    def fail_unsent(self, error: BarnabasError) -> None:
        """Fails what waits and was never sent; what was sent may have arrived."""
        self._close_batches()
        for queue in self._queues.values():
            for pending in [*queue.waiting]:
                if pending.sequence is None:
                    self._fail(queue, pending, error)

    def purge(self, in_queue: BarnabasError | None, in_flight: BarnabasError | None) -> None:
        """Fails what waits to be sent, again or for the first time, with the one error, and what is under way
        with the other; None leaves it."""
        self._close_batches()
        for queue in self._queues.values():
            waiting, under_way = list(queue.waiting), list(queue.in_flight)
            for pendings, error in ((under_way, in_flight), (waiting, in_queue)):
                if error is not None:
                    for pending in pendings:
                        self._fail(queue, pending, error)

    @property
    def topics_waiting(self) -> set[str]:
        """Topics with records that are not yet delivered."""
        taken = [queue.partition for queue in self._queues.values() if queue.waiting or queue.in_flight]
        return {topic for topic, _ in [*self.accumulator.partitions(), *taken]}

    def fail_all(self, error: BarnabasError) -> None:
        """Fails all that waits and all that is under way."""
        self.purge(in_queue=error, in_flight=error)

    def _refused_by(self, leader_id: int | None, error: AuthenticationError) -> None:
        """Fails what waits for a node, or for any: that would not go away before the records' time is up."""
        self._close_batches()
        for queue in self._queues.values():
            if leader_id is None or self._client.metadata.leader(queue.partition) == leader_id:
                for pending in list(queue.waiting):
                    self._fail(queue, pending, error)

    def _close_batches(self) -> None:
        """Takes all records out of the accumulator, however few there are."""
        self._take_back()
        for topic, number in self.accumulator.partitions():
            queue = self._queue(TopicPartition(topic, number))
            while (batch := self.accumulator.drain(topic, number)) is not None:
                self._add(queue, batch)

    def _take_back(self) -> None:
        if self._direct is not None:
            self._direct.take_back()

    # What leaves now

    def _cycle(self) -> None:
        self._wake_is_due = False
        if self._is_closed:
            return
        if self._unended.count:
            self._give_up_what_is_in_doubt()
        self._unended.count += 1
        self._take_back()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            wait = self._send_what_is_due()
        except Exception:
            logger.exception("client %s: the sender stumbled", self._config.client_id)
            self._timer = self._loop.call_later(RECOVERY_SECONDS, self.wake)
            return
        if wait is not None:
            self._timer = self._loop.call_later(wait, self.wake)
        self._unended.count -= 1

    def _give_up_what_is_in_doubt(self) -> None:
        """After a step that has not ended. Connections may have been left in the middle of a request."""
        error = unended_error()
        if self._direct is not None:
            self._direct.give_up(error)
        for queue, pending in in_doubt(self._queues, self._outstanding):
            self._fail(queue, pending, error)
        leaders, self._leaders = self._leaders, {}
        for leader_id in leaders:
            if (connection := self._client.ready_connection(leader_id)) is not None:
                connection.close()
        self._waiting = {queue.partition: queue for queue in self._queues.values() if queue.waiting}
        self._unended.count = 0

    def _send_what_is_due(self) -> float | None:
        """Sends; gives the seconds until there is more to do by the clock alone."""
        now = CLOCK.monotonic()
        waits: list[float] = []
        for leader in self._leaders.values():
            leader.sendable.clear()
        expires = self._expire(now)
        if expires is not None:
            waits.append(expires)
        queues, next_due = self._look_for_due(now)
        if next_due < math.inf:
            waits.append(next_due)
        for queue in queues:
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
            self._leaders.setdefault(leader_id, LeaderInFlight()).sendable.append(queue)
        for leader_id, leader in self._leaders.items():
            if leader.sendable:
                self._send_to(leader_id, leader)
        if self._availability.is_watched:
            waits.extend(self._watch_availability(now))
        return max(min(waits), 0.001) if waits else None

    def _watch_availability(self, now: float) -> list[float]:
        """Leaves out leaders that take nothing; gives the seconds until the next look, if one is due."""
        wanted = {
            self._client.metadata.leader(queue.partition)
            for queue in [*self._waiting.values(), *map(self._queue, self._due)]
            if queue.waiting or queue.partition in self._due
        }
        before = self._availability.avoided
        wait = self._availability.look(wanted & self._leaders.keys(), self._can_take, now)
        if self._availability.avoided != before:
            for topic in {partition.topic for partition in self._queues}:
                self.leave_out_unavailable(topic)
        return [] if wait is None else [wait]

    def _can_take(self, leader_id: int) -> bool:
        connection = self._client.ready_connection(leader_id)
        has_room = self._leaders[leader_id].has_room_for_request(self._config)
        return has_room and connection is not None and connection.can_write

    def leave_out_unavailable(self, topic: str) -> None:
        """Keeps records without a key from partitions that have no leader, or one that takes nothing."""
        unavailable = self._availability.unavailable_partitions(self._client.metadata, topic)
        self.accumulator.set_unavailable(topic, unavailable)

    def _look_for_due(self, now: float) -> tuple[list[PartitionQueue], float]:
        """Queues with a batch that waits or is due, beginning with another one each time; and the seconds
        until another one has lingered."""
        due, next_ms = self.accumulator.due(now * 1000, self._linger_ms)
        partitions = [TopicPartition(*partition) for partition in due]
        self._due = set(partitions)
        self._waiting = {partition: queue for partition, queue in self._waiting.items() if queue.waiting}
        queues = list(self._waiting.values())
        queues += [self._queue(partition) for partition in partitions if partition not in self._waiting]
        first = next(self._rotation) % len(queues) if queues else 0
        return queues[first:] + queues[:first], next_ms / 1000

    def _wait_of(self, queue: PartitionQueue, now: float) -> float | None:
        """Seconds until the queue has something to send; None while only an event can tell."""
        if not self._may_send(queue):
            if queue.partition in self._due:
                self._hold(queue)
            return None
        if queue.waiting:
            if queue.needs_producer_id:
                self._give_producer_id(queue)
            if queue.not_before > now:
                return queue.not_before - now
            return 0 if self._head(queue) is not None else None
        return 0 if len(queue.in_flight) < self._config.max_in_flight_requests_per_connection else None

    def _may_send(self, queue: PartitionQueue) -> bool:
        """Whether the open transaction, if there has to be one, takes what the queue has to send."""
        if self._transactions is None or not (queue.waiting or queue.partition in self._due):
            return True
        # What was sent before is in the transaction already.
        is_retry = bool(queue.waiting) and queue.waiting[0].sequence is not None
        return is_retry or self._transactions.may_send(queue.partition)

    @property
    def _linger_ms(self) -> float:
        return 0 if self._hurried or self._hurry_reasons else self._config.linger_ms

    def _head(self, queue: PartitionQueue) -> PendingBatch | None:
        return queue.next_to_send(self._config.max_in_flight_requests_per_connection)

    def _take(self, queue: PartitionQueue, now: float) -> PendingBatch | None:
        """The next batch to send, closed only now, so that it had time to grow."""
        if not queue.waiting:
            topic, number = queue.partition
            if queue.partition not in self._due:
                return None
            if self.accumulator.ready_in_ms(topic, number, now * 1000, self._linger_ms) > 0:
                return None
            batch = self.accumulator.drain(topic, number)
            if batch is None:
                return None
            self._add(queue, batch)
            if queue.needs_producer_id:
                self._give_producer_id(queue)
            if queue.not_before > now or self._head(queue) is None:
                # Its time-out has to be watched from now on, and the end of its back-off.
                self.wake()
        head = self._head(queue) if queue.not_before <= now else None
        while head is not None and (reason := head.broken_because) is not None:
            count = head.record_count
            error = CompressionError(f"{queue.partition}: compressing {count} records failed: {reason}")
            self._fail(queue, head, error)
            head = self._head(queue)
        return head

    def _hold(self, queue: PartitionQueue) -> None:
        """Closes the oldest batch of a queue that cannot be sent, so that its time-out is watched."""
        if not queue.waiting:
            batch = self.accumulator.drain(*queue.partition)
            if batch is not None:
                self._add(queue, batch)
                self.wake()

    def _send_to(self, leader_id: int, leader: LeaderInFlight) -> None:
        connection = self._client.ready_connection(leader_id)
        if connection is None:
            if not leader.is_connecting:
                leader.is_connecting = True
                self._start(self._connect(leader_id, leader), f"connecting to broker {leader_id}")
            for queue in leader.sendable:
                self._hold(queue)
            return
        if not connection.can_write:
            self._start(self._wait_until_writable(connection), "waiting until a connection takes more")
            return
        now = CLOCK.monotonic()
        queues = leader.sendable
        while queues and leader.has_room_for_request(self._config):
            group: list[tuple[PartitionQueue, PendingBatch]] = []
            size = 0
            for queue in list(queues):
                pending = self._take(queue, now)
                if pending is None:
                    queues.remove(queue)
                elif not group or size + pending.size <= self._config.max_request_bytes:
                    group.append((queue, pending))
                    size += pending.size
            if not group:
                return
            self._send(leader_id, leader, connection, group)

    def _send(
        self,
        leader_id: int,
        leader: LeaderInFlight,
        connection: Connection,
        group: list[tuple[PartitionQueue, PendingBatch]],
    ) -> None:
        topics: dict[str, ProduceRequest.TopicProduceData] = {}
        sent: dict[TopicPartition, SentBatch] = {}
        max_version = self._highest_version
        now = CLOCK.monotonic()
        for queue, pending in group:
            name, number = queue.partition
            data = queue.sent(pending)
            if pending.attempts == 1:
                self.stats.queue_time_ms.add(now, now * 1000 - pending.batch.created_ms)
            sent[queue.partition] = SentBatch(queue, pending, len(data))
            self._steps.sent(queue, pending, leader_id, len(data))
            topic = topics.get(name)
            if topic is None:
                self.topics_in_use.use(name, now)
                topic_id = self._client.metadata.topic_id(name)
                if topic_id == NO_TOPIC_ID:
                    max_version = min(max_version or HIGHEST_VERSION_WITH_NAMES, HIGHEST_VERSION_WITH_NAMES)
                topic = topics[name] = ProduceRequest.TopicProduceData(
                    name=name, topic_id=topic_id, partition_data=[]
                )
            topic.partition_data.append(ProduceRequest.PartitionProduceData(index=number, records=data))
        transactional_id = None if self._transactions is None else self._transactions.transactional_id
        request = produce_request(self._config, list(topics.values()), transactional_id=transactional_id)
        self._availability.took_something(leader_id)
        self.stats.requests += 1
        self.stats.batches += len(group)
        try:
            check_codec(self._config, connection, max_version)
            if request.acks == 0:
                connection.send_no_response(request, max_version=max_version)
                self._unconfirmed.add(leader_id, connection)
                for entry in sent.values():
                    self._deliver(entry, NO_OFFSET, -1)
                return
            names = {topic.topic_id: name for name, topic in topics.items()}
            answer = AnswerTo[ProduceResponse](partial(self._on_answer, leader_id, leader, sent, names))
            leader.departed(sent)
            try:
                connection.submit_to(
                    answer, request, timeout_ms=self._config.request_timeout_ms, max_version=max_version
                )
            except BaseException:
                leader.answered(sent)
                raise
        except BarnabasError as error:
            self._not_answered(sent, error)

    def _sent_directly(
        self, leader_id: int, queue: PartitionQueue, batch: ProducerBatch, size: int
    ) -> AnswerTo[ProduceResponse]:
        """A batch has left without us."""
        pending, now, name = queue.sent_directly(batch), CLOCK.monotonic(), queue.partition.topic
        self._outstanding.add(pending)
        self._expiry.watch(queue, batch.created_ms)
        self.topics_in_use.use(name, now)
        self.stats.batch_sent_at_once(now)
        leader = self._leaders[leader_id]
        sent = {queue.partition: SentBatch(queue, pending, size)}
        leader.departed(sent)
        names = {self._client.metadata.topic_id(name): name}
        return AnswerTo(partial(self._on_answer, leader_id, leader, sent, names))

    @property
    def _highest_version(self) -> int | None:
        if self._transactions is None or self._transactions.is_version_2:
            return None
        return HIGHEST_VERSION_OF_TRANSACTION_VERSION_1

    # What came back

    def _on_answer(
        self,
        leader_id: int,
        leader: LeaderInFlight,
        sent: dict[TopicPartition, SentBatch],
        names: dict[uuid.UUID, str],
        response: ProduceResponse | None,
        error: Exception | None,
    ) -> None:
        self._unended.count += 1
        leader.answered(sent)
        if self._is_closed:
            return
        last = next(reversed(sent.values())).queue
        if isinstance(error, BarnabasError):
            self._not_answered(sent, error)
        elif response is None:
            self._not_answered(sent, BrokenProtocolError(f"node {leader_id}: {error!r}"))
        else:
            self._answered(leader_id, sent, names, response)
        self._unended.count -= 1
        if self.accumulator.buffered_records or self._availability.is_watched:
            self.wake()
        else:
            # Nothing is left to do, and no time-out to be watched.
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            is_idle = not (self._unended.count or self.wake_is_due or leader.in_flight)
            if self._direct is not None and is_idle:
                self._direct.lend(leader_id, last)

    def _answered(
        self,
        leader_id: int,
        sent: dict[TopicPartition, SentBatch],
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

    def _not_answered(self, sent: dict[TopicPartition, SentBatch], error: BarnabasError) -> None:
        if error.retriable:
            self._client.request_metadata_update()
        for entry in sent.values():
            if entry.pending.is_done:
                continue
            if error.retriable:
                self._retry(entry, unanswered_error(entry.pending, error))
            else:
                self._fail(entry.queue, entry.pending, error)

    def _refused(
        self,
        entry: SentBatch,
        answer: ProduceResponse.PartitionProduceResponse,
        endpoints: list[ProduceResponse.NodeEndpoint],
    ) -> None:
        queue, pending = entry.queue, entry.pending
        code = answer.error_code
        error = error_for(code, str(queue.partition), answer.error_message)
        if code in SEQUENCE_ERRORS and self._config.enable_idempotence:
            pending.last_error = error
            if queue.sequence_refused(pending, self._retry_at(pending, code)):
                self._waiting[queue.partition] = queue
                self.stats.batch_retries += 1
                queue.counters.batch_retries += 1
            else:
                self._fail(queue, pending, error)
        elif code in TOO_LARGE_ERRORS:
            self._split(queue, pending, error)
        elif error.retriable:
            if error.invalid_metadata:
                self._new_leader(queue.partition, answer, endpoints)
            self._retry(entry, error, code)
        else:
            for record_error in answer.record_errors:
                reason = record_error.batch_index_error_message or answer.error_message
                record = f"{queue.partition}, record {record_error.batch_index} of its batch"
                pending.batch.fail_record(record_error.batch_index, error_for(code, record, reason))
            if answer.record_errors:
                others = f"{queue.partition}: another record of the same batch was refused"
                error = error_for(code, others, answer.error_message)
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

    def _retry(self, entry: SentBatch, error: BarnabasError, code: int | None = None) -> None:
        queue, pending = entry.queue, entry.pending
        pending.last_error = error
        if pending.attempts > self._config.retries:
            self._fail(queue, pending, error)
            return
        self.stats.batch_retries += 1
        queue.counters.batch_retries += 1
        self._steps.retried(queue, pending, error)
        queue.retry(pending, self._retry_at(pending, code))
        self._waiting[queue.partition] = queue

    def _retry_at(self, pending: PendingBatch, code: int | None) -> float:
        seconds = self._client.backoff.delay_ms(pending.attempts) / 1000
        if code == ErrorCode.CONCURRENT_TRANSACTIONS:
            seconds = min(seconds, CONCURRENT_TRANSACTIONS_BACKOFF_SECONDS)
        return CLOCK.monotonic() + seconds

    def _split(self, queue: PartitionQueue, pending: PendingBatch, error: BrokerError) -> None:
        if pending.record_count == 1:
            self._fail(queue, pending, too_large_error(queue, pending, error))
            return
        self.stats.batch_splits += 1
        pending.is_done = True
        parts = pending.batch.split(max(pending.size // 2, 1))
        self._outstanding.replace(pending, queue.replace(pending, parts))
        self._waiting[queue.partition] = queue

    def _expire(self, now: float) -> float | None:
        """Fails what has waited for delivery_timeout_ms; gives the seconds until another may have."""
        until_ms = now * 1000 - self._config.delivery_timeout_ms
        for queue in list(self._expiry.take(until_ms)):
            self._fail_expired(queue, until_ms)
            remaining = [pending.batch.created_ms for pending in (*queue.in_flight, *queue.waiting)]
            if remaining:
                self._expiry.watch(queue, min(remaining))
        next_ms = self._expiry.next_ms
        return None if next_ms is None else (next_ms - until_ms) / 1000

    def _fail_expired(self, queue: PartitionQueue, until_ms: float) -> None:
        for pending in [*queue.in_flight, *queue.waiting]:
            if pending.batch.created_ms > until_ms:
                continue
            timeout_ms = self._config.delivery_timeout_ms
            self._fail(queue, pending, expired_error(queue, pending, timeout_ms, self._client))

    def seconds_until_expired(self) -> float:
        """Until delivery_timeout_ms has passed for all that has left the accumulator."""
        pendings = [
            pending for queue in self._queues.values() for pending in [*queue.in_flight, *queue.waiting]
        ]
        youngest_ms = max(
            (pending.batch.created_ms for pending in pendings), default=CLOCK.monotonic() * 1000
        )
        return max(0.0, (youngest_ms + self._config.delivery_timeout_ms) / 1000 - CLOCK.monotonic())

    def _deliver(self, entry: SentBatch, base_offset: int, log_append_time: int) -> None:
        entry.queue.succeeded(entry.pending)
        records, now = entry.pending.record_count, CLOCK.monotonic()
        self.stats.batch_delivered(entry.queue.partition.topic, records, entry.bytes, now)
        latency_ms = now * 1000 - entry.pending.batch.created_ms
        entry.queue.counters.batch_delivered(records, entry.bytes, now, latency_ms)
        self._steps.delivered(entry.queue, entry.pending, base_offset)
        entry.pending.is_done = True
        self.accumulator.release(entry.pending.batch)
        entry.pending.batch.complete(base_offset, log_append_time)
        self._outstanding.done(entry.pending)

    def _fail(self, queue: PartitionQueue, pending: PendingBatch, error: BarnabasError) -> None:
        self._steps.failed(queue, pending, error)
        queue.failed(pending)
        told = error
        if self._transactions is not None:
            leader_id = self._client.metadata.leader(queue.partition)
            place = (self.producer_id, self.producer_epoch)
            told = self._transactions.failed_by(error, queue, pending, leader_id, place)
        self.stats.records_failed += pending.record_count
        queue.counters.records_failed += pending.record_count
        pending.is_done = True
        self.accumulator.release(pending.batch)
        now = CLOCK.monotonic()
        was_wanted = isinstance(error, (PurgedError, TransactionAbortedError))
        if not was_wanted and now - self._logged_at >= LOG_INTERVAL_SECONDS:
            self._logged_at = now
            logger.error("%s not delivered: %s", records_were(pending.record_count), error)
        pending.batch.fail(told)
        self._outstanding.done(pending)

    # Batches, producer ids, connections

    def _queue(self, partition: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(partition)
        if queue is None:
            queue = PartitionQueue(
                partition,
                is_idempotent=self._config.enable_idempotence,
                is_transactional=self._transactions is not None,
            )
            self._queues[partition] = queue
        return queue

    def _add(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        pending = queue.add(batch)
        self._outstanding.add(pending)
        self._waiting[queue.partition] = queue
        self._expiry.watch(queue, batch.created_ms)
        if self._waking is None and not batch.is_sealed:
            self._start(self._seal(batch), "compressing a batch")

    def _start(self, work: Coroutine[Any, Any, None], what: str) -> None:
        self._tasks.start_in_background(work, self._client, what)

    async def _seal(self, batch: ProducerBatch) -> None:
        await in_thread(batch.seal)
        self.wake()

    def _give_producer_id(self, queue: PartitionQueue) -> None:
        if self.producer_id == queue.exhausted_producer_id:
            self.producer_id = NO_PRODUCER_ID
        if self.producer_id != NO_PRODUCER_ID:
            queue.set_producer_id(self.producer_id, self.producer_epoch)
        elif not self._is_getting_producer_id:
            self._is_getting_producer_id = True
            self._start(self._get_producer_id(), "getting a producer id")

    async def _get_producer_id(self) -> None:
        try:
            producer_id, epoch = await get_producer_id(self._client)
        except BarnabasError as error:
            if not error.retriable:
                self.fail_all(error)
            return
        finally:
            self._is_getting_producer_id = False
        self.producer_id, self.producer_epoch = producer_id, epoch
        self._steps.received_producer_id(producer_id, epoch)
        self.wake()

    async def _connect(self, leader_id: int, leader: LeaderInFlight) -> None:
        try:
            await self._client.connect(leader_id)
        except AuthenticationError as error:
            self._refused_by(leader_id, error)
        except BarnabasError as error:
            logger.debug("client %s: %s", self._config.client_id, error)
            self._client.request_metadata_update()
        finally:
            leader.is_connecting = False
        self.wake()

    async def _wait_until_writable(self, connection: Connection) -> None:
        await connection.wait_until_writable()
        self.wake()
