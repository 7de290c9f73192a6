"""How much there is in a message is known before it is read to its end, and of one that is to be written."""

from __future__ import annotations

import random
from typing import Any

import pytest

from barnabas.protocol.codec import decode_prefix, encode
from barnabas.protocol.decoder import TooManyItemsError
from barnabas.protocol.measure import has_more_items_than
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.registry import REQUESTS
from oracle.instances import random_message

Topic, Partition = FetchRequest.FetchTopic, FetchRequest.FetchPartition
MESSAGES: list[tuple[Any, int, int]] = [
    (DescribeGroupsRequest([""] * 500), 5, 500),
    (FetchRequest(topics=[Topic("t", partitions=[Partition()] * 9)] * 50), 12, 500),
    (
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequest.OffsetFetchRequestGroup(
                    "g",
                    topics=[OffsetFetchRequest.OffsetFetchRequestTopics("t", partition_indexes=[0] * 1600)],
                )
            ]
        ),
        9,
        102,
    ),
]


@pytest.mark.parametrize(("message", "version", "items"), MESSAGES)
def test_a_message_of_more_items_is_not_read_to_its_end(message: Any, version: int, items: int) -> None:
    data = encode(message, version)
    # A compact array is counted as one item more than it has.
    slack = 60
    assert decode_prefix(type(message), version, data, 0, items + slack) == (message, len(data))
    with pytest.raises(TooManyItemsError):
        decode_prefix(type(message), version, data, 0, items - 1)


@pytest.mark.parametrize(("message", "version", "items"), MESSAGES)
def test_a_message_of_more_items_is_known_before_it_is_written(
    message: Any, version: int, items: int
) -> None:
    assert has_more_items_than(message, items - 1)
    assert not has_more_items_than(message, items)


@pytest.mark.parametrize("kind", REQUESTS.values(), ids=lambda kind: kind.NAME)
def test_where_there_is_room_for_all_items_every_message_is_read(kind: Any) -> None:
    source = random.Random(kind.__name__)
    for version in range(kind.VERSIONS[0], kind.VERSIONS[1] + 1):
        message = random_message(kind, version, source)
        assert not has_more_items_than(message, 100_000)
        data = encode(message, version)
        assert decode_prefix(kind, version, data, 0, 100_000) == (message, len(data))


def test_fields_that_nobody_knows_are_items() -> None:
    """Ten thousand tagged fields of no content, behind a request without groups."""
    count = b"\x90\x4e"
    tags = b"".join(bytes((tag & 0x7F | 0x80, tag >> 7, 0)) for tag in range(128, 10_128))
    with pytest.raises(TooManyItemsError):
        decode_prefix(DescribeGroupsRequest, 5, b"\x01\x00" + count + tags, 0, 5_000)
    message, _ = decode_prefix(DescribeGroupsRequest, 5, b"\x01\x00" + count + tags, 0, 20_000)
    assert len(message.unknown_tagged_fields) == 10_000
