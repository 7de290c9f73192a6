"""Fetching ahead of the caller: one request under way to each broker that leads a partition we read.

Owns the Fetch requests, their errors, and the connections for them, which are apart from the others since a
broker answers nothing else on a connection while a fetch waits for data. Puts what comes into the fetch
buffer; knows nothing of groups or of who reads, nor of what a broker's fetch session remembers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from barnabas._kernel import RecordReader
from barnabas.broker_errors import CorruptMessageError, UnknownServerError
from barnabas.client.cluster.error_table import FETCHED_AGAIN, is_fetched_again
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import NO_TOPIC_ID, ClusterMetadata
from barnabas.client.consume.direct_fetching import DirectFetching, LentFetch, leaves_backlog
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.fetch_queue import FetchQueue
from barnabas.client.consume.fetch_session import SESSION_ERRORS, FetchSession, PartitionFetch
from barnabas.client.consume.fetch_sources import FetchSources
from barnabas.client.consume.fetch_under_way import FetchUnderWay, Wanted, fetch_request
from barnabas.client.consume.partition_state import NO_END_OFFSET
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.client.consume.topics_made_again import TopicsMadeAgain, note_topic_ids
from barnabas.client.consume.truncation import NO_EPOCH, OldLeaders, TruncationCheck, last_leader_epoch
from barnabas.client.unpacking import most_unpacked_bytes
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import BarnabasError, CorruptBatchError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.settings.table import ConsumerConfig
from barnabas.steps import FetchAnswered, FetchSent
from barnabas.types import Node, TopicPartition
from barnabas.values import frozen
from barnabas.windows import RollingWindow

if TYPE_CHECKING:
    from barnabas._kernel import DirectFetches

logger = logging.getLogger("barnabas.client")

VERSION_WITH_LARGE_BATCHES = 3
"""From here on a batch comes though it is larger than what was asked for (KIP-74)."""
VERSION_WITH_LEADER_EPOCHS = 12
"""From here on a fetch says what was fetched last, and the leader whether its log parts from that."""
VERSION_WITH_TOPIC_IDS = 13

# How long a broker may wait for data of some partitions while others are left out, since their queue is full:
# what is there of those cannot be fetched before it has answered.
HELD_BACK_WAIT_MS = 20

# How long the answer to a fetch that nobody wants any more is waited for.
STALE_AFTER_SECONDS = 0.02

# How long closing waits for brokers to take note that their fetch sessions are over.
CLOSE_SESSIONS_SECONDS = 0.5


@frozen
class _SentFetch:
    """A request that a broker may answer only when there is data, or after fetch_max_wait_ms."""

    connection: Connection
    request: FetchUnderWay
    sent_at: float

    @property
    def is_stale(self) -> bool:
        return not any(entry.is_current for entry in self.request.wanted.values())


class Fetcher:
    """Keeps the buffer full. `wake` has it look for what to fetch; it looks by itself after each answer."""

    def __init__(
        self,
        client: KafkaClient,
        subscription: SubscriptionState,
        buffer: FetchBuffer,
        config: ConsumerConfig,
        direct_fetches: DirectFetches | None = None,
    ) -> None:
        """`direct_fetches`: what the caller's thread waits with, if that can fetch by itself."""
        self._client = client
        self._subscription = subscription
        self._buffer = buffer
        self._config = config
        self._reads_committed = config.isolation_level == "read_committed"
        self._loop = asyncio.get_running_loop()
        self._pool = client.new_pool()
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._sessions: defaultdict[int, FetchSession] = defaultdict(FetchSession)
        self._sent: dict[int, _SentFetch] = {}
        self._failures: defaultdict[int, int] = defaultdict(int)
        self._truncation = TruncationCheck(client, subscription, buffer, config)
        self._made_again = TopicsMadeAgain(subscription, config.auto_offset_reset)
        self.sources = FetchSources(client.backoff, config.metadata_max_age_ms)
        self._old_leaders = OldLeaders(client, buffer, self.sources, self._truncation)
        self.latency_ms = RollingWindow()
        """From a fetch to its answer, in which fetch_max_wait_ms may be contained."""
        self._turn = 0
        self._holds_back = False
        self._is_awake = False
        self._is_closed = False
        self._direct: DirectFetching | None = None
        if direct_fetches is not None:
            self._direct = DirectFetching(
                direct_fetches, buffer, config, self.latency_ms, on_change=self.wake
            )
        client.add_metadata_listener(self._on_metadata)

    def wake(self) -> None:
        """Looks soon for partitions to fetch. To be called on the event loop."""
        if not self._is_awake and not self._is_closed:
            self._is_awake = True
            self._loop.call_soon(self._start_fetches)

    async def close(self) -> None:
        """Gives up the requests under way, and ends the sessions that brokers keep for us."""
        self._is_closed = True
        if self._direct is not None:
            self._direct.close()
        tasks = list(self._under_way.values())
        busy = {node_id: sent.connection for node_id, sent in self._sent.items()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._close_sessions(busy)
        await self._pool.close()

    def take_in(self) -> None:
        """Puts what the caller's thread fetched into the buffer. To be called there, when it has waited."""
        if self._direct is not None:
            self._direct.take_in()

    async def _close_sessions(self, busy: Mapping[int, Connection]) -> None:
        """As far as there are connections that are not `busy` with a fetch: a broker drops a session that
        nobody uses by itself, only later."""
        answers: list[asyncio.Future[FetchResponse]] = []
        for node_id, session in self._sessions.items():
            closing, node = session.closing_request(), self._client.node(node_id)
            if closing is None or node is None:
                continue
            connection = self._pool.ready(node_id, node)
            if connection is None or connection is busy.get(node_id):
                connection = self._client.ready_connection(node_id)
            if connection is not None:
                request = FetchRequest(session_id=closing.session_id, session_epoch=closing.session_epoch)
                with contextlib.suppress(BarnabasError):
                    answers.append(connection.submit(request, timeout_ms=CLOSE_SESSIONS_SECONDS * 1000))
        await asyncio.gather(*answers, return_exceptions=True)

    def _on_metadata(self, metadata: ClusterMetadata) -> None:
        for partition in self._made_again.look_for(metadata):
            self.sources.forget(partition)
        self.wake()

    def _start_fetches(self, continuing: Node | None = None) -> list[FetchQueue]:
        """Fetches from every node that has something; what `continuing` has is given instead."""
        self._is_awake = False
        if self._is_closed:
            return []
        if self._direct is not None:
            for lent in self._direct.lent:
                if not (self._goes_on_in_bulk(lent) if lent.is_in_bulk else self._is_still_wanted(lent)):
                    self._take_back(lent)
        self._abandon_stale_fetches()
        due = self._by_node()
        queues = [] if continuing is None else due.pop(continuing, [])
        for node, others in due.items():
            self._under_way[node.node_id] = self._client.in_background(
                self._keep_fetching(node, others), f"fetching from broker {node.node_id}"
            )
        return queues

    def _goes_on_in_bulk(self, lent: LentFetch) -> bool:
        """As `_is_still_wanted`, of a fetch that waits for room by itself and was told how far it goes."""
        buffer = self._buffer
        has_changed = lent.partition_bytes != buffer.partition_bytes or any(
            queue.state.end_offset != lent.end_offsets[queue.partition] for queue in lent.queues
        )
        return not has_changed and self._is_still_wanted(lent)

    def _is_still_wanted(self, lent: LentFetch) -> bool:
        """Whether exactly the partitions of a fetch are what is to be fetched from its broker."""
        wanted, found = lent.request.wanted, 0
        metadata, now = self._client.metadata, CLOCK.monotonic()
        for queue in self._buffer.queues():
            entry, info = wanted.get(queue.partition), metadata.partition(queue.partition)
            is_known = entry is not None and entry.queue is queue and entry.epoch == queue.state.epoch
            found += is_known
            if not (self._buffer.is_read(queue) if lent.is_in_bulk else self._buffer.wants_more(queue)):
                if is_known:
                    return False
                continue
            source = -1 if info is None else self.sources.source(metadata, info, queue.partition, now)
            if is_known != (source == lent.node_id):
                return False
            if entry is not None and entry.leader_epoch != metadata.leader_epoch(queue.partition):
                return False
        return found == len(wanted)

    def _abandon_stale_fetches(self) -> None:
        """A broker does nothing else on a connection while a fetch waits for data. After a seek of all its
        partitions, hanging up is the one way to be served before fetch_max_wait_ms has passed."""
        now = CLOCK.monotonic()
        for sent in self._sent.values():
            if not sent.is_stale:
                continue
            remaining = sent.sent_at + STALE_AFTER_SECONDS - now
            if remaining > 0:
                self._loop.call_later(remaining, self.wake)
            else:
                sent.connection.close()

    def _by_node(self) -> dict[Node, list[FetchQueue]]:
        """What to fetch from each broker that has no request under way, while there is room for it.

        The partitions take turns to be first: a broker fills its answer from the front, and cuts the first
        batch of all but the first partition (KIP-74).
        """
        by_node: defaultdict[Node, list[FetchQueue]] = defaultdict(list)
        metadata = self._client.metadata
        all_are_busy = bool(metadata.nodes) and self._under_way.keys() >= metadata.nodes.keys()
        if all_are_busy or not self._buffer.room():
            return by_node
        now = CLOCK.monotonic()
        earliest_retry = NO_END_OFFSET
        self._holds_back = False
        full: set[int] = set()
        queues = self._buffer.queues()
        self._turn = (self._turn + 1) % max(1, len(queues))
        for queue in queues[self._turn :] + queues[: self._turn]:
            if not self._buffer.wants_more(queue):
                if self._buffer.is_full(queue):
                    self._holds_back = True
                    full.add(metadata.leader(queue.partition))
                continue
            not_before = self.sources.not_before(queue.partition)
            if not_before > now:
                earliest_retry = min(earliest_retry, not_before)
                continue
            info = metadata.partition(queue.partition)
            if info is not None and self._old_leaders.is_old(
                queue.partition, info.leader_epoch, queue.fetch_leader_epoch
            ):
                self._old_leaders.doubt(queue, info)
                earliest_retry = min(earliest_retry, self.sources.not_before(queue.partition))
                continue
            source = -1 if info is None else self.sources.source(metadata, info, queue.partition, now)
            node = metadata.nodes.get(source)
            if node is None:
                self._client.add_topics([queue.partition.topic])
                self._client.request_metadata_update()
            elif node.node_id not in self._under_way:
                by_node[node].append(queue)
        if earliest_retry != NO_END_OFFSET:
            self._loop.call_later(earliest_retry - now, self.wake)
        for node, due in list(by_node.items()):
            if node.node_id in full and self._goes_in_bulk(node, due):
                # Soon all of its partitions can be fetched together.
                del by_node[node]
        return by_node

    def _goes_in_bulk(self, node: Node, queues: Iterable[FetchQueue]) -> bool:
        direct = None if self.sources.has_replicas else self._direct
        return direct is not None and direct.goes_in_bulk(node.node_id, queues)

    async def _keep_fetching(self, node: Node, queues: list[FetchQueue]) -> None:
        """Goes on with what there is after each answer: to start another task would take longer than a small
        answer does, and whoever waits for its records would wait for that."""
        task = asyncio.current_task()
        assert task is not None
        while queues:
            self._under_way[node.node_id] = task
            try:
                await self._fetch(node, queues)
            finally:
                del self._under_way[node.node_id]
                self._sent.pop(node.node_id, None)
            queues = self._start_fetches(node)

    async def _fetch(self, node: Node, queues: list[FetchQueue]) -> None:
        session = self._sessions[node.node_id]
        try:
            connection = await self._pool.get(node.node_id, node)
            if connection.version_of(FetchRequest) < VERSION_WITH_LEADER_EPOCHS:
                valid = await self._truncation.validate(connection, queues)
                for queue in set(queues).difference(valid):
                    self.sources.back_off(queue.partition)
                queues = valid
            request = self._request(connection, session, queues)
            if request is None:
                return
            self._sent[node.node_id] = _SentFetch(connection, request, CLOCK.monotonic())
            steps = self._client.steps
            if steps:
                offsets = {partition: entry.fetch_offset for partition, entry in request.wanted.items()}
                steps.emit(FetchSent(node, offsets, request.message.max_wait_ms))
            try:
                answer = connection.submit(
                    request.message,
                    timeout_ms=self._config.request_timeout_ms + self._config.fetch_max_wait_ms,
                    max_version=request.version,
                )
                if (lent := self._lend(node, connection, session, request)) is None:
                    response = await answer
                else:
                    response = await self._end_of(lent, answer)
                    request = lent.request
                    if lent.is_answered:
                        session.answered(session.session_id)
                        return
            except BaseException:
                session.start_over()
                raise
            now = CLOCK.monotonic()
            self.latency_ms.add(now, (now - self._sent[node.node_id].sent_at) * 1000)
            if steps:
                steps.emit(_answered(node, request, response))
            if self._take_in(node.node_id, connection, response, request, session):
                self._failures.pop(node.node_id, None)
        except BarnabasError as error:
            sent = self._sent.get(node.node_id)
            if sent is None or not sent.is_stale:
                await self._after_failure(node, queues, error)
        except Exception as error:
            session.start_over()
            logger.exception("fetching from %s failed", node)
            self._subscription.failures.raise_later(
                UnknownServerError(f"fetching from {node} failed: {error!r}")
            )
            await self._after_failure(node, queues, error)

    def _lend(
        self, node: Node, connection: Connection, session: FetchSession, request: FetchUnderWay
    ) -> LentFetch | None:
        if self._direct is None or self.sources.has_replicas:
            return None
        queues = [entry.queue for entry in request.wanted.values()]
        if self._holds_back and not self._goes_in_bulk(node, queues):
            return None
        return self._direct.lend(node.node_id, connection, session, request)

    async def _end_of(self, lent: LentFetch, answer: asyncio.Future[FetchResponse]) -> FetchResponse:
        try:
            return await answer
        finally:
            self._take_back(lent)

    def _take_back(self, lent: LentFetch) -> None:
        lent.take_back()
        self._sent[lent.node_id] = _SentFetch(lent.connection, lent.request, lent.sent_at)

    async def _after_failure(self, node: Node, queues: list[FetchQueue], error: Exception) -> None:
        logger.debug("fetching from %s failed, will try again: %s", node, error)
        self._failures[node.node_id] += 1
        # Nothing of what the others have for us has changed.
        for queue in queues:
            queue.has_backlog = False
        self._client.request_metadata_update()
        self.sources.forget_replicas_at(node.node_id)
        if isinstance(error, BarnabasError) and not is_fetched_again(error):
            self._subscription.failures.raise_later(error)
        await asyncio.sleep(self._client.backoff.delay_ms(self._failures[node.node_id]) / 1000)

    def _request(
        self, connection: Connection, session: FetchSession, queues: list[FetchQueue]
    ) -> FetchUnderWay | None:
        """What to send now; None where there is nothing to fetch any more."""
        metadata = self._client.metadata
        spoken = connection.version_of(FetchRequest)
        can_check = spoken >= VERSION_WITH_LEADER_EPOCHS
        most = self._partition_max_bytes(spoken)
        wanted: dict[TopicPartition, Wanted] = {}
        fetches: dict[TopicPartition, PartitionFetch] = {}
        topic_ids: dict[str, UUID] = {}
        for queue in queues:
            # It may have been given away while the connection was opened.
            place = self._buffer.place_of(queue)
            if place is None:
                continue
            partition = queue.partition
            topic_id = topic_ids.get(partition.topic)
            if topic_id is None:
                topic_id = topic_ids[partition.topic] = metadata.topic_id(partition.topic)
            if queue.state.topic_id is None:
                note_topic_ids(metadata, (queue.state,))
            leader_epoch = metadata.leader_epoch(partition)
            if self._old_leaders.is_old(partition, leader_epoch, place.leader_epoch):
                # Another place was sought while the connection was opened: the next look sees to it.
                continue
            if queue.state.high_watermark < 0 and session.knows(partition):
                # It was told of before this assignment, and is not again until it moves.
                session.start_over()
            entry = wanted[partition] = Wanted(queue, place.epoch, place.fetch_offset, leader_epoch)
            # A follower that lags behind would take what it does not have yet for truncated.
            is_checked = can_check and self.sources.replica(partition) < 0
            fetches[partition] = PartitionFetch(
                topic_id=topic_id,
                fetch_offset=entry.fetch_offset,
                current_leader_epoch=leader_epoch,
                last_fetched_epoch=place.leader_epoch if is_checked else NO_EPOCH,
                partition_max_bytes=most,
            )
        if not wanted:
            return None
        highest = VERSION_WITH_TOPIC_IDS - 1 if NO_TOPIC_ID in topic_ids.values() else None
        version = connection.version_of(FetchRequest, highest)
        told = session.next_request(fetches, uses_topic_ids=version >= VERSION_WITH_TOPIC_IDS)
        topic_names = {topic_id: name for name, topic_id in topic_ids.items()}
        message = fetch_request(
            told,
            self._config,
            max_wait_ms=min(self._config.fetch_max_wait_ms, HELD_BACK_WAIT_MS)
            if self._holds_back
            else self._config.fetch_max_wait_ms,
            max_bytes=self._max_bytes(),
        )
        return FetchUnderWay(message, version, wanted, fetches, topic_names, told.is_full)

    def _max_bytes(self) -> int:
        """Answers of all brokers together shall fit into the queue, but for a batch each, which comes however
        large it is (KIP-74). Where there are many brokers, none is asked for small pieces."""
        share = self._buffer.room() // max(1, len(self._sessions))
        return min(self._config.fetch_max_bytes, max(share, self._partition_max_bytes()))

    def _partition_max_bytes(self, version: int = VERSION_WITH_LARGE_BATCHES) -> int:
        most = self._config.max_partition_fetch_bytes
        return most if version < VERSION_WITH_LARGE_BATCHES else min(most, self._buffer.least_room)

    def _take_in(
        self,
        node_id: int,
        connection: Connection,
        response: FetchResponse,
        request: FetchUnderWay,
        session: FetchSession,
    ) -> bool:
        """Whether there was a fetch at all. Raises: BrokerError."""
        if response.error_code:
            session.refused(response.error_code)
            if response.error_code in SESSION_ERRORS and not request.is_full:
                # Nothing is wrong but that the broker forgot: the full request comes next, at once.
                return False
            raise error_for(response.error_code, "fetch")
        session.answered(response.session_id)
        if self._direct is not None:
            self._direct.answered(node_id, connection, request.version, _size(response))
        failed: set[TopicPartition] = set()
        for topic in response.responses:
            name = topic.topic or request.topic_names.get(topic.topic_id, "")
            for answer in topic.partitions:
                entry = request.wanted.get(TopicPartition(name, answer.partition_index))
                if entry is None or not entry.is_current:
                    continue
                diverging = answer.diverging_epoch
                if answer.error_code:
                    failed.add(entry.queue.partition)
                    self._on_error(entry, answer, response)
                elif diverging.epoch >= 0 or diverging.end_offset >= 0:
                    failed.add(entry.queue.partition)
                    self.sources.back_off(entry.queue.partition)
                    self._truncation.diverged(entry.queue, entry.epoch, diverging.epoch, diverging.end_offset)
                else:
                    self._on_records(entry, answer)
        if self._config.enable_partition_eof:
            # In a session, a partition that is not mentioned stands where it stood.
            for partition, entry in request.wanted.items():
                if partition not in failed and entry.is_current:
                    self._mark_end(entry)
        return True

    def _mark_end(self, entry: Wanted) -> None:
        queue = entry.queue
        end = queue.state.last_stable_offset if self._reads_committed else queue.state.high_watermark
        if 0 <= end <= queue.fetch_offset != NO_END_OFFSET:
            self._buffer.mark_end(queue, entry.epoch, queue.fetch_offset)

    def _on_records(self, entry: Wanted, answer: FetchResponse.PartitionData) -> None:
        queue = entry.queue
        self.sources.succeeded(queue.partition)
        queue.state.log_start_offset = answer.log_start_offset
        queue.state.high_watermark = answer.high_watermark
        queue.state.last_stable_offset = answer.last_stable_offset
        if answer.preferred_read_replica >= 0:
            self.sources.use_replica(queue.partition, answer.preferred_read_replica, entry.leader_epoch)
        data = answer.records
        queue.has_backlog = False
        if not data:
            return
        aborted: list[tuple[int, int]] | None = None
        if self._reads_committed:
            aborted = [(t.producer_id, t.first_offset) for t in answer.aborted_transactions or ()]
        reader = RecordReader(
            queue.partition.topic,
            queue.partition.partition,
            data,
            fetch_offset=entry.fetch_offset,
            aborted=aborted,
            check_crcs=self._config.check_crcs,
            max_decompressed_bytes=most_unpacked_bytes(self._config.fetch_max_bytes),
        )
        if not reader.remaining_bytes:
            # Cut short: it comes whole when this partition's turn is to be first.
            return
        # Behind a batch that makes no sense there is nothing to fetch: the reader raises when it gets there.
        end_offset = (
            NO_END_OFFSET if reader.end_offset is None else max(reader.end_offset, entry.fetch_offset)
        )
        if end_offset != NO_END_OFFSET:
            end = queue.state.last_stable_offset if self._reads_committed else queue.state.high_watermark
            queue.has_backlog = leaves_backlog(len(data), entry.fetch_offset, end_offset, end)
        self._buffer.append(
            queue,
            entry.epoch,
            entry.fetch_offset,
            reader,
            len(data),
            end_offset,
            last_leader_epoch(data, entry.leader_epoch),
        )

    def _on_error(self, entry: Wanted, answer: FetchResponse.PartitionData, response: FetchResponse) -> None:
        queue, code = entry.queue, answer.error_code
        queue.has_backlog = False
        partition = queue.partition
        where = f"fetch of {partition} at offset {entry.fetch_offset}"
        had_replica = self.sources.forget_replica(partition)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if had_replica:
                # A follower may lag behind, so the leader decides (KIP-392).
                return
            self.sources.back_off(partition)
            known_epoch = self._client.metadata.leader_epoch(partition)
            if self._old_leaders.is_old(partition, entry.leader_epoch, known_epoch):
                # It was deposed, and its log may have ended before.
                return
            self._subscription.out_of_range(queue.state, entry.epoch)
        elif code in FETCHED_AGAIN:
            logger.info("%s: %s", where, error_for(code).name)
            if code != ErrorCode.OFFSET_NOT_AVAILABLE:
                self._client.request_metadata_update()
            if not self._learn_leader(entry, answer, response):
                self.sources.back_off(partition)
        elif code == ErrorCode.CORRUPT_MESSAGE:
            reason = f"the broker says {CorruptMessageError.name}"
            error = CorruptBatchError(reason, partition.topic, partition.partition, entry.fetch_offset)
            self._subscription.fail(queue.state, entry.epoch, error)
        else:
            # Its cause, such as a right that is missing, may go away.
            self.sources.back_off(partition)
            self._subscription.refused(queue.state, entry.epoch, error_for(code, where))

    def _learn_leader(
        self, entry: Wanted, answer: FetchResponse.PartitionData, response: FetchResponse
    ) -> bool:
        """Whether the answer names a leader that is new to us (KIP-951), which can be asked at once."""
        leader, partition = answer.current_leader, entry.queue.partition
        if leader.leader_id < 0:
            return False
        nodes = [Node(n.node_id, n.host, n.port, n.rack) for n in response.node_endpoints]
        self._client.update_leader(partition, leader.leader_id, leader.leader_epoch, nodes)
        return self._client.metadata.leader_epoch(partition) > entry.leader_epoch


def _size(response: FetchResponse) -> int:
    return sum(len(answer.records or b"") for topic in response.responses for answer in topic.partitions)


def _answered(node: Node, request: FetchUnderWay, response: FetchResponse) -> FetchAnswered:
    answers = {
        TopicPartition(
            topic.topic or request.topic_names.get(topic.topic_id, ""), answer.partition_index
        ): answer
        for topic in response.responses
        for answer in topic.partitions
    }
    return FetchAnswered(
        node,
        {partition: len(answer.records or b"") for partition, answer in answers.items()},
        {partition: answer.error_code for partition, answer in answers.items() if answer.error_code},
    )
