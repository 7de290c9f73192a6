"""What three nodes say while one of them is away, in words that are the same for every cluster.

Owns the names: the `third` node is the controller, which stays; the `first` and the `second` may end.
"""

from __future__ import annotations

import re
from typing import Any

from tests.broker.conftest import batch_of, values
from tests.broker.in_process import fetch_request, produce_request
from tests.waiting import wait_for_async

from barnabas.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.protocol.messages.metadata import MetadataRequest

from .node_asker import CONSUMER, NodeAsker, name_of

NODES = (1, 2, 3)
NAMES = ("first", "second", "third")
TOPIC_RESOURCE = 2


class ThreeNodes(NodeAsker):
    """`answers` has what was said so far."""

    first: int
    second: int
    third: int

    async def begin(self) -> None:
        """Until each node knows all. To be called before anything else."""
        self.third = await self.controller()
        self.first, self.second = (node for node in NODES if node != self.third)
        self.all = [self.first, self.second, self.third]
        self.answers: list[Any] = []
        await self.until_all_run()

    def tell(self, *facts: Any) -> None:
        self.answers.append(facts)

    # Names

    def name(self, node: int) -> str:
        return {-1: "nobody", **dict(zip(self.all, NAMES, strict=True))}.get(node, str(node))

    def names(self, nodes: list[int] | None) -> list[str]:
        return [self.name(node) for node in nodes or ()]

    def words(self, message: str | None) -> str | None:
        """A message without what is the cluster's own."""
        if message is None:
            return None
        named = re.sub(r"(?<!-)\b[123]\b", lambda found: self.name(int(found[0])), message)
        return named.replace(self.topic, "the topic")

    # Nodes that come and go

    def stop(self, node: int) -> None:
        self.hang_up(node)
        self.cluster.node(node).stop()

    def kill(self, node: int) -> None:
        self.hang_up(node)
        self.cluster.node(node).kill()

    def start(self, node: int) -> None:
        self.cluster.node(node).start()

    async def until_all_run(self) -> None:
        await self.until_run(*self.all)

    async def until_run(self, *nodes: int) -> None:
        """Until these nodes know of each other, and of no others."""

        async def is_so() -> bool:
            for node in nodes:
                known = await self.ask(node, MetadataRequest(topics=[]))
                if sorted(broker.node_id for broker in known.brokers) != sorted(nodes):
                    return False
            return True

        await wait_for_async(is_so)

    async def until_all_know(self, *nodes: int, leader: int, in_sync: list[int], epoch: int) -> None:
        for node in nodes:
            await self.until_known(node, leader=leader, in_sync=in_sync)
        await self.until_leads(leader, epoch)

    async def until_replicas(self, node: int, replicas: list[int]) -> None:
        """Until a node knows that the partition has these, in this order."""

        async def is_so() -> bool:
            partitions = (await self.known(node)).topics[0].partitions
            return [partition.replica_nodes for partition in partitions] == [replicas]

        await wait_for_async(is_so)

    async def until_high_watermark(self, node: int, offset: int) -> None:
        """Until a node knows of it. Kafka's followers hear of it with the next that they fetch."""

        async def is_so() -> bool:
            found = await self.fetch(node)
            return found.error_code == 0 and found.high_watermark == offset

        await wait_for_async(is_so)

    async def until_too_few(self, leader: int) -> None:
        """Until a leader itself knows that too few are in sync, which Kafka's metadata may say before.

        It finds that before it finds that the records are damaged."""

        async def is_so() -> bool:
            damaged = batch_of(values("damaged"))
            request = produce_request(self.topic, damaged[:-1] + bytes([damaged[-1] ^ 1]), acks=-1)
            answer = (await self.ask(leader, request, 12)).responses[0].partition_responses[0]
            assert name_of(answer.error_code) in ("CORRUPT_MESSAGE", "NOT_ENOUGH_REPLICAS")
            return name_of(answer.error_code) == "NOT_ENOUGH_REPLICAS"

        await wait_for_async(is_so)

    async def until_taken(self, node: int, text: str) -> None:
        """Until a leader that refused records for want of replicas in sync takes one."""

        async def is_so() -> bool:
            said = await self.said(node, text)
            assert said in ("NONE", "NOT_ENOUGH_REPLICAS"), said
            return said == "NONE"

        await wait_for_async(is_so)

    async def set_of_topic(self, node: int, name: str, value: str) -> None:
        change = IncrementalAlterConfigsRequest.AlterableConfig(name, 0, value)
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(TOPIC_RESOURCE, self.topic, [change])
        answer = await self.ask(node, IncrementalAlterConfigsRequest([resource]))
        assert answer.responses[0].error_code == 0, answer.responses[0].error_message

    async def until_sent(self, leader: int, rack_of: int, *, to: int) -> None:
        """Until a consumer in the rack of a node is sent to the node `to`, which is -1 for nowhere else."""

        async def is_so() -> bool:
            request = fetch_request(self.topic, 0)
            request.rack_id = f"rack-{rack_of}"
            found = (await self.ask(leader, request, 12)).responses[0].partitions[0]
            return found.preferred_read_replica == to

        await wait_for_async(is_so)

    # What they say

    async def tell_partition(self, node: int) -> None:
        """What a node knows of the partition, by both APIs."""
        request = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(self.topic)])
        described = (await self.ask(node, request)).topics[0].partitions[0]
        known = (await self.known(node)).topics[0].partitions[0]
        for partition in (described, known):
            self.tell(
                "partition",
                name_of(partition.error_code),
                self.name(partition.leader_id),
                partition.leader_epoch,
                self.names(partition.replica_nodes),
                sorted(self.names(partition.isr_nodes)),
                sorted(self.names(partition.offline_replicas)),
            )
        self.tell(
            "eligible",
            sorted(self.names(described.eligible_leader_replicas)),
            sorted(self.names(described.last_known_elr)),
        )

    async def tell_cluster(self, node: int) -> None:
        """Which nodes a node knows, and which it has missed."""
        known = await self.ask(node, MetadataRequest(topics=[]))
        self.tell("metadata", sorted(self.name(broker.node_id) for broker in known.brokers))
        for version, with_fenced in ((0, False), (1, False), (2, False), (2, True)):
            request = DescribeClusterRequest()
            if version >= 2:
                request.include_fenced_brokers = with_fenced
            answer = await self.ask(node, request, version)
            brokers = sorted((self.name(broker.broker_id), broker.is_fenced) for broker in answer.brokers)
            self.tell("cluster", version, name_of(answer.error_code), brokers)

    async def tell_election(self, node: int, kind: int, *partitions: int) -> None:
        asked = [ElectLeadersRequest.TopicPartitions(self.topic, list(partitions))]
        answer = await self.ask(node, ElectLeadersRequest(kind, asked))
        self.tell("election", kind, name_of(answer.error_code))
        for partition in answer.replica_election_results[0].partition_result:
            error = name_of(partition.error_code)
            self.tell(partition.partition_id, error, self.words(partition.error_message))

    async def tell_produced(self, node: int, text: str, *, acks: int = -1, timeout_ms: int = 60_000) -> None:
        answer = await self.produce(node, text, acks=acks, timeout_ms=timeout_ms)
        leader = answer.current_leader
        self.tell(
            "produced",
            text,
            name_of(answer.error_code),
            answer.base_offset,
            self.words(answer.error_message),
            self.name(leader.leader_id),
            leader.leader_epoch,
        )

    async def tell_fetched(
        self, node: int, offset: int = 0, *, rack_of: int | str = "", epoch: int = -1, version: int = 12
    ) -> None:
        """By a consumer in the rack of a node, or in one of its own."""
        request = fetch_request(self.topic, offset)
        if version >= 11:
            request.rack_id = f"rack-{rack_of}" if isinstance(rack_of, int) else rack_of
        request.topics[0].partitions[0].current_leader_epoch = epoch
        found = (await self.ask(node, request, version)).responses[0].partitions[0]
        self.tell(
            "fetched",
            self.name(node),
            offset,
            name_of(found.error_code),
            found.high_watermark,
            found.last_stable_offset,
            found.log_start_offset,
            self.name(found.preferred_read_replica),
            self.name(found.current_leader.leader_id),
            found.current_leader.leader_epoch,
            bool(found.records),
        )

    async def tell_ends(self, node: int, *epochs: int) -> None:
        for epoch in epochs:
            self.tell("end of epoch", epoch, await self.end_of_epoch(node, epoch))

    async def tell_offset(self, node: int, timestamp: int, epoch: int = -1) -> None:
        partition = ListOffsetsRequest.ListOffsetsPartition(0, epoch, timestamp)
        topics = [ListOffsetsRequest.ListOffsetsTopic(self.topic, [partition])]
        found = (await self.ask(node, ListOffsetsRequest(CONSUMER, topics=topics))).topics[0].partitions[0]
        self.tell("offset", timestamp, name_of(found.error_code), found.offset, found.leader_epoch)

    async def tell_reassigned(self, node: int, replicas: list[int] | None) -> None:
        partition = AlterPartitionReassignmentsRequest.ReassignablePartition(0, replicas)
        asked = [AlterPartitionReassignmentsRequest.ReassignableTopic(self.topic, [partition])]
        answer = await self.ask(node, AlterPartitionReassignmentsRequest(topics=asked))
        said = answer.responses[0].partitions[0]
        self.tell("reassigned", name_of(said.error_code), self.words(said.error_message))

    async def moves(self, node: int) -> list[Any]:
        """What is under way, by a node's answer."""
        asked = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(self.topic, [0])
        answer = await self.ask(node, ListPartitionReassignmentsRequest(topics=[asked]))
        return [
            (
                self.names(move.replicas),
                sorted(self.names(move.adding_replicas)),
                sorted(self.names(move.removing_replicas)),
            )
            for topic in answer.topics
            for move in topic.partitions
        ]

    async def tell_moves(self, node: int) -> None:
        self.tell("moves", await self.moves(node))
