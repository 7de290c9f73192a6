"""Fetch, versions 4 to 18 (KIP-516 topic ids from 13 on), and older ones.

Waits until min_bytes are there or max_wait_ms have passed, woken by appends. The first batch of the first
partition that has one comes whole, however large; max_bytes and partition_max_bytes bound the rest. Fetch
sessions (KIP-227) are kept, so that requests and answers name only what changed. Leader epochs are checked
(KIP-320). With isolation level 1 (read_committed) records end at the last stable offset, and the transactions
among them that were aborted are named. Before version 4 records are converted to message sets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, cast

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.fetch_sessions import FULL_EPOCH, CachedFetchSession
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.nodes import endpoint
from barnabas.broker.handlers.records.old_formats import (
    FIRST_FETCH_WITH_BATCHES,
    FIRST_FETCH_WITH_WHOLE_MESSAGES,
    fetched_in_old_format,
)
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.quotas.client_quotas import CONSUMER_BYTE_RATE
from barnabas.broker.replication.leadership import check_leader_epoch
from barnabas.broker.replication.registration import NO_LEADER
from barnabas.broker.topic import Partition, Topic
from barnabas.broker_errors import (
    ErrorCode,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.codec import encode_to_send
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.schema import ZERO_UUID
from barnabas.turns import in_turns

PartitionData = FetchResponse.PartitionData
LEADERSHIP_CODES = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
FIRST_VERSION_WITH_RACKS = 11
FIRST_VERSION_THAT_NAMES_LEADERS = 16
VERSION_WITH_TOPIC_IDS = 13
READ_COMMITTED = 1
LENGTH_BYTES = 4


class _Seen(NamedTuple):
    """How far a partition's log had got, up to where it was decided, and up to where replicas had it."""

    partition: Partition
    log: PartitionLog
    bytes_appended: int
    last_stable_offset: int
    replicated_to: int | None

    def is_over(self) -> bool:
        """Whether it has changed in another way than by what was appended."""
        return self.log.replicated_to != self.replicated_to or self.partition.log is not self.log


@dataclass(slots=True)
class _Read:
    """One look at all partitions."""

    response: FetchResponse
    bytes_read: int
    failed: bool
    reads_committed: bool
    sends_files: bool
    version: int
    seen: list[_Seen]

    def is_worth_another(self, min_bytes: int) -> bool:
        """Whether there may be enough by now. How much an end of a transaction lets through is not known."""
        if self.reads_committed:
            return any(seen.log.last_stable_offset != seen.last_stable_offset for seen in self.seen)
        appended = sum(seen.log.bytes_appended - seen.bytes_appended for seen in self.seen)
        return self.bytes_read + appended >= min_bytes or any(seen.is_over() for seen in self.seen)

    def has_grown(self) -> bool:
        return any(seen.log.bytes_appended != seen.bytes_appended for seen in self.seen)


async def handle(call: Call, request: FetchRequest) -> FetchResponse:
    uses_topic_ids = call.version >= VERSION_WITH_TOPIC_IDS
    try:
        session = call.parts.fetch_sessions[call.node].enter(request, uses_topic_ids=uses_topic_ids)
    except BrokerError as error:
        return FetchResponse(error_code=error.code)
    if session is not None:
        request = copy(request)
        request.topics = session.topics()
    throttle = call.parts.throttle
    if throttle.is_on:
        request = copy(request)
        request.max_bytes = min(request.max_bytes, throttle.most_at_once(CONSUMER_BYTE_RATE, call))
    read = await _read_all(call, request)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + max(0, request.max_wait_ms) / 1000
    while not read.failed and read.bytes_read < request.min_bytes and loop.time() < deadline:
        if not await _wait_for_bytes(read, request.min_bytes, deadline - loop.time()):
            break
        read = await _read_all(call, request)
    if throttle.is_on:
        size = sum(map(len, encode_to_send(read.response, call.version))) + LENGTH_BYTES
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
            call.parts.fetch_sessions[call.node].forget(session)
        return FetchResponse()
    return FetchResponse(session_id=session.session_id)


async def _wait_for_bytes(read: _Read, min_bytes: int, seconds: float) -> bool:
    """Whether there may be enough to read now."""
    woken = asyncio.Event()
    partitions = [seen.partition for seen in read.seen]
    for partition in partitions:
        partition.waiters[woken] = None
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
            partition.waiters.pop(woken, None)


async def _read_all(call: Call, request: FetchRequest) -> _Read:
    reads_committed = request.isolation_level == READ_COMMITTED
    read = _Read(FetchResponse(), 0, False, reads_committed, call.connection.sends_files, call.version, [])
    async for topic in in_turns(request.topics):
        answer = FetchResponse.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id)
        read.response.responses.append(answer)
        async for data in in_turns(_read_partitions(call, request, topic, read)):
            answer.partitions.append(data)
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
            data = _refusal(asked.partition, error)
            data.aborted_transactions = []
            yield data
        return
    for asked in topic.partitions:
        try:
            partition = cluster.partition_at(found, asked.partition, call.node)
            log = partition.log
            read.seen.append(
                _Seen(partition, log, log.bytes_appended, log.last_stable_offset, log.replicated_to)
            )
            registration = cluster.registration_at(partition, call.node)
            if partition.replicas is not None and registration.leader != call.node:
                data = _read_follower(call, partition, asked, request, read)
            else:
                check_leader_epoch(asked.current_leader_epoch, registration.leader_epoch)
                data = _nearer_replica(call, partition, asked, request) or _read_partition(
                    log, asked, request, read
                )
        except BrokerError as error:
            read.failed = True
            data = _refusal(asked.partition, error)
            if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                data.aborted_transactions = []
            if error.code in LEADERSHIP_CODES and call.version >= FIRST_VERSION_THAT_NAMES_LEADERS:
                _name_leader(call, found.partitions[asked.partition], read.response, data)
        yield data


def _read_follower(
    call: Call,
    partition: Partition,
    asked: FetchRequest.FetchPartition,
    request: FetchRequest,
    read: _Read,
) -> PartitionData:
    """Raises: NotLeaderOrFollowerError."""
    replicas = partition.replicas
    if replicas is None or call.node not in replicas.aligned or call.version < FIRST_VERSION_WITH_RACKS:
        raise NotLeaderOrFollowerError("")
    check_leader_epoch(asked.current_leader_epoch, partition.registration.leader_epoch)
    return _read_partition(
        replicas.logs[call.node], asked, request, read, high_watermark=partition.log.high_watermark
    )


def _nearer_replica(
    call: Call, partition: Partition, asked: FetchRequest.FetchPartition, request: FetchRequest
) -> PartitionData | None:
    """Sends a consumer to a replica of its own rack (KIP-392), where Kafka's selector for that is set."""
    replicas = partition.replicas
    if replicas is None or not request.rack_id:
        return None
    cluster = call.parts.cluster
    if cluster.settings.get("replica.selector.class").value != RACK_AWARE_SELECTOR:
        return None
    log = partition.log
    if cluster.nodes[call.node].rack == request.rack_id or not (
        log.log_start_offset <= asked.fetch_offset <= log.log_end_offset
    ):
        return None
    for node_id in sorted(replicas.lockstep):
        if cluster.nodes[node_id].rack == request.rack_id:
            return PartitionData(
                partition_index=asked.partition,
                high_watermark=log.high_watermark,
                last_stable_offset=log.last_stable_offset,
                log_start_offset=log.log_start_offset,
                aborted_transactions=None,
                preferred_read_replica=node_id,
                records=b"",
            )
    return None


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
    log: PartitionLog,
    asked: FetchRequest.FetchPartition,
    request: FetchRequest,
    read: _Read,
    *,
    high_watermark: int | None = None,
) -> PartitionData:
    """`high_watermark`: what a follower has heard of it, the leader knows it."""
    before = log.replicated_to if high_watermark is None else min(high_watermark, log.log_end_offset)
    stable = log.last_stable_offset if before is None else min(before, log.last_stable_offset)
    data = PartitionData(
        partition_index=asked.partition,
        high_watermark=log.log_end_offset if before is None else before,
        last_stable_offset=stable,
        log_start_offset=log.log_start_offset,
        aborted_transactions=[] if read.reads_committed else None,
        records=b"",
    )
    if asked.last_fetched_epoch >= 0:
        epoch, end_offset = log.epoch_end_offset(asked.last_fetched_epoch)
        if end_offset < 0:
            raise OffsetOutOfRangeError(f"{log.partition}: epoch {asked.last_fetched_epoch} is not known")
        if epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
            data.diverging_epoch = FetchResponse.EpochEndOffset(epoch, end_offset)
            read.failed = True
            return data
    room = min(asked.partition_max_bytes, request.max_bytes - read.bytes_read)
    at_least_one = read.bytes_read == 0 or read.version < FIRST_FETCH_WITH_WHOLE_MESSAGES
    if read.sends_files and not read.reads_committed and read.version >= FIRST_FETCH_WITH_BATCHES:
        stretch = log.read_to_send(asked.fetch_offset, max(0, room), at_least_one=at_least_one, before=before)
        # Encoded like a buffer, by who can send it.
        data.records = cast("bytes", stretch)
        read.bytes_read += len(stretch)
        return data
    records = log.read(
        asked.fetch_offset,
        max(0, room),
        at_least_one=at_least_one,
        before=stable if read.reads_committed else before,
    )
    if read.version < FIRST_FETCH_WITH_BATCHES:
        records = fetched_in_old_format(
            log, asked.fetch_offset, records, read.version, max_bytes=max(0, room), before=before
        )
    if read.reads_committed:
        data.aborted_transactions = [
            FetchResponse.AbortedTransaction(span.producer_id, span.first_offset)
            for span in log.aborted_in(asked.fetch_offset, records)
        ]
    data.records = records
    read.bytes_read += len(records)
    return data


def _refusal(index: int, error: BrokerError) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=error.code,
        high_watermark=-1,
        aborted_transactions=None,
        records=b"",
    )


def _name_leader(call: Call, partition: Partition, response: FetchResponse, data: PartitionData) -> None:
    """Spares the client a request for metadata (KIP-951)."""
    registration = call.parts.cluster.registration_at(partition, call.node)
    data.current_leader = FetchResponse.LeaderIdAndEpoch(registration.leader, registration.leader_epoch)
    if registration.leader not in (NO_LEADER, *(node.node_id for node in response.node_endpoints)):
        found = endpoint(call, registration.leader)
        response.node_endpoints.append(
            FetchResponse.NodeEndpoint(found.node_id, found.host, found.port, found.rack)
        )


HANDLER = Handler(FetchRequest, 4, 18, handle)
