"""Groups of the consumer protocol (KIP-848)."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.broker_errors import (
    FencedMemberEpochError,
    InvalidRegularExpressionError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
    UnsupportedAssignorError,
    UnsupportedVersionError,
)
from barnabas.errors import InvalidSettingError, MisuseError, NoCommonVersionError, TransactionFailedError
from barnabas.testing import ApacheKafka

from .group_members import Group, numbers

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Eventually = Callable[..., Any]


@pytest.fixture
def group(broker: Any) -> Iterator[Group]:
    with Group(broker, group_protocol="consumer") as group:
        yield group


def test_members_share_the_partitions_and_only_what_moves_is_revoked(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 4)
    first = group.member([topic])
    group.poll_until(lambda: group.sizes() == [4])
    second = group.member([topic])
    group.poll_until(lambda: group.sizes() == [2, 2])
    assert len(group.told("revoked", first)) == 2
    assert group.told("lost", first) == group.told("revoked", second) == []
    for partition in range(4):
        fill_topic(broker, topic, numbers(0, 50), partition)
    group.poll_until(lambda: len(group.records) >= 200)
    assert group.places() == [(partition, offset) for partition in range(4) for offset in range(50)]
    group.close(first)
    group.poll_until(lambda: group.sizes() == [4])


def test_what_is_assigned_while_a_callback_runs_is_taken_when_it_ends(
    broker: Any, group: Group, make_topic: MakeTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker, 4)
    first = group.member([topic])
    group.poll_until(lambda: group.sizes() == [4])
    second = Consumer(broker.bootstrap, group_id=group.name, group_protocol="consumer")
    has_waited = False

    def wait_for_more(partitions: list[TopicPartition]) -> None:
        nonlocal has_waited
        if partitions and not has_waited:
            has_waited = True
            group.close(first)
            eventually(lambda: second._core.rebalances.group.phase == "assigned")

    second.subscribe([topic], on_assigned=wait_for_more)
    with second:
        while not has_waited:
            second.poll(0.05)
            group.poll()
        eventually(lambda: not second.poll(0.1) and len(second.assignment()) == 4)


def test_a_member_keeps_reading_while_another_one_holds_a_rebalance_up(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 3)
    reader, silent = group.member([topic]), group.member([topic])
    group.poll_until(lambda: group.sizes() == [1, 2])
    # Whoever has two has to give one up for a third member, but does not poll.
    if len(reader.assignment()) == 2:
        reader, silent = silent, reader
    group.members.remove(silent)
    newcomer = group.member([topic])
    for partition in range(3):
        fill_topic(broker, topic, numbers(0, 20), partition)
    group.poll_until(lambda: len([r for c, r in group.records if c is reader]) == 20)
    assert group.told("revoked", reader) == []
    assert newcomer.assignment() == []
    group.members.append(silent)
    group.poll_until(lambda: group.sizes() == [1, 1, 1])


def test_members_that_come_and_go_lose_nothing_and_read_nothing_twice(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 4)
    for partition in range(4):
        fill_topic(broker, topic, numbers(0, 300), partition)
    for round_number in range(4):
        group.member([topic], max_poll_records=7)
        read_before = len(group.records)
        group.poll_until(lambda before=read_before: len(group.records) >= before + 60)
        if round_number % 2:
            group.close(group.members[0])
    group.poll_until(lambda: len(set(group.places())) == 1200)
    assert len(group.records) == 1200


def test_a_pattern_that_is_a_string_is_matched_by_the_broker(
    broker: Any, group: Group, fill_topic: FillTopic
) -> None:
    prefix = f"pattern-{uuid.uuid4().hex[:8]}"
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(f"{prefix}-a", 1, 1), NewTopic(f"{prefix}-c1", 1, 1)])
        consumer = group.member(pattern=rf"{prefix}-(a|b|c\d)")
        group.poll_until(lambda: group.sizes() == [2])
        admin.create_topics([NewTopic(f"{prefix}-b", 2, 1), NewTopic(f"{prefix}-bb", 1, 1)])
        fill_topic(broker, f"{prefix}-b", [b"x"], 1)
        group.member(pattern=rf"{prefix}-(a|b|c\d)")
        group.poll_until(lambda: sum(group.sizes()) == 4 and len(group.records) == 1)
        consumer.subscribe([f"{prefix}-bb"])
        group.poll_until(lambda: [p.topic for p in consumer.assignment()] == [f"{prefix}-bb"])


def test_a_pattern_may_be_one_that_only_the_broker_understands(apache_kafka: Any) -> None:
    group = Group(apache_kafka, group_protocol="consumer")
    name = f"pattern-{uuid.uuid4().hex[:8]}-1"
    with Admin(apache_kafka.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1)])
    # \pN is known to RE2/J alone, not to Python.
    consumer = group.member(pattern=rf"{name[:-1]}\pN")
    with consumer:
        group.poll_until(lambda: group.sizes() == [1])


def test_a_compiled_pattern_is_matched_by_the_client(broker: Any, group: Group) -> None:
    prefix = f"pattern-{uuid.uuid4().hex[:8]}"
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(f"{prefix}-a", 1, 1)])
        # RE2/J has no lookahead.
        group.member(pattern=re.compile(f"(?!not-){prefix}-.*"), metadata_max_age_ms=300)
        group.poll_until(lambda: group.sizes() == [1])
        admin.create_topics([NewTopic(f"{prefix}-b", 2, 1), NewTopic(f"not-{prefix}-c", 1, 1)])
        group.poll_until(lambda: group.sizes() == [3])


def test_a_pattern_that_the_broker_refuses_is_an_error_of_poll(broker: Any, group: Group) -> None:
    consumer = group.member(pattern="(unclosed")
    with pytest.raises(InvalidRegularExpressionError, match="unclosed"):
        consumer.poll(20)
    consumer.unsubscribe()
    classic = Consumer(broker.bootstrap, group_id=group.name)
    with classic, pytest.raises(MisuseError, match="unclosed"):
        classic.subscribe(pattern="(unclosed")


def test_a_static_member_that_comes_back_finds_its_partitions_without_a_rebalance(
    broker: Any, group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker, 4)
    first = group.member([topic], group_instance_id="one")
    second = group.member([topic], group_instance_id="two")
    group.poll_until(lambda: group.sizes() == [2, 2])
    owned = first.assignment()
    revoked = group.told("revoked", second)
    group.close(first)
    again = group.member([topic], group_instance_id="one")
    group.poll_until(lambda: again.assignment() == owned)
    assert group.told("revoked", second) == revoked
    assert len(second.assignment()) == 2
    group.members.remove(again)
    again.close(group_membership_operation="leave_group")
    group.poll_until(lambda: group.sizes() == [4])


def test_a_second_member_of_one_instance_id_is_refused_by_name(
    broker: Any, group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    group.member([topic], group_instance_id="one")
    group.poll_until(lambda: group.sizes() == [1])
    second = group.member([topic], group_instance_id="one")
    group.members.remove(second)
    with second, pytest.raises(UnreleasedInstanceIdError, match="group_instance_id"):
        second.poll(20)
    group.poll()
    assert group.sizes() == [1]


def test_the_brokers_assignor_can_be_chosen_by_name(broker: Any, group: Group, make_topic: MakeTopic) -> None:
    topic = make_topic(broker, 4)
    group.member([topic], group_remote_assignor="range")
    group.member([topic], group_remote_assignor="range")
    group.poll_until(lambda: group.sizes() == [2, 2])
    numbers_of = [[p.partition for p in sorted(member.assignment())] for member in group.members]
    assert sorted(numbers_of) == [[0, 1], [2, 3]]
    stranger = Consumer(
        broker.bootstrap,
        topics=[topic],
        group_id=f"{group.name}-other",
        group_protocol="consumer",
        group_remote_assignor="nobody",
    )
    with stranger, pytest.raises(UnsupportedAssignorError):
        stranger.poll(20)


@pytest.mark.parametrize(
    ("protocol", "given"),
    [
        ("consumer", {"session_timeout_ms": 10_000}),
        ("consumer", {"heartbeat_interval_ms": 1_000}),
        ("consumer", {"partition_assignment_strategy": "range"}),
        ("classic", {"group_remote_assignor": "uniform"}),
    ],
)
def test_settings_of_the_other_protocol_are_refused(protocol: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidSettingError, match=next(iter(given))):
        Consumer("127.0.0.1:1", group_id="g", group_protocol=protocol, **given)  # type: ignore[arg-type]


def test_a_member_that_does_not_poll_leaves_and_its_commit_is_refused(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    consumer = group.member([topic], max_poll_interval_ms=5000, enable_auto_commit=False)
    group.poll_until(lambda: len(group.records) == 10)
    group.members.remove(consumer)
    newcomer = group.member([topic], enable_auto_commit=False)
    group.poll_until(lambda: group.sizes() == [1])
    with pytest.raises((UnknownMemberIdError, FencedMemberEpochError, StaleMemberEpochError)):
        consumer.commit(timeout=60)
    group.close(newcomer)
    group.members.append(consumer)
    group.poll_until(lambda: group.told("lost", consumer) != [] and group.sizes() == [1])
    consumer.commit()


def test_commits_hold_while_the_epoch_moves_on(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 8)
    for partition in range(8):
        fill_topic(broker, topic, numbers(0, 10), partition)
    consumer = group.member([topic], enable_auto_commit=False)
    group.poll_until(lambda: len(group.records) == 80)
    first_epoch = consumer.group_metadata().generation
    stop = threading.Event()

    def churn() -> None:
        for _ in range(3):
            with Consumer(
                broker.bootstrap, topics=[topic], group_id=group.name, group_protocol="consumer"
            ) as other:
                while not other.assignment() and not stop.is_set():
                    other.poll(0.1)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        patience = Patience()
        while thread.is_alive():
            patience.check()
            consumer.poll(0.01)
            consumer.commit(timeout=60)
    finally:
        stop.set()
        thread.join()
    assert consumer.group_metadata().generation > first_epoch + 2


def test_a_classic_group_moves_over_member_by_member_and_back(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 4)
    for partition in range(4):
        fill_topic(broker, topic, numbers(0, 200), partition)
    classic: Any = {"group_protocol": "classic", "heartbeat_interval_ms": 200, "max_poll_records": 5}
    group.member([topic], **classic)
    group.member([topic], **classic)
    group.poll_until(lambda: group.sizes() == [2, 2] and len(group.records) > 20)
    for settings in ({"max_poll_records": 5}, classic):
        for _ in range(2):
            group.member([topic], **settings)
            group.poll_until(lambda: group.sizes() == [1, 1, 2])
            group.close(group.members[0])
            group.poll_until(lambda: group.sizes() == [2, 2])
    group.poll_until(lambda: len(set(group.places())) == 800)
    assert len(group.records) == 800


def test_auto_takes_what_the_broker_offers(broker: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(broker, 2)
    with Group(broker, group_protocol="auto") as group:
        for pattern in (None, re.escape(topic)):
            topics = [topic] if pattern is None else None
            group.member(topics, pattern)
            group.poll_until(lambda: sum(group.sizes()) == 2)
            # A classic member's id is its coordinator's, and begins with the client's.
            assert not group.members[0].group_metadata().member_id.startswith("barnabas-")
            group.close(group.members[0])


@pytest.mark.parametrize(
    ("version", "error"), [("3.9.1", UnsupportedVersionError), ("2.8.2", NoCommonVersionError)]
)
def test_brokers_that_do_not_offer_the_protocol_are_told_apart(
    version: str, error: type[Exception], fill_topic: FillTopic
) -> None:
    with ApacheKafka(version) as old, Admin(old.bootstrap) as admin:
        admin.create_topics([NewTopic("numbers", 1, 1)])
        fill_topic(old, "numbers", numbers(0, 5))
        settings: Any = {"topics": ["numbers"], "group_id": "g", "auto_offset_reset": "earliest"}
        with (
            Consumer(old.bootstrap, group_protocol="consumer", **settings) as refused,
            pytest.raises(error, match="set group_protocol to 'auto'"),
        ):
            refused.poll(20)
        with Consumer(old.bootstrap, group_protocol="auto", **settings) as taken:
            assert len(taken.poll(20)) == 5


def test_auto_is_classic_where_a_setting_of_it_is_given(
    broker: Any, group: Group, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    consumer = group.member([topic], group_protocol="auto", session_timeout_ms=10_000)
    assert consumer.config.group_protocol == "classic"


def test_a_topic_that_was_deleted_and_made_again_is_read_from_its_beginning(
    broker: Any, group: Group, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    group.member([topic], metadata_max_age_ms=300, allow_auto_create_topics=False)
    group.poll_until(lambda: len(group.records) == 10)
    with Admin(broker.bootstrap) as admin:
        admin.delete_topics([topic])
        group.poll_until(lambda: group.sizes() == [0])
        admin.create_topics([NewTopic(topic, 1, 1)])
    fill_topic(broker, topic, numbers(0, 5))
    group.poll_until(lambda: len(group.records) == 15)


def test_positions_go_into_a_transaction_for_a_member_and_not_for_one_that_left(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually
) -> None:
    source, target = make_topic(broker), make_topic(broker)
    fill_topic(broker, source, numbers(0, 3))
    place = TopicPartition(source, 0)
    settings: dict[str, Any] = {
        "group_id": f"group-{uuid.uuid4().hex}",
        "group_protocol": "consumer",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
    with Producer(broker.bootstrap, transactional_id=target, linger_ms=0) as producer:
        producer.init_transactions()
        with Consumer(broker.bootstrap, topics=[source], **settings) as member:
            eventually(lambda: member.poll(0.2))
            identity = member.group_metadata()
            with producer.transaction():
                producer.send(target, b"of the member")
                producer.send_offsets_to_transaction({place: 2}, identity)
            assert member.committed([place])[place].offset == 2
        producer.begin_transaction()
        producer.send(target, b"of one that left")
        with pytest.raises(TransactionFailedError) as caught:
            producer.send_offsets_to_transaction({place: 3}, identity)
        assert isinstance(caught.value.__cause__, UnknownMemberIdError)
        producer.abort_transaction()
    with Consumer(broker.bootstrap, **settings) as reader:
        assert reader.committed([place])[place].offset == 2
