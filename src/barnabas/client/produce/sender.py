"""Takes records out of the accumulator and brings them to the partitions' leaders.

Owns which batches leave when, and what is under way to each leader. What an answer means is for
`batch_outcomes`. Runs on the event loop alone; knows nothing of who appends records.
"""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas._kernel import ProducerBatch
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import NO_TOPIC_ID, ClusterMetadata, TopicMetadata
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.cluster.topics_in_use import TopicsInUse
from barnabas.client.cluster.waking import LoopWaking
from barnabas.client.produce.accumulators import accumulator_for
from barnabas.client.produce.availability import LeaderAvailability
from barnabas.client.produce.batch_outcomes import BatchOutcomes
from barnabas.client.produce.batches.batch_errors import delay, unended_error
from barnabas.client.produce.batches.batch_steps import BatchSteps
from barnabas.client.produce.batches.leader_in_flight import LeaderInFlight, SentBatch
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.client.produce.batches.partition_queues import PartitionQueues
from barnabas.client.produce.batches.unended_steps import UnendedSteps
from barnabas.client.produce.counters import SenderStats
from barnabas.client.produce.direct_sending import DirectSending
from barnabas.client.produce.produce_requests import (
    HIGHEST_VERSION_OF_TRANSACTION_VERSION_1,
    HIGHEST_VERSION_WITH_NAMES,
    check_codec,
    produce_request,
)
from barnabas.client.produce.producer_identity import ProducerIdentity
from barnabas.client.produce.unconfirmed import UnconfirmedConnections
from barnabas.clock import CLOCK
from barnabas.errors import (
    AuthenticationError,
    BarnabasError,
    BrokenProtocolError,
    CompressionError,
)
from barnabas.net.addresses import in_thread
from barnabas.net.answers import AnswerTo
from barnabas.net.connection import Connection
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse
from barnabas.settings.table import ProducerConfig
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas.client.produce.transactions import Transactions

logger = logging.getLogger("barnabas.producer")

RECOVERY_SECONDS = 0.1
NO_OFFSET = -1


class Sender:
    """Everything but `wake_from_any_thread` and `append` on the accumulator belongs to the loop's thread."""

    def __init__(
        self, config: ProducerConfig, client: KafkaClient, transactions: Transactions | None = None
    ) -> None:
        self.stats = SenderStats()
        self._config = config
        self._client = client
        self._steps = steps = BatchSteps(client.steps)
        self._transactions = transactions
        self._loop = asyncio.get_running_loop()
        self._availability = LeaderAvailability(
            config.partitioner_availability_timeout_ms / 1000
            if config.partitioner_adaptive_partitioning_enable
            else 0
        )
        self._leaders: dict[int, LeaderInFlight] = {}
        self._unconfirmed = UnconfirmedConnections(config.client_id, config.request_timeout_ms)
        self._unended = UnendedSteps()
        self._tasks = Tasks[None]()
        self._wake_is_due = False
        self._waking = LoopWaking.of(self._loop, self._cycle)
        self._timer: asyncio.TimerHandle | None = None
        self._hurried = 0
        self._hurry_reasons: set[object] = set()
        self._was_hurried = config.linger_ms == 0
        """Nothing lingers, or somebody flushed what was sent last, and may do so again."""
        self._is_closed = False
        self.topics_in_use = TopicsInUse(config.metadata_max_idle_ms)
        wake = self.wake_from_any_thread if self._waking is None else self._waking.waker
        self.accumulator = accumulator_for(config, wake)
        self._queues = PartitionQueues(
            self.accumulator,
            is_idempotent=config.enable_idempotence,
            is_transactional=transactions is not None,
            on_unsealed=self._seal if self._waking is None else None,
        )
        self.identity = ProducerIdentity(
            client,
            self._queues,
            steps,
            start=self._start,
            on_received=self.wake,
            on_refused=self.fail_all,
        )
        self._outcomes = BatchOutcomes(
            config, client, self.accumulator, self._queues, self.identity, self.stats, steps, transactions
        )
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
        self._learned = ClusterMetadata()
        """What `learn_partition_counts` has seen last."""
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
        return self._queues.all()

    async def progress(self) -> None:
        """Returns when the next batch is done: its memory is free again. Until then nothing lingers."""
        self._hurried += 1
        self.wake()
        try:
            await self._queues.outstanding.next_done()
        finally:
            self._hurried -= 1

    def hurry(self, reason: object) -> None:
        """Nothing lingers from now on, until `relax` with the same object. On any thread, at once."""
        self._hurry_reasons.add(reason)
        if self._config.linger_ms and not self.accumulator.send_lingering():
            self.wake_from_any_thread()

    def relax(self, reason: object) -> None:
        """Ends what `hurry` began. On any thread, at once."""
        self._hurry_reasons.discard(reason)

    async def flush(self) -> None:
        """Returns when all records that were appended before are delivered or have failed; with acks=0 when
        the brokers have read them, or their connections are lost."""
        self._close_batches()
        with self._queues.outstanding.of_now() as due:
            while due:
                await self.progress()
        await self._unconfirmed.confirm()

    def delay(self) -> str:
        """Why records are not delivered yet, as the end of a sentence."""
        return delay(self._queues.all(), self._client)

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

    def fail_unsent(self, error: BarnabasError) -> None:
        """Fails what waits and was never sent; what was sent may have arrived."""
        self._close_batches()
        for queue in self._queues.all():
            for pending in [*queue.waiting]:
                if pending.sequence is None:
                    self._outcomes.fail(queue, pending, error)

    def purge(self, in_queue: BarnabasError | None, in_flight: BarnabasError | None) -> None:
        """Fails what waits to be sent, again or for the first time, with the one error, and what is under way
        with the other; None leaves it."""
        self._close_batches()
        for queue in self._queues.all():
            waiting, under_way = list(queue.waiting), list(queue.in_flight)
            for pendings, error in ((under_way, in_flight), (waiting, in_queue)):
                if error is not None:
                    for pending in pendings:
                        self._outcomes.fail(queue, pending, error)

    def fail_all(self, error: BarnabasError) -> None:
        """Fails all that waits and all that is under way."""
        self.purge(in_queue=error, in_flight=error)

    def _refused_by(self, leader_id: int | None, error: AuthenticationError) -> None:
        """Fails what waits for a node, or for any: that would not go away before the records' time is up."""
        self._close_batches()
        for queue in self._queues.all():
            if leader_id is None or self._client.metadata.leader(queue.partition) == leader_id:
                for pending in list(queue.waiting):
                    self._outcomes.fail(queue, pending, error)

    def _close_batches(self) -> None:
        """Takes all records out of the accumulator, however few there are."""
        self._take_back()
        self._queues.take_all()

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
        self._was_hurried = bool(self._hurry_reasons) or not self._config.linger_ms
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
        for queue, pending in self._queues.give_up_sent():
            self._outcomes.fail(queue, pending, error)
        leaders, self._leaders = self._leaders, {}
        for leader_id in leaders:
            if (connection := self._client.ready_connection(leader_id)) is not None:
                connection.close()
        self._queues.find_waiting()
        self._unended.count = 0

    def _send_what_is_due(self) -> float | None:
        """Sends; gives the seconds until there is more to do by the clock alone."""
        now = CLOCK.monotonic()
        waits: list[float] = []
        for leader in self._leaders.values():
            leader.sendable.clear()
        expires = self._outcomes.expire(now)
        if expires is not None:
            waits.append(expires)
        queues, next_due = self._queues.look_for_due(now, self._linger_ms)
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
        leader = self._client.metadata.leader
        wanted = {leader(queue.partition) for queue in self._queues.with_records()}
        before = self._availability.avoided
        wait = self._availability.look(wanted & self._leaders.keys(), self._can_take, now)
        if self._availability.avoided != before:
            for topic in {queue.partition.topic for queue in self._queues.all()}:
                self._leave_out_unavailable(topic)
        return [] if wait is None else [wait]

    def _can_take(self, leader_id: int) -> bool:
        connection = self._client.ready_connection(leader_id)
        has_room = self._leaders[leader_id].has_room_for_request(self._config)
        return has_room and connection is not None and connection.can_write

    def learn_partition_counts(self, metadata: ClusterMetadata) -> None:
        """From now on records go to the partitions that these topics have. Topics that nothing is sent to any
        more are forgotten."""
        if idle := self.topics_in_use.forget_idle(CLOCK.monotonic(), lambda: self._queues.topics):
            self._client.track_topics(self.topics_in_use)
            self._take_back()
            self._forget(idle)
        # A producer for thousands of topics learns of them one by one: each time the others are as before.
        before: Mapping[str, TopicMetadata] = {}
        if metadata.nodes == self._learned.nodes:
            before = self._learned.topic_metadata
        self._learned = metadata
        changed = [each for each in metadata.topic_metadata.items() if before.get(each[0]) is not each[1]]
        for topic, known in changed:
            self.learn_partition_count(topic, known)

    def learn_partition_count(self, topic: str, known: TopicMetadata) -> None:
        """As `learn_partition_counts`, of one topic; nothing where it is not in use."""
        if topic in self.topics_in_use:
            self.accumulator.set_partition_count(topic, len(known.partitions))
            self._leave_out_unavailable(topic)

    def _forget(self, topics: list[str]) -> None:
        """Nothing was sent to them for long. They may have been deleted."""
        forgotten: set[str] = set()
        for topic in topics:
            if self.accumulator.forget_topic(topic):
                forgotten.add(topic)
                self.stats.delivered.pop(topic, None)
            else:
                # A record has come at this moment.
                self.accumulator.set_partition_count(topic, 0)
        for queue in self._queues.forget(forgotten):
            self.identity.forget(queue)
        if self._direct is not None:
            self._direct.forget(forgotten)

    def _leave_out_unavailable(self, topic: str) -> None:
        """Keeps records without a key from partitions that have no leader, or one that takes nothing."""
        unavailable = self._availability.unavailable_partitions(self._client.metadata, topic)
        self.accumulator.set_unavailable(topic, unavailable)

    def _wait_of(self, queue: PartitionQueue, now: float) -> float | None:
        """Seconds until the queue has something to send; None while only an event can tell."""
        if not self._may_send(queue):
            if queue.partition in self._queues.due:
                self._hold(queue)
            return None
        if queue.waiting:
            if queue.needs_producer_id:
                self.identity.give(queue)
            if queue.not_before > now:
                return queue.not_before - now
            return 0 if self._head(queue) is not None else None
        return 0 if len(queue.in_flight) < self._config.max_in_flight_requests_per_connection else None

    def _may_send(self, queue: PartitionQueue) -> bool:
        """Whether the open transaction, if there has to be one, takes what the queue has to send."""
        if self._transactions is None or not (queue.waiting or queue.partition in self._queues.due):
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
            if queue.partition not in self._queues.due:
                return None
            if self.accumulator.ready_in_ms(topic, number, now * 1000, self._linger_ms) > 0:
                return None
            if not self._queues.take(queue):
                return None
            if queue.needs_producer_id:
                self.identity.give(queue)
            if queue.not_before > now or self._head(queue) is None:
                # Its time-out has to be watched from now on, and the end of its back-off.
                self.wake()
        head = self._head(queue) if queue.not_before <= now else None
        while head is not None and (reason := head.broken_because) is not None:
            count = head.record_count
            error = CompressionError(f"{queue.partition}: compressing {count} records failed: {reason}")
            self._outcomes.fail(queue, head, error)
            head = self._head(queue)
        return head

    def _hold(self, queue: PartitionQueue) -> None:
        """Closes the oldest batch of a queue that cannot be sent, so that its time-out is watched."""
        if not queue.waiting and self._queues.take(queue):
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
                    self._outcomes.deliver(entry, NO_OFFSET, -1)
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
            self._outcomes.not_answered(sent, error)

    def _sent_directly(
        self, leader_id: int, queue: PartitionQueue, batch: ProducerBatch, size: int
    ) -> AnswerTo[ProduceResponse]:
        """A batch has left without us."""
        pending, now, name = (
            self._queues.left_directly(queue, batch),
            CLOCK.monotonic(),
            queue.partition.topic,
        )
        self.topics_in_use.use(name, now)
        self.stats.batch_sent_at_once(now)
        leader = self._leaders.setdefault(leader_id, LeaderInFlight())
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
        if self._direct is not None:
            self._direct.remember((partition, entry.queue) for partition, entry in sent.items())
        if isinstance(error, BarnabasError):
            self._outcomes.not_answered(sent, error)
        elif response is None:
            self._outcomes.not_answered(sent, BrokenProtocolError(f"node {leader_id}: {error!r}"))
        else:
            self._outcomes.answered(leader_id, sent, names, response)
        self._unended.count -= 1
        if self.accumulator.buffered_records or self._availability.is_watched:
            self.wake()
        else:
            # Nothing is left to do, and no time-out to be watched.
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            is_idle = not (self._unended.count or self.wake_is_due or leader.in_flight)
            if self._direct is not None and is_idle and self._was_hurried:
                self._direct.lend()

    def seconds_until_expired(self) -> float:
        """Until delivery_timeout_ms has passed for all that has left the accumulator."""
        youngest_ms = self._queues.youngest_ms
        if youngest_ms is None:
            youngest_ms = CLOCK.monotonic() * 1000
        return max(0.0, (youngest_ms + self._config.delivery_timeout_ms) / 1000 - CLOCK.monotonic())

    # Compressing, connections

    def _start(self, work: Coroutine[Any, Any, None], what: str) -> None:
        self._tasks.start_in_background(work, self._client, what)

    def _seal(self, batch: ProducerBatch) -> None:
        async def seal() -> None:
            await in_thread(batch.seal)
            self.wake()

        self._start(seal(), "compressing a batch")

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
