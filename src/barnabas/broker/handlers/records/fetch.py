"""Fetch, versions 4 to 18 (KIP-516 topic ids from 13 on).

Waits until min_bytes are there or max_wait_ms have passed, woken by appends. The first batch of the first
partition that has one comes whole, however large; max_bytes and partition_max_bytes bound the rest. Fetch
sessions (KIP-227) are kept, so that requests and answers name only what changed. Leader epochs are checked
(KIP-320). With isolation level 1 (read_committed) records end at the last stable offset, and the transactions
among them that were aborted are named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.cluster import NODE_ID, Partition, Topic
from barnabas.broker.fetch_sessions import FULL_EPOCH, CachedFetchSession
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.leadership import check_leader_epoch
from barnabas.broker.quotas.client_quotas import CONSUMER_BYTE_RATE
from barnabas.broker_errors import ErrorCode, TopicAuthorizationFailedError
from barnabas.errors import BrokerError
from barnabas.protocol.codec import encode_parts
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.schema import ZERO_UUID

PartitionData = FetchResponse.PartitionData
LEADERSHIP_CODES = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)
VERSION_WITH_TOPIC_IDS = 13
READ_COMMITTED = 1
LENGTH_BYTES = 4


@dataclass(slots=True)
class _Read:
    """One look at all partitions. `seen` holds how far each log had got, and up to where it was decided."""

    response: FetchResponse
    bytes_read: int
    failed: bool
    reads_committed: bool
    seen: list[tuple[Partition, int, int]]

    def is_worth_another(self, min_bytes: int) -> bool:
        """Whether there may be enough by now. How much an end of a transaction lets through is not known."""
        if self.reads_committed:
            return any(partition.log.last_stable_offset != stable for partition, _, stable in self.seen)
        appended = sum(partition.log.bytes_appended - then for partition, then, _ in self.seen)
        return self.bytes_read + appended >= min_bytes

    def has_grown(self) -> bool:
        return any(partition.log.bytes_appended != then for partition, then, _ in self.seen)


async def handle(call: Call, request: FetchRequest) -> FetchResponse:
    uses_topic_ids = call.version >= VERSION_WITH_TOPIC_IDS
    try:
        session = call.parts.fetch_sessions.enter(request, uses_topic_ids=uses_topic_ids)
    except BrokerError as error:
        return FetchResponse(error_code=error.code)
    if session is not None:
        request = copy(request)
        request.topics = session.topics()
    throttle = call.parts.throttle
    if throttle.is_on:
        request = copy(request)
        request.max_bytes = min(request.max_bytes, throttle.most_at_once(CONSUMER_BYTE_RATE, call))
    read = _read_all(call, request)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + max(0, request.max_wait_ms) / 1000
    while not read.failed and read.bytes_read < request.min_bytes and loop.time() < deadline:
        if not await _wait_for_bytes(read, request.min_bytes, deadline - loop.time()):
            break
        read = _read_all(call, request)
    if throttle.is_on:
        size = sum(map(len, encode_parts(read.response, call.version))) + LENGTH_BYTES
        delay_ms = throttle.charge_or_refuse(CONSUMER_BYTE_RATE, call, size)
        if delay_ms > 0:
            call.connection.throttle_ms = delay_ms
            return _throttled(call, request, session)
    if session is not None:
        session.reduce(read.response)
    return read.response


def _throttled(call: Call, request: FetchRequest, session: CachedFetchSession | None) -> FetchResponse:
    """Nothing, for a client that has had enough. A session that begins with that does not begin."""
    if session is None or request.session_epoch == FULL_EPOCH:
        if session is not None:
            call.parts.fetch_sessions.forget(session)
        return FetchResponse()
    return FetchResponse(session_id=session.session_id)


async def _wait_for_bytes(read: _Read, min_bytes: int, seconds: float) -> bool:
    """Whether there may be enough to read now."""
    woken = asyncio.Event()
    partitions = [partition for partition, _, _ in read.seen]
    for partition in partitions:
        partition.waiters.add(woken)
    try:
        async with asyncio.timeout(seconds):
            while not read.is_worth_another(min_bytes) and not any(
                partition.is_gone for partition in partitions
            ):
                await woken.wait()
                woken.clear()
        return True
    except TimeoutError:
        return read.has_grown()
    finally:
        for partition in partitions:
            partition.waiters.discard(woken)


def _read_all(call: Call, request: FetchRequest) -> _Read:
    read = _Read(FetchResponse(), 0, False, request.isolation_level == READ_COMMITTED, [])
    for topic in request.topics:
        answer = FetchResponse.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id)
        read.response.responses.append(answer)
        answer.partitions.extend(_read_partitions(call, request, topic, read))
    return read


def _read_partitions(
    call: Call, request: FetchRequest, topic: FetchRequest.FetchTopic, read: _Read
) -> Iterable[PartitionData]:
    cluster = call.parts.cluster
    try:
        found = _topic(call, request, topic)
    except BrokerError as error:
        read.failed = True
        for asked in topic.partitions:
            data = _refusal(asked.partition, error, cluster.leader_epoch)
            data.aborted_transactions = []
            yield data
        return
    for asked in topic.partitions:
        try:
            partition = cluster.partition(found, asked.partition)
            read.seen.append((partition, partition.log.bytes_appended, partition.log.last_stable_offset))
            check_leader_epoch(asked.current_leader_epoch, cluster.leader_epoch)
            data = _read_partition(partition, asked, request, read)
        except BrokerError as error:
            read.failed = True
            data = _refusal(asked.partition, error, cluster.leader_epoch)
        yield data


def _topic(call: Call, request: FetchRequest, asked: FetchRequest.FetchTopic) -> Topic:
    """Raises: TopicAuthorizationFailedError before it tells whether a topic named is there."""
    cluster, authorizer = call.parts.cluster, call.parts.authorizer
    name = asked.topic if asked.topic_id == ZERO_UUID else cluster.topic_by_id(asked.topic_id).name
    if max(request.replica_id, request.replica_state.replica_id) < 0:
        authorizer.require(call, Operation.READ, ResourceKind.TOPIC, name)
    elif not authorizer.authorize(call, Operation.CLUSTER_ACTION, ResourceKind.CLUSTER, CLUSTER_NAME):
        raise TopicAuthorizationFailedError
    return cluster.topic(name)


def _read_partition(
    partition: Partition, asked: FetchRequest.FetchPartition, request: FetchRequest, read: _Read
) -> PartitionData:
    log = partition.log
    data = PartitionData(
        partition_index=asked.partition,
        high_watermark=log.log_end_offset,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=[] if read.reads_committed else None,
        records=b"",
    )
    if asked.last_fetched_epoch >= 0:
        epoch, end_offset = log.epoch_end_offset(asked.last_fetched_epoch)
        if epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
            data.diverging_epoch = FetchResponse.EpochEndOffset(epoch, end_offset)
            read.failed = True
            return data
    room = min(asked.partition_max_bytes, request.max_bytes - read.bytes_read)
    records = log.read(
        asked.fetch_offset,
        max(0, room),
        at_least_one=read.bytes_read == 0,
        before=log.last_stable_offset if read.reads_committed else None,
    )
    if read.reads_committed:
        data.aborted_transactions = [
            FetchResponse.AbortedTransaction(span.producer_id, span.first_offset)
            for span in log.aborted_in(asked.fetch_offset, records)
        ]
    data.records = records
    read.bytes_read += len(records)
    return data


def _refusal(index: int, error: BrokerError, leader_epoch: int) -> PartitionData:
    data = PartitionData(
        partition_index=index,
        error_code=error.code,
        high_watermark=-1,
        aborted_transactions=None,
        records=b"",
    )
    if error.code in LEADERSHIP_CODES:
        data.current_leader = FetchResponse.LeaderIdAndEpoch(NODE_ID, leader_epoch)
    return data


HANDLER = Handler(FetchRequest, 4, 18, handle)
