"""The same behaviour on brokers of many years: what a release lacks, the client does in an older way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.reading import read

from barnabas import Admin, Consumer, GroupIdentity, NewTopic, Producer, TopicPartition
from barnabas.broker_errors import UnsupportedCompressionTypeError, UnsupportedVersionError
from barnabas.testing import ApacheKafka

Eventually = Callable[..., Any]

# The first that this client speaks to, two more of the ZooKeeper years, the last of the 3.x, the present one.
RELEASES = ["0.11.0.3", "1.1.1", "2.8.2", "3.9.1", "4.3.0"]


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[ApacheKafka]:
    with ApacheKafka(request.param) as kafka:
        yield kafka


@pytest.fixture
def make_topic(kafka: ApacheKafka, topic: Callable[[], str]) -> Callable[..., str]:
    def make(partitions: int = 1) -> str:
        name = topic()
        with Admin(kafka.bootstrap) as admin:
            admin.create_topics([NewTopic(name, partitions, 1)])
        return name

    return make


def release(kafka: ApacheKafka) -> tuple[int, ...]:
    return tuple(int(number) for number in kafka.version.split("."))


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("idempotence", [True, False])
def test_records_of_every_codec_are_read_as_they_were_sent(
    kafka: ApacheKafka, make_topic: Callable[..., str], compression: Any, idempotence: bool
) -> None:
    name = make_topic()
    if compression == "zstd" and release(kafka) < (2, 1):
        with (
            Producer(kafka.bootstrap, compression_type=compression) as producer,
            pytest.raises(UnsupportedCompressionTypeError, match=r"is older than Kafka 2\.1"),
        ):
            producer.send(name, b"v").result(20)
        return
    with Producer(kafka.bootstrap, compression_type=compression, enable_idempotence=idempotence) as producer:
        for number in range(500):
            producer.send(name, b"%d" % number * 20, key=b"key", headers=[("h", b"%d" % number), ("n", None)])
        last = producer.send(name, None, key=b"gone", timestamp=1_234_567_890_123)
        assert last.result(20).offset == 500
    with Consumer(kafka.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(name, 0)])
        records = read(consumer, 501)
    assert [record.value for record in records[:-1]] == [b"%d" % number * 20 for number in range(500)]
    assert list(records[7].headers) == [("h", b"7"), ("n", None)]
    assert (records[500].key, records[500].value, records[500].timestamp) == (
        b"gone",
        None,
        1_234_567_890_123,
    )


def test_a_group_divides_its_partitions_anew_and_goes_on_where_it_committed(
    kafka: ApacheKafka, make_topic: Callable[..., str], eventually: Eventually
) -> None:
    name = make_topic(4)
    values = {b"%d" % number for number in range(400)}
    with Producer(kafka.bootstrap) as producer:
        for value in values:
            producer.send(name, value, key=value)
        producer.flush(20)
    settings: dict[str, Any] = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    stop = threading.Event()
    first = Consumer(kafka.bootstrap, topics=[name], group_id=name, **settings)
    second = Consumer(kafka.bootstrap, topics=[name], group_id=name, **settings)
    found: list[bytes | None] = []
    with first:
        found += [record.value for record in read(first, 400)]
        assert len(first.assignment()) == 4
        first.commit()
        with second:

            def keep_polling() -> None:
                while not stop.is_set():
                    found.extend(record.value for record in first.poll(0.1))

            thread = threading.Thread(target=keep_polling)
            thread.start()
            try:
                eventually(lambda: second.poll(0.1) == [] and len(second.assignment()) == 2, 120)
                eventually(lambda: len(first.assignment()) == 2, 120)
            finally:
                stop.set()
                thread.join()
        eventually(lambda: first.poll(0.1) == [] and len(first.assignment()) == 4, 120)
    assert sorted(found) == sorted(values)
    with Consumer(kafka.bootstrap, topics=[name], group_id=name, **settings) as consumer:
        committed = consumer.committed([(name, number) for number in range(4)])
        assert sum(place.offset for place in committed.values() if place is not None) == 400
        assert consumer.poll(1.0) == []


def test_a_transaction_moves_records_and_positions_together_and_an_aborted_one_shows_nothing(
    kafka: ApacheKafka, make_topic: Callable[..., str], eventually: Callable[..., Any]
) -> None:
    source, target = make_topic(), make_topic()
    group: dict[str, Any] = {"group_id": target, "enable_auto_commit": False}
    with (
        Producer(kafka.bootstrap, transactional_id=target) as producer,
        Consumer(kafka.bootstrap, topics=[source], auto_offset_reset="earliest", **group) as consumer,
    ):
        producer.init_transactions(30)
        with producer.transaction():
            for number in range(10):
                producer.send(source, b"%d" % number)
        records = read(consumer, 10)
        producer.begin_transaction()
        producer.send(target, b"aborted")
        producer.flush(20)
        producer.abort_transaction()
        with producer.transaction():
            for record in records:
                producer.send(target, record.value)
            # Before KIP-447 the group's name is all that a broker takes.
            identity = consumer.group_metadata() if release(kafka) >= (2, 5) else GroupIdentity(target)
            producer.send_offsets_to_transaction({(source, 0): 10}, identity)
        # Before KIP-447 a broker answers with what stood before, until the transaction's markers are written.
        committed = eventually(lambda: consumer.committed([(source, 0)])[TopicPartition(source, 0)])
        assert committed.offset == 10
    with Consumer(
        kafka.bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        consumer.assign([(target, 0)])
        assert [record.value for record in read(consumer, 10)] == [b"%d" % number for number in range(10)]
        assert consumer.poll(0.5) == []


def test_offsets_are_found_by_time_and_at_both_ends(
    kafka: ApacheKafka, make_topic: Callable[..., str]
) -> None:
    name = make_topic()
    partition = TopicPartition(name, 0)
    with Producer(kafka.bootstrap, linger_ms=0) as producer:
        for number in range(10):
            producer.send(name, b"v", timestamp=1_000_000 + number * 1_000).result(20)
    with Consumer(kafka.bootstrap) as consumer:
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 10}
        found = consumer.offsets_for_times({partition: 1_003_500})[partition]
        assert found is not None
        assert (found.offset, found.timestamp) == (4, 1_004_000)
        assert consumer.offsets_for_times({partition: 2_000_000}) == {partition: None}


def test_an_administrator_sees_and_changes_topics_and_groups(
    kafka: ApacheKafka, make_topic: Callable[..., str], eventually: Eventually
) -> None:
    name = make_topic(2)
    with Producer(kafka.bootstrap) as producer, Admin(kafka.bootstrap) as admin:
        for _ in range(10):
            producer.send(name, b"v", partition=0)
        producer.flush(20)
        with Consumer(kafka.bootstrap, group_id=name, auto_offset_reset="earliest") as consumer:
            consumer.assign([(name, 0)])
            read(consumer, 10)
            consumer.commit()
        partition = TopicPartition(name, 0)
        assert admin.list_group_offsets(name)[partition].offset == 10
        admin.alter_group_offsets(name, {partition: 3})
        assert admin.list_group_offsets(name)[partition].offset == 3
        assert name in [group.group_id for group in admin.list_groups()]
        if release(kafka) >= (1, 0):
            admin.create_partitions({name: 3})
            eventually(lambda: len(admin.describe_topics([name])[name].partitions) == 3)
        else:
            with pytest.raises(UnsupportedVersionError, match="does not know CreatePartitions"):
                admin.create_partitions({name: 3})
        admin.delete_records({partition: 4})
        eventually(lambda: admin.list_offsets({partition: "earliest"})[partition].offset == 4)
        if release(kafka) >= (1, 1):
            admin.delete_groups([name])
        admin.delete_topics([name])
        eventually(lambda: name not in admin.list_topics())
        assert len(admin.describe_cluster().nodes) == 1
