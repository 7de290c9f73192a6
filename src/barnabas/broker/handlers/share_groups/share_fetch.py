"""ShareFetch, versions 1 and 2 (KIP-932, KIP-1206: exact limits, KIP-1222: renewing).

Acknowledgements that come along are dealt with first. Then records are lent, once there are min_bytes of
them: new ones, or what others give back; after max_wait_ms what there is. Answers name only partitions of
which there is something to say. The epoch 0 opens a session, -1 closes it and fetches nothing; it ends with
the connection, too. What is in hand comes back then.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.features import SHARE_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import behind_feature
from barnabas.broker.handlers.nodes import Endpoint
from barnabas.broker.handlers.share_groups.acknowledgements import (
    acknowledge,
    check_names,
    decisions_of,
    name_leader,
    until_kept,
)
from barnabas.broker.share_groups.share_partition import LendingLimits
from barnabas.broker.share_groups.share_sessions import CLOSING_EPOCH, OPENING_EPOCH, KeptShareSession
from barnabas.broker.share_groups.share_state_store import ShareKey
from barnabas.broker_errors import ErrorCode, InvalidRequestError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse

PartitionData = ShareFetchResponse.PartitionData
RECORD_LIMIT_MODE = 1
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


@dataclass(frozen=True, slots=True)
class _Member:
    group_id: str
    member_id: str
    session: KeptShareSession


async def handle(call: Call, request: ShareFetchRequest) -> ShareFetchResponse:
    try:
        member = _enter(call, request)
    except BrokerError as error:
        return ShareFetchResponse(error_code=error.code, error_message=error.context or None)
    found = await _acknowledge(call, request, member)
    if request.share_session_epoch == CLOSING_EPOCH:
        call.parts.share_lending.release_member(member.group_id, call.node, member.member_id)
    elif not request.is_renew_ack:
        await _fetch(call, request, member, found)
    settings = call.parts.share_groups.settings(member.group_id)
    nodes: dict[int, Endpoint] = {}
    topics: dict[object, ShareFetchResponse.ShareFetchableTopicResponse] = {}
    for (topic_id, _), data in found.items():
        answer = topics.setdefault(topic_id, ShareFetchResponse.ShareFetchableTopicResponse(topic_id))
        answer.partitions.append(data)
        if NOT_LEADER in (data.error_code, data.acknowledge_error_code):
            key = ShareKey(member.group_id, topic_id, data.partition_index)
            node = name_leader(call, key, data.current_leader)
            if node is not None:
                nodes[node.node_id] = node
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=settings.number("share.record.lock.duration.ms"),
        responses=list(topics.values()),
        node_endpoints=[
            ShareFetchResponse.NodeEndpoint(node.node_id, node.host, node.port, node.rack)
            for node in nodes.values()
        ],
    )


def _enter(call: Call, request: ShareFetchRequest) -> _Member:
    """Raises: BrokerError."""
    group_id, member_id = check_names(request.group_id, request.member_id)
    call.parts.authorizer.require(call, Operation.READ, ResourceKind.GROUP, group_id)
    if request.is_renew_ack and (
        request.max_wait_ms or request.min_bytes or request.max_bytes or request.max_records
    ):
        raise InvalidRequestError
    session = call.parts.share_lending.sessions[call.node].enter_to_fetch(
        group_id,
        member_id,
        request.share_session_epoch,
        [
            TopicIdPartition(topic.topic_id, asked.partition_index)
            for topic in request.topics
            for asked in topic.partitions
        ],
        [
            TopicIdPartition(topic.topic_id, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        ],
        acknowledges=any(
            asked.acknowledgement_batches for topic in request.topics for asked in topic.partitions
        ),
    )
    if request.share_session_epoch == OPENING_EPOCH:
        end = partial(call.parts.share_lending.end_session, group_id, call.node, member_id, session)
        call.connection.on_end[f"share session of {member_id} in {group_id}"] = end
    return _Member(group_id, member_id, session)


async def _acknowledge(
    call: Call, request: ShareFetchRequest, member: _Member
) -> dict[TopicIdPartition, PartitionData]:
    found: dict[TopicIdPartition, PartitionData] = {}
    for topic in request.topics:
        for asked in topic.partitions:
            if not asked.acknowledgement_batches:
                continue
            key = ShareKey(member.group_id, topic.topic_id, asked.partition_index)
            data = _nothing(asked.partition_index)
            try:
                decisions = decisions_of(asked.acknowledgement_batches, may_renew=request.is_renew_ack)
                acknowledge(call, key, member.member_id, decisions)
                await until_kept(call, key)
            except BrokerError as error:
                data.acknowledge_error_code = error.code
                data.acknowledge_error_message = error.context or None
            found[TopicIdPartition(topic.topic_id, asked.partition_index)] = data
    return found


def _nothing(index: int) -> PartitionData:
    return PartitionData(partition_index=index, records=b"")


async def _fetch(
    call: Call,
    request: ShareFetchRequest,
    member: _Member,
    found: dict[TopicIdPartition, PartitionData],
) -> None:
    """Adds what is lent to what is found, once there is enough or it has waited for long enough."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + max(0, request.max_wait_ms) / 1000
    woken = asyncio.Event()
    keys = [ShareKey(member.group_id, *partition) for partition in member.session.partitions]
    lending = call.parts.share_lending
    try:
        while not _has_enough(call, request, member) and (left := deadline - loop.time()) > 0:
            for key in keys:
                lending.watch(key, woken)
            try:
                async with asyncio.timeout(left):
                    await woken.wait()
            except TimeoutError:
                break
            woken.clear()
    finally:
        for key in keys:
            lending.unwatch(key, woken)
    _lend(call, request, member, found)


def _has_enough(call: Call, request: ShareFetchRequest, member: _Member) -> bool:
    """Whether there are min_bytes to lend, or there is an error to tell."""
    settings = call.parts.share_groups.settings(member.group_id)
    max_in_hand = settings.number("share.partition.max.record.locks")
    found: list[int] = []
    try:
        for partition in member.session.partitions:
            _check_topic(call, partition)
            key = ShareKey(member.group_id, *partition)
            size = call.parts.share_lending.bytes_to_lend(key, call.node, max_in_hand, request.max_bytes)
            if size is not None:
                found.append(size)
    except BrokerError:
        return True
    if not found:
        return False
    most = request.max_bytes // len(found)
    return sum(min(size, most) for size in found) >= min(request.min_bytes, request.max_bytes)


def _check_topic(call: Call, partition: TopicIdPartition) -> None:
    """Raises: UnknownTopicIdError, TopicAuthorizationFailedError."""
    topic = call.parts.cluster.topic_by_id(partition.topic_id)
    call.parts.authorizer.require(call, Operation.READ, ResourceKind.TOPIC, topic.name)


def _lend(
    call: Call,
    request: ShareFetchRequest,
    member: _Member,
    found: dict[TopicIdPartition, PartitionData],
) -> None:
    member.session.serve_others_first()
    settings = call.parts.share_groups.settings(member.group_id)
    records_left, bytes_left = request.max_records, request.max_bytes
    for partition in list(member.session.partitions):
        if records_left <= 0 or bytes_left <= 0:
            break
        limits = LendingLimits(
            max_records=records_left,
            batch_size=request.batch_size,
            is_exact=request.share_acquire_mode == RECORD_LIMIT_MODE,
            max_in_hand=settings.number("share.partition.max.record.locks"),
        )
        data = found.get(partition) or _nothing(partition.partition)
        try:
            _check_topic(call, partition)
            key = ShareKey(member.group_id, *partition)
            lent = call.parts.share_lending.lend(key, call.node, member.member_id, limits, bytes_left)
        except BrokerError as error:
            data.error_code, data.error_message = error.code, None
            found[partition] = data
            continue
        if lent.spans:
            data.records = lent.data
            data.acquired_records = [
                ShareFetchResponse.AcquiredRecords(span.first, span.last, span.delivery_count)
                for span in lent.spans
            ]
            found[partition] = data
            records_left -= sum(map(len, lent.spans))
            bytes_left -= len(lent.data)


def _refuse(request: ShareFetchRequest, code: int) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=code)


HANDLER = Handler(ShareFetchRequest, 1, 2, behind_feature(SHARE_VERSION, handle, _refuse))
