from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, NewTopic, OffsetAndMetadata, TopicPartition
from barnabas.broker_errors import IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError
from barnabas.errors import BarnabasError

from .group_members import Group, numbers

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Eventually = Callable[..., Any]

OUT_OF_THE_GROUP = (IllegalGenerationError, UnknownMemberIdError, RebalanceInProgressError)


@pytest.fixture
def group(broker: Any) -> Iterator[Group]:
    with Group(broker, heartbeat_interval_ms=200) as group:
        yield group


@pytest.fixture(
    params=[{"group_protocol": "classic", "heartbeat_interval_ms": 14_000}, {"group_protocol": "consumer"}],
    ids=["classic", "consumer"],
)
def quiet_group(broker: Any, request: pytest.FixtureRequest) -> Iterator[Group]:
    """Whose members send a heartbeat every few seconds: commits tell them what has happened before that."""
    with Group(broker, **request.param) as group:
        yield group


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky"])
@pytest.mark.integration
def test_members_share_the_partitions_and_read_everything_once(
    strategy: str, broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 4)
    first = group.member([topic], partition_assignment_strategy=strategy)
    group.poll_until(lambda: group.sizes() == [4])
    second = group.member([topic], partition_assignment_strategy=strategy)
    group.poll_until(lambda: group.sizes() == [2, 2])
    for partition in range(4):
        fill_topic(broker, topic, numbers(0, 50), partition)
    group.poll_until(lambda: len(group.records) >= 200)
    places = [(record.partition, record.offset) for _, record in group.records]
    assert sorted(places) == [(partition, offset) for partition in range(4) for offset in range(50)]
    for consumer, record in group.records:
        assert (record.topic, record.partition) in consumer.assignment()
    revoked = group.told("revoked", first)
    assert len(revoked) == (2 if strategy == "cooperative-sticky" else 4)
    assert group.told("revoked", second) == []


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_the_partitions_of_a_member_that_leaves_go_on_where_it_stopped(
    strategy: str, broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 2)
    for partition in range(2):
        fill_topic(broker, topic, numbers(0, 100), partition)
    # Who leaves without a word would be missed only when its session has ended.
    settings: Any = {"session_timeout_ms": 1_800_000, "max_poll_records": 10}
    first = group.member([topic], partition_assignment_strategy=strategy, **settings)
    group.member([topic], partition_assignment_strategy=strategy, **settings)
    group.poll_until(lambda: group.sizes() == [1, 1] and len(group.records) > 0)
    group.close(first)
    group.poll_until(lambda: group.sizes() == [2])
    group.poll_until(lambda: len(group.records) >= 200)
    places = [(record.partition, record.offset) for _, record in group.records]
    assert sorted(places) == [(partition, offset) for partition in range(2) for offset in range(100)]


def test_a_cooperative_member_keeps_reading_what_it_keeps(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 3)
    first = group.member([topic], partition_assignment_strategy="cooperative-sticky")
    group.poll_until(lambda: group.sizes() == [3])
    group.member([topic], partition_assignment_strategy="cooperative-sticky")
    group.poll_until(lambda: group.sizes() == [1, 2])
    assert len(group.told("revoked", first)) == 1
    assert group.told("lost", first) == []


def test_reading_goes_on_after_the_committed_offset(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 100))
    consumer = group.member([topic], enable_auto_commit=False)
    taken: list[int] = []
    for record in consumer:
        taken.append(record.offset)
        if record.offset == 41:
            consumer.commit()
        if record.offset == 60:
            break
    assert taken == list(range(61))
    committed = consumer.committed([(topic, 0)])[TopicPartition(topic, 0)]
    assert committed is not None
    assert committed.offset == 42
    group.close(consumer)
    again = group.member([topic], enable_auto_commit=False)
    record = again.poll_one(20)
    assert record is not None
    assert record.offset == 42


def test_a_member_whose_commit_is_refused_joins_again_before_it_reads_on(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, quiet_group: Group
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 3))
    group = quiet_group
    consumer = group.member([topic], enable_auto_commit=False)
    group.poll_until(lambda: len(group.records) == 3)
    with Admin(broker.bootstrap) as admin:
        admin.remove_members(group.name)
    with pytest.raises(UnknownMemberIdError, match="poll to join again"):
        consumer.commit()
    fill_topic(broker, topic, numbers(3, 6))
    group.records.clear()
    group.poll_until(lambda: len(group.records) >= 6)
    assert [record.offset for _, record in group.records] == list(range(6))
    assert group.told("lost", consumer) == [TopicPartition(topic, 0)]


def test_offsets_and_notes_are_committed_as_given(broker: Any, group: Group, make_topic: MakeTopic) -> None:
    topic = make_topic(broker, 2)
    with Consumer(broker.bootstrap, group_id=group.name) as consumer:
        consumer.assign([(topic, 0)])
        consumer.commit({(topic, 0): OffsetAndMetadata(7, "so far"), (topic, 1): 3})
        committed = consumer.committed([(topic, 0), (topic, 1)])
        assert committed[TopicPartition(topic, 0)] == OffsetAndMetadata(7, "so far")
        assert committed[TopicPartition(topic, 1)] == OffsetAndMetadata(3)
        with Consumer(broker.bootstrap, group_id=f"{group.name}-other") as other:
            assert other.committed([(topic, 0)]) == {TopicPartition(topic, 0): None}


def test_automatic_commits_cover_what_polls_before_the_last_one_returned(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 100))
    partition = TopicPartition(topic, 0)
    consumer = group.member([topic], auto_commit_interval_ms=0, max_poll_records=10)
    with Consumer(broker.bootstrap, group_id=group.name) as observer:

        def committed() -> int | None:
            return getattr(observer.committed([partition])[partition], "offset", None)

        group.poll_until(lambda: len(group.records) == 10)
        assert committed() in (None, 0)
        assert len(consumer.poll(30)) == 10
        eventually(lambda: committed() == 10)
        assert len(consumer.poll(30)) == 10
        eventually(lambda: committed() == 20)
        assert committed() == 20
        group.close(consumer)
        assert committed() == 30


def test_what_was_being_worked_on_when_an_error_came_up_is_not_committed(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    consumer = group.member([topic])
    assert consumer.poll_one(20) is not None

    def fail() -> None:
        with consumer:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    group.members.remove(consumer)
    again = group.member([topic])
    record = again.poll_one(20)
    assert record is not None
    assert record.offset == 0


def test_asynchronous_commits_keep_their_order_and_call_back_in_the_polling_thread(
    broker: Any, group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    consumer = group.member([topic], enable_auto_commit=False)
    group.poll_until(lambda: group.sizes() == [1])
    done: list[tuple[int, BarnabasError | None, threading.Thread]] = []
    partition = TopicPartition(topic, 0)

    def on_commit(offsets: Any, error: BarnabasError | None) -> None:
        done.append((offsets[partition].offset, error, threading.current_thread()))

    for offset in range(1, 6):
        consumer.commit_async({partition: offset}, on_commit)
    group.poll_until(lambda: len(done) == 5)
    assert done == [(offset, None, threading.main_thread()) for offset in range(1, 6)]
    committed = consumer.committed([partition])[partition]
    assert committed is not None
    assert committed.offset == 5


def test_a_member_that_does_not_poll_leaves_and_its_commit_is_fenced(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    consumer = group.member([topic], max_poll_interval_ms=5000, enable_auto_commit=False)
    with Admin(broker.bootstrap) as admin:

        def members() -> int:
            return len(admin.describe_groups([group.name])[group.name].members)

        group.poll_until(lambda: len(group.records) >= 10 and members() == 1)
        identity = consumer.group_metadata()
        eventually(lambda: members() == 0)
    # So that a transaction with what it has read is refused.
    assert consumer.group_metadata() == identity
    newcomer = group.member([topic], enable_auto_commit=False)
    group.members.remove(consumer)
    group.poll_until(lambda: group.sizes() == [1])
    with pytest.raises(OUT_OF_THE_GROUP, match="poll"):
        consumer.commit()
    group.close(newcomer)
    group.members.append(consumer)
    group.poll_until(lambda: group.told("lost", consumer) != [] and group.sizes() == [1])
    assert consumer.group_metadata().member_id != identity.member_id
    consumer.commit()


def test_a_slow_caller_that_hands_out_records_one_by_one_stays_a_member(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 12))
    consumer = group.member([topic], max_poll_interval_ms=5000)
    seen = 0
    pause = threading.Event()
    while seen < 12:
        if consumer.poll_one(30) is not None:
            seen += 1
            pause.wait(0.5)
    assert group.told("lost", consumer) == []


def test_a_static_member_that_comes_back_finds_its_partitions_without_a_rebalance(
    broker: Any, group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker, 4)
    first = group.member([topic], group_instance_id="one")
    second = group.member([topic], group_instance_id="two")
    group.poll_until(lambda: group.sizes() == [2, 2])
    owned, generation = first.assignment(), second.group_metadata().generation
    revoked = group.told("revoked", second)
    group.close(first)
    again = group.member([topic], group_instance_id="one")
    group.poll_until(lambda: again.assignment() == owned)
    assert second.group_metadata().generation == generation
    assert group.told("revoked", second) == revoked


def test_a_topic_that_comes_to_match_the_pattern_is_read(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    prefix = f"pattern-{uuid.uuid4().hex[:8]}"
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(f"{prefix}-a", 1, 1)])
        group.member(pattern=f"{prefix}-.*", metadata_max_age_ms=300)
        group.poll_until(lambda: group.sizes() == [1])
        admin.create_topics([NewTopic(f"{prefix}-b", 2, 1), NewTopic(f"not-{prefix}-c", 1, 1)])
        group.poll_until(lambda: group.sizes() == [3])
    fill_topic(broker, f"{prefix}-b", [b"x"], 1)
    group.poll_until(lambda: len(group.records) == 1)


def test_a_pattern_takes_topics_of_kafka_itself_where_they_are_not_excluded(broker: Any) -> None:
    settings = {"pattern": "__consumer_offsets", "auto_offset_reset": "earliest"}
    with Consumer(broker.bootstrap, group_id=f"internal-{uuid.uuid4().hex[:8]}", **settings) as member:
        # It is there once a member has joined.
        member.poll(1)
        assert member.assignment() == []
    with Consumer(broker.bootstrap, exclude_internal_topics=False, **settings) as reader:
        while not reader.poll(1):
            pass
        assert {partition.topic for partition in reader.assignment()} == {"__consumer_offsets"}


def test_partitions_that_are_added_are_divided_too(broker: Any, group: Group, make_topic: MakeTopic) -> None:
    topic = make_topic(broker, 2)
    group.member([topic], metadata_max_age_ms=300)
    group.member([topic], metadata_max_age_ms=300)
    group.poll_until(lambda: group.sizes() == [1, 1])
    with Admin(broker.bootstrap) as admin:
        admin.create_partitions({topic: 4})
    group.poll_until(lambda: group.sizes() == [2, 2])


def test_seeking_when_partitions_are_assigned_decides_where_reading_begins(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 2)
    for partition in range(2):
        fill_topic(broker, topic, numbers(0, 10), partition)
    with Consumer(broker.bootstrap, group_id=group.name, auto_offset_reset="earliest") as consumer:

        def on_assigned(partitions: list[TopicPartition]) -> None:
            for partition in partitions:
                consumer.seek(partition, 8)

        consumer.subscribe([topic], on_assigned=on_assigned)
        offsets: list[int] = []
        patience = Patience()
        while len(offsets) < 4:
            patience.check(offsets)
            offsets += [record.offset for record in consumer.poll(0.2)]
    assert sorted(offsets) == [8, 8, 9, 9]


def test_what_is_committed_as_partitions_are_revoked_holds(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    with Consumer(
        broker.bootstrap,
        group_id=group.name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=200,
    ) as consumer:
        consumer.subscribe([topic], on_revoked=lambda partitions: consumer.commit())
        assert consumer.poll_one(20) is not None
        group.member([topic])
        # Whoever has the partition after the rebalance goes on with the second record.
        group.members.append(consumer)
        group.poll_until(lambda: any(record.offset == 9 for _, record in group.records))
        group.members.remove(consumer)
    assert min(record.offset for _, record in group.records) == 1


def test_an_error_in_a_callback_reaches_the_caller_and_the_rebalance_goes_on(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, [b"x"])
    calls: list[int] = []

    def on_assigned(partitions: list[TopicPartition]) -> None:
        calls.append(len(partitions))
        raise LookupError("not today")

    with Consumer(broker.bootstrap, group_id=group.name, auto_offset_reset="earliest") as consumer:
        consumer.subscribe([topic], on_assigned=on_assigned)
        with pytest.raises(LookupError, match="not today"):
            consumer.poll(20)
        assert calls == [1]
        assert [record.value for record in consumer.poll(20)] == [b"x"]
        assert calls == [1]


def test_a_new_subscription_replaces_the_old_one(broker: Any, group: Group, make_topic: MakeTopic) -> None:
    old, new = make_topic(broker, 2), make_topic(broker, 3)
    for strategy in ("range", "cooperative-sticky"):
        consumer = group.member([old], partition_assignment_strategy=strategy)
        group.poll_until(lambda: group.sizes() == [2])
        consumer.subscribe([new])
        group.poll_until(lambda: group.sizes() == [3])
        assert {partition.topic for partition in consumer.assignment()} == {new}
        consumer.unsubscribe()
        assert consumer.assignment() == []
        consumer.assign([(old, 0)])
        group.close(consumer)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_a_group_is_shared_with_members_of_librdkafka(
    strategy: str, broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 6)
    theirs: list[Any] = []
    assigned: set[int] = set()
    stop = threading.Event()

    def run_other_member() -> None:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": group.name,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": strategy,
                "heartbeat.interval.ms": 200,
            }
        )
        consumer.subscribe([topic])
        try:
            while not stop.is_set():
                message = consumer.poll(0.05)
                if message is not None and message.error() is None:
                    theirs.append(message)
                assigned.clear()
                assigned.update(p.partition for p in consumer.assignment())
        finally:
            consumer.close()

    # Theirs leads first, then ours does.
    thread = threading.Thread(target=run_other_member)
    thread.start()
    try:
        group.poll_until(lambda: len(assigned) == 6)
        group.member([topic], partition_assignment_strategy=strategy)
        group.poll_until(lambda: group.sizes() == [3] and len(assigned) == 3)
        group.member([topic], partition_assignment_strategy=strategy)
        group.poll_until(lambda: group.sizes() == [2, 2] and len(assigned) == 2)
        for partition in range(6):
            fill_topic(broker, topic, numbers(0, 20), partition)
        group.poll_until(lambda: len(group.records) + len(theirs) >= 120)
        places = [(record.partition, record.offset) for _, record in group.records]
        places += [(message.partition(), message.offset()) for message in theirs]
        assert sorted(places) == [(partition, offset) for partition in range(6) for offset in range(20)]
    finally:
        stop.set()
        thread.join()
    group.poll_until(lambda: group.sizes() == [3, 3])
    thread = threading.Thread(target=run_other_member)
    stop.clear()
    thread.start()
    try:
        group.poll_until(lambda: group.sizes() == [2, 2] and len(assigned) == 2)
    finally:
        stop.set()
        thread.join()


def test_members_that_come_and_go_lose_nothing(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 4)
    for partition in range(4):
        fill_topic(broker, topic, numbers(0, 300), partition)
    settings: Any = {"partition_assignment_strategy": "cooperative-sticky", "max_poll_records": 7}
    for round_number in range(4):
        group.member([topic], **settings)
        read_before = len(group.records)
        group.poll_until(lambda before=read_before: len(group.records) >= before + 60)
        if round_number % 2:
            group.close(group.members[0])
    group.poll_until(lambda: len({(r.partition, r.offset) for _, r in group.records}) == 1200)
    # All members left in order, so nothing was read twice either.
    assert len(group.records) == 1200


def test_a_member_that_waits_for_the_others_can_still_commit_and_leave(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, numbers(0, 10))
    settings: Any = {"partition_assignment_strategy": "cooperative-sticky", "enable_auto_commit": False}
    waiting = group.member([topic], **settings)
    silent = group.member([topic], **settings)
    group.poll_until(lambda: group.sizes() == [1, 1] and len(group.records) == 10)
    generation = silent.group_metadata().generation
    newcomer = group.member([topic], **settings)
    group.members.remove(silent)
    # The silent member does not join again, so the rebalance cannot finish.
    for _ in range(10):
        group.poll()
    assert newcomer.assignment() == []
    waiting.commit(timeout=30)
    group.close(newcomer)
    group.close(waiting)
    group.members.append(silent)
    group.poll_until(lambda: group.sizes() == [2])
    assert silent.group_metadata().generation > generation


def test_a_stranger_to_the_group_may_not_commit(broker: Any, group: Group, make_topic: MakeTopic) -> None:
    topic = make_topic(broker)
    consumer = group.member([topic])
    with pytest.raises(UnknownMemberIdError, match="poll to join"):
        consumer.commit({(topic, 0): 1})


def test_subscribing_to_the_same_again_changes_nothing(
    broker: Any, group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    consumer = group.member([topic])
    group.poll_until(lambda: group.sizes() == [1])
    generation = consumer.group_metadata().generation
    consumer.subscribe([topic])
    for _ in range(10):
        group.poll()
    assert consumer.group_metadata().generation == generation
    assert group.sizes() == [1]
