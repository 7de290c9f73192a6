"""A topic that is deleted and made again under a consumer: all of the new one is read, and no position in the
old one counts there. On both brokers, with a second topic that goes on meanwhile."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas import Admin, Consumer, NewTopic, ParallelConsumer, TopicPartition
from barnabas.broker_errors import OffsetOutOfRangeError
from barnabas.client.cluster.metadata import ClusterMetadata, TopicMetadata
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.client.consume.topics_made_again import TopicsMadeAgain, note_topic_ids
from barnabas.errors import BarnabasError

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Eventually = Callable[..., Any]

# Much more than a test may take: what is found is not found by waiting for this.
SETTINGS: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "metadata_max_age_ms": 600_000,
    "allow_auto_create_topics": False,
}
GROUPS: dict[str, dict[str, Any]] = {
    "classic": {"group_protocol": "classic", "heartbeat_interval_ms": 200},
    "cooperative": {
        "group_protocol": "classic",
        "heartbeat_interval_ms": 200,
        "partition_assignment_strategy": "cooperative-sticky",
    },
    "consumer": {"group_protocol": "consumer"},
}
P0 = TopicPartition("t", 0)


def make_again(admin: Admin, topic: str, eventually: Eventually, partitions: int = 1) -> None:
    """Deletes the topic, and makes another one of its name."""
    admin.delete_topics([topic])
    eventually(lambda: topic not in admin.list_topics())

    def is_made() -> bool:
        try:
            admin.create_topics([NewTopic(topic, partitions, 1)])
        except BarnabasError:
            # The old one may still be on its way out.
            return False
        return True

    eventually(is_made)
    eventually(lambda: topic in admin.list_topics())


@pytest.fixture
def admin(broker: Any) -> Iterator[Admin]:
    with Admin(broker.bootstrap) as admin:
        yield admin


class Reads:
    """What a consumer polled."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.values: Counter[tuple[str, bytes | None]] = Counter()

    def poll(self) -> Counter[tuple[str, bytes | None]]:
        self.values.update((record.topic, record.value) for record in self.consumer.poll(0.1))
        return self.values


@pytest.mark.parametrize(("before", "after"), [(20, 5), (5, 20)], ids=["shorter", "longer"])
@pytest.mark.parametrize("kind", ["assigned", "classic", "cooperative", "consumer"])
def test_all_of_a_topic_that_was_made_again_is_read_and_a_restarted_group_goes_on_in_it(
    broker: Any,
    admin: Admin,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    eventually: Eventually,
    kind: str,
    before: int,
    after: int,
) -> None:
    topic, other = make_topic(broker), make_topic(broker)
    fill_topic(broker, topic, [b"old-%d" % number for number in range(before)])
    settings = dict(SETTINGS)
    if kind != "assigned":
        settings |= {"group_id": f"group-{uuid.uuid4().hex[:12]}", "auto_commit_interval_ms": 50}
        settings |= GROUPS[kind]
    new = Counter({(topic, b"new-%d" % number): 1 for number in range(after)})
    with Consumer(broker.bootstrap, **settings) as consumer:
        if kind == "assigned":
            consumer.assign([TopicPartition(topic, 0), TopicPartition(other, 0)])
        else:
            consumer.subscribe([topic, other])
        reads = Reads(consumer)
        eventually(lambda: sum(reads.poll().values()) == before)
        reads.values.clear()
        make_again(admin, topic, eventually)
        fill_topic(broker, topic, [value for _, value in new])
        fill_topic(broker, other, [b"x"])
        eventually(lambda: reads.poll() >= new)
        eventually(lambda: reads.poll()[other, b"x"])
        assert reads.values == new + Counter({(other, b"x"): 1})
    if kind == "assigned":
        return
    committed = admin.list_group_offsets(settings["group_id"])
    assert committed[TopicPartition(topic, 0)].offset == after
    with Consumer(broker.bootstrap, topics=[topic, other], **settings) as consumer:
        fill_topic(broker, topic, [b"last"])
        reads = Reads(consumer)
        eventually(lambda: reads.poll())
        assert reads.values == Counter({(topic, b"last"): 1})


def test_a_position_in_a_topic_that_is_gone_is_not_committed_for_the_one_made_again(
    broker: Any, admin: Admin, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually
) -> None:
    topic, other = make_topic(broker), make_topic(broker)
    group_id = f"group-{uuid.uuid4().hex[:12]}"
    fill_topic(broker, topic, [b"x"] * 20)
    with Consumer(broker.bootstrap, group_id=group_id, enable_auto_commit=False, **SETTINGS) as consumer:
        consumer.assign([TopicPartition(topic, 0), TopicPartition(other, 0)])
        reads = Reads(consumer)
        eventually(lambda: sum(reads.poll().values()) == 20)
        make_again(admin, topic, eventually)
        fill_topic(broker, topic, [b"y"] * 30)
        # From now on the consumer knows. It has not polled since, so these are positions in the old one.
        eventually(lambda: consumer._core.buffer.has_data)  # pyright: ignore[reportPrivateUsage]
        consumer.commit({TopicPartition(topic, 0): 20, TopicPartition(other, 0): 0})
        committed = consumer.committed([TopicPartition(topic, 0), TopicPartition(other, 0)])
        assert committed[TopicPartition(topic, 0)] is None
        assert committed[TopicPartition(other, 0)] is not None
        reads.values.clear()
        eventually(lambda: reads.poll()[topic, b"y"] == 30)
        consumer.commit()
        at = consumer.committed([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
        assert at is not None
        assert at.offset == 30


def test_what_is_left_of_a_topic_that_is_gone_is_not_committed_beside_what_is_of_the_one_made_again(
    broker: Any, admin: Admin, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker, partitions=2)
    old, new = TopicPartition(topic, 0), TopicPartition(topic, 1)
    group_id = f"group-{uuid.uuid4().hex[:12]}"
    fill_topic(broker, topic, [b"x"] * 20)
    with Consumer(broker.bootstrap, group_id=group_id, enable_auto_commit=False, **SETTINGS) as consumer:
        state = consumer._core.partitions.state  # pyright: ignore[reportPrivateUsage]
        consumer.assign([old, new])
        eventually(lambda: consumer.poll(0.1, max_records=1))
        eventually(lambda: state(old).topic_id and state(new).topic_id)
        before = state(old).topic_id
        # Its other records stay in the queue.
        consumer.pause(old)
        make_again(admin, topic, eventually, partitions=2)
        fill_topic(broker, topic, [b"y"], partition=1)
        eventually(lambda: consumer.poll(0.1))
        assert state(old).topic_id == before
        assert state(new).topic_id != before
        consumer.commit()
        committed = consumer.committed([old, new])
    assert committed[old] is None
    at = committed[new]
    assert at is not None
    assert at.offset == 1


def test_without_a_policy_the_caller_hears_that_a_topic_was_made_again_and_may_seek(
    broker: Any, admin: Admin, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, [b"x"] * 5)
    with Consumer(broker.bootstrap, auto_offset_reset="none", allow_auto_create_topics=False) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        reads = Reads(consumer)
        eventually(lambda: sum(reads.poll().values()) == 5)
        make_again(admin, topic, eventually)
        fill_topic(broker, topic, [b"y"] * 20)
        with pytest.raises(
            OffsetOutOfRangeError, match=f"{topic!r} was deleted and created again.*0 to \\d+"
        ):
            eventually(lambda: reads.poll() is None)
        consumer.seek(TopicPartition(topic, 0), 10)
        eventually(lambda: reads.poll()[topic, b"y"] == 10)


def test_handlers_get_all_of_a_topic_that_was_made_again_and_no_offset_of_the_old_one_is_committed(
    broker: Any, admin: Admin, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Eventually
) -> None:
    topic = make_topic(broker)
    group_id = f"group-{uuid.uuid4().hex[:12]}"
    fill_topic(broker, topic, [b"old"] * 20)
    handled: Counter[bytes | None] = Counter()
    consumer = ParallelConsumer(
        broker.bootstrap,
        lambda record: handled.update([record.value]),
        group_id=group_id,
        topics=[topic],
        auto_commit_interval_ms=50,
        **SETTINGS,
    )
    running = threading.Thread(target=consumer.run)
    running.start()
    try:
        eventually(lambda: handled[b"old"] == 20)
        make_again(admin, topic, eventually)
        fill_topic(broker, topic, [b"new"] * 5)
        eventually(lambda: handled[b"new"] == 5)
    finally:
        consumer.close()
        running.join()
    assert admin.list_group_offsets(group_id)[TopicPartition(topic, 0)].offset == 5
    assert handled == Counter({b"old": 20, b"new": 5})


# Which topics are others, without a broker


def seen(topic_id: uuid.UUID, cluster_id: str = "c") -> ClusterMetadata:
    topic = TopicMetadata("t", topic_id, is_internal=False, partitions=())
    return ClusterMetadata(cluster_id=cluster_id, topic_metadata={"t": topic})


def watched() -> tuple[FetchBuffer, SubscriptionState, TopicsMadeAgain]:
    partitions = SubscriptionState(on_data=lambda: None, on_room=lambda: None, on_lookup=lambda: None)
    buffer = FetchBuffer(partitions, 1 << 20, on_data=lambda: None, on_room=lambda: None)
    partitions.add([P0])
    partitions.seek(P0, 7)
    return buffer, partitions, TopicsMadeAgain(partitions, "earliest")


def ids(count: int) -> list[uuid.UUID]:
    return [uuid.UUID(int=number + 1) for number in range(count)]


def look(
    partitions: SubscriptionState, made_again: TopicsMadeAgain, metadata: ClusterMetadata
) -> list[TopicPartition]:
    found = made_again.look_for(metadata)
    note_topic_ids(metadata, partitions.states())
    return found


def test_another_id_of_a_topic_ends_the_positions_in_it_once() -> None:
    first, second = ids(2)
    buffer, partitions, made_again = watched()
    assert look(partitions, made_again, seen(first)) == []
    assert look(partitions, made_again, seen(first)) == []
    assert look(partitions, made_again, seen(second)) == [P0]
    assert look(partitions, made_again, seen(second)) == []
    assert buffer.take(10) == []
    assert not partitions.state(P0).has_position
    assert partitions.topic_ids() == {P0: second}


def test_a_broker_that_lags_behind_and_shows_the_old_topic_is_not_believed() -> None:
    first, second = ids(2)
    buffer, partitions, made_again = watched()
    look(partitions, made_again, seen(first))
    look(partitions, made_again, seen(second))
    buffer.take(10)
    partitions.seek(P0, 3)
    assert look(partitions, made_again, seen(first)) == []
    assert look(partitions, made_again, seen(second)) == []
    assert partitions.state(P0).position == 3


def test_positions_are_kept_in_another_cluster_which_may_be_a_copy() -> None:
    first, second, third = ids(3)
    _, partitions, made_again = watched()
    look(partitions, made_again, seen(first))
    assert look(partitions, made_again, seen(second, cluster_id="copy")) == []
    assert partitions.state(P0).position == 7
    assert look(partitions, made_again, seen(third, cluster_id="copy")) == [P0]


def test_a_seek_after_a_topic_was_made_again_is_one_in_the_new_topic() -> None:
    first, second = ids(2)
    buffer, partitions, made_again = watched()
    look(partitions, made_again, seen(first))
    look(partitions, made_again, seen(second))
    partitions.seek(P0, 7)
    assert buffer.take(10) == []
    assert partitions.state(P0).position == 7
    assert partitions.topic_ids() == {P0: second}
