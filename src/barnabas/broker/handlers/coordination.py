"""In a cluster of several nodes: what is asked of a coordinator is answered by the node that leads the
partition in which the group or transaction is kept, and sent away by the others.

An answer waits until what it tells of is in the logs of all replicas in sync, as Kafka's does (acks=all):
what was answered outlives the coordinator's node. Where that takes too long, the answer is an error, though
what was written may come to count.

Owns which requests these are, and where their answers tell of errors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from barnabas.broker.handlers.api import Call
from barnabas.broker.handlers.nodes import known_leader
from barnabas.broker.replication.acknowledgement import Written
from barnabas.broker.replication.registration import NO_LEADER
from barnabas.broker.topics.state_topic import StateTopic
from barnabas.broker_errors import ErrorCode, NotLeaderOrFollowerError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from barnabas.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from barnabas.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from barnabas.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.protocol.messages.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from barnabas.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from barnabas.protocol.schema import Response

Handle = Callable[[Call, Any], Awaitable[Response | None]]

FIRST_OFFSET_FETCH_WITH_MANY_GROUPS = 8
FIRST_ADD_PARTITIONS_WITH_MANY_IDS = 4


@dataclass(frozen=True, slots=True)
class _Many:
    """A request with many keys, in `asked`, and an answer with something for each, in `told`; `refuse`
    makes such that tells of an error."""

    is_transactional: bool
    asked: str
    told: str
    refuse: Callable[[Any, int], Any]


_MANY: dict[type[Any], _Many] = {
    DescribeGroupsRequest: _Many(
        False,
        "groups",
        "groups",
        lambda key, code: DescribeGroupsResponse.DescribedGroup(code, group_id=key),
    ),
    DeleteGroupsRequest: _Many(False, "groups_names", "results", DeleteGroupsResponse.DeletableGroupResult),
    ConsumerGroupDescribeRequest: _Many(
        False,
        "group_ids",
        "groups",
        lambda key, code: ConsumerGroupDescribeResponse.DescribedGroup(code, group_id=key),
    ),
    DescribeShareGroupOffsetsRequest: _Many(
        False,
        "groups",
        "groups",
        lambda group, code: DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup(
            group.group_id, error_code=code
        ),
    ),
    ShareGroupDescribeRequest: _Many(
        False,
        "group_ids",
        "groups",
        lambda key, code: ShareGroupDescribeResponse.DescribedGroup(code, group_id=key),
    ),
    StreamsGroupDescribeRequest: _Many(
        False,
        "group_ids",
        "groups",
        lambda key, code: StreamsGroupDescribeResponse.DescribedGroup(code, group_id=key),
    ),
    OffsetFetchRequest: _Many(
        False,
        "groups",
        "groups",
        lambda group, code: OffsetFetchResponse.OffsetFetchResponseGroup(group.group_id, error_code=code),
    ),
    DescribeTransactionsRequest: _Many(
        True,
        "transactional_ids",
        "transaction_states",
        lambda key, code: DescribeTransactionsResponse.TransactionState(code, key),
    ),
}
_LISTS = {
    ListGroupsRequest: (False, "groups", "group_id"),
    ListTransactionsRequest: (True, "transaction_states", "transactional_id"),
}
_OF_GROUPS = (
    AlterShareGroupOffsetsRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteShareGroupOffsetsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    ShareGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequest,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
_OF_TRANSACTIONS = (AddOffsetsToTxnRequest, EndTxnRequest, InitProducerIdRequest)


async def handle_coordinated(handle: Handle, call: Call, request: Any) -> Response | None:
    """What `handle` answers, as far as this node is the one to ask."""
    kind = cast("type[Any]", type(request))
    if kind in _LISTS:
        return await _listed(call, await handle(call, request), *_LISTS[kind])
    if kind in _MANY and (
        kind is not OffsetFetchRequest or call.version >= FIRST_OFFSET_FETCH_WITH_MANY_GROUPS
    ):
        return await _each(handle, call, request, _MANY[kind])
    key = _key(call, request)
    if key is None:
        return await handle(call, request)
    code = _misdirected(call, key)
    if code:
        return _refusal(request, code)
    before = _written(call, key)
    response = await handle(call, request)
    if kind is HeartbeatRequest:
        # It tells of nothing that is written.
        return response
    code = await _doubtful(call, key, before)
    if code:
        return _refusal(request, code)
    if kind is EndTxnRequest:
        # Markers wait for the decision as well.
        call.parts.transactions.finish_decided()
    return response


class _Key(NamedTuple):
    """The name of a group, or a transactional id."""

    name: str
    is_transactional: bool


def _key(call: Call, request: Any) -> _Key | None:
    """The one group or transaction that a request is about."""
    if isinstance(request, (*_OF_GROUPS, OffsetFetchRequest)):
        return _Key(request.group_id, is_transactional=False)
    if isinstance(request, _OF_TRANSACTIONS) and request.transactional_id is not None:
        return _Key(request.transactional_id, is_transactional=True)
    if isinstance(request, AddPartitionsToTxnRequest) and call.version < FIRST_ADD_PARTITIONS_WITH_MANY_IDS:
        return _Key(request.v3_and_below_transactional_id, is_transactional=True)
    return None


def _topic(call: Call, key: _Key) -> StateTopic:
    return (call.parts.transaction_store if key.is_transactional else call.parts.group_store).topic


def _misdirected(call: Call, key: _Key) -> int:
    """Why it is not for this node; 0 if it is."""
    topic = _topic(call, key)
    partition = topic.partition_for(key.name)
    leader = known_leader(call, partition)
    if leader == call.node and call.node in call.parts.cluster.parted:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if leader != call.node:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if leader == NO_LEADER else ErrorCode.NOT_COORDINATOR
    return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if partition.index in topic.unread else 0


def _written(call: Call, key: _Key) -> Written:
    """What there is of a group or transaction, and of all that are kept with it."""
    return Written.all_of(_topic(call, key).partition_for(key.name))


async def _doubtful(call: Call, key: _Key, before: Written) -> int:
    """Why an answer cannot be given, once it is known; 0 if it can."""
    if before.has_moved:
        return ErrorCode.NOT_COORDINATOR
    try:
        await _written(call, key).until_replicated(_longest_ms(call, key))
    except NotLeaderOrFollowerError:
        return ErrorCode.NOT_COORDINATOR
    except BrokerError:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return 0


def _longest_ms(call: Call, key: _Key) -> int:
    """How long the replicas may take. As in Kafka, a transaction's time-out is that of its writes, too."""
    metadata = call.parts.transactions.by_id.get(key.name) if key.is_transactional else None
    if metadata is not None:
        return metadata.timeout_ms
    return call.parts.cluster.settings.number("offsets.commit.timeout.ms")


def _refusal(request: Any, code: int) -> Response:
    if isinstance(request, OffsetCommitRequest):
        return OffsetCommitResponse(
            topics=[
                OffsetCommitResponse.OffsetCommitResponseTopic(
                    topic.name,
                    topic.topic_id,
                    [
                        OffsetCommitResponse.OffsetCommitResponsePartition(partition.partition_index, code)
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )
    if isinstance(request, TxnOffsetCommitRequest):
        return TxnOffsetCommitResponse(
            topics=[
                TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(
                    topic.name,
                    [
                        TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(
                            partition.partition_index, code
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )
    if isinstance(request, AddPartitionsToTxnRequest):
        result = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(
                    topic.name, [result(index, code) for index in topic.partitions]
                )
                for topic in request.v3_and_below_topics
            ]
        )
    response = request.RESPONSE(error_code=code)
    if isinstance(request, JoinGroupRequest):
        response.member_id = request.member_id
    return response


async def _each(handle: Handle, call: Call, request: Any, many: _Many) -> Response | None:
    asked: list[Any] = getattr(request, many.asked)
    keys = [_Key(getattr(item, "group_id", item), many.is_transactional) for item in asked]
    codes = [_misdirected(call, key) for key in keys]
    request = copy(request)
    setattr(request, many.asked, [item for item, code in zip(asked, codes, strict=True) if code == 0])
    befores = [_written(call, key) for key, code in zip(keys, codes, strict=True) if code == 0]
    response = await handle(call, request)
    answers: list[Any] = getattr(response, many.told)
    own = [(item, key) for item, key, code in zip(asked, keys, codes, strict=True) if code == 0]
    for place, ((item, key), before) in enumerate(zip(own, befores, strict=True)):
        doubt = await _doubtful(call, key, before)
        if doubt:
            answers[place] = many.refuse(item, doubt)
    answers.extend(many.refuse(item, code) for item, code in zip(asked, codes, strict=True) if code)
    return response


async def _listed(call: Call, response: Any, is_transactional: bool, told: str, key_of: str) -> Response:
    """Those that this node coordinates."""
    items: list[Any] = getattr(response, told)
    keys = [_Key(getattr(item, key_of), is_transactional) for item in items]
    own = [(item, key) for item, key in zip(items, keys, strict=True) if _misdirected(call, key) == 0]
    setattr(response, told, [item for item, _ in own])
    for partition_key in {_written(call, key).partition: key for _, key in own}.values():
        if await _doubtful(call, partition_key, _written(call, partition_key)):
            setattr(response, told, [])
            response.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return response
