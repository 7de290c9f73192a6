"""Requests to each node of a cluster of three, of Apache Kafka or of the embedded broker, about one topic.

Owns connections, and waiting until nodes know what they are to know. What is asked in which order is the
tests'.
"""

from __future__ import annotations

from typing import Any, Protocol

from tests.broker.conftest import batch_of, values
from tests.broker.in_process import fetch_request, produce_request
from tests.waiting import wait_for_async

from barnabas import _kernel
from barnabas.broker_errors import ErrorCode
from barnabas.net.connection import Connection
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.protocol.messages.produce import ProduceResponse

TIMEOUT_MS = 60_000
CONSUMER = -1
LATEST = -1
PREFERRED, UNCLEAN = 0, 1


class AskedNode(Protocol):
    @property
    def bootstrap(self) -> str: ...
    def start(self) -> object: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


class AskedCluster(Protocol):
    """Three nodes by their ids, which are 1, 2 and 3."""

    def node(self, node_id: int) -> AskedNode: ...


class NodeAsker:
    """Asks nodes about partition 0 of the topic."""

    def __init__(self, cluster: AskedCluster, topic: str) -> None:
        self.cluster = cluster
        self.topic = topic
        self._connections: dict[int, Connection] = {}

    async def ask(self, node: int, request: Any, version: int | None = None) -> Any:
        if node not in self._connections:
            host, port = self.cluster.node(node).bootstrap.split(":")
            self._connections[node] = await Connection.open(host, int(port), client_id="asker")
        return await self._connections[node].submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    def hang_up(self, node: int) -> None:
        """Before the node ends."""
        connection = self._connections.pop(node, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    async def create(self, replicas: list[int], **settings: str) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            self.topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreateTopicsRequest.CreatableReplicaAssignment(0, replicas)],
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name.replace("_", "."), value)
                for name, value in settings.items()
            ],
        )
        answer = await self.ask(replicas[0], CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
        assert answer.topics[0].error_code == 0, answer.topics[0].error_message
        for node in replicas:
            await self.until_known(node, leader=replicas[0], in_sync=replicas)
        await self.until_leads(replicas[0], 0)

    async def known(self, node: int) -> MetadataResponse:
        return await self.ask(
            node, MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=self.topic)])
        )

    async def until_known(self, node: int, *, leader: int, in_sync: list[int]) -> None:
        async def is_so() -> bool:
            partitions = (await self.known(node)).topics[0].partitions
            return [(each.leader_id, sorted(each.isr_nodes)) for each in partitions] == [
                (leader, sorted(in_sync))
            ]

        await wait_for_async(is_so)

    async def until_leads(self, node: int, leader_epoch: int) -> None:
        """Kafka's metadata may tell of a leader before it leads."""

        async def is_so() -> bool:
            return (await self.fetch(node, leader_epoch)).error_code == 0

        await wait_for_async(is_so)

    async def elect_preferred(self, node: int) -> None:
        asked = [ElectLeadersRequest.TopicPartitions(self.topic, [0])]
        answer = await self.ask(node, ElectLeadersRequest(PREFERRED, asked))
        assert answer.replica_election_results[0].partition_result[0].error_code == 0

    async def eligible(self, node: int) -> tuple[list[int], list[int]]:
        """Eligible leaders, and who led last."""
        request = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(self.topic)])
        partition = (await self.ask(node, request)).topics[0].partitions[0]
        return partition.eligible_leader_replicas or [], partition.last_known_elr or []

    async def coordinator(self, node: int, group: str) -> int:
        """The id of the node that coordinates the group, or -1."""
        answer = await self.ask(node, FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
        return answer.coordinators[0].node_id

    async def produce(
        self, node: int, text: str, *, acks: int = -1, timeout_ms: int = TIMEOUT_MS
    ) -> ProduceResponse.PartitionProduceResponse:
        request = produce_request(self.topic, batch_of(values(text)), acks=acks)
        request.timeout_ms = timeout_ms
        answer = await self.ask(node, request, 12)
        return answer.responses[0].partition_responses[0]

    async def said(self, node: int, text: str, *, acks: int = -1, timeout_ms: int = TIMEOUT_MS) -> str:
        return name_of((await self.produce(node, text, acks=acks, timeout_ms=timeout_ms)).error_code)

    async def fetch(self, node: int, leader_epoch: int = -1) -> FetchResponse.PartitionData:
        request = fetch_request(self.topic, 0)
        request.topics[0].partitions[0].current_leader_epoch = leader_epoch
        return (await self.ask(node, request, 12)).responses[0].partitions[0]

    async def texts(self, node: int) -> list[str]:
        data = await self.fetch(node)
        assert data.error_code == 0
        reader = _kernel.RecordReader(self.topic, 0, data.records or b"")
        return [(record.value or b"").decode() for record in reader]

    async def latest_offset(self, node: int) -> int:
        partition = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=LATEST)
        topics = [ListOffsetsRequest.ListOffsetsTopic(self.topic, [partition])]
        return (
            (await self.ask(node, ListOffsetsRequest(CONSUMER, topics=topics))).topics[0].partitions[0].offset
        )

    async def end_of_epoch(self, node: int, epoch: int) -> tuple[str, int, int]:
        partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(0, -1, epoch)
        topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(self.topic, [partition])]
        found = (await self.ask(node, OffsetForLeaderEpochRequest(topics=topics))).topics[0].partitions[0]
        return name_of(found.error_code), found.leader_epoch, found.end_offset

    async def controller(self) -> int:
        partition = DescribeQuorumRequest.PartitionData(0)
        request = DescribeQuorumRequest([DescribeQuorumRequest.TopicData("__cluster_metadata", [partition])])
        return (await self.ask(1, request)).topics[0].partitions[0].leader_id


def name_of(code: int) -> str:
    """Of an error."""
    return ErrorCode(code).name
