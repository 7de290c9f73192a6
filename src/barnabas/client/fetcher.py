"""Fetching ahead of the caller: one request under way to each broker that leads a partition we read.

Owns the Fetch requests, their errors, and the connections for them, which are apart from the others since a
broker answers nothing else on a connection while a fetch waits for data. Puts what comes into the fetch
buffer; knows nothing of groups or of who reads.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from barnabas._kernel import RecordReader
from barnabas.broker_errors import (
    CorruptMessageError,
    ErrorCode,
    UnknownServerError,
    error_for,
)
from barnabas.client.client import KafkaClient
from barnabas.client.connections import ConnectionPool
from barnabas.client.fetch_buffer import NO_END_OFFSET, FetchBuffer, PartitionState
from barnabas.client.metadata import NO_TOPIC_ID, ClusterMetadata
from barnabas.client.offsets import ISOLATION_LEVELS
from barnabas.config import ConsumerConfig
from barnabas.errors import BarnabasError, CorruptBatchError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.types import Node, TopicPartition

logger = logging.getLogger("barnabas.client")

VERSION_WITH_TOPIC_IDS = 13

# How long the answer to a fetch that nobody wants any more is waited for.
STALE_AFTER_SECONDS = 0.02

# What goes away when the metadata is up to date, or by itself.
_TRANSIENT = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A partition in a fetch request, as it stood when the request was made."""

    state: PartitionState
    epoch: int
    fetch_offset: int


@dataclass(frozen=True, slots=True)
class _SentFetch:
    """A request that a broker may answer only when there is data, or after fetch_max_wait_ms."""

    connection: Connection
    wanted: list[_Wanted]
    sent_at: float

    @property
    def is_stale(self) -> bool:
        return all(entry.state.epoch != entry.epoch for entry in self.wanted)


class Fetcher:
    """Keeps the buffer full. `wake` has it look for what to fetch; it looks by itself after each answer."""

    def __init__(self, client: KafkaClient, buffer: FetchBuffer, config: ConsumerConfig) -> None:
        self._client = client
        self._buffer = buffer
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._pool = ConnectionPool(config)
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._sent: dict[int, _SentFetch] = {}
        self._failures: defaultdict[int, int] = defaultdict(int)
        self._partition_failures: defaultdict[TopicPartition, int] = defaultdict(int)
        self._not_before: dict[TopicPartition, float] = {}
        self._read_replicas: dict[TopicPartition, tuple[int, float]] = {}
        self._turn = 0
        self._is_awake = False
        self._is_closed = False
        client.add_metadata_listener(self._on_metadata)

    def wake(self) -> None:
        """Looks soon for partitions to fetch. To be called on the event loop."""
        if not self._is_awake and not self._is_closed:
            self._is_awake = True
            self._loop.call_soon(self._start_fetches)

    async def close(self) -> None:
        """Gives up the requests under way."""
        self._is_closed = True
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.close()

    def _on_metadata(self, metadata: ClusterMetadata) -> None:
        self.wake()

    def _start_fetches(self) -> None:
        self._is_awake = False
        if self._is_closed:
            return
        self._abandon_stale_fetches()
        for node, states in self._by_node().items():
            task = self._loop.create_task(self._fetch(node, states))
            self._under_way[node.node_id] = task

    def _abandon_stale_fetches(self) -> None:
        """A broker does nothing else on a connection while a fetch waits for data. After a seek of all its
        partitions, hanging up is the one way to be served before fetch_max_wait_ms has passed."""
        now = time.monotonic()
        for sent in self._sent.values():
            if not sent.is_stale:
                continue
            remaining = sent.sent_at + STALE_AFTER_SECONDS - now
            if remaining > 0:
                self._loop.call_later(remaining, self.wake)
            else:
                sent.connection.close()

    def _by_node(self) -> dict[Node, list[PartitionState]]:
        """What to fetch from each broker that has no request under way.

        The partitions take turns to be first: a broker fills its answer from the front, and cuts the first
        batch of all but the first partition (KIP-74).
        """
        now = time.monotonic()
        metadata = self._client.metadata
        by_node: defaultdict[Node, list[PartitionState]] = defaultdict(list)
        earliest_retry = NO_END_OFFSET
        states = self._buffer.states()
        self._turn = (self._turn + 1) % max(1, len(states))
        for state in states[self._turn :] + states[: self._turn]:
            if not self._buffer.wants_more(state):
                continue
            not_before = self._not_before.get(state.partition, 0)
            if not_before > now:
                earliest_retry = min(earliest_retry, not_before)
                continue
            node = metadata.nodes.get(self._source(metadata, state.partition, now))
            if node is None:
                self._client.add_topics([state.partition.topic])
                self._client.request_metadata_update()
            elif node.node_id not in self._under_way:
                by_node[node].append(state)
        if earliest_retry != NO_END_OFFSET:
            self._loop.call_later(earliest_retry - now, self.wake)
        return by_node

    def _source(self, metadata: ClusterMetadata, partition: TopicPartition, now: float) -> int:
        """The broker to fetch from: the replica that the leader named as closest (KIP-392), or the leader."""
        replica = self._read_replicas.get(partition)
        if replica is not None:
            node_id, expires = replica
            if now < expires and node_id in metadata.nodes:
                return node_id
            del self._read_replicas[partition]
        return metadata.leader(partition)

    async def _fetch(self, node: Node, states: list[PartitionState]) -> None:
        try:
            connection = await self._pool.get(node.node_id, node)
            wanted, request, max_version = self._request(states)
            if not wanted:
                return
            self._sent[node.node_id] = _SentFetch(connection, list(wanted.values()), time.monotonic())
            response = await connection.send(
                request,
                timeout_ms=self._config.request_timeout_ms + self._config.fetch_max_wait_ms,
                max_version=max_version,
            )
            self._take_in(response, wanted)
            self._failures.pop(node.node_id, None)
        except BarnabasError as error:
            sent = self._sent.get(node.node_id)
            if sent is None or not sent.is_stale:
                await self._after_failure(node, error)
        except Exception as error:
            logger.exception("fetching from %s failed", node)
            self._buffer.raise_later(UnknownServerError(f"fetching from {node} failed: {error!r}"))
            await self._after_failure(node, error)
        finally:
            del self._under_way[node.node_id]
            self._sent.pop(node.node_id, None)
            self.wake()

    async def _after_failure(self, node: Node, error: Exception) -> None:
        logger.info("fetching from %s failed, will try again: %s", node, error)
        self._failures[node.node_id] += 1
        self._client.request_metadata_update()
        for partition in [p for p, (node_id, _) in self._read_replicas.items() if node_id == node.node_id]:
            del self._read_replicas[partition]
        if isinstance(error, BarnabasError) and not error.retriable:
            self._buffer.raise_later(error)
        await asyncio.sleep(self._client.backoff.delay_ms(self._failures[node.node_id]) / 1000)

    def _request(
        self, states: list[PartitionState]
    ) -> tuple[dict[tuple[str | UUID, int], _Wanted], FetchRequest, int | None]:
        """The request, and what it asks for by topic name and id."""
        metadata = self._client.metadata
        topics: dict[str, FetchRequest.FetchTopic] = {}
        wanted: dict[tuple[str | UUID, int], _Wanted] = {}
        max_version: int | None = None
        for state in states:
            # It may have been given away while the connection was opened.
            if not self._buffer.wants_more(state):
                continue
            name, index = state.partition
            topic = topics.get(name)
            if topic is None:
                topic_id = metadata.topic_id(name)
                topic = topics[name] = FetchRequest.FetchTopic(topic=name, topic_id=topic_id)
                if topic_id == NO_TOPIC_ID:
                    max_version = VERSION_WITH_TOPIC_IDS - 1
            entry = _Wanted(state, state.epoch, state.fetch_offset)
            wanted[name, index] = wanted[topic.topic_id, index] = entry
            topic.partitions.append(
                FetchRequest.FetchPartition(
                    partition=index,
                    current_leader_epoch=metadata.leader_epoch(state.partition),
                    fetch_offset=entry.fetch_offset,
                    partition_max_bytes=self._config.max_partition_fetch_bytes,
                )
            )
        request = FetchRequest(
            max_wait_ms=self._config.fetch_max_wait_ms,
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=self._config.fetch_max_bytes,
            isolation_level=ISOLATION_LEVELS[self._config.isolation_level],
            topics=list(topics.values()),
            rack_id=self._config.client_rack or "",
        )
        return wanted, request, max_version

    def _take_in(self, response: FetchResponse, wanted: dict[tuple[str | UUID, int], _Wanted]) -> None:
        if response.error_code:
            raise error_for(response.error_code, "fetch")
        for topic in response.responses:
            key: str | UUID = topic.topic or topic.topic_id
            for answer in topic.partitions:
                entry = wanted.get((key, answer.partition_index))
                if entry is None or entry.state.epoch != entry.epoch:
                    continue
                if answer.error_code:
                    self._on_error(entry, answer, response)
                else:
                    self._on_records(entry, answer)

    def _on_records(self, entry: _Wanted, answer: FetchResponse.PartitionData) -> None:
        state = entry.state
        self._partition_failures.pop(state.partition, None)
        state.high_watermark = answer.high_watermark
        state.last_stable_offset = answer.last_stable_offset
        if answer.preferred_read_replica >= 0:
            expires = time.monotonic() + self._config.metadata_max_age_ms / 1000
            self._read_replicas[state.partition] = (answer.preferred_read_replica, expires)
        data = answer.records
        if not data:
            return
        aborted: list[tuple[int, int]] | None = None
        if self._config.isolation_level == "read_committed":
            aborted = [(t.producer_id, t.first_offset) for t in answer.aborted_transactions or ()]
        reader = RecordReader(
            state.partition.topic,
            state.partition.partition,
            data,
            fetch_offset=entry.fetch_offset,
            aborted=aborted,
            check_crcs=self._config.check_crcs,
        )
        if not reader.remaining_bytes:
            # Cut short: it comes whole when this partition's turn is to be first.
            return
        # Behind a batch that makes no sense there is nothing to fetch: the reader raises when it gets there.
        end_offset = (
            NO_END_OFFSET if reader.end_offset is None else max(reader.end_offset, entry.fetch_offset)
        )
        self._buffer.append(state, entry.epoch, entry.fetch_offset, reader, len(data), end_offset)

    def _on_error(self, entry: _Wanted, answer: FetchResponse.PartitionData, response: FetchResponse) -> None:
        state, code = entry.state, answer.error_code
        partition = state.partition
        where = f"fetch of {partition} at offset {entry.fetch_offset}"
        had_replica = self._read_replicas.pop(partition, None) is not None
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if had_replica:
                # A follower may lag behind, so the leader decides (KIP-392).
                return
            self._back_off(partition)
            self._buffer.out_of_range(state, entry.epoch)
        elif code in _TRANSIENT:
            logger.info("%s: %s", where, error_for(code).name)
            if code != ErrorCode.OFFSET_NOT_AVAILABLE:
                leader = answer.current_leader
                if leader.leader_id >= 0:
                    nodes = [Node(n.node_id, n.host, n.port, n.rack) for n in response.node_endpoints]
                    self._client.update_leader(partition, leader.leader_id, leader.leader_epoch, nodes)
                self._client.request_metadata_update()
            self._back_off(partition)
        elif code == ErrorCode.CORRUPT_MESSAGE:
            reason = f"the broker says {CorruptMessageError.name}"
            error = CorruptBatchError(reason, partition.topic, partition.partition, entry.fetch_offset)
            self._buffer.fail(state, entry.epoch, error)
        else:
            self._buffer.fail(state, entry.epoch, error_for(code, where))

    def _back_off(self, partition: TopicPartition) -> None:
        self._partition_failures[partition] += 1
        delay = self._client.backoff.delay_ms(self._partition_failures[partition]) / 1000
        self._not_before[partition] = time.monotonic() + delay
