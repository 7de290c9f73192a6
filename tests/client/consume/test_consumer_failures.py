"""What a consumer does when brokers stop, data is corrupt, transactions abort, or the process forks."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from tests.reading import read
from tests.waiting import NEVER_MS, NEVER_SECONDS, Patience

from barnabas import Consumer, TopicPartition
from barnabas.broker_errors import FencedInstanceIdError
from barnabas.errors import ClosedError, CorruptBatchError, KafkaTimeoutError
from barnabas.events import Event, PollIntervalExceeded
from barnabas.testing import ApacheKafka, EmbeddedBroker

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Eventually = Callable[..., Any]


@pytest.mark.parametrize("group_protocol", ["classic", "consumer"])
def test_a_coordinator_that_is_silent_for_a_while_is_asked_again_by_a_member_that_joins(
    group_protocol: str, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    with ApacheKafka() as kafka:
        topic = make_topic(kafka)
        fill_topic(kafka, topic, numbers(0, 3), 0)
        with Consumer(
            kafka.bootstrap,
            group_id="joins",
            group_protocol=group_protocol,
            auto_offset_reset="earliest",
            request_timeout_ms=500,
        ) as consumer:
            # From now on it knows the coordinator.
            assert list(consumer.committed([(topic, 0)]).values()) == [None]
            kafka.pause()
            consumer.subscribe([topic])
            assert consumer.poll(1.5) == []
            kafka.resume()
            assert [record.value for record in read(consumer, 3)] == numbers(0, 3)


@pytest.mark.parametrize("group_protocol", ["classic", "consumer"])
def test_a_caller_that_is_late_hears_of_it_though_the_coordinator_is_silent(
    group_protocol: str, make_topic: MakeTopic, eventually: Eventually
) -> None:
    settings: dict[str, Any] = {} if group_protocol == "consumer" else {"heartbeat_interval_ms": 200}
    with ApacheKafka() as kafka:
        partition = TopicPartition(make_topic(kafka), 0)
        events: list[Event] = []
        lost: list[TopicPartition] = []
        with Consumer(
            kafka.bootstrap,
            group_id="late",
            group_protocol=group_protocol,
            max_poll_interval_ms=4000,
            **settings,
        ) as consumer:
            consumer.add_event_listener(events.append)
            consumer.subscribe([partition.topic], on_lost=lost.extend)

            def is_member() -> bool:
                assert consumer.poll(0.1) == []
                return consumer.assignment() == [partition]

            eventually(is_member)
            kafka.pause()
            try:
                # Well before a heartbeat to this coordinator times out.
                eventually(lambda: any(isinstance(e, PollIntervalExceeded) for e in events), timeout=20)
                assert consumer.poll(0.1) == []
                assert lost == [partition]
                assert consumer.assignment() == []
            finally:
                kafka.resume()
            eventually(is_member)
            assert lost == [partition]
        assert [type(e) for e in events].count(PollIntervalExceeded) == 1


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


@pytest.mark.parametrize("end", ["restart", "kill"])
def test_a_broker_that_goes_and_comes_back_costs_no_record_and_repeats_none(
    end: str, own_broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(own_broker, 2)
    for partition in range(2):
        fill_topic(own_broker, topic, numbers(0, 500), partition)
    with Consumer(
        own_broker.bootstrap,
        topics=[topic],
        group_id="restarted",
        auto_offset_reset="earliest",
        max_poll_records=50,
        queued_max_bytes=1000,
        heartbeat_interval_ms=200,
        session_timeout_ms=30_000,
        auto_commit_interval_ms=100,
    ) as consumer:
        records = read(consumer, 300)
        if end == "kill":
            own_broker.kill()
            records += consumer.poll(0.3)
            own_broker.start()
        else:
            own_broker.restart()
        records += read(consumer, 1000 - len(records))
        for partition in range(2):
            fill_topic(own_broker, topic, numbers(500, 600), partition)
        records += read(consumer, 200)
        consumer.commit()
        committed = consumer.committed([(topic, 0), (topic, 1)])
        assert [offset and offset.offset for offset in committed.values()] == [600, 600]
    for partition in range(2):
        read_there = [record for record in records if record.partition == partition]
        assert [record.offset for record in read_there] == list(range(600))
        assert [record.value for record in read_there] == numbers(0, 600)


def test_no_call_outlives_its_deadline_while_a_broker_is_silent(
    own_broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(own_broker)
    fill_topic(own_broker, topic, numbers(0, 10))
    settings: dict[str, Any] = {"default_api_timeout_ms": NEVER_MS, "auto_offset_reset": "earliest"}
    consumer = Consumer(own_broker.bootstrap, topics=[topic], group_id="silent", **settings)
    read(consumer, 10)
    own_broker.pause()
    try:
        assert consumer.poll(0.5) == []
        with pytest.raises(KafkaTimeoutError):
            consumer.commit(timeout=0.5)
        with pytest.raises(KafkaTimeoutError):
            consumer.end_offsets([(topic, 0)], timeout=0.5)
        with pytest.raises(KafkaTimeoutError):
            consumer.committed([(topic, 0)], timeout=0.5)
        consumer.close(timeout=1)
    finally:
        own_broker.resume()


@pytest.mark.parametrize("kind", [ApacheKafka, EmbeddedBroker])
@pytest.mark.parametrize("arrow", [False, True])
def test_a_corrupt_batch_is_named_until_a_seek_and_stops_only_its_partition(
    kind: Any, arrow: bool, tmp_path: Path, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    with kind(data_dir=tmp_path) as broker:
        topic = make_topic(broker, 2)
        for value in (b"first-value", b"second-value", b"third-value"):
            fill_topic(broker, topic, [value])
        corrupt(tmp_path, f"{topic}-0", b"second-value")
        with Consumer(broker.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50) as consumer:
            consumer.assign([(topic, 0), (topic, 1)])

            def offsets(timeout: float) -> list[int]:
                if arrow:
                    return consumer.poll_arrow(timeout)["offset"].to_pylist()
                return [record.offset for record in consumer.poll(timeout)]

            assert offsets(20) == [0]
            with pytest.raises(CorruptBatchError, match=f"{topic}-0 at offset 1") as caught:
                offsets(20)
            assert (caught.value.topic, caught.value.partition, caught.value.offset) == (topic, 0, 1)
            assert consumer.position((topic, 0)) == 1
            with pytest.raises(CorruptBatchError, match=f"{topic}-0 at offset 1"):
                offsets(20)
            fill_topic(broker, topic, [b"other partition"], 1)
            assert next(until_one_comes(offsets)) == [0]
            consumer.seek((topic, 0), 2)
            assert offsets(20) == [2]


def until_one_comes(poll: Callable[[float], list[int]]) -> Iterator[list[int]]:
    """What polls give between the errors of another partition."""
    while True:
        with contextlib.suppress(CorruptBatchError):
            if offsets := poll(20):
                yield offsets


def test_a_batch_that_was_harmed_on_its_way_is_read_after_the_error(
    embedded_broker: EmbeddedBroker, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(embedded_broker)
    fill_topic(embedded_broker, topic, [b"a", b"b"])
    with Consumer(embedded_broker.bootstrap, topics=[topic], auto_offset_reset="earliest") as consumer:
        fault = embedded_broker.faults.corrupt("Fetch", topic=topic, times=1)
        with pytest.raises(CorruptBatchError, match=f"{topic}-0 at offset 0"):
            consumer.poll(20)
        assert [record.value for record in read(consumer, 2)] == [b"a", b"b"]
        assert fault.hits == 1


def corrupt(data_dir: Path, partition: str, value: bytes) -> None:
    """Changes one byte of a value in the partition's log."""
    for path in data_dir.rglob(f"{partition}/*.log"):
        place = path.read_bytes().find(value)
        if place >= 0:
            with path.open("r+b") as log:
                log.seek(place)
                log.write(bytes([value[0] ^ 1]))
            return
    pytest.fail(f"{value!r} is in no log of {partition} under {data_dir}")


def test_without_checksums_a_changed_byte_goes_unnoticed(
    tmp_path: Path, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    with EmbeddedBroker(data_dir=tmp_path) as broker:
        topic = make_topic(broker)
        fill_topic(broker, topic, [b"the-value"])
        corrupt(tmp_path, f"{topic}-0", b"the-value")
        with Consumer(broker.bootstrap, auto_offset_reset="earliest", check_crcs=False) as consumer:
            consumer.assign([(topic, 0)])
            assert [record.value for record in read(consumer, 1)] == [b"uhe-value"]


def test_read_committed_shows_neither_aborted_nor_open_transactions(
    broker: ApacheKafka | EmbeddedBroker, make_topic: MakeTopic, eventually: Any
) -> None:
    topic = make_topic(broker)
    producer = transactional_producer(broker, f"{topic}-a")
    open_producer = transactional_producer(broker, f"{topic}-b")

    def send(values: list[bytes], *, commit: bool) -> None:
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        producer.flush()
        (producer.commit_transaction if commit else producer.abort_transaction)(30)

    send([b"c1", b"c2"], commit=True)
    send([b"a1", b"a2"], commit=False)
    send([b"c3"], commit=True)
    send([b"a3"], commit=False)
    settings: Any = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50}
    with (
        Consumer(broker.bootstrap, isolation_level="read_committed", **settings) as committed,
        Consumer(broker.bootstrap, **settings) as everything,
    ):
        committed.assign([(topic, 0)])
        everything.assign([(topic, 0)])
        assert [record.value for record in read(committed, 3)] == [b"c1", b"c2", b"c3"]
        assert len(read(everything, 6)) == 6

        def is_past_all() -> bool:
            assert committed.poll(0.1) == []
            return committed.position((topic, 0)) == 10

        # Records of aborted transactions and markers count for the position.
        eventually(is_past_all)
        end = committed.end_offsets([(topic, 0)])[TopicPartition(topic, 0)]
        assert end == 10
        open_producer.begin_transaction()
        open_producer.produce(topic, b"open", partition=0)
        open_producer.flush()
        send([b"c4"], commit=True)
        assert [record.value for record in read(everything, 2)] == [b"open", b"c4"]
        assert committed.poll(0.3) == []
        assert committed.end_offsets([(topic, 0)]) == {TopicPartition(topic, 0): end}
        assert committed.lag((topic, 0)) == 0
        open_producer.commit_transaction(30)
        assert [record.value for record in read(committed, 2)] == [b"open", b"c4"]
        committed.seek_to_beginning()
        rows: list[bytes] = []
        while len(rows) < 5:
            rows += committed.poll_arrow(20)["value"].to_pylist()
        assert rows == [b"c1", b"c2", b"c3", b"open", b"c4"]


def transactional_producer(broker: Any, name: str) -> Any:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    return producer


def test_the_second_consumer_with_one_instance_id_fences_the_first(
    broker: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic(broker)
    settings: Any = {"group_instance_id": "same", "heartbeat_interval_ms": 100}
    group_id = f"fenced-{topic}"

    def poll_until_assigned(consumer: Consumer) -> None:
        patience = Patience()
        while not consumer.assignment():
            patience.check()
            consumer.poll(0.1)

    with Consumer(broker.bootstrap, topics=[topic], group_id=group_id, **settings) as first:
        poll_until_assigned(first)
        with Consumer(broker.bootstrap, topics=[topic], group_id=group_id, **settings) as second:
            poll_until_assigned(second)
            with pytest.raises(FencedInstanceIdError):
                first.poll(30)
            first.unsubscribe()


# Python 3.12 and later warn of any fork with threads around; that is the case under test.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_consumer_made_before_a_fork_is_refused_in_the_child(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, numbers(0, 5))
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        read(consumer, 1)
        child = os.fork()
        if child == 0:
            try:
                consumer.poll(1)
            except ClosedError as error:
                os._exit(0 if "fork" in str(error) else 1)
            except BaseException:
                os._exit(2)
            os._exit(3)
        assert os.waitpid(child, 0)[1] == 0
        assert len(read(consumer, 4)) == 4


def test_control_c_interrupts_a_poll_that_waits(broker: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(broker)
    with Consumer(broker.bootstrap) as consumer:
        consumer.assign([(topic, 0)])
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(NEVER_SECONDS)
        timer.join()
        assert consumer.poll(0.1) == []
