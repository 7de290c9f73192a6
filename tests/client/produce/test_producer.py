from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import NEVER_MS, Patience

from barnabas import RecordMetadata, aio
from barnabas.broker_errors import InvalidTopicError, UnknownTopicOrPartitionError
from barnabas.client.produce.batches.partition_queue import PendingBatch
from barnabas.errors import (
    BootstrapError,
    BufferFullError,
    ClosedError,
    CompressionError,
    KafkaTimeoutError,
    RecordTooLargeError,
)
from barnabas.steps import RequestSent, Step
from barnabas.testing import ApacheKafka, EmbeddedBroker

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.mark.parametrize("codec", CODECS)
def test_a_record_arrives_as_it_was_sent(broker: Any, make_topic: Any, read_topic: Any, codec: Any) -> None:
    topic = make_topic(broker)
    records = [
        (b"key", b"value", [("a", b"1"), ("a", b"2"), ("b", None)], 1_700_000_000_000),
        (None, b"", [], 1_700_000_000_001),
        (b"", None, [("empty", b"")], 1_600_000_000_000),
        (b"k" * 1000, b"v" * 100_000, [], 1_700_000_000_002),
    ]

    async def main() -> list[RecordMetadata]:
        async with aio.Producer(broker.bootstrap, compression=codec) as producer:
            deliveries = [
                await producer.send(topic, value, key=key, headers=headers, timestamp=timestamp)
                for key, value, headers, timestamp in records
            ]
            return [await delivery for delivery in deliveries]

    metadata = asyncio.run(main())
    assert metadata == [
        RecordMetadata(topic, 0, offset, timestamp) for offset, (*_, timestamp) in enumerate(records)
    ]
    read = [(m.key(), m.value(), m.headers() or [], m.timestamp()[1]) for m in read_topic(broker, topic)]
    assert read == records


def test_a_record_can_be_sent_and_waited_for(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap) as producer:
            sent = await producer.send_and_wait(topic, b"value", key=b"key", timestamp=123, timeout=30)
            assert sent == RecordMetadata(topic, 0, 0, 123)
            with pytest.raises(RecordTooLargeError):
                await producer.send_and_wait(topic, b"x" * 2_000_000)
        async with aio.Producer(broker.bootstrap, linger_ms=60_000) as producer:
            with pytest.raises(KafkaTimeoutError, match=f"{topic!r} was not delivered within 0 s"):
                await producer.send_and_wait(topic, b"value", timeout=0)

    asyncio.run(main())


def test_a_batch_that_could_not_be_compressed_fails_alone(
    broker: Any, make_topic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(broker, partitions=2)

    def broken_because(pending: PendingBatch) -> str | None:
        return "the codec is broken" if pending.batch.partition == 0 else None

    # A thread that panics leaves a batch like this; the kernel's own tests have it panic.
    monkeypatch.setattr(PendingBatch, "broken_because", property(broken_because))

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, compression="lz4") as producer:
            broken, other = [await producer.send(topic, b"value", partition=n) for n in (0, 1)]
            await producer.flush(timeout=30)
            with pytest.raises(
                CompressionError, match=rf"{topic}-0: .* 1 records failed: the codec is broken"
            ):
                await broken
            assert (await other).offset == 0
            monkeypatch.undo()
            assert (await (await producer.send(topic, b"value", partition=0))).offset == 0

    asyncio.run(main())


@pytest.mark.parametrize("acks", ["all", 1, 0])
def test_records_arrive_whatever_acks_says(
    broker: Any, make_topic: Any, read_topic: Any, acks: Any, eventually: Any
) -> None:
    topic = make_topic(broker, partitions=2)

    async def main() -> list[RecordMetadata]:
        async with aio.Producer(broker.bootstrap, acks=acks) as producer:
            deliveries = [await producer.send(topic, b"%d" % n, partition=n % 2) for n in range(1000)]
            return [await delivery for delivery in deliveries]

    metadata = asyncio.run(main())
    if acks == 0:
        assert {m.offset for m in metadata} == {-1}
    else:
        assert [m.offset for m in metadata] == [n // 2 for n in range(1000)]
    eventually(lambda: len(read_topic(broker, topic)) == 1000)
    for partition in (0, 1):
        values = [int(m.value()) for m in read_topic(broker, topic) if m.partition() == partition]
        assert values == list(range(partition, 1000, 2))


def test_a_key_always_goes_to_the_same_partition_and_records_without_one_are_spread(
    broker: Any, make_topic: Any
) -> None:
    topic = make_topic(broker, partitions=4)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, batch_size=1000) as producer:
            keyed = [await producer.send(topic, b"v", key=b"%d" % (n % 10)) for n in range(200)]
            partitions: dict[int, set[int]] = {}
            for number, delivery in enumerate(keyed):
                partitions.setdefault(number % 10, set()).add((await delivery).partition)
            assert all(len(found) == 1 for found in partitions.values())
            spread = [await producer.send(topic, b"v" * 100) for _ in range(1000)]
            assert {(await delivery).partition for delivery in spread} == {0, 1, 2, 3}

    asyncio.run(main())


def test_a_partition_that_was_added_since_is_found(
    broker: Any, make_topic: Any, eventually_async: Any
) -> None:
    topic = make_topic(broker, partitions=1)

    async def has_three(admin: aio.Admin) -> bool:
        return len((await admin.describe_topics([topic]))[topic].partitions) == 3

    async def main() -> None:
        async with aio.Producer(broker.bootstrap) as producer, aio.Admin(broker.bootstrap) as admin:
            await (await producer.send(topic, b"v"))
            await admin.create_partitions({topic: 3})
            await eventually_async(lambda: has_three(admin))
            metadata = await (await producer.send(topic, b"v", partition=2))
            assert metadata.partition == 2

    asyncio.run(main())


@pytest.mark.parametrize("kind", [ApacheKafka, EmbeddedBroker])
def test_an_unknown_topic_is_named_at_the_deadline(kind: Any) -> None:
    async def main(bootstrap: str) -> None:
        async with aio.Producer(bootstrap, max_block_ms=2_000) as producer:
            started = time.monotonic()
            with pytest.raises(UnknownTopicOrPartitionError, match=r"'no-such-topic'.*create"):
                await producer.send("no-such-topic", b"v")
            assert time.monotonic() - started > 1.9

    with kind(config={"auto.create.topics.enable": "false"}) as broker:
        asyncio.run(main(broker.bootstrap))


def test_an_unknown_topic_is_created_where_the_broker_allows_it(broker: Any, topic: Any) -> None:
    async def main() -> None:
        name = topic()
        async with aio.Producer(broker.bootstrap) as producer:
            metadata = await (await producer.send(name, b"v"))
            assert (metadata.topic, metadata.offset) == (name, 0)

    asyncio.run(main())


def test_an_impossible_topic_name_is_refused_at_once(broker: Any) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap, max_block_ms=NEVER_MS) as producer:
            with pytest.raises(InvalidTopicError, match="what a name"):
                await producer.send("what a name!", b"v")

    asyncio.run(main())


def test_an_unreachable_bootstrap_is_an_error_within_max_block_ms_and_a_warning_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with aio.Producer("127.0.0.1:9,127.0.0.1:11", max_block_ms=400) as producer:
            with pytest.raises(BootstrapError, match=r"127\.0\.0\.1:9: Connection refused.*127\.0\.0\.1:11"):
                await producer.send("topic", b"v")

    asyncio.run(main())
    warnings = [r for r in caplog.records if r.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "none of bootstrap_servers answered" in warnings[0].message


def test_a_record_larger_than_max_request_size_is_refused_alone(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, max_request_size=10_000) as producer:
            first = await producer.send(topic, b"small")
            with pytest.raises(RecordTooLargeError, match="max_request_size"):
                await producer.send(topic, b"x" * 10_001)
            second = await producer.send(topic, b"small")
            assert [(await first).offset, (await second).offset] == [0, 1]

    asyncio.run(main())


def test_no_batch_is_larger_than_max_request_size(embedded_broker: EmbeddedBroker, make_topic: Any) -> None:
    topic = make_topic(embedded_broker)
    sizes: list[int] = []

    def note(step: Step) -> None:
        if isinstance(step, RequestSent) and step.api == "Produce":
            sizes.append(step.size)

    async def main() -> None:
        # batch_size is larger.
        async with aio.Producer(embedded_broker.bootstrap, max_request_size=50_000, linger_ms=50) as producer:
            producer.follow(note)
            for _ in range(500):
                await producer.send(topic, bytes(1_000))

    asyncio.run(main())
    # What is around the batch in a request is little.
    assert 40_000 < max(sizes) < 50_500


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_record_larger_than_the_topic_takes_fails_alone(
    broker: Any, make_topic: Any, read_topic: Any, codec: Any
) -> None:
    topic = make_topic(broker, max_message_bytes="2000")
    # Random bytes, so that no codec makes them small.
    large = random.Random(1).randbytes(5_000)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, linger_ms=200, compression=codec) as producer:
            deliveries = [
                await producer.send(topic, large if n == 37 else b"%d" % n * 50) for n in range(100)
            ]
            for number, delivery in enumerate(deliveries):
                if number == 37:
                    with pytest.raises(RecordTooLargeError, match=rf"{topic}-0.*max\.message\.bytes"):
                        await delivery
                else:
                    await delivery
            assert producer.stats().batch_splits > 0
            assert producer.stats().records_failed == 1

    asyncio.run(main())
    assert [m.value() for m in read_topic(broker, topic)] == [b"%d" % n * 50 for n in range(100) if n != 37]


def test_a_full_buffer_makes_send_wait_and_then_fail(own_broker: Any, make_topic: Any) -> None:
    topic = make_topic(own_broker)

    async def main() -> None:
        producer = aio.Producer(own_broker.bootstrap, buffer_memory=100_000, max_block_ms=3_000)
        await (await producer.send(topic, b"first"))
        pause(own_broker)
        try:
            while producer.stats().buffered_bytes < 98_000:
                await producer.send(topic, b"x" * 1000)
            started = time.monotonic()
            with pytest.raises(BufferFullError, match="buffer_memory=100000"):
                await producer.send(topic, b"x" * 5000)
            assert time.monotonic() - started > 2.9
        finally:
            own_broker.resume()
        await producer.close()
        assert producer.stats().buffered_bytes == 0
        assert producer.stats().records_failed == 0

    asyncio.run(main())


def test_send_goes_on_when_room_comes_back(broker: Any, make_topic: Any, read_topic: Any) -> None:
    topic = make_topic(broker)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, buffer_memory=50_000, linger_ms=10_000) as producer:
            for number in range(3_000):
                await producer.send(topic, b"%d" % number + b" " * 100)

    asyncio.run(main())
    assert [int(m.value()) for m in read_topic(broker, topic)] == list(range(3_000))


def test_nothing_is_lost_doubled_or_reordered_when_the_broker_is_killed(
    own_broker: Any, make_topic: Any, read_topic: Any
) -> None:
    topic = make_topic(own_broker, partitions=2)

    async def main() -> int:
        sent = 0
        async with aio.Producer(own_broker.bootstrap, linger_ms=1, batch_size=5_000) as producer:
            deliveries: list[Any] = []

            async def send_some(count: int) -> None:
                nonlocal sent
                for _ in range(count):
                    deliveries.append(await producer.send(topic, b"%d" % sent, partition=sent % 2))
                    sent += 1
                    if sent % 50 == 0:
                        # Comes back by the loop, which sends meanwhile.
                        await asyncio.to_thread(lambda: None)

            for action in (own_broker.kill, own_broker.start, own_broker.kill, own_broker.start):
                await send_some(2_000)
                doing = asyncio.get_running_loop().run_in_executor(None, action)
                while not doing.done():
                    await send_some(100)
                await doing
            for number, delivery in enumerate(deliveries):
                assert (await delivery).offset == number // 2
        return sent

    sent = asyncio.run(main())
    messages = read_topic(own_broker, topic)
    for partition in (0, 1):
        values = [int(m.value()) for m in messages if m.partition() == partition]
        assert values == list(range(partition, sent, 2))


def test_nothing_is_lost_doubled_or_reordered_when_connections_are_cut(
    broker: Any, make_topic: Any, read_topic: Any
) -> None:
    topic = make_topic(broker)

    async def main() -> int:
        async with aio.Producer(
            broker.bootstrap, linger_ms=0, batch_size=2_000, retry_backoff_ms=1, reconnect_backoff_ms=1
        ) as producer:
            deliveries: list[Any] = []
            cuts = 0
            while cuts < 20 or producer.stats().batch_retries < 20:
                for _ in range(20):
                    deliveries.append(await producer.send(topic, b"%d" % len(deliveries)))
                await asyncio.sleep(0)
                if producer.stats().batches_in_flight > 1:
                    cut_connections(producer)
                    cuts += 1
            for number, delivery in enumerate(deliveries):
                assert (await delivery).offset == number
            return len(deliveries)

    sent = asyncio.run(main())
    assert [int(m.value()) for m in read_topic(broker, topic)] == list(range(sent))


def pause(broker: Any) -> None:
    """Returns when no thread of the broker runs any more."""
    broker.pause()
    threads = list(Path(f"/proc/{broker.pid}/task").iterdir())
    patience = Patience()
    while not all((thread / "stat").read_text().rpartition(")")[2].split()[0] == "T" for thread in threads):
        patience.check()


def cut_connections(producer: Any) -> None:
    for _, connection in list(producer._client._pool._connections.values()):
        transport = connection._protocol.transport
        if transport is not None:
            transport.abort()


def test_records_expire_at_delivery_timeout_and_later_ones_arrive_once_and_in_order(
    own_broker: Any, make_topic: Any, read_topic: Any
) -> None:
    topic = make_topic(own_broker)

    async def main() -> int:
        async with aio.Producer(
            own_broker.bootstrap, delivery_timeout_ms=5_000, request_timeout_ms=1_000, linger_ms=0
        ) as producer:
            await (await producer.send(topic, b"before"))
            pause(own_broker)
            lost = [await producer.send(topic, b"lost %d" % n) for n in range(10)]
            for delivery in lost:
                with pytest.raises(KafkaTimeoutError, match=rf"{topic}-0.*delivery_timeout_ms=5000"):
                    await delivery
            own_broker.resume()
            late = [await producer.send(topic, b"%d" % n) for n in range(1_000)]
            delivered = 0
            for delivery in late:
                await delivery
                delivered += 1
            return delivered

    assert asyncio.run(main()) == 1_000
    values = [m.value() for m in read_topic(own_broker, topic)]
    assert [v for v in values if not v.startswith((b"lost", b"before"))] == [b"%d" % n for n in range(1_000)]
    assert len(values) == len(set(values))


def test_close_is_bounded_and_says_what_was_not_delivered(own_broker: Any, make_topic: Any) -> None:
    topic = make_topic(own_broker)

    async def main() -> None:
        producer = aio.Producer(own_broker.bootstrap, delivery_timeout_ms=NEVER_MS)
        await (await producer.send(topic, b"first"))
        pause(own_broker)
        try:
            delivery = await producer.send(topic, b"second")
            await producer.close(timeout=0.3)
            with pytest.raises(ClosedError, match=r"not delivered within 0\.3 s"):
                await delivery
        finally:
            own_broker.resume()
        await producer.close()
        with pytest.raises(ClosedError, match="the producer is closed"):
            await producer.send(topic, b"third")

    asyncio.run(main())


def test_flush_waits_for_what_was_sent_before_and_no_longer_than_told(
    own_broker: Any, make_topic: Any
) -> None:
    topic = make_topic(own_broker)

    async def main() -> None:
        lingering: dict[str, Any] = {"linger_ms": NEVER_MS, "delivery_timeout_ms": 2 * NEVER_MS}
        async with aio.Producer(own_broker.bootstrap, **lingering) as producer:
            delivery = await producer.send(topic, b"v")
            await producer.flush()
            assert delivery.done()
            pause(own_broker)
            try:
                await producer.send(topic, b"v")
                with pytest.raises(KafkaTimeoutError, match="1 record was"):
                    await producer.flush(timeout=0.2)
            finally:
                own_broker.resume()

    asyncio.run(main())


def test_on_delivery_is_told_of_success_and_of_failure(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker, max_message_bytes="2000")
    told: list[tuple[Any, Any]] = []

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, linger_ms=0) as producer:
            await producer.send(topic, b"good", on_delivery=lambda *outcome: told.append(outcome))
            await producer.flush()
            await producer.send(topic, b"x" * 3000, on_delivery=lambda *outcome: told.append(outcome))
            await producer.flush()

    asyncio.run(main())
    (error, metadata), (second_error, second_metadata) = told
    assert error is None
    assert (metadata.topic, metadata.partition, metadata.offset) == (topic, 0, 0)
    assert isinstance(second_error, RecordTooLargeError)
    assert second_metadata is None


def test_batches_of_many_partitions_share_requests(broker: Any, make_topic: Any, read_topic: Any) -> None:
    topic = make_topic(broker, partitions=20)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, linger_ms=1_000) as producer:
            for number in range(2_000):
                await producer.send(topic, b"%d" % number, partition=number % 20)
            await producer.flush()
            stats = producer.stats()
            assert stats.batches_sent >= 20
            assert stats.requests_sent < stats.batches_sent / 2

    asyncio.run(main())
    assert len(read_topic(broker, topic)) == 2_000


def test_arrow_rows_arrive_with_all_their_columns(broker: Any, make_topic: Any, read_topic: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    topic = make_topic(broker, partitions=2)
    rows = 20_000
    table = pyarrow.table(
        {
            "key": pyarrow.array([b"k%d" % n for n in range(rows)], pyarrow.binary()),
            "value": pyarrow.array([b"v%d" % n for n in range(rows)], pyarrow.binary()),
            "partition": pyarrow.array([n % 2 for n in range(rows)], pyarrow.int32()),
        }
    )

    async def main() -> None:
        async with aio.Producer(broker.bootstrap, buffer_memory=200_000) as producer:
            delivery = await producer.send_arrow(topic, table)
            assert await delivery == rows
            assert delivery.done()

    asyncio.run(main())
    messages = read_topic(broker, topic)
    for partition in (0, 1):
        found = [(m.key(), m.value()) for m in messages if m.partition() == partition]
        assert found == [(b"k%d" % n, b"v%d" % n) for n in range(partition, rows, 2)]
