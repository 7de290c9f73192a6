"""In a cluster of several nodes: what is asked of a coordinator is answered by the node that leads the
partition in which the group or transaction is kept, and sent away by the others.

Owns which requests these are, and where their answers tell of errors. The state is the same for all nodes, so
that a coordinator that moves has everything at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

from barnabas.broker.handlers.api import Call
from barnabas.broker.replication.registration import NO_LEADER
from barnabas.broker.state_topic import StateTopic
from barnabas.broker_errors import ErrorCode
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
        return _listed(call, await handle(call, request), *_LISTS[kind])
    if kind in _MANY and (
        kind is not OffsetFetchRequest or call.version >= FIRST_OFFSET_FETCH_WITH_MANY_GROUPS
    ):
        return await _each(handle, call, request, _MANY[kind])
    code = _code(call, request)
    return await handle(call, request) if code == 0 else _refusal(request, code)


def _code(call: Call, request: Any) -> int:
    """Why the one group or transaction that a request is about is not for this node; 0 if it is."""
    if isinstance(request, (*_OF_GROUPS, OffsetFetchRequest)):
        return _misdirected(call, request.group_id, is_transactional=False)
    if isinstance(request, _OF_TRANSACTIONS) and request.transactional_id is not None:
        return _misdirected(call, request.transactional_id, is_transactional=True)
    if isinstance(request, AddPartitionsToTxnRequest) and call.version < FIRST_ADD_PARTITIONS_WITH_MANY_IDS:
        return _misdirected(call, request.v3_and_below_transactional_id, is_transactional=True)
    return 0


def _misdirected(call: Call, key: str, *, is_transactional: bool) -> int:
    parts = call.parts
    topic: StateTopic = parts.transaction_store.topic if is_transactional else parts.group_store.topic
    leader = topic.partition_for(key).registration.leader
    if leader == call.node:
        return 0
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if leader == NO_LEADER else ErrorCode.NOT_COORDINATOR


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
    codes = [
        _misdirected(call, getattr(key, "group_id", key), is_transactional=many.is_transactional)
        for key in asked
    ]
    if not any(codes):
        return await handle(call, request)
    request = copy(request)
    setattr(request, many.asked, [key for key, code in zip(asked, codes, strict=True) if code == 0])
    response = await handle(call, request)
    refused = [many.refuse(key, code) for key, code in zip(asked, codes, strict=True) if code]
    getattr(response, many.told).extend(refused)
    return response


def _listed(call: Call, response: Any, is_transactional: bool, told: str, key_of: str) -> Response | None:
    """Those that this node coordinates."""
    own = [
        item
        for item in getattr(response, told)
        if _misdirected(call, getattr(item, key_of), is_transactional=is_transactional) == 0
    ]
    setattr(response, told, own)
    return response
