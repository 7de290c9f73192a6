"""Requests of share groups to one broker, and what it answered, without what may differ: ids and times."""

from __future__ import annotations

import asyncio
import base64
import uuid
from typing import Any

from tests.waiting import Patience

from barnabas import _kernel
from barnabas.net.connection import Connection
from barnabas.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.protocol.messages.share_fetch import ShareFetchRequest
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

TIMEOUT_MS = 30_000
NOT_READY = (14, 15, 16)
"""The coordinator loads, or there is none yet."""
SET = 0
QUIET_ROUNDS = 9
"""Of heartbeats, 0.15 s apart: Kafka assigns once a second."""
GROUP_RESOURCE = 32
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
RECORD_LIMIT = 1

Acks = dict[int, list[tuple[int, int, list[int]]]]
"""By partition: first and last offset, and what becomes of each record."""


class ShareSession:
    """One broker with one group and two topics for it: `a` with three partitions, `b` with one."""

    def __init__(self, connection: Connection, producing: Connection, run: str) -> None:
        self.connection = connection
        self._producing = producing
        self.run = run
        self.group = f"group-{run}"
        self.topics: dict[str, uuid.UUID] = {}
        self.told: list[Any] = []
        self.epochs: dict[str, int] = {}
        self.share_epochs: dict[str, int] = {}

    @classmethod
    async def open(cls, bootstrap: str, run: str) -> ShareSession:
        host, _, port = bootstrap.rpartition(":")
        connections = [await Connection.open(host, int(port), client_id="test") for _ in range(2)]
        session = cls(*connections, run)
        await session.create_topic("a", 3)
        await session.create_topic("b", 1)
        await session._until_ready()
        return session

    async def create_topic(self, letter: str, partitions: int) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            name=f"{self.run}-{letter}", num_partitions=partitions, replication_factor=1
        )
        self.topics[letter] = (await self.ask(CreateTopicsRequest(topics=[topic]))).topics[0].topic_id

    async def delete_topic(self, letter: str) -> None:
        topic = DeleteTopicsRequest.DeleteTopicState(topic_id=self.topics[letter], name=None)
        await self.ask(DeleteTopicsRequest(topics=[topic]))

    async def _until_ready(self) -> None:
        """The coordinator has loaded, and the broker knows the topics."""
        patience = Patience()
        while True:
            found = await self.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group]))
            listed = await self.ask(ListGroupsRequest())
            described = await self.ask(ShareGroupDescribeRequest(group_ids=[self.group]))
            topics = [MetadataRequest.MetadataRequestTopic(name=f"{self.run}-{letter}") for letter in "ab"]
            known = await self.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False))
            if any(topic.error_code for topic in known.topics):
                await patience.pause_async()
                continue
            if (
                not {found.coordinators[0].error_code, listed.error_code, described.groups[0].error_code}
                & {*NOT_READY}
                and await self._coordinator_knows_the_topics()
            ):
                break
            await patience.pause_async()

    async def _coordinator_knows_the_topics(self) -> bool:
        """It hears of them after the broker has. Found by a group of its own, on all groups' partition."""
        group, names = f"{self.run}-probe", [f"{self.run}-{letter}" for letter in "ab"]
        partition = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition(0, 0)
        topics = [
            AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(name, [partition])
            for name in names
        ]
        altered = await self.ask(AlterShareGroupOffsetsRequest(group, topics))
        errors = {partition.error_code for topic in altered.responses for partition in topic.partitions}
        is_known = altered.error_code == 0 and errors == {0}
        if is_known:
            await self.ask(DeleteGroupsRequest(groups_names=[group]))
        return is_known

    def close(self) -> None:
        self.connection.close()
        self._producing.close()

    async def ask(self, request: Any, version: int | None = None) -> Any:
        return await self.connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    def tell(self, what: str, *found: Any) -> None:
        self.told.append((what, *(self._masked(each) for each in found)))

    def _masked(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        value = value.replace(self.run, "RUN")
        for letter, topic_id in self.topics.items():
            for text in (str(topic_id), java_text(topic_id)):
                value = value.replace(text, f"ID-{letter}")
        return value

    # Groups

    async def configure(self, **settings: str) -> None:
        wanted = {name.replace("_", "."): value for name, value in settings.items()}
        configs = [
            IncrementalAlterConfigsRequest.AlterableConfig(name, SET, value) for name, value in wanted.items()
        ]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(GROUP_RESOURCE, self.group, configs)
        await self.ask(IncrementalAlterConfigsRequest([resource]))
        asked = DescribeConfigsRequest.DescribeConfigsResource(GROUP_RESOURCE, self.group, list(wanted))
        patience = Patience()
        while True:
            result = (await self.ask(DescribeConfigsRequest([asked]))).results[0]
            if {config.name: config.value for config in result.configs} == wanted:
                return
            await patience.pause_async()

    async def beat(
        self, member: str, epoch: int, *, topics: str | None = None, rack: str | None = None
    ) -> Any:
        """What it is given, and the epoch that comes of that, Kafka tells by and by."""
        response = await self._beat(member, epoch, topics=topics, rack=rack)
        self.tell(
            "beat",
            response.error_code,
            response.error_message,
            response.member_id,
            min(response.member_epoch, 1),
            response.assignment is not None,
        )
        return response

    async def _beat(self, member: str, epoch: int, *, topics: str | None, rack: str | None = None) -> Any:
        request = ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=member,
            member_epoch=epoch,
            rack_id=rack,
            subscribed_topic_names=None if topics is None else [f"{self.run}-{letter}" for letter in topics],
        )
        response = await self.ask(request)
        if response.error_code == 0:
            self.epochs[member] = response.member_epoch
        return response

    def _counts(self, assignment: Any) -> list[tuple[str, int]] | None:
        """How many partitions of each topic."""
        if assignment is None:
            return None
        letters = {topic_id: letter for letter, topic_id in self.topics.items()}
        return sorted((letters[each.topic_id], len(each.partitions)) for each in assignment.topic_partitions)

    async def stay(self, member: str, *, topics: str | None = None) -> Any:
        return await self.beat(member, self.epochs[member], topics=topics)

    async def settle(self, *members: str) -> None:
        """Until heartbeats change nothing any more; Kafka makes topics ready for a group by and by."""
        quiet = 0
        while quiet < QUIET_ROUNDS:
            before = dict(self.epochs)
            for member in members:
                await self._beat(member, self.epochs[member], topics=None)
            quiet = quiet + 1 if self.epochs == before else 0
            await asyncio.sleep(0.15)

    async def join(self, *members: str, topics: str = "a") -> None:
        for member in members:
            await self._beat(member, 0, topics=topics)
        await self.settle(*members)

    async def leave(self, member: str) -> None:
        await self.beat(member, -1)

    async def describe(self) -> None:
        [group] = (await self.ask(ShareGroupDescribeRequest(group_ids=[self.group]))).groups
        members = sorted(
            (
                member.member_id,
                member.rack_id,
                member.client_id,
                member.client_host,
                [self._masked(name) for name in sorted(member.subscribed_topic_names)],
            )
            for member in group.members
        )
        # Which of two members like each other gets more is as it comes.
        assigned = sorted(self._counts(member.assignment) or [] for member in group.members)
        self.tell(
            "group",
            group.error_code,
            group.error_message,
            group.group_state,
            group.assignor_name,
            group.authorized_operations,
            members,
            assigned,
        )

    async def list_and_describe_otherwise(self) -> None:
        listed = await self.ask(ListGroupsRequest())
        found = [
            (group.protocol_type, group.group_state, group.group_type)
            for group in listed.groups
            if group.group_id == self.group
        ]
        self.tell("listed", found)
        [group] = (await self.ask(DescribeGroupsRequest(groups=[self.group]))).groups
        self.tell("classic", group.error_code, group.error_message, group.group_state)

    async def delete_group(self) -> None:
        response = await self.ask(DeleteGroupsRequest(groups_names=[self.group]))
        self.tell("deleted", response.results[0].error_code)

    # Records

    async def produce(self, letter: str, *batches: int, partition: int = 0, start: int = 0) -> None:
        """Batches of so many records."""
        for count in batches:
            builder = _kernel.BatchBuilder(max_bytes=1 << 20)
            for number in range(count):
                builder.append(1_700_000_000_000, None, b"%d" % (start + number))
            data = ProduceRequest.PartitionProduceData(index=partition, records=builder.build())
            topic = ProduceRequest.TopicProduceData(name=f"{self.run}-{letter}", partition_data=[data])
            response = await self._producing.submit(
                ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic]),
                timeout_ms=TIMEOUT_MS,
                max_version=12,
            )
            assert response.responses[0].partition_responses[0].error_code == 0

    async def fetch(
        self,
        member: str,
        letter: str | None = "b",
        *partitions: int,
        acks: Acks | None = None,
        epoch: int | None = None,
        wait_ms: int = 300,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        max_records: int = 500,
        batch_size: int = 500,
        mode: int = 0,
        renews: bool = False,
        forgotten: str | None = None,
        group: str | None = "ours",
        topic_id: uuid.UUID | None = None,
        version: int | None = None,
        waits_for: int = 0,
    ) -> Any:
        """`waits_for`: asks again until so many records were lent, as Kafka needs a while to begin."""
        asked = partitions or (0,)
        epoch = self.share_epochs.get(member, 0) if epoch is None else epoch
        topics = []
        if letter is not None or topic_id is not None:
            topics = [
                ShareFetchRequest.FetchTopic(
                    topic_id or self.topics[letter or ""],
                    [
                        ShareFetchRequest.FetchPartition(
                            index,
                            [
                                ShareFetchRequest.AcknowledgementBatch(*batch)
                                for batch in (acks or {}).get(index, [])
                            ],
                        )
                        for index in asked
                    ],
                )
            ]
        request = ShareFetchRequest(
            group_id=self.group if group == "ours" else group,
            member_id=member,
            share_session_epoch=epoch,
            max_wait_ms=wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            max_records=max_records,
            batch_size=batch_size,
            topics=topics,
        )
        if version is None or version >= 2:
            request.share_acquire_mode, request.is_renew_ack = mode, renews
        if forgotten is not None:
            request.forgotten_topics_data = [ShareFetchRequest.ForgottenTopic(self.topics[forgotten], [0])]
        response = await self.ask(request, version)
        if response.error_code == 0:
            self.share_epochs[member] = epoch + 1 if epoch >= 0 else 0
        lent = sum(
            batch.last_offset - batch.first_offset + 1
            for topic in response.responses
            for partition in topic.partitions
            for batch in partition.acquired_records
        )
        if lent < waits_for and response.error_code == 0:
            limits: dict[str, Any] = {"max_records": max_records, "batch_size": batch_size, "mode": mode}
            return await self.fetch(member, None, wait_ms=wait_ms, waits_for=waits_for, **limits)
        found = sorted(
            (
                partition.partition_index,
                partition.error_code,
                self._masked(partition.error_message),
                partition.acknowledge_error_code,
                self._masked(partition.acknowledge_error_message),
                [
                    (batch.first_offset, batch.last_offset, batch.delivery_count)
                    for batch in partition.acquired_records
                ],
                bool(partition.records),
            )
            for topic in response.responses
            for partition in topic.partitions
            # Now and then Kafka names a partition of which there is nothing to say.
            if partition.error_code or partition.acknowledge_error_code or partition.acquired_records
        )
        self.tell(
            "fetch",
            response.error_code,
            response.error_message,
            response.acquisition_lock_timeout_ms,
            found,
        )
        return response

    async def fetch_in_all(self, member: str, count: int, **asked: Any) -> None:
        """Until so many records were lent. Kafka gives what it had read when it began to wait, and the rest
        with the next answer, if the first record came before the request."""
        began, lent = len(self.told), list[tuple[int, int, int]]()
        while sum(last - first + 1 for _, first, last in lent) < count:
            response = await self.fetch(member, None, **asked)
            assert response.error_code == 0
            lent += [
                (partition.partition_index, batch.first_offset, batch.last_offset)
                for topic in response.responses
                for partition in topic.partitions
                for batch in partition.acquired_records
            ]
        del self.told[began:]
        offsets = [(at, offset) for at, first, last in lent for offset in range(first, last + 1)]
        self.tell("fetched in all", sorted(offsets))

    async def acknowledge(
        self,
        member: str,
        acks: Acks,
        letter: str = "b",
        *,
        epoch: int | None = None,
        renews: bool = False,
        topic_id: uuid.UUID | None = None,
    ) -> Any:
        epoch = self.share_epochs.get(member, 0) if epoch is None else epoch
        partitions = [
            ShareAcknowledgeRequest.AcknowledgePartition(
                index, [ShareAcknowledgeRequest.AcknowledgementBatch(*batch) for batch in batches]
            )
            for index, batches in acks.items()
        ]
        topics = [ShareAcknowledgeRequest.AcknowledgeTopic(topic_id or self.topics[letter], partitions)]
        request = ShareAcknowledgeRequest(self.group, member, epoch, renews, topics if acks else [])
        response = await self.ask(request)
        if response.error_code == 0:
            self.share_epochs[member] = epoch + 1 if epoch >= 0 else 0
        found = sorted(
            (partition.partition_index, partition.error_code, self._masked(partition.error_message))
            for topic in response.responses
            for partition in topic.partitions
        )
        self.tell(
            "acknowledge",
            response.error_code,
            response.error_message,
            response.acquisition_lock_timeout_ms,
            found,
        )
        return response

    # Offsets

    async def offsets(
        self, *letters: str, group: str | None = None, partitions: tuple[int, ...] = (0,)
    ) -> None:
        """Of all topics, if none is named."""
        topics = [
            DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic(
                f"{self.run}-{letter}", list(partitions)
            )
            for letter in letters
        ]
        asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(
            group or self.group, topics or None
        )
        [found] = (await self.ask(DescribeShareGroupOffsetsRequest([asked]))).groups
        described = sorted(
            (
                self._masked(topic.topic_name),
                partition.partition_index,
                partition.start_offset,
                partition.lag,
                partition.error_code,
                self._masked(partition.error_message),
            )
            for topic in found.topics
            for partition in topic.partitions
        )
        self.tell("offsets", found.error_code, found.error_message, described)

    async def alter_offset(self, letter: str, offset: int, partition: int = 0) -> None:
        topic = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(
            f"{self.run}-{letter}",
            [AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition(partition, offset)],
        )
        response = await self.ask(AlterShareGroupOffsetsRequest(self.group, [topic]))
        found = sorted(
            (
                self._masked(each.topic_name),
                partition.partition_index,
                partition.error_code,
                self._masked(partition.error_message),
            )
            for each in response.responses
            for partition in each.partitions
        )
        self.tell("altered", response.error_code, response.error_message, found)

    async def delete_offsets(self, *letters: str) -> None:
        topics = [
            DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(f"{self.run}-{letter}")
            for letter in letters
        ]
        response = await self.ask(DeleteShareGroupOffsetsRequest(self.group, topics))
        found = sorted(
            (self._masked(each.topic_name), each.error_code, self._masked(each.error_message))
            for each in response.responses
        )
        self.tell("forgotten", response.error_code, response.error_message, found)


def java_text(topic_id: uuid.UUID) -> str:
    """As Kafka writes an id."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
