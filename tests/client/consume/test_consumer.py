from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.reading import read
from tests.waiting import NEVER_MS, NEVER_SECONDS

from barnabas import Consumer, OffsetAndMetadata, Record, TopicPartition
from barnabas.broker_errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError
from barnabas.errors import (
    BootstrapError,
    ClosedError,
    InvalidSettingError,
    MisuseError,
    UnknownSettingError,
)
from barnabas.loop_thread import LoopThread

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]


def values(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


@pytest.fixture
def at_beginning(broker: Any) -> Any:
    """`at_beginning(topic, partitions=1, **settings)` is a consumer that stands there."""
    consumers: list[Consumer] = []

    def make(topic: str, partitions: int = 1, **settings: Any) -> Consumer:
        consumer = Consumer(broker.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50, **settings)
        consumers.append(consumer)
        consumer.assign([(topic, number) for number in range(partitions)])
        return consumer

    yield make
    for consumer in consumers:
        consumer.close()


@pytest.mark.integration
def test_a_record_comes_with_all_that_it_was_sent_with(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker)
    sent = {
        "key": b"k",
        "value": b"v",
        "headers": [("a", b"1"), ("a", None), ("b", b"")],
        "timestamp": 1_700_000_000_123,
    }
    fill_topic(broker, topic, [sent, {"value": None}])
    first, second = read(at_beginning(topic), 2)
    assert (first.topic, first.partition, first.offset) == (topic, 0, 0)
    assert (first.key, first.value, first.timestamp) == (b"k", b"v", 1_700_000_000_123)
    assert first.headers == (("a", b"1"), ("a", None), ("b", b""))
    assert (second.offset, second.key, second.value, second.headers) == (1, None, None, ())


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_of_every_codec_are_read(
    codec: str, broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker)
    sent = [b"%d " % number * 20 for number in range(3000)]
    fill_topic(broker, topic, sent, compression_codec=codec, linger_ms=50)
    records = read(at_beginning(topic), 3000)
    assert values(records) == sent
    assert [record.offset for record in records] == list(range(3000))


def test_a_poll_gives_at_most_what_is_asked_for_and_moves_the_position_by_that(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 100))
    consumer = at_beginning(topic, max_poll_records=30)
    assert len(read(consumer, 7)) == 7
    assert consumer.position((topic, 0)) == 7
    assert values(consumer.poll(30)) == numbers(7, 37)
    assert consumer.position((topic, 0)) == 37


def test_all_partitions_are_read_each_in_order(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 3)
    for partition in range(3):
        fill_topic(broker, topic, numbers(0, 500), partition)
    records = read(at_beginning(topic, 3), 1500)
    for partition in range(3):
        assert values([r for r in records if r.partition == partition]) == numbers(0, 500)


def test_a_position_that_is_known_needs_no_turn_of_the_event_loop(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any, monkeypatch: Any
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    consumer = at_beginning(topic)
    read(consumer, 10)

    def refuse(*arguments: Any, **options: Any) -> None:
        raise AssertionError("asked the event loop")

    with monkeypatch.context() as patched:
        patched.setattr(LoopThread, "run", refuse)
        assert consumer.position((topic, 0)) == 10
        with pytest.raises(MisuseError, match="not assigned"):
            consumer.position((topic, 1))
    consumer.seek((topic, 0), 4)
    assert consumer.position((topic, 0)) == 4


def test_polls_of_all_kinds_continue_where_the_last_one_ended(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 200))
    consumer = at_beginning(topic)
    assert consumer.poll_one(30).value == b"0"
    assert consumer.poll_one(30).value == b"1"
    assert consumer.position((topic, 0)) == 2
    assert values(read(consumer, 3)) == numbers(2, 5)
    assert values(list(itertools.islice(consumer, 5))) == numbers(5, 10)
    assert consumer.poll_arrow(10, 10)["value"].to_pylist() == numbers(10, 20)
    assert consumer.poll_one(30).value == b"20"
    assert consumer.position((topic, 0)) == 21
    assert consumer.poll_arrow(10, 10)["offset"].to_pylist() == list(range(21, 31))


def test_the_position_can_be_moved_while_iterating(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 100))
    consumer = at_beginning(topic)
    seen = []
    for record in consumer:
        seen.append(record.offset)
        if seen == [0, 1, 2]:
            consumer.seek((topic, 0), 50)
        if record.offset == 52:
            consumer.seek((topic, 0), OffsetAndMetadata(1))
        if len(seen) == 8:
            break
    assert seen == [0, 1, 2, 50, 51, 52, 1, 2]
    assert consumer.position((topic, 0)) == 3


def test_a_seek_need_not_wait_for_a_fetch_that_waits_for_data(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    waits: dict[str, Any] = {"fetch_max_wait_ms": NEVER_MS, "request_timeout_ms": 2 * NEVER_MS}
    with Consumer(broker.bootstrap, auto_offset_reset="earliest", **waits) as consumer:
        consumer.assign([(topic, 0)])
        read(consumer, 10)
        assert consumer.poll(0.2) == []
        for offset in (3, 7):
            consumer.seek((topic, 0), offset)
            assert values(read(consumer, 10 - offset)) == numbers(offset, 10)
            assert consumer.poll(0.1) == []


def test_seeking_to_the_ends(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, numbers(0, 10))
    consumer = at_beginning(topic, 2)
    consumer.seek_to_end()
    assert consumer.position((topic, 0)) == 10
    assert consumer.poll(0.1) == []
    fill_topic(broker, topic, [b"new"])
    assert values(read(consumer, 1)) == [b"new"]
    consumer.seek_to_beginning((topic, 0))
    assert read(consumer, 1)[0].offset == 0


def test_a_paused_partition_gives_nothing_and_loses_nothing(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 2)
    for partition in range(2):
        fill_topic(broker, topic, numbers(0, 100), partition)
    consumer = at_beginning(topic, 2)
    first = consumer.poll_one(30)
    consumer.pause((topic, first.partition))
    assert consumer.paused() == [(topic, first.partition)]
    others = read(consumer, 100)
    assert {record.partition for record in others} == {1 - first.partition}
    assert consumer.poll(0.1) == []
    consumer.resume((topic, first.partition))
    assert values(read(consumer, 99)) == numbers(1, 100)
    assert consumer.paused() == []


def test_a_poll_without_data_returns_in_time_and_one_with_data_at_once(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker)
    consumer = at_beginning(topic)
    consumer.position((topic, 0))
    started = time.monotonic()
    assert consumer.poll(0.3) == []
    assert time.monotonic() - started > 0.25
    sender = threading.Timer(0.2, lambda: fill_topic(broker, topic, [b"late"]))
    sender.start()
    try:
        assert values(consumer.poll(NEVER_SECONDS)) == [b"late"]
    finally:
        sender.join()


def test_a_record_larger_than_the_fetch_limits_is_delivered(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 2)
    large = [bytes([number]) * 300_000 for number in range(5)]
    for partition in range(2):
        fill_topic(broker, topic, large, partition)
    consumer = at_beginning(topic, 2, max_partition_fetch_bytes=1000, fetch_max_bytes=1000)
    records = read(consumer, 10)
    for partition in range(2):
        assert values([r for r in records if r.partition == partition]) == large


def test_a_small_queue_slows_the_fetching_and_loses_nothing(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 2)
    for partition in range(2):
        fill_topic(broker, topic, numbers(0, 5000), partition)
    consumer = at_beginning(topic, 2, queued_max_bytes=2000, max_partition_fetch_bytes=5000)
    records = read(consumer, 10_000)
    for partition in range(2):
        assert values([r for r in records if r.partition == partition]) == numbers(0, 5000)


@pytest.mark.parametrize(("reset", "expected"), [("earliest", 0), ("latest", 10)])
def test_an_offset_out_of_range_is_reset_as_told(
    reset: str,
    expected: int,
    broker: Any,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    with Consumer(broker.bootstrap, auto_offset_reset=reset, fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), 1000)
        # What comes next shows where the consumer went.
        while consumer.position((topic, 0)) == 1000:
            assert consumer.poll(0.05) == [] or reset == "earliest"
        told = (
            f"{topic}-0: offset 1000 is past the end; continuing at {expected}, as auto_offset_reset={reset}"
        )
        assert told in caplog.text
        fill_topic(broker, topic, [b"end"])
        records = read(consumer, 11 - max(expected, consumer.position((topic, 0))))
        assert records[-1].offset == 10


def test_without_a_reset_an_offset_out_of_range_is_an_error_with_the_range_until_a_seek(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 10))
    with Consumer(broker.bootstrap, auto_offset_reset="none", fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0)])
        with pytest.raises(OffsetOutOfRangeError, match=rf"{topic}-0 has no position.*0 to 10.*seek"):
            consumer.poll(20)
        consumer.seek((topic, 0), 77)
        for _ in range(3):
            with pytest.raises(OffsetOutOfRangeError, match=rf"offset 77 of {topic}-0.*0 to 10.*seek"):
                consumer.poll(20)
        consumer.seek((topic, 0), 9)
        assert values(read(consumer, 1)) == [b"9"]


def test_without_a_commit_a_consumer_may_begin_some_time_ago_or_at_the_end_if_nothing_came_since(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 2)
    now = int(time.time() * 1000)
    ages = [7200, 5400, 1800, 60]
    fill_topic(broker, topic, [{"value": b"%d" % age, "timestamp": now - age * 1000} for age in ages])
    fill_topic(broker, topic, [{"value": b"7200", "timestamp": now - 7_200_000}], 1)
    with Consumer(broker.bootstrap, auto_offset_reset="by_duration:PT1H", fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        assert values(read(consumer, 2)) == [b"1800", b"60"]
        assert consumer.position((topic, 1)) == 1
        fill_topic(broker, topic, [b"late"], 1)
        assert values(read(consumer, 1)) == [b"late"]


def test_offsets_are_told_by_place_and_by_time(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 2)
    fill_topic(broker, topic, [{"value": b"", "timestamp": 1000 + 10 * i} for i in range(10)])
    consumer = at_beginning(topic, 2)
    both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    assert consumer.beginning_offsets(both) == {both[0]: 0, both[1]: 0}
    assert consumer.end_offsets(both) == {both[0]: 10, both[1]: 0}
    found = consumer.offsets_for_times({(topic, 0): 1015, (topic, 1): 0})
    assert (found[both[0]].offset, found[both[0]].timestamp) == (2, 1020)
    assert found[both[1]] is None
    assert consumer.offsets_for_times({(topic, 0): 2000}) == {both[0]: None}
    assert consumer.lag((topic, 0)) == 10
    read(consumer, 4)
    assert consumer.lag((topic, 0)) == 6
    assert [info.partition for info in consumer.partitions_for(topic)] == [0, 1]
    assert topic in consumer.topics()


def test_arrow_columns_are_those_of_the_records(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 2)
    for partition in range(2):
        sent = [{"key": b"k", "value": v, "headers": [("h", v)]} for v in numbers(0, 300)]
        fill_topic(broker, topic, sent, partition)
    consumer = at_beginning(topic, 2)
    batches: list[pa.RecordBatch] = []
    while sum(batch.num_rows for batch in batches) < 600:
        batches.append(consumer.poll_arrow(10))
    table = pa.Table.from_batches(batches)
    names = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
    assert table.column_names == names
    consumer.seek_to_beginning()
    records = read(consumer, 600)
    rows = sorted(table.to_pylist(), key=lambda row: (row["partition"], row["offset"]))
    for row, record in zip(rows, sorted(records, key=lambda r: (r.partition, r.offset)), strict=True):
        assert (row["partition"], row["offset"], row["topic"]) == (record.partition, record.offset, topic)
        assert (row["key"], row["value"]) == (record.key, record.value)
        assert [(h["key"], h["value"]) for h in row["headers"]] == list(record.headers)
    assert "headers" not in consumer.poll_arrow(0.1, headers=False).schema.names


def test_arrow_stops_at_the_end_offsets_and_goes_on_from_there(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 2)
    for partition in range(2):
        fill_topic(broker, topic, numbers(0, 100), partition)
    consumer = at_beginning(topic, 2)
    ends = {TopicPartition(topic, 0): 30, TopicPartition(topic, 1): 0}
    offsets: list[int] = []
    while len(offsets) < 30:
        batch = consumer.poll_arrow(10, 20, end_offsets=ends)
        assert set(batch["partition"].to_pylist()) == {0}
        offsets += batch["offset"].to_pylist()
    assert offsets == list(range(30))
    assert consumer.poll_arrow(0.1, end_offsets=ends).num_rows == 0
    assert consumer.position((topic, 0)) == 30
    assert consumer.position((topic, 1)) == 0
    rest = read(consumer, 170)
    assert sum(record.partition for record in rest) == 100


def test_what_does_not_exist_is_named(broker: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(broker, 2)
    settings: Any = {"default_api_timeout_ms": 1500, "allow_auto_create_topics": False}
    with Consumer(broker.bootstrap, **settings) as consumer:
        consumer.assign([(topic, 7)])
        with pytest.raises(UnknownTopicOrPartitionError, match=rf"{topic}-7 does not exist.*2 partitions"):
            consumer.poll(20)
        consumer.assign([("no-such-topic", 0)])
        with pytest.raises(UnknownTopicOrPartitionError, match="no-such-topic"):
            consumer.poll(20)
        with pytest.raises(UnknownTopicOrPartitionError, match="no-such-topic"):
            consumer.partitions_for("no-such-topic")
        with pytest.raises(UnknownTopicOrPartitionError, match=rf"{topic}-5"):
            consumer.end_offsets([(topic, 5)])
    with (
        Consumer(broker.bootstrap, topics=["no-such-topic"], group_id="none", **settings) as consumer,
        pytest.raises(UnknownTopicOrPartitionError, match="no-such-topic"),
    ):
        consumer.poll(20)


@pytest.mark.integration
def test_a_cluster_that_cannot_be_reached_is_an_error_within_the_deadline() -> None:
    with Consumer("127.0.0.1:1", default_api_timeout_ms=800) as consumer:
        consumer.assign([("any", 0)])
        with pytest.raises(BootstrapError, match=r"127\.0\.0\.1:1"):
            consumer.poll(NEVER_SECONDS)
        with pytest.raises(BootstrapError, match=r"127\.0\.0\.1:1"):
            consumer.end_offsets([("any", 0)])
    with (
        Consumer("127.0.0.1:1", topics=["any"], group_id="g", default_api_timeout_ms=800) as consumer,
        pytest.raises(BootstrapError, match=r"127\.0\.0\.1:1"),
    ):
        consumer.poll(NEVER_SECONDS)


def test_settings_are_checked_when_the_consumer_is_made() -> None:
    with pytest.raises(UnknownSettingError, match="auto_offset_reset"):
        Consumer("127.0.0.1:1", auto_ofset_reset="earliest")
    with pytest.raises(InvalidSettingError, match="isolation_level"):
        Consumer("127.0.0.1:1", isolation_level="serializable")


@pytest.mark.integration
def test_misuse_is_refused_with_the_reason() -> None:
    with Consumer("127.0.0.1:1") as consumer:
        with pytest.raises(MisuseError, match="not assigned"):
            consumer.seek(("t", 0), 1)
        with pytest.raises(MisuseError, match="not assigned"):
            consumer.pause(("t", 0))
        with pytest.raises(MisuseError, match="group_id"):
            consumer.commit()
        with pytest.raises(MisuseError, match="negative"):
            consumer.seek(("t", 0), -5)
        with pytest.raises(MisuseError, match="either topics or pattern"):
            consumer.subscribe()
        with pytest.raises(MisuseError, match="list of names"):
            consumer.subscribe("t")
        consumer.assign([("t", 0)])
        with pytest.raises(MisuseError, match="unsubscribe"):
            consumer.subscribe(["t"])


def test_a_consumer_that_has_nothing_to_read_says_so_rather_than_wait() -> None:
    with Consumer("127.0.0.1:1") as consumer:
        polls: list[Callable[[], object]] = [
            consumer.poll,
            consumer.poll_one,
            consumer.poll_arrow,
            lambda: next(iter(consumer)),
        ]
        for poll in polls:
            with pytest.raises(MisuseError, match=r"no topics to read: call subscribe\(\) or assign\(\)"):
                poll()
        consumer.assign([])
        assert consumer.poll(0) == []
        consumer.unsubscribe()
        with pytest.raises(MisuseError, match="no topics to read"):
            consumer.poll()


def test_the_topics_that_are_subscribed_to_can_be_asked_for(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 1))
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        assert consumer.subscription() == set()
        consumer.subscribe([topic])
        assert consumer.subscription() == {topic}
        consumer.subscribe(pattern=f"{topic[:-2]}.*")
        read(consumer, 1)
        assert consumer.subscription() == {topic}
        consumer.unsubscribe()
        consumer.assign([(topic, 0)])
        assert consumer.subscription() == set()


def test_of_a_pattern_that_the_broker_matches_the_topics_of_assigned_partitions_are_known(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 1))
    with Consumer(
        broker.bootstrap,
        pattern=f"{topic[:-2]}.*",
        group_id=topic,
        group_protocol="consumer",
        auto_offset_reset="earliest",
    ) as consumer:
        assert consumer.subscription() == set()
        read(consumer, 1)
        assert consumer.subscription() == {topic}


def test_a_closed_consumer_says_so(broker: Any, make_topic: MakeTopic) -> None:
    consumer = Consumer(broker.bootstrap)
    consumer.close()
    consumer.close()
    with pytest.raises(ClosedError):
        consumer.poll(1)
    with pytest.raises(ClosedError):
        consumer.assign([("t", 0)])
    assert list(consumer) == []


def test_wakeup_ends_a_poll_and_an_iteration(broker: Any, make_topic: MakeTopic, at_beginning: Any) -> None:
    consumer = at_beginning(make_topic(broker))
    for wait in (lambda: consumer.poll(NEVER_SECONDS), lambda: list(consumer)):
        waker = threading.Timer(0.2, consumer.wakeup)
        waker.start()
        assert wait() == []
        waker.join()


def test_partitions_that_stay_assigned_keep_their_position(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, at_beginning: Any
) -> None:
    topic = make_topic(broker, 2)
    for partition in range(2):
        fill_topic(broker, topic, numbers(0, 50), partition)
    consumer = at_beginning(topic)
    assert values(read(consumer, 20)) == numbers(0, 20)
    consumer.assign([(topic, 0), (topic, 1)])
    records = read(consumer, 80)
    assert values([r for r in records if r.partition == 0]) == numbers(20, 50)
    consumer.assign([])
    assert consumer.assignment() == []
    assert consumer.poll(0.1) == []


def test_a_subscription_without_a_group_reads_every_partition(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker, 3)
    for partition in range(3):
        fill_topic(broker, topic, numbers(0, 10), partition)
    with Consumer(broker.bootstrap, topics=[topic], auto_offset_reset="earliest") as consumer:
        assert len(read(consumer, 30)) == 30
    with Consumer(broker.bootstrap, pattern=f"{topic[:-2]}.*", auto_offset_reset="earliest") as consumer:
        assert len(read(consumer, 30)) == 30
