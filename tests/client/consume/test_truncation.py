"""A log that lost records which were read (KIP-320): a real broker, whose disk lost them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reading import read

from barnabas import Consumer, OffsetAndMetadata, Producer
from barnabas._kernel import BatchBuilder, scan_batches
from barnabas.client.consume.truncation import last_leader_epoch
from barnabas.errors import LogTruncationError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.testing import ApacheKafka

MakeTopic = Callable[..., str]


@pytest.fixture(scope="module")
def broker() -> Iterator[ApacheKafka]:
    with ApacheKafka() as kafka:
        yield kafka


@pytest.fixture(params=["fetches that check by themselves", "a check before the fetch"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fetches of all versions, and with those of brokers up to 2.6."""
    if request.param == "a check before the fetch":
        newest = Connection.version_of

        def version_of(connection: Connection, request_type: Any, max_version: int | None = None) -> int:
            if request_type is FetchRequest:
                max_version = 11
            return newest(connection, request_type, max_version)

        monkeypatch.setattr(Connection, "version_of", version_of)


def fill(broker: ApacheKafka, topic: str, name: str, count: int) -> None:
    """One batch for each record."""
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        for number in range(count):
            producer.send(topic, f"{name} {number}".encode()).result(20)


def lose_tail(broker: ApacheKafka, topic: str, offset: int) -> None:
    """The broker crashes, and comes back without the records from `offset` on."""
    broker.kill()
    [log] = Path(broker._directory, "log", f"{topic}-0").glob("*.log")
    data = log.read_bytes()
    [position] = [info.position for info in scan_batches(data) if info.base_offset == offset]
    log.write_bytes(data[:position])
    broker.start()


@pytest.mark.usefixtures("either_way")
def test_without_a_reset_policy_the_error_says_where_the_logs_part(
    broker: ApacheKafka, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    fill(broker, topic, "old", 20)
    with Consumer(broker.bootstrap, auto_offset_reset="none", fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), 0)
        assert len(read(consumer, 20)) == 20
        lose_tail(broker, topic, 10)
        fill(broker, topic, "new", 15)
        with pytest.raises(LogTruncationError, match=f"{topic}-0: .* offset 10, .* position 20") as caught:
            read(consumer, 1)
        error = caught.value
        assert (error.topic, error.partition, error.offset, error.diverging_offset) == (topic, 0, 20, 10)
        with pytest.raises(LogTruncationError, match="offset 10"):
            read(consumer, 1)
        consumer.seek((topic, 0), 10)
        first = read(consumer, 15)[0]
        assert (first.offset, first.value) == (10, b"new 0")


@pytest.mark.usefixtures("either_way")
def test_with_a_reset_policy_reading_goes_on_where_the_logs_part(
    broker: ApacheKafka, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    fill(broker, topic, "old", 20)
    with Consumer(broker.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0)])
        assert len(read(consumer, 20)) == 20
        lose_tail(broker, topic, 10)
        fill(broker, topic, "new", 15)
        records = read(consumer, 15)
        assert [(r.offset, r.value) for r in records] == [(10 + n, b"new %d" % n) for n in range(15)]


@pytest.mark.usefixtures("either_way")
def test_the_leader_epoch_of_a_commit_tells_that_what_was_committed_is_gone(
    broker: ApacheKafka, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    fill(broker, topic, "old", 20)
    settings: Any = {"group_id": topic, "auto_offset_reset": "none", "fetch_max_wait_ms": 50}
    with Consumer(broker.bootstrap, **settings) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), 0)
        read(consumer, 20)
        consumer.commit()
        [committed] = consumer.committed([(topic, 0)]).values()
        assert committed is not None
        assert committed.leader_epoch is not None
    lose_tail(broker, topic, 10)
    fill(broker, topic, "new", 15)
    with Consumer(broker.bootstrap, **settings) as consumer:
        consumer.assign([(topic, 0)])
        with pytest.raises(LogTruncationError, match="offset 10, before the position 20"):
            read(consumer, 1)
    with Consumer(broker.bootstrap, **settings) as consumer:
        consumer.assign([(topic, 0)])
        # Who does not know the epoch is not warned.
        consumer.seek((topic, 0), OffsetAndMetadata(20))
        assert read(consumer, 1)[0].value == b"new 10"


@pytest.mark.usefixtures("either_way")
def test_a_new_leader_that_lost_nothing_costs_nothing(broker: ApacheKafka, make_topic: MakeTopic) -> None:
    topic = make_topic(broker)
    fill(broker, topic, "old", 5)
    with Consumer(broker.bootstrap, auto_offset_reset="none", fetch_max_wait_ms=50) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), 0)
        read(consumer, 3)
        broker.restart()
        fill(broker, topic, "new", 5)
        records = read(consumer, 7)
        assert [r.offset for r in records] == list(range(3, 10))
        assert {r.leader_epoch for r in records[-5:]} != {records[0].leader_epoch}


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("reset", ["earliest", "none"])
def test_a_position_under_a_leader_that_this_log_never_had_is_not_in_it(
    reset: str, broker: ApacheKafka, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    fill(broker, topic, "made anew", 5)
    with Consumer(
        broker.bootstrap, auto_offset_reset=reset, retry_backoff_ms=10, retry_backoff_max_ms=20
    ) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), OffsetAndMetadata(3, leader_epoch=99))
        if reset == "earliest":
            assert [record.offset for record in read(consumer, 5)] == [0, 1, 2, 3, 4]
        else:
            with pytest.raises(LogTruncationError, match="somewhere before the position 3") as caught:
                read(consumer, 1)
            assert caught.value.diverging_offset is None


def test_the_leader_epoch_of_the_last_whole_batch_is_found() -> None:
    def batch(offset: int, leader_epoch: int) -> bytes:
        builder = BatchBuilder()
        builder.append(0, None, b"value")
        return builder.build(base_offset=offset, leader_epoch=leader_epoch)

    assert last_leader_epoch(batch(0, 7) + batch(1, 7), 7) == 7
    assert last_leader_epoch(batch(0, 3) + batch(1, 5), 7) == 5
    assert last_leader_epoch(batch(0, 3) + batch(1, 5)[:-1], 7) == 3
    assert last_leader_epoch(batch(0, 3), -1) == 3
    hopeless = bytearray(batch(0, 3) + batch(1, 5))
    hopeless[len(hopeless) // 2 + 8 : len(hopeless) // 2 + 12] = b"\xff\xff\xff\xff"
    assert last_leader_epoch(hopeless, 7) == -1


@given(st.binary(max_size=200), st.integers(-1, 3))
def test_a_leader_epoch_is_looked_for_in_any_bytes_without_an_error(data: bytes, leader_epoch: int) -> None:
    assert isinstance(last_leader_epoch(data, leader_epoch), int)
    assert last_leader_epoch(memoryview(data), leader_epoch) == last_leader_epoch(data, leader_epoch)
