"""The same heartbeats to Apache Kafka and to the embedded broker: what differs is only which partition goes
to whom, as both are free to choose that."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas.client.groups.classic_messages import (
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from barnabas.net.connection import Connection
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.testing import ApacheKafka
from barnabas.types import TopicPartition

TIMEOUT_MS = 30_000
MEMBER_ID_REQUIRED = 79
NOT_READY = (14, 16)
"""The coordinator loads, or it is not one yet."""
PARTITIONS = 19
# Of heartbeats of all members, until nothing moves any more.
ROUNDS = 8
MEMBERS = [str(uuid.UUID(int=number)) for number in range(1, 5)]
GROUP_RESOURCE = 32
ONE, TWO, THREE, FOUR = MEMBERS


class Theatre:
    """One broker with one group and its topics on it, and all that it answered, without what may differ."""

    def __init__(self, connection: Connection, group: str, topics: dict[str, uuid.UUID]) -> None:
        self.connection = connection
        self.group = group
        self.topics = topics
        self.names = {topic_id: name.rpartition("-")[2] for name, topic_id in topics.items()}
        self.answers: list[Any] = []
        self.host, self.port = "", 0
        self.others: list[Connection] = []
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, list[tuple[uuid.UUID, list[int]]]] = {}

    @classmethod
    async def open(cls, bootstrap: str, run: str) -> Theatre:
        host, _, port = bootstrap.rpartition(":")
        connection = await Connection.open(host, int(port), client_id="test")
        names = {f"{run}-a": 4, f"{run}-b": 3, f"{run}-c": 12}
        request = CreateTopicsRequest(
            topics=[
                CreateTopicsRequest.CreatableTopic(name=name, num_partitions=count, replication_factor=1)
                for name, count in names.items()
            ]
        )
        response = await connection.submit(request, timeout_ms=TIMEOUT_MS)
        topics = {topic.name: topic.topic_id for topic in response.topics}
        theatre = cls(connection, f"group-{run}", topics)
        theatre.host, theatre.port = host, int(port)
        await theatre.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[theatre.group]))
        patience = Patience()
        while True:
            listed = await theatre.ask(ListGroupsRequest())
            described = await theatre.ask(DescribeGroupsRequest(groups=[theatre.group]))
            if listed.error_code == 0 and described.groups[0].error_code not in NOT_READY:
                break
            await patience.pause_async()
        await theatre._until_topics_are_known()
        return theatre

    async def _until_topics_are_known(self) -> None:
        """To the coordinator: it assigns partitions of them to a member of another group."""
        group, self.group = self.group, f"scratch-{self.group}"
        epoch, found = 0, 0
        patience = Patience()
        while found < PARTITIONS:
            response = await self.beat(
                ONE, epoch, subscribed_topic_names=list(self.topics), rebalance_timeout_ms=60_000
            )
            if epoch == response.member_epoch:
                await patience.pause_async()
            epoch = response.member_epoch
            found = sum(len(indexes) for _, indexes in self.owned.get(ONE, ()))
        await self.beat(ONE, -1)
        self.group = group
        self.answers.clear()
        self.owned.clear()

    def topic(self, letter: str) -> str:
        return f"{self.group.removeprefix('group-')}-{letter}"

    async def ask(self, request: Any, version: int | None = None) -> Any:
        return await self.connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    async def configure(self, name: str, value: str) -> None:
        """A setting of the group, until the broker tells it."""
        config = IncrementalAlterConfigsRequest.AlterableConfig(name, 0, value)
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(GROUP_RESOURCE, self.group, [config])
        await self.ask(IncrementalAlterConfigsRequest([resource]))
        asked = DescribeConfigsRequest.DescribeConfigsResource(GROUP_RESOURCE, self.group, [name])
        patience = Patience()
        while True:
            [result] = (await self.ask(DescribeConfigsRequest([asked]))).results
            if result.configs[0].value == value:
                return
            await patience.pause_async()

    async def beat(
        self, member: str, epoch: int, *, owned: Any = (), topics: str | None = None, **fields: Any
    ) -> Any:
        """A heartbeat. `owned`: "all" that the member was told to have. `topics`: letters of topics."""
        run = self.group.removeprefix("group-")
        if topics is not None:
            fields["subscribed_topic_names"] = [f"{run}-{letter}" for letter in topics]
        if owned == "all":
            owned = self.owned.get(member, [])
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=member,
            member_epoch=epoch,
            topic_partitions=None
            if owned is None
            else [ConsumerGroupHeartbeatRequest.TopicPartitions(*each) for each in owned],
            **fields,
        )
        response = await self.ask(request)
        assigned = None
        if response.error_code == 0:
            self.epochs[member] = response.member_epoch
        if response.assignment is not None:
            found = [(each.topic_id, list(each.partitions)) for each in response.assignment.topic_partitions]
            self.owned[member] = found
            assigned = sorted((self.names[topic_id], len(indexes)) for topic_id, indexes in found)
        message = response.error_message and response.error_message.replace(run, "RUN")
        # Which expression is regular, and what is wrong with one, the libraries say in words of their own.
        message = message and message.partition("regular expression:")[0]
        self.answers.append((response.error_code, message, response.member_epoch, assigned))
        return response

    async def join(self, member: str, topics: str = "a", **fields: Any) -> Any:
        return await self.beat(member, 0, topics=topics, rebalance_timeout_ms=60_000, **fields)

    async def stay(self, member: str, *, behind: int = 0, owned: Any = "all", **fields: Any) -> Any:
        """With the epoch that the member was told, or one `behind` that."""
        return await self.beat(member, self.epochs.get(member, 0) - behind, owned=owned, **fields)

    async def describe(self) -> None:
        response = await self.ask(ConsumerGroupDescribeRequest(group_ids=[self.group]))
        [group] = response.groups
        members = sorted(
            (
                member.member_id,
                member.instance_id,
                member.member_epoch,
                member.client_id,
                member.client_host,
                sorted(name.rpartition("-")[2] for name in member.subscribed_topic_names),
                member.subscribed_topic_regex,
                sum(len(topic.partitions) for topic in member.assignment.topic_partitions),
                sum(len(topic.partitions) for topic in member.target_assignment.topic_partitions),
                member.member_type,
            )
            for member in group.members
        )
        self.answers.append(
            (
                group.error_code,
                group.group_state,
                group.group_epoch,
                group.assignment_epoch,
                group.assignor_name,
                members,
            )
        )

    async def commit(self, member: str, epoch: int, version: int | None = None) -> None:
        [(name, _), *_] = self.topics.items()
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=epoch,
            member_id=member,
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(
                    name=name,
                    topic_id=self.topics[name],
                    partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(0, 7)],
                )
            ],
        )
        response = await self.ask(request, version)
        self.answers.append(response.topics[0].partitions[0].error_code)

    async def committed(self, member: str | None, epoch: int) -> None:
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequest.OffsetFetchRequestGroup(self.group, member, epoch, topics=None)]
        )
        [group] = (await self.ask(request)).groups
        offsets = [p.committed_offset for topic in group.topics for p in topic.partitions]
        self.answers.append((group.error_code, offsets))

    async def list_and_describe_classically(self) -> None:
        listed = await self.ask(ListGroupsRequest(types_filter=["consumer"]))
        self.answers.append(
            [
                (group.protocol_type, group.group_state, group.group_type)
                for group in listed.groups
                if group.group_id == self.group
            ]
        )
        described = await self.ask(DescribeGroupsRequest(groups=[self.group]))
        self.answers.append((described.groups[0].error_code, described.groups[0].group_state))

    async def delete(self) -> None:
        response = await self.ask(DeleteGroupsRequest(groups_names=[self.group]))
        self.answers.append(response.results[0].error_code)


Script = Callable[[Theatre], Awaitable[None]]


async def members_share_and_hand_over(on: Theatre) -> None:
    await on.join(ONE)
    await on.stay(ONE)
    await on.describe()
    await on.join(TWO)
    await on.describe()
    await on.stay(TWO, owned=None)
    await on.stay(ONE)
    await on.describe()
    await on.stay(TWO)
    await on.stay(ONE)
    await on.stay(ONE)
    await on.stay(TWO)
    await on.describe()
    await on.beat(TWO, -1)
    await on.stay(ONE, owned=None)
    await on.stay(ONE)
    await on.describe()
    await on.beat(ONE, -1)
    await on.describe()
    await on.list_and_describe_classically()
    await on.delete()
    await on.describe()


async def a_member_asks_wrongly(on: Theatre) -> None:
    await on.beat(ONE, 0, topics="a")
    await on.beat(ONE, 0, topics="a", rebalance_timeout_ms=100, owned=None)
    await on.beat(ONE, 0, rebalance_timeout_ms=100)
    await on.beat("", 0, topics="a", rebalance_timeout_ms=100)
    await on.beat(ONE, -3)
    await on.beat(ONE, -2)
    await on.beat(ONE, 5)
    await on.beat(ONE, -1)
    await on.join(ONE, instance_id=" ")
    await on.join(ONE, rack_id="")
    await on.join(ONE, server_assignor="nobody")
    await on.describe()
    await on.join(ONE, rack_id="r")
    await on.beat(TWO, 1)
    await on.beat(ONE, 7)
    await on.stay(ONE, instance_id="i")
    await on.beat(ONE, -1, instance_id="i")


async def answers_get_lost(on: Theatre) -> None:
    await on.join(ONE)
    await on.join(ONE)
    await on.join(TWO)
    await on.stay(ONE)
    await on.stay(ONE, behind=1)
    await on.stay(ONE)
    await on.stay(ONE, behind=1)
    await on.stay(ONE, behind=1, owned=None)
    await on.stay(ONE, behind=2)
    await on.join(THREE)
    await on.stay(ONE)
    await on.stay(TWO)
    await on.describe()
    await on.join(TWO)
    await on.describe()
    await on.stay(TWO, behind=1)
    await on.stay(TWO, behind=3)
    await on.join(ONE)
    await on.describe()


async def subscriptions_change(on: Theatre) -> None:
    await on.join(ONE, "ab")
    await on.join(TWO, "b")
    await on.describe()
    await on.stay(ONE)
    await on.stay(ONE)
    await on.stay(TWO)
    await on.describe()
    await on.stay(ONE, topics="b", rebalance_timeout_ms=60_000)
    await on.describe()
    await on.stay(ONE)
    await on.stay(TWO)
    await on.describe()
    await on.stay(ONE, owned=None, subscribed_topic_regex="(")


async def static_members_come_back(on: Theatre) -> None:
    await on.join(ONE, instance_id="i")
    await on.join(TWO, instance_id="i")
    await on.stay(ONE, instance_id="i")
    await on.beat(TWO, 2, instance_id="i")
    await on.beat(ONE, -2, instance_id="i")
    await on.describe()
    await on.join(TWO, instance_id="i")
    await on.describe()
    await on.stay(ONE, instance_id="i")
    await on.beat(TWO, -1, instance_id="i")
    await on.describe()


async def offsets_belong_to_members(on: Theatre) -> None:
    await on.commit("", -1)
    await on.join(ONE)
    await on.commit("", -1)
    for epoch in (0, 1, 2, 3):
        await on.commit(ONE, epoch)
    await on.commit(TWO, 2)
    await on.commit(ONE, 2, version=8)
    await on.committed(None, -1)
    for epoch in (-1, 0, 2, 4):
        await on.committed(ONE, epoch)
    await on.committed(TWO, 2)
    await on.delete()
    await on.beat(ONE, -1)
    await on.commit("", -1)
    await on.list_and_describe_classically()
    await on.delete()
    await on.committed(None, -1)


class ClassicMember:
    """Joins, syncs and so on by the classic protocol, on a connection of its own."""

    def __init__(self, on: Theatre, connection: Connection) -> None:
        self.on = on
        self.connection = connection
        self.member_id = ""
        self.generation = -1
        self.owned: list[TopicPartition] = []

    @classmethod
    async def connect(cls, on: Theatre) -> ClassicMember:
        connection = await Connection.open(on.host, on.port, client_id="classic")
        on.others.append(connection)
        return cls(on, connection)

    async def ask(self, request: Any) -> Any:
        return await self.connection.submit(request, timeout_ms=TIMEOUT_MS)

    def note(self, *what: Any) -> None:
        self.on.answers.append(what)

    async def join(self, *, cooperative: bool = True, instance: str | None = None) -> None:
        """Twice, where it has to come back with its id."""
        topic = self.on.topic("c")
        metadata = encode_subscription(
            [topic], self.owned if cooperative else [], self.generation, None, None
        )
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("cooperative-sticky", metadata)
        while True:
            response = await self.ask(
                JoinGroupRequest(
                    group_id=self.on.group,
                    session_timeout_ms=30_000,
                    rebalance_timeout_ms=30_000,
                    member_id=self.member_id,
                    group_instance_id=instance,
                    protocol_type="consumer",
                    protocols=[protocol],
                )
            )
            leads = response.leader == response.member_id
            self.note("join", response.error_code, response.protocol_name, response.protocol_type, leads)
            self.member_id = response.member_id
            if response.error_code != MEMBER_ID_REQUIRED:
                break
        self.generation = response.generation_id
        self.note("generation", self.generation)

    async def sync(self, assignments: dict[str, list[int]] | None = None) -> None:
        """`assignments`: partitions of topic c by member, where this one leads."""
        topic = self.on.topic("c")
        response = await self.ask(
            SyncGroupRequest(
                group_id=self.on.group,
                generation_id=self.generation,
                member_id=self.member_id,
                protocol_type="consumer",
                protocol_name="cooperative-sticky",
                assignments=[
                    SyncGroupRequest.SyncGroupRequestAssignment(
                        member_id,
                        encode_assignment([TopicPartition(topic, index) for index in indexes]),
                    )
                    for member_id, indexes in (assignments or {}).items()
                ],
            )
        )
        if response.error_code == 0:
            self.owned = decode_assignment(response.assignment)
        self.note("sync", response.error_code, response.protocol_name, len(self.owned))

    async def heartbeat(self) -> None:
        response = await self.ask(
            HeartbeatRequest(group_id=self.on.group, generation_id=self.generation, member_id=self.member_id)
        )
        self.note("heartbeat", response.error_code)

    async def leave(self) -> None:
        member = LeaveGroupRequest.MemberIdentity(self.member_id)
        response = await self.ask(LeaveGroupRequest(group_id=self.on.group, members=[member]))
        self.note("leave", response.members[0].error_code)


async def classic_members_join_those_of_the_other_protocol(on: Theatre) -> None:
    await on.join(ONE, "c")
    classic = await ClassicMember.connect(on)
    await classic.join()
    await classic.sync()
    await classic.heartbeat()
    await on.stay(ONE)
    await classic.heartbeat()
    await on.stay(ONE)
    await classic.heartbeat()
    await classic.join()
    await classic.sync()
    await classic.heartbeat()
    await on.join(TWO, "c")
    await on.stay(ONE)
    await classic.heartbeat()
    await classic.sync()
    await classic.join()
    await classic.sync()
    await classic.leave()
    await on.stay(ONE)
    await on.stay(TWO)


async def a_classic_group_is_taken_over_and_given_back(on: Theatre) -> None:
    first = await ClassicMember.connect(on)
    await first.join()
    await first.sync({first.member_id: list(range(12))})
    await on.join(ONE, "c")
    await first.heartbeat()
    await first.join()
    await first.sync()
    await on.stay(ONE)
    # It gives up what it has lost, and says so.
    await first.heartbeat()
    await first.join()
    await first.sync()
    await on.stay(ONE)
    await on.commit(first.member_id, first.generation)
    await on.commit(first.member_id, first.generation - 1)
    await on.committed(first.member_id, first.generation - 1)
    await on.beat(ONE, -1)
    await on.list_and_describe_classically()
    await on.commit(first.member_id, first.generation)
    await first.heartbeat()
    await on.describe()


async def a_group_is_given_back_while_members_come(on: Theatre) -> None:
    first, second = await ClassicMember.connect(on), await ClassicMember.connect(on)
    await on.join(ONE, "c")
    await first.join()
    await first.sync()
    await second.join()
    await second.sync()
    await on.beat(ONE, -1)
    await on.list_and_describe_classically()
    await on.commit(first.member_id, first.generation)
    await on.commit(second.member_id, second.generation)
    await first.heartbeat()
    await second.heartbeat()


async def assignments_wait_for_their_time(on: Theatre) -> None:
    await on.configure("consumer.assignment.interval.ms", "15000")
    await on.join(ONE)
    await on.join(TWO)
    await on.stay(ONE)
    await on.stay(TWO)
    await on.describe()
    await on.configure("consumer.assignment.interval.ms", "0")
    await on.stay(ONE)
    await on.stay(ONE)
    await on.stay(TWO)
    await on.describe()


@pytest.fixture(scope="module")
def assigning_kafka() -> Iterator[ApacheKafka]:
    """One that assigns with each change, not only once a second."""
    with ApacheKafka(
        config={"group.consumer.assignment.interval.ms": "0", "group.initial.rebalance.delay.ms": "0"}
    ) as kafka:
        yield kafka


SCRIPTS = [
    members_share_and_hand_over,
    a_member_asks_wrongly,
    answers_get_lost,
    subscriptions_change,
    static_members_come_back,
    offsets_belong_to_members,
    classic_members_join_those_of_the_other_protocol,
    a_classic_group_is_taken_over_and_given_back,
    a_group_is_given_back_while_members_come,
    assignments_wait_for_their_time,
]


async def played(script: Script, bootstrap: str, run: str) -> list[Any]:
    theatre = await Theatre.open(bootstrap, run)
    try:
        await asyncio.wait_for(script(theatre), 60)
    finally:
        for connection in (theatre.connection, *theatre.others):
            connection.close()
    return theatre.answers


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_heartbeats_get_the_answers_that_kafka_gives(
    script: Script, assigning_kafka: Any, embedded_broker: Any
) -> None:
    run = uuid.uuid4().hex[:8]
    expected = asyncio.run(played(script, assigning_kafka.bootstrap, run))
    found = asyncio.run(played(script, embedded_broker.bootstrap, run))
    for number, (kafkas, ours) in enumerate(zip(expected, found, strict=True)):
        assert ours == kafkas, f"answer {number}"


def at_random(seed: int) -> Script:
    """Members join and leave, and give up what they are to, until all have what they shall."""

    async def script(on: Theatre) -> None:
        dice = random.Random(seed)
        joined: set[str] = set()
        for _ in range(12):
            member = dice.choice(MEMBERS)
            if member in joined:
                joined.remove(member)
                await on.beat(member, -1)
            else:
                joined.add(member)
                await on.join(member, "c")
            if dice.random() < 0.7:
                for _ in range(ROUNDS):
                    for other in sorted(joined):
                        await on.stay(other)
                on.answers.clear()
                await on.describe()

    return script


@pytest.mark.parametrize("seed", range(5))
def test_groups_by_chance_have_the_epochs_that_kafkas_have(
    seed: int, assigning_kafka: Any, embedded_broker: Any
) -> None:
    run = uuid.uuid4().hex[:8]
    expected = asyncio.run(played(at_random(seed), assigning_kafka.bootstrap, run))
    found = asyncio.run(played(at_random(seed), embedded_broker.bootstrap, run))
    for number, (kafkas, ours) in enumerate(zip(expected, found, strict=True)):
        assert ours == kafkas, f"answer {number}"
