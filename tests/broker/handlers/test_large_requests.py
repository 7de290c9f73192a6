"""Requests that are cut say all that they did, once, in order, and the answers to the pieces are the whole
one."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any, cast

import pytest

from barnabas.broker.handlers import HANDLERS
from barnabas.broker.handlers.large_requests import CUT, MOST_ITEMS, in_pieces, is_large, pieces
from barnabas.net.server import DisconnectError
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.schema import fields_of

NO_CALL = cast("Any", None)
Group, Topics = OffsetFetchRequest.OffsetFetchRequestGroup, OffsetFetchRequest.OffsetFetchRequestTopics


def uneven() -> OffsetFetchRequest:
    return OffsetFetchRequest(
        groups=[
            Group(
                f"group-{group}",
                topics=[
                    Topics(f"topic-{topic}", partition_indexes=list(range(group * topic)))
                    for topic in range(group)
                ],
            )
            for group in range(30)
        ]
    )


async def told(_call: Any, request: OffsetFetchRequest) -> OffsetFetchResponse:
    Told = OffsetFetchResponse
    return Told(
        groups=[
            Told.OffsetFetchResponseGroup(
                group.group_id,
                [
                    Told.OffsetFetchResponseTopics(
                        topic.name,
                        partitions=[
                            Told.OffsetFetchResponsePartitions(index) for index in topic.partition_indexes
                        ],
                    )
                    for topic in group.topics or ()
                ],
            )
            for group in request.groups
        ]
    )


@pytest.mark.parametrize("most", [1, 7, 100, 100_000])
def test_pieces_are_small_and_are_all_that_was_asked(most: int) -> None:
    whole = uneven()
    before = deepcopy(whole)
    found: dict[tuple[str, str], list[int]] = {}
    for piece in pieces(whole, ("groups", "topics", "partition_indexes"), most):
        leaves = 0
        for group in piece.groups:
            for topic in group.topics:
                found.setdefault((group.group_id, topic.name), []).extend(topic.partition_indexes)
                leaves += len(topic.partition_indexes)
        assert leaves <= most
    assert whole == before
    assert found == {
        (group.group_id, topic.name): topic.partition_indexes
        for group in whole.groups
        for topic in group.topics or ()
    }


def test_the_answers_to_pieces_are_the_answer_to_the_whole() -> None:
    async def main() -> tuple[Any, Any]:
        return await in_pieces(told, NO_CALL, uneven()), await told(NO_CALL, uneven())

    in_parts, at_once = asyncio.run(main())
    assert in_parts == at_once


def test_others_have_their_turn_between_pieces() -> None:
    seen: list[int] = []

    async def describe(_call: Any, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
        seen.append(len(request.groups))
        return DescribeGroupsResponse(
            groups=[DescribeGroupsResponse.DescribedGroup(group_id=name) for name in request.groups]
        )

    async def main() -> tuple[Any, int]:
        turns = 0
        task = asyncio.create_task(
            in_pieces(describe, NO_CALL, DescribeGroupsRequest([str(place) for place in range(5_000)]))
        )
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        return task.result(), turns

    answer, turns = asyncio.run(main())
    assert [group.group_id for group in answer.groups] == [str(place) for place in range(5_000)]
    assert max(seen) <= 200
    assert turns >= len(seen) == 25


def test_a_refusal_of_the_whole_ends_it() -> None:
    asked: list[int] = []

    async def refuse(_call: Any, request: OffsetFetchRequest) -> OffsetFetchResponse:
        asked.append(len(request.groups))
        return OffsetFetchResponse(error_code=16)

    answer = cast("OffsetFetchResponse", asyncio.run(in_pieces(refuse, NO_CALL, uneven())))
    assert (answer.error_code, len(asked)) == (16, 1)


def test_what_cannot_be_cut_is_refused_where_no_client_asks_for_so_much() -> None:
    async def answer(_call: Any, _request: Any) -> Any:
        return "answered"

    def beat(count: int) -> Any:
        request = ConsumerGroupHeartbeatRequest("g", "m", subscribed_topic_names=["t"] * count)
        assert is_large(request)
        return asyncio.run(in_pieces(answer, NO_CALL, request))

    assert beat(MOST_ITEMS) == "answered"
    with pytest.raises(DisconnectError, match="more than 10000 items"):
        beat(MOST_ITEMS + 1)


def test_records_are_no_items() -> None:
    data = ProduceRequest.PartitionProduceData(0, bytes(10_000_000))
    assert not is_large(
        ProduceRequest(topic_data=[ProduceRequest.TopicProduceData("t", partition_data=[data])])
    )


@pytest.mark.parametrize("key", CUT, ids=lambda key: key.name)
def test_the_lists_that_are_cut_are_those_of_the_messages(key: int) -> None:
    kind = HANDLERS[key].request_type
    for asked, answered in CUT[key]:
        assert len(asked) == len(answered)
        for root, path in ((kind, asked), (kind.RESPONSE, answered)):
            cls: Any = root
            for name in path:
                (field,) = (field for field in fields_of(cls) if field.name == name)
                assert field.wire.is_array
                cls = getattr(root, field.wire.element_type, None)
