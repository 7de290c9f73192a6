"""What a member may ask of its group besides partitions, by either protocol."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas import (
    Admin,
    Assignor,
    Consumer,
    ConsumerInterceptor,
    GroupMember,
    OffsetAndMetadata,
    Record,
    TopicPartition,
)
from barnabas.aio import Consumer as AsyncConsumer
from barnabas.broker_errors import (
    FencedInstanceIdError,
    InconsistentGroupProtocolError,
    UnknownMemberIdError,
)
from barnabas.client.groups import classic_group as classic_group_module
from barnabas.errors import InvalidSettingError, MisuseError
from barnabas.protocol.messages.join_group import JoinGroupRequest

from .group_members import Group, numbers

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Eventually = Callable[..., Any]

CLASSIC: dict[str, Any] = {"heartbeat_interval_ms": 200}
COOPERATIVE: dict[str, Any] = {**CLASSIC, "partition_assignment_strategy": "cooperative-sticky"}
CONSUMER: dict[str, Any] = {"group_protocol": "consumer"}


@pytest.fixture(params=[CLASSIC, COOPERATIVE, CONSUMER], ids=["eager", "cooperative", "consumer"])
def group(request: pytest.FixtureRequest, broker: Any) -> Iterator[Group]:
    with Group(broker, **request.param) as group:
        yield group


@pytest.fixture
def classic_group(broker: Any) -> Iterator[Group]:
    with Group(broker, **CLASSIC) as group:
        yield group


class AllToTheLast(Assignor):
    """Everything to the member whose id is last in order."""

    name = "all-to-the-last"

    def __init__(self) -> None:
        self.seen: list[Sequence[GroupMember]] = []
        self.told: list[tuple[list[TopicPartition], int]] = []

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return b"%d" % len(owned)

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        self.told.append((sorted(partitions), generation))

    def assign(
        self, partition_counts: Mapping[str, int], members: Sequence[GroupMember], racks: Any = None
    ) -> dict[str, list[TopicPartition]]:
        self.seen.append(members)
        last = max(member.member_id for member in members)
        return {last: [TopicPartition(t, p) for t, count in partition_counts.items() for p in range(count)]}


def test_an_assignor_of_ones_own_divides_the_partitions(
    broker: Any, classic_group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker, 4)
    assignors = [AllToTheLast(), AllToTheLast()]
    for assignor in assignors:
        classic_group.member([topic], partition_assignment_strategy=[assignor, "range"])
    classic_group.poll_until(lambda: classic_group.sizes() == [0, 4])
    owner = max(classic_group.members, key=lambda member: member.group_metadata().member_id)
    assert len(owner.assignment()) == 4
    seen = [member for assignor in assignors for members in assignor.seen for member in members]
    assert {member.topics for member in seen} == {(topic,)}
    assert b"0" in {member.user_data for member in seen}
    # Each hears of its own share, in the same generation.
    given = [TopicPartition(topic, number) for number in range(4)]
    classic_group.poll_until(
        lambda: (
            sorted(told for a in assignors for told, _ in a.told[-1:]) == [[], given]
            and len({generation for a in assignors for _, generation in a.told[-1:]}) == 1
        )
    )
    with (
        Consumer(
            broker.bootstrap,
            topics=[topic],
            group_id=classic_group.name,
            partition_assignment_strategy="sticky",
        ) as stranger,
        pytest.raises(InconsistentGroupProtocolError),
    ):
        stranger.poll(20)


def test_an_assignor_that_fails_is_an_error_of_poll(
    broker: Any, classic_group: Group, make_topic: MakeTopic
) -> None:
    class Broken(AllToTheLast):
        def assign(self, *arguments: Any) -> Any:
            raise LookupError("no idea")

    topic = make_topic(broker)
    consumer = classic_group.member([topic], partition_assignment_strategy=[Broken()])
    with pytest.raises(Exception, match="no idea"):
        consumer.poll(20)
    with pytest.raises(InvalidSettingError, match=r"barnabas\.Assignor"):
        classic_group.member([topic], partition_assignment_strategy=[object()])
    with pytest.raises(InvalidSettingError, match="must be a list"):
        classic_group.member([topic], partition_assignment_strategy=AllToTheLast())


def requests_of(consumer: Consumer, name: str) -> int:
    return sum(broker.requests_by_api.get(name, 0) for broker in consumer.stats().client.brokers)


class OneEach(Assignor):
    """Partition 0 to the member of the first name, and so on. With three members it waits to be told."""

    name = "one-each"
    cooperative = True

    def __init__(self, member_name: bytes) -> None:
        self.member_name = member_name
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return self.member_name

    def assign(
        self, partition_counts: Mapping[str, int], members: Sequence[GroupMember], racks: Any = None
    ) -> dict[str, list[TopicPartition]]:
        if len(members) == 3:
            self.is_asked.set()
            assert self.may_answer.wait(60)
        (topic,) = partition_counts
        in_order = sorted(members, key=lambda member: member.user_data or b"")
        return {
            member.member_id: [TopicPartition(topic, place)]
            for place, member in enumerate(in_order)
            if place < partition_counts[topic]
        }


def test_what_was_read_is_committed_by_a_member_that_leaves_while_the_leader_divides(
    broker: Any,
    classic_group: Group,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    eventually: Eventually,
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, numbers(0, 10), 1)
    leading, is_over = OneEach(b"1"), threading.Event()

    async def lead() -> None:
        async with AsyncConsumer(
            broker.bootstrap,
            topics=[topic],
            group_id=classic_group.name,
            partition_assignment_strategy=[leading],
            heartbeat_interval_ms=200,
        ) as leader:
            while not is_over.is_set():
                await leader.poll(0.05)

    # On an event loop of its own, which stands still while the assignor waits.
    leader = threading.Thread(target=asyncio.run, args=(lead(),))
    leader.start()
    try:
        with Admin(broker.bootstrap) as admin:

            def has_members(count: int) -> bool:
                return len(admin.describe_groups([classic_group.name])[classic_group.name].members) == count

            eventually(lambda: has_members(1))
            settings: Any = {"auto_commit_interval_ms": 600_000, "heartbeat_interval_ms": 200}
            leaving = classic_group.member([topic], partition_assignment_strategy=[OneEach(b"2")], **settings)
            classic_group.poll_until(lambda: len(classic_group.records) == 10)
            classic_group.member([topic], partition_assignment_strategy=[OneEach(b"3")], **settings)
            classic_group.poll_until(leading.is_asked.is_set)
            closing = threading.Thread(target=classic_group.close, args=(leaving,))
            closing.start()
            # The first was refused, or there would be no second.
            eventually(lambda: requests_of(leaving, "OffsetCommit") >= 2)
            assert closing.is_alive()
            leading.may_answer.set()
            closing.join()
            committed = admin.list_group_offsets(classic_group.name)
            assert committed[TopicPartition(topic, 1)].offset == 10
    finally:
        leading.may_answer.set()
        is_over.set()
        leader.join()


class SlowToHear:
    """A connection to the coordinator on which the answer to JoinGroup comes when it may."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.has_joined = threading.Event()
        self.may_hear = threading.Event()

    async def send(self, request: Any, **settings: Any) -> Any:
        response = await self.connection.send(request, **settings)
        if isinstance(request, JoinGroupRequest):
            self.has_joined.set()
            assert await asyncio.to_thread(self.may_hear.wait, 60)
        return response


def test_what_was_read_is_committed_by_a_member_that_leaves_before_it_hears_of_the_new_generation(
    broker: Any,
    classic_group: Group,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, numbers(0, 10), 1)
    settings: Any = {
        "partition_assignment_strategy": "cooperative-sticky",
        "auto_commit_interval_ms": 600_000,
        "heartbeat_interval_ms": 200,
    }
    leaving = classic_group.member([topic], **settings)
    classic_group.poll_until(lambda: len(classic_group.records) == 10)
    membership: Any = leaving._core.rebalances.group
    slow = SlowToHear(None)
    joining_connection = classic_group_module.joining_connection

    async def slow_connection(client: Any, pool: Any, group_id: str) -> Any:
        connection = await joining_connection(client, pool, group_id)
        if client is not membership._client:
            return connection
        slow.connection = connection
        return slow

    monkeypatch.setattr(classic_group_module, "joining_connection", slow_connection)
    classic_group.member([topic], **settings)
    classic_group.poll_until(slow.has_joined.is_set)
    closing = threading.Thread(target=classic_group.close, args=(leaving,))
    closing.start()
    try:
        # The first was refused, or there would be no second.
        eventually(lambda: requests_of(leaving, "OffsetCommit") >= 2)
        assert closing.is_alive()
    finally:
        slow.may_hear.set()
        closing.join()
    with Admin(broker.bootstrap) as admin:
        committed = admin.list_group_offsets(classic_group.name)
    assert committed[TopicPartition(topic, 1)].offset == 10


def test_a_member_that_pauses_stays_in_its_group_while_a_handler_runs(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, numbers(0, 10))
    consumer = group.member([topic], max_poll_interval_ms=1000, max_poll_interval_action="pause")
    group.poll_until(lambda: len(group.records) == 10)
    identity = consumer.group_metadata()
    buffer = consumer._core.buffer
    eventually(lambda: buffer.is_held, timeout=60)
    name = "ConsumerGroupHeartbeat" if group.settings == CONSUMER else "Heartbeat"
    heartbeats, held_at = requests_of(consumer, name), time.monotonic()
    fill_topic(broker, topic, numbers(10, 20))
    with Admin(broker.bootstrap) as admin:
        assert group.name in [listing.group_id for listing in admin.list_groups()]
    # At their interval, though the caller is overdue all along.
    most = (time.monotonic() - held_at) * 1000 / CLASSIC["heartbeat_interval_ms"] + 2
    assert requests_of(consumer, name) - heartbeats <= most
    assert consumer.group_metadata() == identity
    group.poll_until(lambda: len(group.records) == 20)
    assert consumer.group_metadata() == identity
    assert group.told("lost", consumer) == []
    consumer.commit()


def test_a_newcomer_gets_partitions_that_are_free_while_a_cooperative_member_pauses(
    broker: Any, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic, other = make_topic(broker, 2), make_topic(broker, 1)
    with Group(broker, **COOPERATIVE) as group:
        busy = group.member([topic], max_poll_interval_ms=1500, max_poll_interval_action="pause")
        group.poll_until(lambda: group.sizes() == [2])
        group.members.remove(busy)
        eventually(lambda: busy._core.buffer.is_held, timeout=60)
        newcomer = group.member([other])
        group.poll_until(lambda: group.sizes() == [1])
        assert [p.topic for p in newcomer.assignment()] == [other]
        group.members.append(busy)
        group.poll_until(lambda: group.sizes() == [1, 2])
        assert group.told("lost", busy) == group.told("revoked", busy) == []


@pytest.mark.parametrize("static", [False, True])
def test_who_leaves_at_closing_can_be_chosen(
    static: bool, broker: Any, group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker, 2)
    settings = {"group_instance_id": "one"} if static else {}
    for operation, leaves in (("default", not static), ("leave_group", True), ("remain_in_group", False)):
        consumer = group.member([topic], **settings)
        group.poll_until(lambda: group.sizes() == [2])
        group.members.remove(consumer)
        consumer.close(group_membership_operation=operation)  # type: ignore[arg-type]
        newcomer = group.member([topic], **settings)
        if leaves or static:
            group.poll_until(lambda: group.sizes() == [2])
        else:
            # What the old member owned is not free before its session ends.
            for _ in range(10):
                group.poll()
            assert group.sizes() == [0]
        group.members.remove(newcomer)
        newcomer.close(group_membership_operation="leave_group")


def test_a_rebalance_can_be_enforced(broker: Any, classic_group: Group, make_topic: MakeTopic) -> None:
    topic = make_topic(broker)
    consumer = classic_group.member([topic])
    classic_group.poll_until(lambda: classic_group.sizes() == [1])
    generation = consumer.group_metadata().generation
    consumer.enforce_rebalance("a test wants it")
    classic_group.poll_until(lambda: consumer.group_metadata().generation > generation)
    with Consumer(broker.bootstrap) as stranger, pytest.raises(MisuseError, match="group_id"):
        stranger.enforce_rebalance()


def test_the_older_of_two_with_one_instance_id_is_fenced(
    broker: Any, classic_group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    old = classic_group.member([topic], group_instance_id="one")
    classic_group.poll_until(lambda: classic_group.sizes() == [1])
    classic_group.members.remove(old)
    classic_group.member([topic], group_instance_id="one")
    classic_group.poll_until(lambda: classic_group.sizes() == [1])
    with old, pytest.raises(FencedInstanceIdError):
        old.poll(20)


class Diary(ConsumerInterceptor):
    def __init__(self) -> None:
        self.commits: list[Mapping[TopicPartition, OffsetAndMetadata]] = []
        self.is_closed = False

    def on_consume(self, records: list[Record]) -> list[Record]:
        return [record for record in records if record.offset % 2]

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.commits.append(offsets)
        raise LookupError("is logged")

    def close(self) -> None:
        self.is_closed = True


def test_interceptors_see_records_before_the_caller_and_commits_after(
    broker: Any, classic_group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    diary = Diary()
    consumer = classic_group.member([topic], interceptors=[diary], enable_auto_commit=False)
    classic_group.poll_until(lambda: len(classic_group.records) == 5)
    assert [record.offset for _, record in classic_group.records] == [1, 3, 5, 7, 9]
    consumer.commit()
    partition = TopicPartition(topic, 0)
    assert [offsets[partition].offset for offsets in diary.commits] == [10]
    classic_group.close(consumer)
    assert diary.is_closed
    with pytest.raises(InvalidSettingError, match=r"barnabas\.ConsumerInterceptor"):
        classic_group.member([topic], interceptors=[object()])


def test_automatic_commits_never_cover_what_the_last_poll_returned(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    """Whatever the caller does between polls, and whoever comes and goes: invariant 8."""
    topic = make_topic(broker, 3)
    for partition in range(3):
        fill_topic(broker, topic, numbers(0, 400), partition)
    random_ = random.Random(8)
    worked_through: dict[TopicPartition, int] = {}
    main = group.member([topic], auto_commit_interval_ms=0, max_poll_records=9)
    with Consumer(broker.bootstrap, group_id=group.name) as observer:
        partitions = [TopicPartition(topic, number) for number in range(3)]

        def check() -> None:
            for partition, offset in observer.committed(partitions).items():
                if offset is not None:
                    assert offset.offset <= worked_through.get(partition, 0), partition

        in_work: list[Record] = []
        patience = Patience()
        for step in itertools.count():
            if step >= 120 and sum(worked_through.values()) > 200:
                break
            patience.check(worked_through)
            records = main.poll(0.02)
            # By polling again the caller says that it is done with what it got before.
            for record in in_work:
                partition = TopicPartition(topic, record.partition)
                worked_through[partition] = max(worked_through.get(partition, 0), record.offset + 1)
            in_work = records
            if step % 3 == 0:
                check()
            choice = random_.random()
            if choice < 0.1 and len(group.members) == 1:
                group.member([topic], enable_auto_commit=False)
            elif choice < 0.2 and len(group.members) > 1:
                group.close(group.members[-1])
            elif choice < 0.3 and records:
                main.seek((topic, records[-1].partition), records[-1].offset + 1)
            elif choice < 0.4 and main.assignment():
                main.pause(main.assignment()[0])
                main.resume(main.assignment()[0])
            for consumer in group.members[1:]:
                consumer.poll(0)
        check()


def test_a_member_that_falls_silent_loses_its_partitions_and_its_commit_is_fenced(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, numbers(0, 10))
    silent = group.member([topic], enable_auto_commit=False, max_poll_interval_ms=2000)
    group.poll_until(lambda: len(group.records) == 10)
    group.members.remove(silent)
    lost = threading.Event()
    newcomer = group.member([topic])
    group.poll_until(lambda: group.sizes() == [2] and len(group.records) == 20)
    with pytest.raises(UnknownMemberIdError):
        silent.commit({(topic, 0): 3})
    committed = newcomer.committed([(topic, 0)])[TopicPartition(topic, 0)]
    assert committed is None or committed.offset == 10
    silent.subscribe([topic], on_lost=lambda partitions: lost.set())
    group.members.append(silent)
    group.poll_until(lambda: lost.is_set() and group.sizes() == [1, 1])
