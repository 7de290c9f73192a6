"""Consumer groups, request by request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest

from .in_process import Client, run

GROUP = "g"


class Member:
    """A member of the group, one step at a time, on a connection of its own."""

    def __init__(self, client: Client, instance: str | None = None) -> None:
        self.client = client
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.leads = False
        self.protocol = ""
        self.members: list[str] = []

    async def join(
        self,
        protocols: Sequence[str] = ("range",),
        *,
        version: int = 9,
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 10_000,
    ) -> Any:
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name, name.encode()) for name in protocols],
        )
        response = await self.client.send(request, version=version)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            request.member_id = response.member_id
            response = await self.client.send(request, version=version)
        if response.error_code == ErrorCode.NONE:
            self.member_id, self.generation = response.member_id, response.generation_id
            self.protocol = response.protocol_name
            self.leads = response.leader == response.member_id
            self.members = [member.member_id for member in response.members]
        return response

    async def sync(self) -> Any:
        given = [
            SyncGroupRequest.SyncGroupRequestAssignment(member_id, f"for {member_id}".encode())
            for member_id in self.members
        ]
        return await self.client.send(
            SyncGroupRequest(
                group_id=GROUP,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance,
                protocol_type="consumer",
                protocol_name=self.protocol,
                assignments=given,
            )
        )

    async def heartbeat(self) -> int:
        response = await self.client.send(
            HeartbeatRequest(GROUP, self.generation, self.member_id, self.instance)
        )
        return response.error_code

    async def hears_of_a_rebalance(self) -> None:
        async with asyncio.timeout(30):
            patience = Patience()
            while True:
                if await self.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS:
                    return
                await patience.pause_async()

    async def commit(self, offset: int, *, generation: int | None = None) -> int:
        return await commit(
            self.client, offset, self.generation if generation is None else generation, self.member_id
        )

    async def leave(self) -> int:
        identity = LeaveGroupRequest.MemberIdentity(self.member_id, self.instance)
        response = await self.client.send(LeaveGroupRequest(group_id=GROUP, members=[identity]))
        return response.members[0].error_code


async def commit(client: Client, offset: int, generation: int = -1, member_id: str = "") -> int:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata="note"
    )
    request = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=[partition])],
    )
    response = await client.send(request, version=9)
    return response.topics[0].partitions[0].error_code


async def committed(client: Client) -> int:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    response = await client.send(OffsetFetchRequest(group_id=GROUP, topics=[topic]), version=7)
    return response.topics[0].partitions[0].committed_offset


async def state(client: Client) -> str:
    response = await client.send(DescribeGroupsRequest(groups=[GROUP]), version=5)
    return response.groups[0].group_state


async def stable_pair(client: Client, *instances: str | None, **join: int) -> tuple[Member, Member]:
    """Two members of a stable group, the leader first."""
    names = instances or (None, None)
    first, second = Member(await client.another(), names[0]), Member(await client.another(), names[1])
    await first.join(**join)
    await first.sync()
    joining = asyncio.create_task(second.join(**join))
    await first.hears_of_a_rebalance()
    await asyncio.gather(first.join(**join), joining)
    syncs = await asyncio.gather(first.sync(), second.sync())
    assert [sync.error_code for sync in syncs] == [0, 0]
    leader, follower = (first, second) if first.leads else (second, first)
    return leader, follower


@pytest.mark.parametrize("version", range(10))
def test_a_single_member_leads_and_gets_its_assignment_in_every_version(tmp_path: Path, version: int) -> None:
    async def scenario(client: Client) -> None:
        member = Member(client)
        joined = await member.join(version=version)
        assert joined.error_code == 0
        assert (joined.generation_id, member.leads, joined.protocol_name) == (1, True, "range")
        synced = await member.sync()
        assert synced.assignment == f"for {member.member_id}".encode()
        assert await member.heartbeat() == ErrorCode.NONE
        assert await state(client) == "Stable"

    run(tmp_path, scenario)


def test_two_members_share_a_generation_with_one_leader(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        leader, follower = await stable_pair(client)
        assert leader.generation == follower.generation == 2
        assert not follower.leads
        assert sorted(leader.members) == sorted([leader.member_id, follower.member_id])
        assert follower.members == []
        assert await leader.heartbeat() == await follower.heartbeat() == ErrorCode.NONE

    run(tmp_path, scenario)


def test_the_protocol_that_all_know_and_most_prefer_is_chosen(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        members = [Member(await client.another()) for _ in range(3)]
        wishes = [("sticky", "range"), ("range", "sticky"), ("range", "other")]
        joins = [asyncio.create_task(member.join(wish)) for member, wish in zip(members, wishes, strict=True)]
        patience = Patience()
        while len(joins) > sum(join.done() for join in joins) or not all(
            member.generation == members[0].generation for member in members
        ):
            for index, member in enumerate(members):
                if joins[index].done() and await member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS:
                    joins[index] = asyncio.create_task(member.join(wishes[index]))
            await patience.pause_async()
        assert {join.result().protocol_name for join in joins} == {"range"}
        stranger = Member(await client.another())
        assert (await stranger.join(("other",))).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    run(tmp_path, scenario)


def test_a_member_that_leaves_makes_the_others_rebalance(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        leader, follower = await stable_pair(client)
        assert await leader.leave() == ErrorCode.NONE
        assert await leader.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
        assert await follower.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
        assert (await follower.join()).error_code == 0
        assert follower.leads
        assert follower.generation == 3

    run(tmp_path, scenario)


def test_a_member_that_is_not_heard_of_is_removed(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        leader, follower = await stable_pair(client, session_timeout_ms=10_000)
        patience = Patience()
        while await follower.heartbeat() == ErrorCode.NONE:
            await patience.pause_async()
        await follower.join()
        assert follower.members == [follower.member_id]
        assert await leader.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID

    run(tmp_path, scenario)


def test_a_member_that_does_not_rejoin_in_time_is_left_behind(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        leader, follower = await stable_pair(client, rebalance_timeout_ms=3_000)
        joined = await asyncio.wait_for(leader.join(("range", "more"), rebalance_timeout_ms=3_000), 40)
        assert joined.error_code == 0
        assert leader.members == [leader.member_id]
        assert await follower.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID

    run(tmp_path, scenario)


def test_whoever_does_not_ask_for_its_assignment_is_removed(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        member = Member(client)
        await member.join(rebalance_timeout_ms=300)
        patience = Patience()
        while await state(client) != "Empty":
            await patience.pause_async()
        assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID

    run(tmp_path, scenario)


def test_a_member_that_hangs_up_while_it_waits_is_removed_in_time(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        stays = Member(client)
        await stays.join()
        await stays.sync()
        gone = Member(await client.another())
        joining = asyncio.create_task(gone.join(session_timeout_ms=1_000))
        await stays.hears_of_a_rebalance()
        gone.client.connection.close()
        await asyncio.gather(joining, return_exceptions=True)
        joined = await asyncio.wait_for(stays.join(), 40)
        assert joined.error_code == 0

    run(tmp_path, scenario)


def test_old_generations_and_strangers_are_fenced(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        member = Member(client)
        await member.join()
        assert await member.commit(1) == ErrorCode.REBALANCE_IN_PROGRESS
        await member.sync()
        assert await member.commit(5) == ErrorCode.NONE
        assert await member.commit(6, generation=0) == ErrorCode.ILLEGAL_GENERATION
        assert await commit(client, 7) == ErrorCode.UNKNOWN_MEMBER_ID
        assert await commit(client, 8, member.generation, "stranger") == ErrorCode.UNKNOWN_MEMBER_ID
        assert await committed(client) == 5
        member.generation += 1
        assert await member.heartbeat() == ErrorCode.ILLEGAL_GENERATION

    run(tmp_path, scenario)


def test_a_static_member_that_comes_back_goes_on_without_a_rebalance(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        leader, follower = await stable_pair(client, "one", "two")
        again = Member(await client.another(), follower.instance)
        joined = await again.join()
        assert joined.generation_id == leader.generation
        assert again.member_id != follower.member_id
        assert (await again.sync()).assignment == f"for {follower.member_id}".encode()
        assert await leader.heartbeat() == ErrorCode.NONE
        assert await follower.heartbeat() == ErrorCode.FENCED_INSTANCE_ID

    run(tmp_path, scenario)


@pytest.mark.parametrize(("version", "is_told"), [(9, True), (8, False)])
def test_a_static_leader_that_comes_back_does_not_assign_again(
    tmp_path: Path, version: int, is_told: bool
) -> None:
    async def scenario(client: Client) -> None:
        leader, follower = await stable_pair(client, "one", "two")
        again = Member(await client.another(), leader.instance)
        joined = await again.join(version=version)
        assert joined.generation_id == follower.generation
        assert (again.leads, joined.skip_assignment, len(again.members)) == (is_told, is_told, 2 * is_told)
        again.members = []
        assert (await again.sync()).assignment == f"for {leader.member_id}".encode()

    run(tmp_path, scenario)


def test_an_administrator_removes_a_static_member_by_its_name(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        leader, follower = await stable_pair(client, "one", "two")
        identity = LeaveGroupRequest.MemberIdentity("", follower.instance)
        response = await client.send(LeaveGroupRequest(group_id=GROUP, members=[identity]))
        assert response.members[0].error_code == ErrorCode.NONE
        assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS

    run(tmp_path, scenario)


def test_session_timeouts_outside_the_range_are_refused(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        joined = await Member(client).join(session_timeout_ms=10)
        assert joined.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
        assert (await client.send(ListGroupsRequest())).groups == []

    run(tmp_path, scenario)


def test_a_group_may_be_limited_in_size(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        assert (await Member(client).join()).error_code == ErrorCode.NONE
        second = Member(await client.another())
        assert (await second.join()).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED

    run(tmp_path, scenario, config={"group.max.size": "1"})


def test_a_new_group_may_wait_for_more_members(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        members = [Member(await client.another()) for _ in range(3)]
        await asyncio.gather(*(member.join() for member in members))
        assert {member.generation for member in members} == {1}

    run(tmp_path, scenario, config={"group.initial.rebalance.delay.ms": "2000"})


def test_offsets_of_a_group_without_members_can_be_committed_and_deleted(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        assert await commit(client, 3) == ErrorCode.NONE
        # As a balanced consumer of pykafka does, which has ZooKeeper for its members.
        assert await commit(client, 4, member_id="a name that the group does not know") == ErrorCode.NONE
        assert await committed(client) == 4
        partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(0)
        topic = OffsetDeleteRequest.OffsetDeleteRequestTopic("t", [partition])
        response = await client.send(OffsetDeleteRequest(GROUP, [topic]))
        assert (response.error_code, response.topics[0].partitions[0].error_code) == (0, 0)
        assert await committed(client) == -1

    run(tmp_path, scenario)


def test_all_offsets_of_several_groups_can_be_asked_for_at_once(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        await commit(client, 3)
        groups = [
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id=name, topics=None)
            for name in (GROUP, "other")
        ]
        for version in (8, 9, 10):
            response = await client.send(OffsetFetchRequest(groups=groups), version=version)
            known, unknown = response.groups
            assert known.topics[0].partitions[0].committed_offset == 3
            assert known.topics[0].name == ("t" if version < 10 else "")
            assert unknown.topics == []

    run(tmp_path, scenario)


def test_groups_and_offsets_are_known_after_a_restart(tmp_path: Path) -> None:
    kept: dict[str, Any] = {}

    async def before(client: Client) -> None:
        await client.create_topic("t")
        member = Member(client)
        await member.join(session_timeout_ms=20_000)
        await member.sync()
        assert await member.commit(11) == ErrorCode.NONE
        kept.update(member_id=member.member_id, generation=member.generation)

    async def after(client: Client) -> None:
        member = Member(client)
        member.member_id, member.generation = kept["member_id"], kept["generation"]
        assert await member.heartbeat() == ErrorCode.NONE
        assert await committed(client) == 11
        response = await client.send(DescribeGroupsRequest(groups=[GROUP]))
        (described,) = response.groups[0].members
        assert described.member_assignment == f"for {member.member_id}".encode()
        assert await member.leave() == ErrorCode.NONE

    async def later(client: Client) -> None:
        assert await state(client) == "Empty"
        assert await committed(client) == 11

    run(tmp_path, before)
    run(tmp_path, after)
    run(tmp_path, later)


def test_a_deleted_group_stays_deleted(tmp_path: Path) -> None:
    async def delete(client: Client) -> None:
        await client.create_topic("t")
        await commit(client, 3)
        response = await client.send(DeleteGroupsRequest([GROUP, "missing"]))
        codes = [result.error_code for result in response.results]
        assert codes == [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND]

    async def look(client: Client) -> None:
        assert (await client.send(ListGroupsRequest())).groups == []
        response = await client.send(DescribeGroupsRequest(groups=[GROUP]))
        assert response.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert await committed(client) == -1

    run(tmp_path, delete)
    run(tmp_path, look)


def test_offsets_go_with_their_topic(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        await commit(client, 3)
        gone = DeleteTopicsRequest.DeleteTopicState(name="t")
        await client.send(DeleteTopicsRequest(topics=[gone], timeout_ms=1_000))
        await client.create_topic("t")
        assert await committed(client) == -1

    run(tmp_path, scenario)


@pytest.mark.parametrize("version", [0, 3, 6])
def test_this_node_coordinates_groups_and_transactions(tmp_path: Path, version: int) -> None:
    async def scenario(client: Client) -> None:
        async def find(key_type: int) -> Any:
            request = FindCoordinatorRequest(key_type=key_type)
            if version < 4:
                request.key = GROUP
                return await client.send(request, version=version)
            request.coordinator_keys = [GROUP]
            return (await client.send(request, version=version)).coordinators[0]

        for key_type in (0, 1) if version > 0 else (0,):
            found = await find(key_type)
            assert (found.error_code, found.node_id, found.port) == (0, 1, client.broker.port)

    run(tmp_path, scenario)
