"""The same requests of share groups to Apache Kafka and to the embedded broker: the answers say the same.

What differs on purpose: partitions are assigned at once, where Kafka makes their state ready first; a fetch
of a group that has none, or of a topic that is not there, is refused with a code that says so, where Kafka
says -1; offsets that an administrator sets hold at once; records that were delivered often are not lent apart
from others.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .share_session import ACCEPT, GAP, RECORD_LIMIT, REJECT, RELEASE, RENEW, ShareSession

CONFIG = {"group.share.min.record.lock.duration.ms": "1000", "offsets.topic.num.partitions": "1"}
MEMBERS = [str(uuid.UUID(int=number)) for number in range(1, 5)]
ONE, TWO, THREE, FOUR = MEMBERS

LONG_MS = 25_000
ONE_RECORD_BYTES = 69
"""Of a batch with one record of one digit."""

Scenario = Callable[[ShareSession], Awaitable[None]]


async def members_join_and_leave(on: ShareSession) -> None:
    await on.beat(ONE, 0, topics="a")
    await on.settle(ONE)
    await on.stay(ONE, topics="a")
    await on.list_and_describe_otherwise()
    for members in ([ONE], [ONE, TWO], MEMBERS):
        await on.join(*members)
        await on.settle(*members)
        await on.describe()
    await on.delete_group()
    await on.leave(FOUR)
    await on.leave(THREE)
    await on.settle(ONE, TWO)
    await on.describe()
    for topics in ("ab", "b"):
        await on.stay(ONE, topics=topics)
        await on.settle(ONE, TWO)
        await on.describe()
    await on.leave(TWO)
    await on.leave(ONE)
    await on.describe()
    await on.list_and_describe_otherwise()
    await on.delete_group()
    await on.describe()
    await on.delete_group()


async def assignments_wait_for_their_time(on: ShareSession) -> None:
    # Kafka has made the topic ready by then, which is an assignment of its own.
    await on.join(ONE)
    await on.configure(share_assignment_interval_ms="15000")
    await on.beat(TWO, 0, topics="a")
    await on.stay(TWO)
    await on.stay(ONE)
    await on.describe()
    await on.configure(share_assignment_interval_ms="0")
    await on.settle(ONE, TWO)
    await on.describe()


async def members_ask_wrongly(on: ShareSession) -> None:
    await on.beat(ONE, 0)
    await on.beat("", 0, topics="a")
    for epoch in (5, -1, -2, -3):
        await on.beat(ONE, epoch)
    await on.beat(ONE, 0, topics="")
    await on.beat(ONE, 0, topics="a", rack=" ")
    await on.join(ONE)
    await on.beat(TWO, 3)
    await on.beat(ONE, -2)
    await on.beat(TWO, -1)
    await on.beat(ONE, 0, topics="a")


async def records_are_lent(on: ShareSession) -> None:
    await on.configure(share_auto_offset_reset="earliest")
    await on.join(ONE, topics="b")
    await on.offsets("b")
    await on.offsets()
    await on.produce("b", 10)
    await on.fetch(ONE, waits_for=10)
    await on.offsets("b")
    await on.fetch(ONE, None)
    for acks in (
        [(0, 4, [ACCEPT])],
        [(5, 5, [RELEASE]), (6, 6, [REJECT]), (7, 8, [ACCEPT, RELEASE])],
    ):
        await on.acknowledge(ONE, {0: acks})
        await on.offsets("b")
    await on.fetch(ONE, None)
    await on.acknowledge(ONE, {0: [(5, 9, [ACCEPT, GAP, GAP, ACCEPT, ACCEPT])]})
    await on.acknowledge(ONE, {0: [(5, 5, [ACCEPT]), (8, 9, [ACCEPT])]})
    await on.offsets("b")
    await on.produce("b", 3, 4, 5)
    await on.fetch(ONE, None, max_records=1)
    await on.fetch(ONE, None, max_records=5)
    await on.fetch(ONE, acks={0: [(10, 12, [ACCEPT])]})
    await on.fetch(ONE, acks={0: [(13, 16, [RELEASE])]})
    await on.offsets("b")
    await on.acknowledge(ONE, {}, epoch=-1)
    await on.offsets("b")
    await on.fetch(ONE)
    await on.fetch(ONE, None, epoch=-1)


async def a_fetch_waits_for_as_many_bytes_as_are_asked_for(on: ShareSession) -> None:
    await on.configure(share_auto_offset_reset="earliest")
    await on.join(ONE, topics="ab")
    await on.produce("b", 1)
    await on.fetch(ONE, waits_for=1)
    # There is never enough: what there is comes when the time is over.
    await on.produce("b", 1)
    await on.fetch(ONE, None, min_bytes=100_000)
    # No more than comes at all is waited for, and nothing for nothing.
    await on.produce("b", 1)
    await on.fetch(ONE, None, wait_ms=LONG_MS, min_bytes=100_000, max_bytes=ONE_RECORD_BYTES)
    await on.fetch(ONE, None, wait_ms=LONG_MS, min_bytes=0)
    # One batch alone is not enough.
    for sizes in ((1, 1), (1, 5), (1, 1, 1)):
        waiting = asyncio.create_task(
            on.fetch_in_all(ONE, sum(sizes), wait_ms=LONG_MS, min_bytes=len(sizes) * ONE_RECORD_BYTES)
        )
        await asyncio.sleep(0)
        for size in sizes:
            await on.produce("b", size)
        await waiting
    # Partitions together have enough.
    for partition in (0, 1):
        await on.fetch(ONE, "a", partition)
    waiting = asyncio.create_task(on.fetch_in_all(ONE, 2, wait_ms=LONG_MS, min_bytes=2 * ONE_RECORD_BYTES))
    await asyncio.sleep(0)
    await on.produce("a", 1)
    await on.produce("a", 1, partition=1)
    await waiting
    await on.fetch(ONE, None, epoch=-1)


async def as_many_are_lent_as_are_asked_for(on: ShareSession) -> None:
    await on.configure(share_auto_offset_reset="earliest")
    await on.join(ONE, TWO, topics="b")
    await on.produce("b", 10, 10)
    await on.fetch(ONE, waits_for=3, max_records=3, mode=RECORD_LIMIT)
    await on.fetch(TWO, max_records=3, mode=RECORD_LIMIT)
    await on.fetch(TWO, None, max_records=30, batch_size=4)
    await on.acknowledge(ONE, {0: [(0, 2, [RELEASE])]})
    await on.acknowledge(TWO, {0: [(3, 5, [RELEASE])]})
    await on.acknowledge(TWO, {0: [(8, 8, [RELEASE])]})
    await on.fetch(ONE, None, max_records=2, mode=RECORD_LIMIT)
    await on.fetch(ONE, None, max_records=2)
    await on.fetch(ONE, None, max_records=30)
    await on.produce("b", 10, 10, 10)
    await on.fetch(ONE, None, max_records=500, batch_size=5)
    await on.produce("b", 1, 1, 1, 1, 1)
    await on.fetch(ONE, None, max_records=3, batch_size=2)
    await on.fetch(ONE, None, max_records=0)


async def acknowledgements_are_refused(on: ShareSession) -> None:
    await on.configure(share_auto_offset_reset="earliest")
    await on.join(ONE, TWO, topics="b")
    await on.produce("b", 10)
    await on.fetch(ONE, waits_for=10)
    await on.fetch(TWO)
    await on.acknowledge(TWO, {0: [(0, 4, [ACCEPT])]})
    for acks in (
        [(0, 4, [ACCEPT, ACCEPT])],
        [(0, 4, [])],
        [(4, 0, [ACCEPT])],
        [(0, 4, [9])],
        [(0, 4, [ACCEPT]), (2, 5, [ACCEPT])],
        [(5, 6, [ACCEPT]), (0, 1, [ACCEPT])],
        [(0, 20, [ACCEPT])],
        [(20, 21, [ACCEPT])],
        [(0, 4, [RENEW])],
        [(0, 4, [ACCEPT])],
        [(3, 5, [ACCEPT])],
        [(7, 7, [RELEASE])],
        [(7, 8, [ACCEPT])],
        [],
    ):
        await on.acknowledge(ONE, {0: acks})
    await on.acknowledge(ONE, {0: [(8, 9, [RENEW])]}, renews=True)
    await on.acknowledge(ONE, {1: [(7, 8, [ACCEPT])]})
    await on.acknowledge(ONE, {0: [(7, 8, [ACCEPT])]}, "a")
    await on.acknowledge(ONE, {0: [(7, 8, [ACCEPT])]}, topic_id=uuid.UUID(int=77))
    await on.acknowledge(ONE, {})


async def sessions_have_epochs(on: ShareSession) -> None:
    await on.configure(share_auto_offset_reset="earliest")
    await on.join(ONE, TWO, topics="b")
    await on.produce("b", 10)
    await on.fetch(ONE, waits_for=10)
    eight = {0: [(8, 8, [ACCEPT])]}
    for epoch in (0, 99):
        await on.acknowledge(ONE, eight, epoch=epoch)
    await on.acknowledge(THREE, eight, epoch=1)
    await on.acknowledge("", eight, epoch=1)
    await on.fetch(ONE, epoch=99)
    await on.fetch(THREE, epoch=1)
    await on.fetch("")
    await on.fetch("x" * 40)
    await on.fetch(TWO, group=None)
    await on.fetch(TWO, None)
    await on.fetch(TWO, "b", 7)
    await on.fetch(TWO, epoch=0)
    await on.fetch(TWO, None, forgotten="b")
    await on.acknowledge(ONE, {0: [(0, 2, [RELEASE])]})
    await on.fetch(TWO, None)
    await on.fetch(TWO, acks={0: [(9, 9, [RENEW])]})
    await on.fetch(TWO, acks={0: [(9, 9, [RENEW])]}, renews=True)
    await on.fetch(ONE, acks=eight, epoch=0)
    await on.acknowledge(ONE, {}, epoch=-1)
    await on.acknowledge(ONE, {}, epoch=-1)
    await on.fetch(ONE, epoch=-1)


async def administrators_see_and_set_offsets(on: ShareSession) -> None:
    await on.offsets("b")
    await on.offsets()
    await on.alter_offset("b", 3)
    await on.delete_offsets("b")
    await on.configure(share_auto_offset_reset="earliest")
    await on.join(ONE, topics="b")
    await on.produce("b", 10)
    await on.fetch(ONE, waits_for=10)
    await on.acknowledge(ONE, {0: [(0, 1, [ACCEPT]), (5, 5, [ACCEPT])]})
    for topic in "baz":
        await on.offsets(topic)
    await on.offsets()
    await on.alter_offset("b", 3)
    await on.delete_offsets("b")
    await on.acknowledge(ONE, {}, epoch=-1)
    await on.leave(ONE)
    await on.offsets()
    await on.alter_offset("b", 3)
    await on.alter_offset("b", 0, 5)
    await on.alter_offset("z", 0)
    await on.alter_offset("a", 1)
    await on.offsets()
    for topic in "zabb":
        await on.delete_offsets(topic)
    await on.offsets()
    await on.describe()
    await on.delete_group()


async def what_is_in_hand_for_too_long_goes_to_another(on: ShareSession) -> None:
    await on.configure(
        share_auto_offset_reset="earliest",
        share_record_lock_duration_ms="1000",
        share_delivery_count_limit="2",
    )
    await on.join(ONE, TWO, topics="b")
    await on.produce("b", 4)
    await on.fetch(ONE, waits_for=4)
    await on.fetch(TWO, wait_ms=3000)
    await on.acknowledge(ONE, {0: [(0, 0, [ACCEPT])]})
    await on.acknowledge(TWO, {0: [(0, 0, [RELEASE]), (1, 1, [ACCEPT])]})
    await on.fetch(ONE, None, wait_ms=3000)
    await on.offsets("b")


async def groups_of_other_kinds_have_other_names(on: ShareSession) -> None:
    await on.join(ONE)
    await _ask_as_others(on)
    await on.leave(ONE)
    await _ask_as_others(on)
    on.group = f"other-{on.run}"
    await on.ask(_commit(on), 8)
    await on.beat(ONE, 0, topics="a")
    await on.describe()
    await on.offsets()
    await on.alter_offset("a", 1)
    await on.delete_offsets("a")


def _commit(on: ShareSession) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 3)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(f"{on.run}-a", partitions=[partition])
    return OffsetCommitRequest(on.group, -1, "", None, topics=[topic])


async def _ask_as_others(on: ShareSession) -> None:
    names = {"subscribed_topic_names": [f"{on.run}-a"], "topic_partitions": []}
    joins = ConsumerGroupHeartbeatRequest(on.group, TWO, 0, rebalance_timeout_ms=1000, **names)
    for beat in (joins, ConsumerGroupHeartbeatRequest(on.group, TWO, -1)):
        answer = await on.ask(beat)
        on.tell("heartbeat", answer.error_code, answer.error_message)
    described = (await on.ask(ConsumerGroupDescribeRequest([on.group]))).groups[0]
    on.tell("described", described.error_code, described.error_message)
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    joined = await on.ask(JoinGroupRequest(on.group, 10_000, 10_000, "", None, "consumer", [protocol]), 3)
    on.tell("joined", joined.error_code)
    on.tell("committed", (await on.ask(_commit(on), 8)).topics[0].partitions[0].error_code)
    asked = OffsetFetchRequest.OffsetFetchRequestGroup(on.group, topics=None)
    fetched = (await on.ask(OffsetFetchRequest(groups=[asked]), 9)).groups[0]
    on.tell("fetched", fetched.error_code, len(fetched.topics))
    on.tell("deleted", (await on.ask(OffsetDeleteRequest(on.group, []))).error_code)


SCENARIOS: tuple[Scenario, ...] = (
    members_join_and_leave,
    assignments_wait_for_their_time,
    members_ask_wrongly,
    records_are_lent,
    a_fetch_waits_for_as_many_bytes_as_are_asked_for,
    as_many_are_lent_as_are_asked_for,
    acknowledgements_are_refused,
    sessions_have_epochs,
    administrators_see_and_set_offsets,
    what_is_in_hand_for_too_long_goes_to_another,
    groups_of_other_kinds_have_other_names,
)


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[ApacheKafka, EmbeddedBroker]]:
    with ApacheKafka(config=CONFIG) as kafka, EmbeddedBroker(config=CONFIG) as embedded:
        yield kafka, embedded


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_answers_are_kafkas(brokers: tuple[ApacheKafka, EmbeddedBroker], scenario: Scenario) -> None:
    async def play(bootstrap: str) -> list[Any]:
        session = await ShareSession.open(bootstrap, f"run{uuid.uuid4().hex[:8]}")
        await scenario(session)
        session.close()
        return session.told

    theirs, ours = (asyncio.run(play(broker.bootstrap)) for broker in brokers)
    for place, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        assert our == their, f"answer {place}"
