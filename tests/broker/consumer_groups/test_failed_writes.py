"""What cannot be written has not happened: a group is as it was, in memory as on the disk, whatever its
members speak."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.broker.in_process import Client, run

from barnabas.broker_errors import ErrorCode
from barnabas.client.groups.classic_messages import encode_subscription
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest

GROUP = "g"
ONE, TWO = (str(uuid.UUID(int=number)) for number in (1, 2))
LEAVES, STATIC_LEAVES = -1, -2
NOT_WRITTEN = ErrorCode.COORDINATOR_NOT_AVAILABLE
Seen = tuple[str, list[tuple[str, int, int]]]


@contextmanager
def full_disk(client: Client) -> Iterator[None]:
    upsets = client.broker.upsets()
    upsets.fill_disk(is_full=True)
    try:
        yield
    finally:
        upsets.fill_disk(is_full=False)


async def beat(client: Client, member_id: str, epoch: int, **fields: Any) -> Any:
    if epoch == 0:
        fields = {
            "topic_partitions": [],
            "subscribed_topic_names": ["t"],
            "rebalance_timeout_ms": 60_000,
            **fields,
        }
    return await client.send(ConsumerGroupHeartbeatRequest(GROUP, member_id, epoch, **fields))


async def consumers(client: Client) -> Seen:
    """The group's state, and of each member its id, its epoch and how many partitions it has."""
    [group] = (await client.send(ConsumerGroupDescribeRequest(group_ids=[GROUP]))).groups
    members = [
        (
            member.member_id,
            member.member_epoch,
            sum(len(topic.partitions) for topic in member.assignment.topic_partitions),
        )
        for member in group.members
    ]
    return group.group_state, sorted(members)


def played(directory: Path, scenario: Any, **config: str) -> None:
    """After which a group that was started again has the same members."""
    seen: list[Seen] = []

    async def play(client: Client) -> None:
        await client.create_topic("t", 4)
        await scenario(client)
        seen.append(await consumers(client))

    async def look_again(client: Client) -> None:
        seen.append(await consumers(client))

    settings = {"group.consumer.assignment.interval.ms": "0", **config}
    run(directory, play, config=settings)
    run(directory, look_again, config=settings)
    assert seen[0] == seen[1]


def test_a_group_whose_first_member_cannot_be_written_is_not_there(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        # So that the topic of groups is there.
        await beat(client, TWO, 0)
        await beat(client, TWO, LEAVES)
        with full_disk(client):
            fields: Any = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 1_000}
            joining = ConsumerGroupHeartbeatRequest("new", ONE, 0, topic_partitions=[], **fields)
            assert (await client.send(joining)).error_code == NOT_WRITTEN
        assert [group.group_id for group in (await client.send(ListGroupsRequest())).groups] == [GROUP]
        assert (await client.send(joining)).error_code == 0

    run(tmp_path, scenario)


def test_a_member_that_cannot_leave_keeps_its_partitions(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        one = await beat(client, ONE, 0)
        with full_disk(client):
            assert (await beat(client, ONE, LEAVES)).error_code == NOT_WRITTEN
        assert await consumers(client) == ("Stable", [(ONE, one.member_epoch, 4)])
        assert (await beat(client, ONE, one.member_epoch)).error_code == 0

    played(tmp_path, scenario)


def test_a_silent_member_is_expelled_once_that_can_be_written(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await beat(client, ONE, 0)
        with full_disk(client):
            await asyncio.sleep(50)
            assert [name for name, *_ in (await consumers(client))[1]] == [ONE]
        await asyncio.sleep(1)
        assert await consumers(client) == ("Empty", [])

    played(tmp_path, scenario)


def test_a_static_member_is_only_replaced_once_that_can_be_written(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        one = await beat(client, ONE, 0, instance_id="i")
        assert (await beat(client, ONE, STATIC_LEAVES, instance_id="i")).error_code == 0
        with full_disk(client):
            assert (await beat(client, TWO, 0, instance_id="i")).error_code == NOT_WRITTEN
        assert [name for name, *_ in (await consumers(client))[1]] == [ONE]
        two = await beat(client, TWO, 0, instance_id="i")
        assert two.member_epoch == one.member_epoch
        assert await consumers(client) == ("Stable", [(TWO, two.member_epoch, 4)])

    played(tmp_path, scenario)


def test_topics_that_came_meanwhile_are_assigned_with_the_next_heartbeat(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        both = {"subscribed_topic_names": ["t", "later"]}
        one = await beat(client, ONE, 0, **both)
        await client.create_topic("later", 2)
        with full_disk(client):
            assert (await beat(client, ONE, one.member_epoch)).error_code == NOT_WRITTEN
        assert (await beat(client, ONE, one.member_epoch)).error_code == 0
        [(_, epoch, partitions)] = (await consumers(client))[1]
        assert epoch > one.member_epoch
        assert partitions == 6

    played(tmp_path, scenario)


def test_what_waits_for_the_next_assignment_still_does(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        one = await beat(client, ONE, 0)
        two = await beat(client, TWO, 0)
        assert two.assignment.topic_partitions == []
        with full_disk(client):
            assert (await beat(client, ONE, LEAVES)).error_code == NOT_WRITTEN
        await asyncio.sleep(5)
        assert (await beat(client, TWO, two.member_epoch)).error_code == 0
        await give_up(client, one)
        assert [partitions for *_, partitions in (await consumers(client))[1]] == [2, 2]

    async def give_up(client: Client, one: Any) -> None:
        told = await beat(client, ONE, one.member_epoch)
        owned = [
            ConsumerGroupHeartbeatRequest.TopicPartitions(topic.topic_id, topic.partitions)
            for topic in told.assignment.topic_partitions
        ]
        assert (await beat(client, ONE, told.member_epoch, topic_partitions=owned)).error_code == 0
        [two] = [epoch for name, epoch, _ in (await consumers(client))[1] if name == TWO]
        await beat(client, TWO, two)

    played(tmp_path, scenario, **{"group.consumer.assignment.interval.ms": "5000"})


def test_a_share_group_is_as_it_was(tmp_path: Path) -> None:
    async def members(client: Client) -> list[tuple[str, int]]:
        [group] = (await client.send(ShareGroupDescribeRequest(group_ids=[GROUP]))).groups
        return [(member.member_id, member.member_epoch) for member in group.members]

    async def share(client: Client, member_id: str, epoch: int) -> Any:
        topics = ["t"] if epoch == 0 else None
        return await client.send(
            ShareGroupHeartbeatRequest(GROUP, member_id, epoch, subscribed_topic_names=topics)
        )

    async def scenario(client: Client) -> None:
        await client.create_topic("t", 4)
        one = await share(client, ONE, 0)
        with full_disk(client):
            assert (await share(client, TWO, 0)).error_code == NOT_WRITTEN
            assert (await share(client, ONE, LEAVES)).error_code == NOT_WRITTEN
        assert await members(client) == [(ONE, one.member_epoch)]
        assert (await share(client, ONE, one.member_epoch)).error_code == 0

    run(tmp_path, scenario)


def test_a_streams_group_is_as_it_was_and_still_waits_for_more_members(tmp_path: Path) -> None:
    request = StreamsGroupHeartbeatRequest
    part = request.Subtopology("0", source_topics=["t"])

    async def stream(client: Client, member_id: str, epoch: int) -> Any:
        fields: dict[str, Any] = {}
        if epoch == 0:
            fields = {
                "topology": request.Topology(1, subtopologies=[part]),
                "process_id": member_id,
                "rebalance_timeout_ms": 60_000,
                **{f"{role}_tasks": [] for role in ("active", "standby", "warmup")},
            }
        return await client.send(request(GROUP, member_id, member_epoch=epoch, **fields))

    async def members(client: Client) -> list[tuple[str, int]]:
        [group] = (await client.send(StreamsGroupDescribeRequest(group_ids=[GROUP]))).groups
        return sorted((member.member_id, member.member_epoch) for member in group.members)

    async def scenario(client: Client) -> None:
        await client.create_topic("t", 4)
        one = await stream(client, ONE, 0)
        with full_disk(client):
            assert (await stream(client, TWO, 0)).error_code == NOT_WRITTEN
            assert (await stream(client, ONE, LEAVES)).error_code == NOT_WRITTEN
        assert await members(client) == [(ONE, one.member_epoch)]
        waiting = await stream(client, ONE, one.member_epoch)
        assert waiting.error_code == 0
        assert [each.status_detail for each in waiting.status] == [
            "Assignment delayed due to the configured initial rebalance delay."
        ]
        await asyncio.sleep(3)
        given = await stream(client, ONE, one.member_epoch)
        assert [each.partitions for each in given.active_tasks] == [[0, 1, 2, 3]]

    run(tmp_path, scenario, config={"group.streams.initial.rebalance.delay.ms": "3000"})


class ClassicConsumer:
    """The only member of a group of the classic protocol."""

    def __init__(self, client: Client, instance: str | None = None) -> None:
        self.client = client
        self.instance = instance
        self.member_id = ""
        self.generation = -1

    async def join(self, *, member_id: str | None = None) -> Any:
        request = JoinGroupRequest(
            GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            member_id=self.member_id if member_id is None else member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequest.JoinGroupRequestProtocol(
                    "range", encode_subscription(["t"], [], -1, None, None)
                )
            ],
        )
        response = await self.client.send(request)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            request.member_id = response.member_id
            response = await self.client.send(request)
        if response.error_code == 0:
            self.member_id, self.generation = response.member_id, response.generation_id
        return response

    async def sync(self) -> int:
        given = [SyncGroupRequest.SyncGroupRequestAssignment(self.member_id, b"")]
        request = SyncGroupRequest(
            *(GROUP, self.generation, self.member_id, self.instance, "consumer", "range"), assignments=given
        )
        return (await self.client.send(request)).error_code

    async def heartbeat(self) -> int:
        request = HeartbeatRequest(GROUP, self.generation, self.member_id, self.instance)
        return (await self.client.send(request)).error_code


async def classic_members(client: Client) -> tuple[str, list[str]]:
    [group] = (await client.send(DescribeGroupsRequest(groups=[GROUP]), version=5)).groups
    return group.group_state, [member.member_id for member in group.members]


def test_a_classic_group_stays_one_while_its_change_cannot_be_written(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        classic = ClassicConsumer(client)
        await classic.join()
        assert await classic.sync() == 0
        with full_disk(client):
            assert (await beat(client, ONE, 0)).error_code == NOT_WRITTEN
        assert await classic.heartbeat() == 0
        assert await classic_members(client) == ("Stable", [classic.member_id])
        assert (await beat(client, ONE, 0)).error_code == 0
        assert {name for name, *_ in (await consumers(client))[1]} == {ONE, classic.member_id}

    played(tmp_path, scenario)


def test_a_group_of_both_protocols_stays_one_while_its_change_cannot_be_written(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        classic = ClassicConsumer(client)
        await classic.join()
        await classic.sync()
        one = await beat(client, ONE, 0)
        with full_disk(client):
            assert (await beat(client, ONE, LEAVES)).error_code == NOT_WRITTEN
        assert {name for name, *_ in (await consumers(client))[1]} == {ONE, classic.member_id}
        assert (await beat(client, ONE, one.member_epoch)).error_code == 0
        assert (await beat(client, ONE, LEAVES)).error_code == 0
        assert await classic_members(client) == ("PreparingRebalance", [classic.member_id])

    run(tmp_path, scenario)


def test_a_static_classic_member_keeps_its_place_while_another_cannot_be_written(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        classic = ClassicConsumer(client, "i")
        await classic.join()
        assert await classic.sync() == 0
        before = classic.member_id
        with full_disk(client):
            assert (await classic.join(member_id="")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert await classic.heartbeat() == 0
        assert (await classic_members(client))[1] == [before]
        assert (await classic.join(member_id="")).error_code == 0
        assert classic.member_id != before
        assert await classic.heartbeat() == 0

    run(tmp_path, scenario)
