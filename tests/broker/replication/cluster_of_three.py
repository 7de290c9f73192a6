"""A cluster of three nodes on the test's own event loop, and requests to each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.broker.conftest import batch_of, values
from tests.broker.in_process import fetch_request, produce_request
from tests.virtual.loop import VirtualWorld
from tests.waiting import wait_for_async

from barnabas import _kernel
from barnabas.broker.server import Broker
from barnabas.errors import KafkaConnectionError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.produce import ProduceResponse

TIMEOUT_MS = 30_000
UNCLEAN = 1
GROUP_RESOURCE = 32


class ClusterOfThree:
    """`ask` goes to a node, by a connection that is made anew after the node was stopped."""

    def __init__(self, broker: Broker, directory: Path) -> None:
        self.broker = broker
        self.directory = directory
        self._connections: dict[int, Connection] = {}

    async def ask(self, node: int, request: Any, version: int | None = None) -> Any:
        connection = self._connections.get(node)
        if connection is None:
            port = self.broker.nodes[node].port
            connection = self._connections[node] = await Connection.open("127.0.0.1", port, client_id="test")
        try:
            return await connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)
        except KafkaConnectionError:
            # It was made while the node ended, and would be kept.
            if self._connections.get(node) is connection:
                del self._connections[node]
            raise

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    async def stop(self, *nodes: int) -> None:
        for node in nodes:
            connection = self._connections.pop(node, None)
            if connection is not None:
                connection.close()
            await self.broker.nodes[node].stop()

    async def kill(self, node: int) -> None:
        connection = self._connections.pop(node, None)
        if connection is not None:
            connection.close()
        await self.broker.nodes[node].kill()

    async def start(self, *nodes: int) -> None:
        for node in nodes:
            await self.broker.nodes[node].start()

    async def create(self, name: str, *assignments: Sequence[int], **configs: str) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreateTopicsRequest.CreatableReplicaAssignment(index, list(replicas))
                for index, replicas in enumerate(assignments)
            ],
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(key.replace("_", "."), value)
                for key, value in configs.items()
            ],
        )
        response = await self.ask(self._any(), CreateTopicsRequest(topics=[topic]))
        assert response.topics[0].error_code == 0, response.topics[0].error_message

    async def describe(self, name: str, index: int = 0) -> MetadataResponse.MetadataResponsePartition:
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
        response = await self.ask(self._any(), request)
        return response.topics[0].partitions[index]

    async def until_in_sync(self, name: str, *nodes: int) -> None:
        async def is_so() -> bool:
            return set((await self.describe(name)).isr_nodes) == set(nodes)

        await wait_for_async(is_so, timeout=30)

    async def produce(
        self, node: int, topic: str, *texts: str, acks: int = -1, timeout_ms: int = 1_000
    ) -> ProduceResponse.PartitionProduceResponse:
        request = produce_request(topic, batch_of(values(*texts)), acks=acks)
        request.timeout_ms = timeout_ms
        response = await self.ask(node, request, 12)
        return response.responses[0].partition_responses[0]

    async def fetch(self, node: int, topic: str, offset: int = 0) -> FetchResponse.PartitionData:
        response = await self.ask(node, fetch_request(topic, offset), 12)
        return response.responses[0].partitions[0]

    async def delete_records(
        self, node: int, topic: str, offset: int
    ) -> DeleteRecordsResponse.DeleteRecordsPartitionResult:
        asked = DeleteRecordsRequest.DeleteRecordsPartition(0, offset)
        topics = [DeleteRecordsRequest.DeleteRecordsTopic(topic, [asked])]
        response = await self.ask(node, DeleteRecordsRequest(topics, TIMEOUT_MS))
        return response.topics[0].partitions[0]

    async def set_group(self, group: str, name: str, value: str) -> None:
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
            GROUP_RESOURCE, group, [IncrementalAlterConfigsRequest.AlterableConfig(name, 0, value)]
        )
        response = await self.ask(self._any(), IncrementalAlterConfigsRequest([resource]))
        assert response.responses[0].error_code == 0

    async def texts(self, node: int, topic: str) -> list[str]:
        """All that a consumer finds at a node."""
        data = await self.fetch(node, topic)
        assert data.error_code == 0
        return [
            (record.value or b"").decode() for record in _kernel.RecordReader(topic, 0, data.records or b"")
        ]

    async def elect(self, topic: str, kind: int) -> int:
        asked = [ElectLeadersRequest.TopicPartitions(topic, [0])]
        response = await self.ask(self._any(), ElectLeadersRequest(kind, asked))
        return response.replica_election_results[0].partition_result[0].error_code

    async def reassign(self, topic: str, replicas: Sequence[int] | None) -> int:
        partition = AlterPartitionReassignmentsRequest.ReassignablePartition(
            0, None if replicas is None else list(replicas)
        )
        asked = [AlterPartitionReassignmentsRequest.ReassignableTopic(topic, [partition])]
        response = await self.ask(self._any(), AlterPartitionReassignmentsRequest(topics=asked))
        return response.responses[0].partitions[0].error_code

    def log_of(self, node: int, topic: str) -> bytes:
        """What a node has of partition 0 on its disk."""
        files = sorted((self.directory / str(node) / f"{topic}-0").glob("*.log"))
        return b"".join(file.read_bytes() for file in files)

    @property
    def is_reachable(self) -> bool:
        """Whether any node answers that is on the controller's side."""
        return bool(self._reachable())

    def _any(self) -> int:
        return self._reachable()[0]

    def _reachable(self) -> list[int]:
        return [
            node_id
            for node_id, node in self.broker.nodes.items()
            if node.is_running and not node.is_paused and not node.is_parted
        ]


@asynccontextmanager
async def running(
    directory: Path, config: Mapping[str, str] | None = None, racks: Sequence[str] | None = None
) -> AsyncIterator[ClusterOfThree]:
    """A cluster whose data is in `directory`, until it is stopped."""
    broker = Broker(directory, config=config, nodes=3, racks=racks)
    await broker.start()
    cluster = ClusterOfThree(broker, directory)
    try:
        yield cluster
    finally:
        cluster.close()
        await broker.stop()


def run(
    directory: Path,
    scenario: Callable[[ClusterOfThree], Awaitable[None]],
    *,
    config: Mapping[str, str] | None = None,
    racks: Sequence[str] | None = None,
) -> None:
    """Runs a scenario on a cluster whose data is in `directory`, which is stopped afterwards."""

    async def main() -> None:
        async with running(directory, config, racks) as cluster:
            await asyncio.wait_for(scenario(cluster), 60)

    VirtualWorld(seed=0).run(main)
