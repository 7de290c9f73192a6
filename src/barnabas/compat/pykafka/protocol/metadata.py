"""Metadata: which brokers there are, and which of them has which partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.compat.pykafka.protocol._writing import array, numbers, string
from barnabas.compat.pykafka.protocol.base import Request, Response
from barnabas.compat.pykafka.utils import struct_helpers

__all__ = [
    "BrokerMetadata",
    "BrokerMetadataV1",
    "MetadataRequest",
    "MetadataRequestV1",
    "MetadataRequestV2",
    "MetadataRequestV3",
    "MetadataRequestV4",
    "MetadataRequestV5",
    "MetadataResponse",
    "MetadataResponseV1",
    "MetadataResponseV2",
    "MetadataResponseV3",
    "MetadataResponseV4",
    "MetadataResponseV5",
    "PartitionMetadata",
    "PartitionMetadataV5",
    "TopicMetadata",
    "TopicMetadataV1",
]


class MetadataRequest(Request):
    """For some topics, which a broker may make then, or for all."""

    API_VERSION = 0
    API_KEY = 3

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {
            0: MetadataRequest,
            1: MetadataRequestV1,
            2: MetadataRequestV2,
            3: MetadataRequestV3,
            4: MetadataRequestV4,
            5: MetadataRequestV5,
        }

    def __init__(self, topics: Any = None, *kwargs: Any) -> None:
        self.topics: Any = topics or []

    def _body(self) -> bytes:
        return array(self.topics, string)


class MetadataRequestV1(MetadataRequest):
    """Here no array is what an empty one was before."""

    API_VERSION = 1

    def _body(self) -> bytes:
        return super()._body() if self.topics else numbers("i", -1)


class MetadataRequestV2(MetadataRequestV1):
    API_VERSION = 2


class MetadataRequestV3(MetadataRequestV2):
    API_VERSION = 3


class MetadataRequestV4(MetadataRequestV3):
    """Says whether the broker may make topics."""

    API_VERSION = 4

    def __init__(self, topics: Any = None, allow_topic_autocreation: bool = True) -> None:
        super().__init__(topics=topics)
        self.allow_topic_autocreation = allow_topic_autocreation

    def _body(self) -> bytes:
        return super()._body() + numbers("b", self.allow_topic_autocreation)


class MetadataRequestV5(MetadataRequestV4):
    API_VERSION = 5


class BrokerMetadata(NamedTuple):
    id: int
    host: bytes
    port: int


class BrokerMetadataV1(NamedTuple):
    id: int
    host: bytes
    port: int
    rack: bytes | None


class TopicMetadata(NamedTuple):
    name: bytes
    partitions: dict[int, Any]
    err: int


class TopicMetadataV1(NamedTuple):
    name: bytes
    is_internal: int
    partitions: dict[int, Any]
    err: int


class PartitionMetadata(NamedTuple):
    id: int
    leader: int
    replicas: list[int]
    isr: list[int]
    err: int


class PartitionMetadataV5(NamedTuple):
    id: int
    leader: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]
    err: int


class MetadataResponse(Response):
    """`brokers` by their ids, `topics` by their names. What a version does not tell is None."""

    API_KEY = 3
    topics: dict[bytes, Any]
    brokers: dict[int, Any]

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {
            0: MetadataResponse,
            1: MetadataResponseV1,
            2: MetadataResponseV2,
            3: MetadataResponseV3,
            4: MetadataResponseV4,
            5: MetadataResponseV5,
        }

    def __init__(self, buff: Any) -> None:
        self._populate(*struct_helpers.unpack_from("[iSi] [hS [hii [i] [i] ] ]", buff, 0))

    def _populate(
        self,
        broker_info: Any,
        topics: Any,
        controller_id: int | None = None,
        cluster_id: bytes | None = None,
        throttle_time_ms: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self._build_broker_metas(broker_info)
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self._build_topic_metas(topics)

    def _build_topic_metas(self, topics: Any) -> None:
        self.topics = {
            name: TopicMetadata(name, self._build_partition_metas(partitions), code)
            for code, name, partitions in topics
        }

    def _build_partition_metas(self, partitions: Any) -> dict[int, Any]:
        return {each[1]: PartitionMetadata._make((*each[1:], each[0])) for each in partitions}

    def _build_broker_metas(self, broker_info: Any) -> None:
        self.brokers = {each[0]: BrokerMetadata(*each) for each in broker_info}


class MetadataResponseV1(MetadataResponse):
    """With the controller, racks, and which topics are Kafka's own."""

    def __init__(self, buff: Any) -> None:
        fmt = "[iSiS] i [hSb [hii [i] [i] ] ]"
        brokers, controller_id, topics = struct_helpers.unpack_from(fmt, buff, 0)
        self._populate(brokers, topics, controller_id)

    def _build_topic_metas(self, topics: Any) -> None:
        self.topics = {
            name: TopicMetadataV1(name, is_internal, self._build_partition_metas(partitions), code)
            for code, name, is_internal, partitions in topics
        }

    def _build_broker_metas(self, broker_info: Any) -> None:
        self.brokers = {each[0]: BrokerMetadataV1(*each) for each in broker_info}


class MetadataResponseV2(MetadataResponseV1):
    """With the cluster's id."""

    def __init__(self, buff: Any) -> None:
        fmt = "[iSiS] Si [hSb [hii [i] [i] ] ]"
        brokers, cluster_id, controller_id, topics = struct_helpers.unpack_from(fmt, buff, 0)
        self._populate(brokers, topics, controller_id, cluster_id)


class MetadataResponseV3(MetadataResponseV2):
    """With the time for which the broker throttled the client."""

    _FORMAT = "i [iSiS] Si [hSb [hii [i] [i] ] ]"

    def __init__(self, buff: Any) -> None:
        throttled, brokers, cluster_id, controller_id, topics = struct_helpers.unpack_from(
            self._FORMAT, buff, 0
        )
        self._populate(brokers, topics, controller_id, cluster_id, throttled)


class MetadataResponseV4(MetadataResponseV3):
    pass


class MetadataResponseV5(MetadataResponseV4):
    """With the replicas whose brokers are away."""

    _FORMAT = "i [iSiS] Si [hSb [hii [i] [i] [i]] ]"

    def _build_partition_metas(self, partitions: Any) -> dict[int, Any]:
        return {each[1]: PartitionMetadataV5._make((*each[1:], each[0])) for each in partitions}
