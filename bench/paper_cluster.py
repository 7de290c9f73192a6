"""A Kafka cluster on paper: as many brokers and partitions as wanted, which answer, count, and store nothing.

Each broker is a port of its own with the server of the embedded broker. What they answer is made up at once:
every partition holds `records` records, all alike. So 100,000 partitions cost no files and little memory,
and what clients ask of them is what they would ask of Apache Kafka.
"""

from __future__ import annotations

import uuid
from collections import Counter
from types import TracebackType
from typing import Any, Self

from barnabas._kernel import BatchBuilder
from barnabas.loop_thread import loop_thread
from barnabas.net.server import KafkaServer, RequestContext
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.request_header import RequestHeader
from barnabas.protocol.schema import Request, Response

HOST = "127.0.0.1"
SPOKEN = {
    ApiVersionsRequest.API_KEY: (0, 4),
    MetadataRequest.API_KEY: (0, 12),
    ListOffsetsRequest.API_KEY: (1, 8),
    # The last version that names topics, and needs no ids looked up.
    FetchRequest.API_KEY: (4, 12),
}
EARLIEST = -2
VALUE = b"x" * 100


class PaperCluster:
    """`asked` counts requests by API and broker."""

    def __init__(self, brokers: int, topics: int, partitions_a_topic: int) -> None:
        self.topics = {f"paper-{number:06}": partitions_a_topic for number in range(topics)}
        self.records = 1
        """In each partition."""
        self.asked: Counter[tuple[str, int]] = Counter()
        self.partitions_named: Counter[str] = Counter()
        """In requests, by API."""
        self.connections: Counter[int] = Counter()
        """Made so far, by broker."""
        self._ports: dict[int, int] = {}
        self._servers = [self._server(node) for node in range(1, brokers + 1)]
        self._ids = {name: uuid.uuid5(uuid.NAMESPACE_OID, name) for name in self.topics}

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self._ports[1]}"

    @property
    def partitions(self) -> int:
        return sum(self.topics.values())

    def reset(self) -> None:
        """Counts from nothing."""
        for counts in (self.asked, self.partitions_named, self.connections):
            counts.clear()

    def requests(self, api: str) -> int:
        return sum(count for (name, _), count in self.asked.items() if name == api)

    def __enter__(self) -> Self:
        for node, server in enumerate(self._servers, 1):
            self._ports[node] = loop_thread().run(server.start(HOST, 0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            loop_thread().run(server.stop())

    def _server(self, node: int) -> KafkaServer:
        def context(host: str, port: int, certificate: Any) -> RequestContext:
            self.connections[node] += 1
            return RequestContext(host, port, certificate)

        async def answer(_: RequestContext, header: RequestHeader, request: Request[Any]) -> Response:
            self.asked[request.NAME, node] += 1
            if isinstance(request, MetadataRequest):
                return self._metadata(request)
            if isinstance(request, ListOffsetsRequest):
                return self._offsets(request)
            if isinstance(request, FetchRequest):
                return self._fetched(request)
            return ApiVersionsResponse(
                api_keys=[ApiVersionsResponse.ApiVersion(key, *versions) for key, versions in SPOKEN.items()]
            )

        return KafkaServer(answer, SPOKEN, make_context=context)

    def _leader(self, topic: str, partition: int) -> int:
        return (self._ids[topic].int + partition) % len(self._servers) + 1

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        wanted = list(self.topics) if request.topics is None else [each.name or "" for each in request.topics]
        self.partitions_named["Metadata"] += sum(self.topics[name] for name in wanted)
        return MetadataResponse(
            brokers=[
                MetadataResponse.MetadataResponseBroker(node, HOST, port)
                for node, port in self._ports.items()
            ],
            cluster_id="paper",
            controller_id=1,
            topics=[
                MetadataResponse.MetadataResponseTopic(
                    error_code=0,
                    name=name,
                    topic_id=self._ids[name],
                    is_internal=False,
                    partitions=[self._described(name, index) for index in range(self.topics[name])],
                )
                for name in wanted
            ],
        )

    def _described(self, topic: str, index: int) -> MetadataResponse.MetadataResponsePartition:
        leader = self._leader(topic, index)
        return MetadataResponse.MetadataResponsePartition(
            error_code=0,
            partition_index=index,
            leader_id=leader,
            leader_epoch=0,
            replica_nodes=[leader],
            isr_nodes=[leader],
            offline_replicas=[],
        )

    def _offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        self.partitions_named["ListOffsets"] += sum(len(topic.partitions) for topic in request.topics)
        found = ListOffsetsResponse.ListOffsetsPartitionResponse
        return ListOffsetsResponse(
            topics=[
                ListOffsetsResponse.ListOffsetsTopicResponse(
                    topic.name,
                    [
                        found(
                            partition_index=each.partition_index,
                            error_code=0,
                            old_style_offsets=[],
                            offset=0 if each.timestamp == EARLIEST else self.records,
                            leader_epoch=0,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _fetched(self, request: FetchRequest) -> FetchResponse:
        self.partitions_named["Fetch"] += sum(len(topic.partitions) for topic in request.topics)
        return FetchResponse(
            error_code=0,
            session_id=0,
            responses=[
                FetchResponse.FetchableTopicResponse(
                    topic=topic.topic,
                    topic_id=self._ids[topic.topic],
                    partitions=[
                        FetchResponse.PartitionData(
                            partition_index=each.partition,
                            error_code=0,
                            high_watermark=self.records,
                            last_stable_offset=self.records,
                            log_start_offset=0,
                            aborted_transactions=None,
                            records=self._records_from(each.fetch_offset),
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )

    def _records_from(self, offset: int) -> bytes:
        if offset >= self.records:
            return b""
        builder = BatchBuilder()
        for _ in range(self.records - offset):
            builder.append(0, None, VALUE)
        return builder.build(base_offset=offset, leader_epoch=0)
