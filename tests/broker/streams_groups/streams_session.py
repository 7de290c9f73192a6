"""Requests of Streams groups to one broker, and what it answered, without names, which may differ."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.waiting import Patience

from barnabas.net.connection import Connection
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

TIMEOUT_MS = 30_000
NOT_READY = (14, 15, 16)
"""The coordinator loads, or there is none yet."""
SET = 0
GROUP_RESOURCE = 32
QUIET_ROUNDS = 3

Request = StreamsGroupHeartbeatRequest
Told = list[tuple[str, list[int]]]


class StreamsSession:
    """One broker with one group and two topics for it: `a` with three partitions, `b` with two."""

    def __init__(self, connection: Connection, run: str) -> None:
        self.connection = connection
        self.run = run
        self.group = f"group-{run}"
        self.told: list[Any] = []
        self.epochs: dict[str, int] = {}
        self.tasks: dict[str, tuple[Told, Told, Told]] = {}
        self.shown_epochs = True
        """Without it epochs are not told: topics that come one after the other make several."""

    @classmethod
    async def open(cls, bootstrap: str, run: str) -> StreamsSession:
        session = await cls.open_raw(bootstrap, run)
        await session.create_topic("a", 3)
        await session.create_topic("b", 2)
        patience = Patience()
        while True:
            found = await session.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[session.group]))
            described = await session.ask(StreamsGroupDescribeRequest(group_ids=[session.group]))
            if not {found.coordinators[0].error_code, described.groups[0].error_code} & {*NOT_READY}:
                break
            await patience.pause_async()
        await session.until_coordinator_knows("a", "b")
        return session

    @classmethod
    async def open_raw(cls, bootstrap: str, run: str) -> StreamsSession:
        """Whether the broker has the topics or not."""
        host, _, port = bootstrap.rpartition(":")
        return cls(await Connection.open(host, int(port), client_id="test"), run)

    def name(self, letter: str) -> str:
        return f"{self.run}-{letter}"

    async def ask(self, request: Any, version: int | None = None) -> Any:
        return await self.connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    def tell(self, what: str, *found: Any) -> None:
        self.told.append((what, *(self._masked(each) for each in found)))

    def _masked(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._masked(each) for each in value]
        if not isinstance(value, str):
            return value
        shown = value.replace(self.run, "RUN")
        # Kafka names missing topics in the order of its hash tables.
        head, colon, names = shown.partition("are missing: ")
        return shown if not colon else head + colon + ", ".join(sorted(names.split(", ")))

    # Topics

    async def create_topic(self, letter: str, partitions: int) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            name=self.name(letter), num_partitions=partitions, replication_factor=1
        )
        await self.ask(CreateTopicsRequest(topics=[topic]))

    async def grow_topic(self, letter: str, partitions: int) -> None:
        topic = CreatePartitionsRequest.CreatePartitionsTopic(self.name(letter), partitions, None)
        await self.ask(CreatePartitionsRequest(topics=[topic], timeout_ms=5000))

    async def partition_count(self, letter: str) -> int:
        asked = [MetadataRequest.MetadataRequestTopic(name=self.name(letter))]
        found = await self.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
        return len(found.topics[0].partitions)

    async def until_coordinator_knows(self, *letters: str) -> None:
        """Found by a group of its own, which is there no more afterwards."""
        group, run = self.group, 0
        patience = Patience()
        while True:
            run += 1
            self.group = f"{group}-probe{run}"
            parts = [self.part(str(place), [letter]) for place, letter in enumerate(letters)]
            joined = await self.ask(self.request("probe", 0, self.topology(*parts)))
            await self.ask(self.request("probe", -1))
            await self.ask(DeleteGroupsRequest(groups_names=[self.group]))
            self.group = group
            if joined.error_code == 0 and not joined.status:
                return
            await patience.pause_async()

    # Topologies

    def info(
        self, letter: str, partitions: int = 0, replication: int = 0, **settings: str
    ) -> Request.TopicInfo:
        configs = [Request.KeyValue(key.replace("_", "."), value) for key, value in settings.items()]
        return Request.TopicInfo(self.name(letter), partitions, replication, configs)

    def part(
        self,
        name: str,
        sources: list[str],
        *,
        writes: tuple[str, ...] = (),
        reads: tuple[Request.TopicInfo, ...] = (),
        changelogs: tuple[Request.TopicInfo, ...] = (),
        joins: tuple[list[int], list[int]] | None = None,
    ) -> Request.Subtopology:
        """`joins`: which of the sources, and of the topics in between, have equally many partitions."""
        return Request.Subtopology(
            name,
            [self.name(letter) for letter in sources],
            state_changelog_topics=list(changelogs),
            repartition_sink_topics=[self.name(letter) for letter in writes],
            repartition_source_topics=list(reads),
            copartition_groups=[] if joins is None else [Request.CopartitionGroup(joins[0], [], joins[1])],
        )

    def topology(self, *parts: Request.Subtopology, epoch: int = 0) -> Request.Topology:
        return Request.Topology(epoch, list(parts))

    # Members

    def request(
        self, member: str, epoch: int, topology: Request.Topology | None = None, **options: Any
    ) -> Request:
        joins = (
            {"rebalance_timeout_ms": 5000, "active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
            if epoch == 0
            else {}
        )
        given = {"process_id": f"process-{member}", "client_tags": [], **joins} if epoch == 0 else {}
        return Request(
            group_id=self.group,
            member_id=member,
            member_epoch=epoch,
            topology=topology,
            **{**given, **options},
        )

    async def beat(
        self, member: str, epoch: int | None = None, topology: Request.Topology | None = None, **options: Any
    ) -> Any:
        """Without an epoch: stays in the one it knows."""
        epoch = self.epochs.get(member, 0) if epoch is None else epoch
        response = await self.ask(self.request(member, epoch, topology, **options))
        if response.error_code == 0:
            self.epochs[member] = response.member_epoch
        tasks = self._tasks(response)
        if tasks is not None:
            self.tasks[member] = tasks
        endpoints = response.partitions_by_user_endpoint
        self.tell(
            "beat",
            member,
            response.error_code,
            response.error_message,
            response.member_epoch if self.shown_epochs else min(response.member_epoch, 1),
            sorted((status.status_code, status.status_detail) for status in response.status or ()),
            tasks,
            response.endpoint_information_epoch,
            endpoints
            and sorted(
                (
                    found.user_endpoint.host,
                    found.user_endpoint.port,
                    *(
                        sorted((topic.topic, sorted(topic.partitions)) for topic in partitions)
                        for partitions in (found.active_partitions, found.standby_partitions)
                    ),
                )
                for found in endpoints
            ),
        )
        return response

    def _tasks(self, response: Any) -> tuple[Told, Told, Told] | None:
        if response.active_tasks is None:
            return None
        active, standby, warmup = (
            sorted((part.subtopology_id, part.partitions) for part in tasks)
            for tasks in (response.active_tasks, response.standby_tasks, response.warmup_tasks)
        )
        return active, standby, warmup

    async def owns(self, member: str, *, all_of_it: bool = True, **options: Any) -> Any:
        """Says that it has what it was last told to have, or nothing."""
        names = ("active_tasks", "standby_tasks", "warmup_tasks")
        given = {
            name: [Request.TaskIds(part, indexes) for part, indexes in tasks] if all_of_it else []
            for name, tasks in zip(names, self.tasks.get(member, ([], [], [])), strict=True)
        }
        return await self.beat(member, **given, **options)

    async def settle(self, *members: str) -> None:
        """Until heartbeats change nothing any more, and tell of no problem; they are not told."""
        told, quiet = list(self.told), 0
        while quiet < QUIET_ROUNDS:
            before = dict(self.epochs), dict(self.tasks)
            answers = [await self.owns(member) for member in members]
            is_quiet = before == (self.epochs, self.tasks)
            is_quiet = is_quiet and not any(answer.status for answer in answers)
            quiet = quiet + 1 if is_quiet else 0
            await asyncio.sleep(0.05)
        self.told = told

    async def describe(self) -> None:
        [group] = (await self.ask(StreamsGroupDescribeRequest(group_ids=[self.group]))).groups
        topology = group.topology and (
            group.topology.epoch,
            [
                (
                    part.subtopology_id,
                    part.source_topics,
                    part.repartition_sink_topics,
                    *(
                        [
                            (
                                info.name,
                                info.partitions,
                                info.replication_factor,
                                sorted((config.key, config.value) for config in info.topic_configs),
                            )
                            for info in infos
                        ]
                        for infos in (part.repartition_source_topics, part.state_changelog_topics)
                    ),
                )
                for part in group.topology.subtopologies
            ],
        )
        self.tell(
            "group",
            group.error_code,
            group.error_message,
            group.group_state,
            (group.group_epoch, group.assignment_epoch)
            if self.shown_epochs
            else group.group_epoch == group.assignment_epoch,
            group.authorized_operations,
            topology,
            sorted(self._described(member, group) for member in group.members),
        )

    def _described(self, member: Any, group: Any) -> tuple[Any, ...]:
        endpoint = member.user_endpoint and (member.user_endpoint.host, member.user_endpoint.port)
        return (
            member.member_id,
            member.member_epoch if self.shown_epochs else member.member_epoch == group.assignment_epoch,
            member.rack_id or "",
            member.client_id,
            member.client_host,
            member.topology_epoch,
            member.process_id,
            endpoint or (),
            sorted((tag.key, tag.value) for tag in member.client_tags),
            *(
                sorted((part.subtopology_id, sorted(part.partitions)) for part in tasks)
                for assignment in (member.assignment, member.target_assignment)
                for tasks in (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)
            ),
            member.is_classic,
        )

    async def list(self) -> None:
        listed = await self.ask(ListGroupsRequest())
        self.tell(
            "listed",
            [
                (group.protocol_type, group.group_state, group.group_type)
                for group in listed.groups
                if group.group_id == self.group
            ],
        )

    async def delete_group(self) -> None:
        response = await self.ask(DeleteGroupsRequest(groups_names=[self.group]))
        self.tell("deleted", response.results[0].error_code)

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
