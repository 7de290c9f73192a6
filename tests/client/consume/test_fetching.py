"""What a consumer's fetches cost and survive on a real broker: sessions, resets, ends, bounded prefetch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.reading import read
from tests.waiting import NEVER_SECONDS

from barnabas import Admin, Consumer, Producer, TopicPartition, Watermarks
from barnabas.client.consume.fetch_session import FetchSession
from barnabas.errors import MisuseError
from barnabas.net.connection import Connection
from barnabas.protocol.frame import encode_request

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


@pytest.fixture
def requests_sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The name and the bytes of each request that leaves."""
    sent: list[tuple[str, int]] = []
    submit = Connection.submit

    def noting_submit(connection: Connection, request: Any, **options: Any) -> Any:
        version = connection.version_of(type(request), options.get("max_version"))
        sent.append((request.NAME, len(encode_request(request, version, 0, "client"))))
        return submit(connection, request, **options)

    monkeypatch.setattr(Connection, "submit", noting_submit)
    return sent


def fetch_sizes(requests_sent: list[tuple[str, int]]) -> list[int]:
    return [size for name, size in requests_sent if name == "Fetch"]


def session_of(consumer: Consumer) -> FetchSession:
    [session] = consumer._core._fetcher._sessions.values()
    return session


def test_a_consumer_of_a_thousand_partitions_sends_small_requests(
    broker: Any, make_topic: MakeTopic, requests_sent: list[tuple[str, int]]
) -> None:
    topic = make_topic(broker, 1000)
    with (
        Producer(broker.bootstrap) as producer,
        Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([(topic, number) for number in range(1000)])
        producer.send(topic, b"first", partition=500).result(60)
        assert [record.value for record in read(consumer, 1)] == [b"first"]
        assert max(fetch_sizes(requests_sent)) > 20_000
        requests_sent.clear()
        for number in range(0, 1000, 50):
            producer.send(topic, b"%d" % number, partition=number).result(60)
            [record] = read(consumer, 1)
            assert (record.partition, record.value) == (number, b"%d" % number)
        assert 0 < max(fetch_sizes(requests_sent)) < 300


@pytest.mark.parametrize("lost", ["epoch", "session"])
def test_a_broker_that_has_another_idea_of_the_session_costs_nothing(
    lost: str, broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, numbers(0, 10))
    with Consumer(broker.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        records = read(consumer, 10)
        session = session_of(consumer)
        if lost == "epoch":
            session._next_epoch += 5
        else:
            session.session_id += 1
        fill_topic(broker, topic, numbers(10, 20))
        records += read(consumer, 10)
        assert [record.value for record in records] == numbers(0, 20)


def test_partitions_may_come_go_pause_and_move_within_a_session(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 3)
    for number in range(3):
        fill_topic(broker, topic, numbers(0, 10), number)
    with Consumer(broker.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        assert len(read(consumer, 20)) == 20
        consumer.pause((topic, 1))
        consumer.assign([(topic, 1), (topic, 2)])
        assert {record.partition for record in read(consumer, 10)} == {2}
        fill_topic(broker, topic, numbers(10, 20), 1)
        fill_topic(broker, topic, numbers(10, 20), 2)
        assert {record.partition for record in read(consumer, 10)} == {2}
        consumer.resume((topic, 1))
        assert [record.value for record in read(consumer, 10)] == numbers(10, 20)
        consumer.seek((topic, 1), 15)
        assert [record.value for record in read(consumer, 5)] == numbers(15, 20)


def test_the_end_of_a_partition_is_told_once_for_each_time_it_is_reached(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 2)
    end = TopicPartition(topic, 0)
    fill_topic(broker, topic, numbers(0, 10))
    with Consumer(
        broker.bootstrap, auto_offset_reset="earliest", enable_partition_eof=True, fetch_max_wait_ms=50
    ) as consumer:
        consumer.assign([end])
        assert [record.value for record in read(consumer, 10)] == numbers(0, 10)
        assert consumer.poll(NEVER_SECONDS) == []
        assert consumer.ends_reached() == {end: 10}
        assert consumer.poll(0.3) == []
        assert consumer.ends_reached() == {}
        fill_topic(broker, topic, numbers(10, 11))
        assert len(read(consumer, 1)) == 1
        assert consumer.poll(20) == []
        assert consumer.ends_reached() == {end: 11}
        consumer.seek(end, 11)
        consumer.seek(end, 9)
        assert len(read(consumer, 2)) == 2
        assert consumer.poll(20) == []
        assert consumer.ends_reached() == {end: 11}
        consumer.assign([(topic, 1)])
        assert consumer.poll(20) == []
        assert consumer.ends_reached() == {(topic, 1): 0}
        consumer.assign([(topic, 1), end])
        consumer.seek(end, 11)
        assert consumer.poll(20) == []
        assert consumer.ends_reached() == {end: 11}


def test_an_end_comes_after_the_records_that_are_handed_out_one_by_one(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 5))
    seen: list[Any] = []
    with Consumer(
        broker.bootstrap, auto_offset_reset="earliest", enable_partition_eof=True, fetch_max_wait_ms=50
    ) as consumer:
        consumer.assign([(topic, 0)])
        while not seen or seen[-1] != {(topic, 0): 5}:
            record = consumer.poll_one(20)
            seen += [] if record is None else [record.offset]
            seen += [ends for ends in [consumer.ends_reached()] if ends]
        assert seen == [0, 1, 2, 3, 4, {(topic, 0): 5}]


def test_ends_need_their_setting(broker: Any) -> None:
    with (
        Consumer(broker.bootstrap) as consumer,
        pytest.raises(MisuseError, match="needs enable_partition_eof=True"),
    ):
        consumer.ends_reached()


def test_watermarks_and_lag_are_known_from_the_last_fetch(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, requests_sent: list[tuple[str, int]]
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 100))
    with Admin(broker.bootstrap) as admin:
        admin.delete_records({TopicPartition(topic, 0): 30})
    with Consumer(broker.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0)])
        assert consumer.cached_watermarks((topic, 0)) is None
        assert consumer.watermarks((topic, 0)) == Watermarks(30, 100)
        read(consumer, 20)
        requests_sent.clear()
        assert consumer.cached_watermarks((topic, 0)) == Watermarks(30, 100)
        assert consumer.lag((topic, 0)) == 50
        assert "ListOffsets" not in dict(requests_sent)


@pytest.mark.parametrize("batch", ["as it fits a fetch", "larger than a fetch"])
def test_a_slow_reader_holds_no_more_than_the_queue_may_and_still_gets_everything(
    batch: str, broker: Any, make_topic: MakeTopic, eventually: Any
) -> None:
    topic = make_topic(broker, 64)
    batch_size = 100_000 if batch == "as it fits a fetch" else 1 << 20
    with Producer(broker.bootstrap, batch_size=batch_size, linger_ms=60_000) as producer:
        for number in range(64 * 10):
            producer.send(topic, b"x" * 50_000, partition=number % 64)
        producer.flush()
    with Consumer(
        broker.bootstrap,
        auto_offset_reset="earliest",
        queued_max_bytes=4 << 20,
        max_partition_fetch_bytes=500_000,
        fetch_max_wait_ms=50,
    ) as consumer:
        consumer.assign([(topic, number) for number in range(64)])
        queues = consumer._core.buffer.queues()
        count, most = len(consumer.poll(0)), 0
        eventually(lambda: not consumer._core.buffer.room())
        while count < 640:
            most = max(most, sum(queue.queued_bytes for queue in queues))
            count += len(consumer.poll(1, 20))
        assert (3 << 20) < most < (5 << 20)


def test_a_paused_partition_that_holds_the_whole_queue_does_not_keep_the_others_from_being_read(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Any
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, [b"x" * 1000] * 100)
    fill_topic(broker, topic, numbers(0, 10), 1)
    with Consumer(
        broker.bootstrap, auto_offset_reset="earliest", queued_max_bytes=50_000, fetch_max_wait_ms=50
    ) as consumer:
        consumer.assign([(topic, 0)])
        assert len(read(consumer, 1)) == 1
        eventually(lambda: not consumer._core.buffer.room())
        consumer.pause((topic, 0))
        consumer.assign([(topic, 0), (topic, 1)])
        assert [record.value for record in read(consumer, 10)] == numbers(0, 10)
        assert consumer.position((topic, 0)) == 1
        consumer.resume((topic, 0))
        assert [record.offset for record in read(consumer, 99)] == list(range(1, 100))


def test_a_batch_above_the_limit_of_a_partition_comes_though_another_partition_never_runs_dry(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, [b"x" * 400] * 2000, batch_num_messages=3)
    fill_topic(broker, topic, [b"y" * 300_000], 1)
    with Consumer(
        broker.bootstrap,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=2000,
        fetch_max_bytes=4000,
        queued_max_bytes=20_000,
    ) as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        partitions = [record.partition for record in read(consumer, 2001)]
        assert partitions.index(1) < 1000


def test_a_partition_at_its_end_does_not_hold_up_one_whose_queue_was_full(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, eventually: Any
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, [b"only one"])
    fill_topic(broker, topic, [b"x" * 10_000] * 100, 1, batch_num_messages=2)
    with Consumer(
        broker.bootstrap,
        auto_offset_reset="earliest",
        queued_max_bytes=100_000,
        max_partition_fetch_bytes=30_000,
        fetch_max_wait_ms=25_000,
    ) as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        # Has them fetched, and may have some already.
        records = consumer.poll(0)
        full = TopicPartition(topic, 1)
        eventually(
            lambda: any(
                queue.partition == full and queue.queued_bytes >= 50_000
                for queue in consumer._core.buffer.queues()
            )
        )
        records += read(consumer, 101 - len(records))
        assert [record.value for record in records if record.partition == 0] == [b"only one"]
