"""Registries as members of their group: who leads, who takes over, and what the others learn of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas import Admin
from barnabas.broker_errors import GroupAuthorizationFailedError, error_for
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.registry_server.journal.election import Instance
from barnabas.registry_server.journal.group import GroupTimes, RegistryGroup
from barnabas.registry_server.journal.journal import JournalError, NotLeaderError
from barnabas.settings.table import CommonConfig, load

Eventually = Callable[..., Awaitable[Any]]
TIMES = GroupTimes(session_timeout_ms=6_000, heartbeat_interval_ms=100)


class Member:
    def __init__(self, bootstrap: str, group_id: str, instance: Instance, times: GroupTimes = TIMES) -> None:
        settings = {"bootstrap_servers": bootstrap, "retry_backoff_ms": 20}
        self.client = KafkaClient(load(CommonConfig, settings))
        self.group = RegistryGroup(self.client, group_id, instance, times)

    async def __aenter__(self) -> RegistryGroup:
        await self.group.start(60_000)
        return self.group

    async def __aexit__(self, *_: object) -> None:
        await self.group.close()
        await self.client.close()


def run(work: Any) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(90):
            await work

    asyncio.run(in_time())


def test_who_is_alone_leads_and_the_group_is_of_confluents_type(
    broker: Any, topic: Callable[[], str]
) -> None:
    group_id = topic()

    async def work() -> None:
        async with Member(broker.bootstrap, group_id, Instance("a", 8081)) as group:
            assert group.leads
            await group.confirm(freshly=True)
            with Admin(broker.bootstrap) as admin:
                described = admin.describe_groups([group_id])[group_id]
                assert described.protocol_type == "sr"
                assert len(described.members) == 1

    run(work())


def test_the_leader_goes_on_when_others_come_and_the_next_one_leads_when_it_goes(
    broker: Any, topic: Callable[[], str], eventually_async: Eventually
) -> None:
    group_id = topic()

    async def work() -> None:
        first = Member(broker.bootstrap, group_id, Instance("c", 8081))
        async with (
            first as leading,
            Member(broker.bootstrap, group_id, Instance("b", 8081)) as second,
            Member(broker.bootstrap, group_id, Instance("a", 8081, is_eligible=False)) as third,
        ):
            assert leading.leads
            assert [g.leader.url for g in (second, third) if g.leader] == ["http://c:8081"] * 2
            with pytest.raises(NotLeaderError, match="http://c:8081 leads") as refusal:
                await second.confirm()
            assert refusal.value.leader_url == "http://c:8081"
            await leading.close()
            await eventually_async(lambda: second.leads)
            await eventually_async(lambda: third.leader is not None and third.leader.host == "b")
            assert not third.leads

    run(work())


def test_nobody_leads_where_nobody_may(broker: Any, topic: Callable[[], str]) -> None:
    async def work() -> None:
        instance = Instance("a", 8081, is_eligible=False)
        async with Member(broker.bootstrap, topic(), instance) as group:
            assert group.leader is None
            with pytest.raises(NotLeaderError, match="has no leader"):
                await group.confirm()

    run(work())


def test_a_member_with_the_url_of_another_is_told_so(broker: Any, topic: Callable[[], str]) -> None:
    group_id = topic()

    async def work() -> None:
        async with Member(broker.bootstrap, group_id, Instance("a", 8081)):
            other = Member(broker.bootstrap, group_id, Instance("a", 8081))
            with pytest.raises(JournalError, match=r"two registries of group .* set host\.name"):
                await other.group.start(60_000)
            await other.group.close()
            await other.client.close()

    run(work())


def test_a_leader_that_was_stopped_hears_that_it_was_deposed_before_it_decides(
    broker: Any, topic: Callable[[], str], eventually_async: Eventually
) -> None:
    """Stopped as by SIGSTOP: it sends nothing, and takes itself for the leader when it goes on."""
    group_id = topic()

    async def work() -> None:
        async with Member(broker.bootstrap, group_id, Instance("a", 8081)) as leading:
            assert leading._task is not None
            leading._task.cancel()
            async with Member(broker.bootstrap, group_id, Instance("b", 8081)) as other:
                await eventually_async(lambda: other.leads)
                assert leading.leads
                leading._confirmed_at -= 6.0
                with pytest.raises(NotLeaderError, match="it is not known who leads"):
                    await leading.confirm()

    run(work())


def test_a_member_that_the_coordinator_forgot_joins_again(
    broker: Any, topic: Callable[[], str], eventually_async: Eventually
) -> None:
    group_id = topic()

    async def work() -> None:
        async with Member(broker.bootstrap, group_id, Instance("a", 8081)) as group:
            before = group._member_id
            with Admin(broker.bootstrap) as admin:
                admin.remove_members(group_id)
            await eventually_async(lambda: group.leads and group._member_id not in ("", before))

    run(work())


def test_a_member_survives_its_coordinator(
    own_broker: Any, topic: Callable[[], str], eventually_async: Eventually
) -> None:
    async def work() -> None:
        async with Member(own_broker.bootstrap, topic(), Instance("a", 8081)) as group:
            own_broker.kill()
            await asyncio.to_thread(own_broker.start)
            group._confirmed_at = float("-inf")

            async def is_confirmed() -> bool:
                try:
                    await group.confirm()
                except NotLeaderError:
                    return False
                return True

            await eventually_async(is_confirmed)

    run(work())


def test_what_does_not_go_away_by_itself_is_an_error_at_once(
    broker: Any, topic: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        member = Member(broker.bootstrap, topic(), Instance("a", 8081))

        async def refused() -> None:
            raise error_for(GroupAuthorizationFailedError.code, "joining")

        monkeypatch.setattr(member.group, "_join", refused)
        with pytest.raises(JournalError, match="GROUP_AUTHORIZATION_FAILED"):
            await member.group.start(60_000)
        await member.group.close()
        await member.client.close()

    run(work())
