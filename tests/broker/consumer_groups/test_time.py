"""Members that are silent, or keep what they are to give up, for too long; and a disk that is full."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.broker.in_process import Client, run
from tests.waiting import Patience

from barnabas.broker.groups.store import GroupStore
from barnabas.broker_errors import ErrorCode, KafkaStorageError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

ONE, TWO = (str(uuid.UUID(int=number)) for number in (1, 2))


class Member:
    def __init__(self, client: Client, member_id: str) -> None:
        self.client = client
        self.member_id = member_id
        self.epoch = 0
        self.partitions = 0

    async def beat(self, *, owned: Any = None, **fields: Any) -> int:
        """The error code."""
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            member_epoch=self.epoch,
            topic_partitions=owned,
            **fields,
        )
        response = await self.client.send(request)
        if response.error_code == 0:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self.partitions = sum(len(each.partitions) for each in response.assignment.topic_partitions)
        return response.error_code

    async def join(self, rebalance_timeout_ms: int = 60_000) -> None:
        code = await self.beat(
            owned=[], subscribed_topic_names=["t"], rebalance_timeout_ms=rebalance_timeout_ms
        )
        assert code == 0


@pytest.mark.parametrize("fault", ["silence", "greed"])
def test_a_member_in_the_way_of_others_is_removed(fault: str, tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", 4)
        one, two = Member(client, ONE), Member(client, TWO)
        await one.join(rebalance_timeout_ms=300)
        assert one.partitions == 4
        await two.join()
        assert two.partitions == 0
        patience = Patience()
        while two.partitions < 4:
            await patience.pause_async()
            assert await two.beat() == 0
            if fault == "greed":
                # It is told to give two up, and never says that it has.
                assert await one.beat() in (0, ErrorCode.UNKNOWN_MEMBER_ID)
        assert await one.beat() == ErrorCode.UNKNOWN_MEMBER_ID

    session_ms = "500" if fault == "silence" else "45000"
    run(tmp_path, scenario, config={"group.consumer.session.timeout.ms": session_ms})


def test_what_could_not_be_written_has_not_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    async def describe(client: Client) -> None:
        response = await client.send(ConsumerGroupDescribeRequest(group_ids=["g"]))
        [group] = response.groups
        members = sorted((member.member_id, member.member_epoch) for member in group.members)
        seen.append((group.group_epoch, group.assignment_epoch, members))

    async def scenario(client: Client) -> None:
        await client.create_topic("t", 4)
        one, two = Member(client, ONE), Member(client, TWO)
        await one.join()
        with monkeypatch.context() as patch:
            patch.setattr(GroupStore, "append", fail)
            joining: Any = {"owned": [], "subscribed_topic_names": ["t"], "rebalance_timeout_ms": 60_000}
            assert await two.beat(**joining) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        await describe(client)
        assert await one.beat() == 0
        await describe(client)
        await two.join()
        await describe(client)

    run(tmp_path, scenario)
    run(tmp_path, describe)
    assert [[name for name, _ in members] for *_, members in seen] == [[ONE], [ONE], [ONE, TWO], [ONE, TWO]]
    assert seen[2] == seen[3]


def fail(*_: Any) -> None:
    raise KafkaStorageError("the disk is full")
