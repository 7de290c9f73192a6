"""Messages spoiled: record batches whose checksum is wrong, and metadata that is out of date. Pure.

Owns the bytes and what was said before. Knows nothing of rules.
"""

from __future__ import annotations

import struct
from copy import copy, deepcopy
from typing import Any
from uuid import UUID

from barnabas.broker.faults.answers import Accepts, RequestPart, TopicName
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.protocol.messages.metadata import MetadataResponse
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.messages.share_fetch import ShareFetchResponse
from barnabas.protocol.schema import ZERO_UUID, Records, Request, Response

_LENGTH = struct.Struct(">i")
_LENGTH_AT, _MAGIC_AT, _CHECKSUM_AT, _OLD_CHECKSUM_AT = 8, 16, 17, 12
_START_BYTES = 12
_OLD_MAGIC = 1


def corrupt(records: Records) -> bytes:
    """The batches with a bit of each one's checksum turned, so that whoever looks at it refuses the batch."""
    spoiled = bytearray(records)
    start = 0
    while start + _CHECKSUM_AT < len(spoiled):
        is_old = spoiled[start + _MAGIC_AT] <= _OLD_MAGIC
        spoiled[start + (_OLD_CHECKSUM_AT if is_old else _CHECKSUM_AT)] ^= 1
        (length,) = _LENGTH.unpack_from(spoiled, start + _LENGTH_AT)
        start += _START_BYTES + max(0, length)
    return bytes(spoiled)


def corrupt_request(request: Request[Any], accepts: Accepts, topic_name: TopicName) -> Request[Any]:
    """A copy of a Produce request with its batches spoiled."""
    if not isinstance(request, ProduceRequest):
        return request
    spoiled = copy(request)
    spoiled.topic_data = [copy(topic) for topic in request.topic_data]
    for topic in spoiled.topic_data:
        name = _name_of(topic.name, topic.topic_id, topic_name)
        topic.partition_data = [copy(each) for each in topic.partition_data]
        for each in topic.partition_data:
            if each.records and accepts(RequestPart(name, each.index)):
                each.records = corrupt(each.records)
    return spoiled


def corrupt_answer(response: Response, accepts: Accepts, topic_name: TopicName) -> None:
    if not isinstance(response, FetchResponse | ShareFetchResponse):
        return
    for topic in response.responses:
        name = _name_of(getattr(topic, "topic", ""), topic.topic_id, topic_name)
        for each in topic.partitions:
            if each.records and accepts(RequestPart(name, each.partition_index)):
                each.records = corrupt(each.records)


def _name_of(name: str, topic_id: UUID, topic_name: TopicName) -> str:
    return name if topic_id == ZERO_UUID else topic_name(topic_id) or name


class MetadataMemory:
    """What Metadata said first: of the nodes, and of each topic."""

    def __init__(self) -> None:
        self._nodes: tuple[list[Any], int] | None = None
        self._topics: dict[tuple[str | None, UUID], Any] = {}

    def observe(self, response: Response) -> None:
        if not isinstance(response, MetadataResponse):
            return
        if self._nodes is None:
            self._nodes = deepcopy(response.brokers), response.controller_id
        for topic in response.topics:
            self._topics.setdefault(self._key(topic), deepcopy(topic))

    def apply(self, response: Response, accepts: Accepts) -> None:
        """Puts it in the place of what the answer says now."""
        if not isinstance(response, MetadataResponse):
            return
        self.observe(response)
        if self._nodes is not None and self._nodes[0]:
            response.brokers, response.controller_id = deepcopy(self._nodes[0]), self._nodes[1]
        response.topics = [
            deepcopy(self._topics[self._key(topic)]) if accepts(RequestPart(topic.name)) else topic
            for topic in response.topics
        ]

    @staticmethod
    def _key(topic: MetadataResponse.MetadataResponseTopic) -> tuple[str | None, UUID]:
        return (topic.name, ZERO_UUID) if topic.name else (None, topic.topic_id)
