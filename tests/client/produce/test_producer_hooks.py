from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow
import pytest
from tests.waiting import NEVER_MS

from barnabas import Producer, ProducerInterceptor, ProducerRecord, RecordMetadata, aio
from barnabas.client.produce import partition_search
from barnabas.errors import (
    BarnabasError,
    BufferFullError,
    InvalidSettingError,
    MisuseError,
    PurgedError,
    RecordTooLargeError,
    TransactionFailedError,
)
from barnabas.testing import ApacheKafka, EmbeddedBroker

MakeTopic = Callable[..., str]


class Stamp(ProducerInterceptor):
    """Adds a header, and notes what became of each record."""

    def __init__(self, mark: bytes) -> None:
        self.mark = mark
        self.done: list[tuple[RecordMetadata | None, BarnabasError | None]] = []
        self.is_closed = False

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return replace(record, headers=[*(record.headers or []), ("mark", self.mark)])

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: BarnabasError | None) -> None:
        self.done.append((metadata, error))

    def close(self) -> None:
        self.is_closed = True


class Broken(ProducerInterceptor):
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise ValueError("broken on send")

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: BarnabasError | None) -> None:
        raise ValueError("broken on acknowledgement")

    def close(self) -> None:
        raise ValueError("broken on close")


def test_interceptors_change_records_in_turn_and_hear_what_becomes_of_them(
    broker: Any, make_topic: MakeTopic, read_topic: Any, caplog: Any
) -> None:
    topic = make_topic(broker)
    first, second = Stamp(b"1"), Stamp(b"2")
    reported: list[int] = []
    with Producer(
        broker.bootstrap, interceptors=[first, Broken(), second], max_request_size=1000
    ) as producer:
        delivery = producer.send(
            topic, b"v", on_delivery=lambda error, metadata: reported.append(len(second.done))
        )
        metadata = delivery.result(30)
        with pytest.raises(RecordTooLargeError):
            producer.send(topic, b"x" * 2000)
    assert [message.headers() for message in read_topic(broker, topic)] == [[("mark", b"1"), ("mark", b"2")]]
    assert first.done[0] == second.done[0] == (metadata, None)
    assert isinstance(first.done[1][1], RecordTooLargeError)
    assert reported == [1], "interceptors hear of a delivery before the record's own callback"
    assert first.is_closed
    assert {"broken on send", "broken on acknowledgement", "broken on close"} <= {
        str(record.exc_info[1]) for record in caplog.records if record.exc_info
    }


def test_aio_calls_interceptors_and_partitioner_too(broker: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(broker, partitions=4)
    stamp = Stamp(b"1")

    async def main() -> None:
        async with aio.Producer(
            broker.bootstrap, interceptors=[stamp], partitioner=lambda topic, key, value, count: count - 1
        ) as producer:
            metadata = await (await producer.send(topic, b"v", key=b"k"))
            assert metadata.partition == 3
            assert (await (await producer.send(topic, b"v", partition=1))).partition == 1

    asyncio.run(main())
    assert [metadata.partition for metadata, _ in stamp.done if metadata] == [3, 1]


def test_a_function_chooses_partitions_in_the_thread_that_sends(
    broker: Any, make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_search, "NEW_PARTITION_SECONDS", 0.1)
    topic = make_topic(broker, partitions=3)
    seen: list[tuple[Any, ...]] = []

    def choose(*arguments: Any) -> int | None:
        seen.append((*arguments, threading.current_thread()))
        return None if arguments[1] == b"free" else int(arguments[2])

    with Producer(broker.bootstrap, partitioner=choose) as producer:
        for number in (2, 0):
            assert producer.send(topic, b"%d" % number).result(30).partition == number
        keyed = {producer.send(topic, b"0", key=b"free").result(30).partition for _ in range(3)}
        with pytest.raises(MisuseError, match="no partition 7"):
            producer.send(topic, b"7")
        with pytest.raises(MisuseError, match="column `partition`"):
            producer.send_arrow(topic, pyarrow.table({"value": [b"v"]}))
    assert len(keyed) == 1
    assert seen[0] == (topic, None, b"2", 3, threading.current_thread())


@pytest.mark.parametrize("given", [{"partitioner": "alphabetical"}, {"interceptors": [object()]}])
def test_what_is_no_partitioner_or_interceptor_is_refused(given: Any) -> None:
    with pytest.raises(InvalidSettingError, match=next(iter(given))):
        Producer("localhost:9", **given)


@pytest.mark.integration
def test_a_purge_fails_what_waits_and_what_is_under_way(make_topic: MakeTopic, eventually: Any) -> None:
    with (
        EmbeddedBroker() as broker,
        Producer(broker.bootstrap, linger_ms=0, max_in_flight_requests_per_connection=1) as producer,
    ):
        topic = make_topic(broker)
        producer.send(topic, b"stored").result(30)
        broker.pause()
        try:
            under_way = producer.send(topic, b"under way")
            eventually(lambda: producer.stats().batches_in_flight)
            waiting = producer.send(topic, b"waits")
            producer.purge(in_flight=False)
            assert isinstance(waiting.exception(5), PurgedError)
            assert not under_way.done()
            producer.purge()
            assert isinstance(under_way.exception(5), PurgedError)
            assert producer.stats().buffered_records == 0
        finally:
            broker.resume()
        assert producer.send(topic, b"next").result(20).offset in (1, 2)


def test_a_purge_in_a_transaction_leaves_only_the_abort(
    broker: ApacheKafka | EmbeddedBroker, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap, transactional_id="purged", linger_ms=60_000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        purged = producer.send(topic, b"v")
        producer.purge()
        assert isinstance(purged.exception(5), PurgedError)
        with pytest.raises(TransactionFailedError, match="purged"):
            producer.commit_transaction()
        producer.abort_transaction()
        with producer.transaction():
            kept = producer.send(topic, b"v")
        assert kept.done()


def test_with_max_block_ms_0_a_full_buffer_fails_at_once(broker: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(broker)
    settings: dict[str, Any] = {
        "buffer_memory": 10_000,
        "linger_ms": NEVER_MS,
        "delivery_timeout_ms": 2 * NEVER_MS,
    }
    with Producer(broker.bootstrap, max_block_ms=0, batch_size=100_000, **settings) as producer:
        producer.partitions_for(topic, timeout=60)
        for _ in range(9):
            producer.send(topic, b"x" * 1000)
        with pytest.raises(BufferFullError, match="buffer_memory=10000"):
            producer.send(topic, b"x" * 1000)
        producer.flush()
        producer.send(topic, b"x" * 1000)


def test_a_record_too_large_for_the_topic_fails_alone_among_its_neighbours(
    broker: Any, make_topic: MakeTopic, read_topic: Any
) -> None:
    topic = make_topic(broker, max_message_bytes="2000")
    with Producer(broker.bootstrap, linger_ms=1000) as producer:
        deliveries = [producer.send(topic, b"%02d" % n * (2000 if n == 20 else 50)) for n in range(40)]
        # What is too large is split until it fits: the flush waits for all the parts.
        producer.flush()
        failed = [n for n, delivery in enumerate(deliveries) if delivery.exception(0)]
    assert failed == [20]
    assert isinstance(deliveries[20].exception(0), RecordTooLargeError)
    values = [int(message.value()[:2]) for message in read_topic(broker, topic)]
    assert values == [n for n in range(40) if n != 20]


LEVELS = {"gzip": (1, 6, 9), "lz4": (1, 9, 17), "zstd": (-5, 3, 19), "none": (1,), "snappy": (1,)}


@pytest.mark.parametrize(("codec", "level"), [(codec, level) for codec in LEVELS for level in LEVELS[codec]])
def test_every_level_of_every_codec_is_read_by_others(
    broker: Any, make_topic: MakeTopic, read_topic: Any, codec: Any, level: int
) -> None:
    topic = make_topic(broker)
    values = [b"some text that repeats itself, number %d" % n for n in range(500)]
    with Producer(broker.bootstrap, compression=codec, compression_level=level) as producer:
        for value in values:
            producer.send(topic, value)
    assert [message.value() for message in read_topic(broker, topic)] == values
