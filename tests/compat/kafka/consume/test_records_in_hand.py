"""What a KafkaConsumer commits of records that the kernel hands out one by one."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import barnabas
from barnabas.compat import kafka
from barnabas.testing import EmbeddedBroker


def filled(broker: EmbeddedBroker, count: int, partitions: int = 1) -> str:
    """A topic with `count` numbers as values."""
    topic = f"in-hand-{uuid.uuid4().hex[:12]}"
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.create_topics([barnabas.NewTopic(topic, partitions)])
    with barnabas.Producer(broker.bootstrap) as producer:
        for number in range(count):
            producer.send(topic, value=b"%d" % number, partition=number % partitions)
    return topic


def consumer_of(broker: EmbeddedBroker, *topics: str, **settings: Any) -> Any:
    chosen = {"auto_offset_reset": "earliest", "group_id": "g", "consumer_timeout_ms": 30_000, **settings}
    return kafka.KafkaConsumer(*topics, bootstrap_servers=broker.bootstrap, **chosen)


def committed(broker: EmbeddedBroker, group_id: str, topic: str, partition: int = 0) -> int | None:
    with barnabas.Admin(broker.bootstrap) as admin:
        found = admin.list_group_offsets(group_id).get(barnabas.TopicPartition(topic, partition))
        return None if found is None else found.offset


def test_what_was_handed_out_is_committed_when_the_consumer_closes(embedded_broker: EmbeddedBroker) -> None:
    topic = filled(embedded_broker, 20)
    group_id = f"g-{topic}"
    consumer = consumer_of(embedded_broker, topic, group_id=group_id)
    for _ in range(7):
        next(consumer)
    consumer.close()
    assert committed(embedded_broker, group_id, topic) == 7


def test_a_program_that_only_iterates_commits_what_it_asked_for_more_after(
    embedded_broker: EmbeddedBroker, eventually: Callable[..., Any]
) -> None:
    topic = filled(embedded_broker, 100_000)
    group_id = f"g-{topic}"
    consumer = consumer_of(embedded_broker, topic, group_id=group_id, auto_commit_interval_ms=1)
    seen = [0]

    def step() -> int | None:
        seen[0] = next(consumer).offset + 1
        return committed(embedded_broker, group_id, topic)

    found = eventually(step)
    # The record in hand was not: the program had not come back for another.
    assert 0 < found < seen[0] < 100_000
    consumer.close(autocommit=False)


def test_a_record_whose_deserializer_runs_while_another_thread_closes_is_not_committed(
    embedded_broker: EmbeddedBroker,
) -> None:
    topic = filled(embedded_broker, 10)
    group_id = f"g-{topic}"
    runs, goes_on = threading.Event(), threading.Event()

    def deserialize(data: bytes) -> bytes:
        if data == b"4":
            runs.set()
            assert goes_on.wait(60)
            raise ValueError("of the program")
        return data

    with pytest.warns(DeprecationWarning, match="Deserializer"):
        consumer = consumer_of(embedded_broker, topic, group_id=group_id, value_deserializer=deserialize)
    ended: list[object] = []

    def iterate() -> None:
        try:
            ended.extend(record.value for record in consumer)
        except ValueError as error:
            ended.append(str(error))

    thread = threading.Thread(target=iterate)
    thread.start()
    assert runs.wait(60)
    consumer.close()
    goes_on.set()
    thread.join()
    assert ended == [b"0", b"1", b"2", b"3", "of the program"]
    assert committed(embedded_broker, group_id, topic) == 4


def test_a_record_that_a_deserializer_refuses_comes_again_until_it_is_passed(
    embedded_broker: EmbeddedBroker,
) -> None:
    topic = filled(embedded_broker, 6)

    def deserialize(data: bytes) -> bytes:
        if data == b"3":
            raise ValueError("of the program")
        return data

    with pytest.warns(DeprecationWarning, match="Deserializer"):
        consumer = consumer_of(embedded_broker, topic, group_id=None, value_deserializer=deserialize)
    partition = kafka.TopicPartition(topic, 0)
    assert [next(consumer).value for _ in range(3)] == [b"0", b"1", b"2"]
    for _ in range(2):
        with pytest.raises(ValueError, match="of the program"):
            next(consumer)
        assert consumer.position(partition) == 3
    with pytest.raises(ValueError, match="of the program"):
        consumer.poll(timeout_ms=30_000)
    consumer.seek(partition, 4)
    assert next(consumer).value == b"4"
    consumer.close()


def test_a_rebalance_in_the_midst_of_an_iteration_loses_nothing(embedded_broker: EmbeddedBroker) -> None:
    count = 4000
    topic = filled(embedded_broker, count, partitions=4)
    group_id = f"g-{topic}"
    seen: Counter[bytes] = Counter()
    lock = threading.Lock()
    all_seen = threading.Event()

    def iterate(consumer: Any, first: threading.Event) -> None:
        while not all_seen.is_set():
            for record in consumer:
                with lock:
                    seen[record.value] += 1
                    if len(seen) == count:
                        all_seen.set()
                first.set()
                if all_seen.is_set():
                    break
        consumer.close()

    threads: list[threading.Thread] = []
    for _ in range(3):
        settings = {"group_id": group_id, "consumer_timeout_ms": 200, "heartbeat_interval_ms": 100}
        consumer = consumer_of(embedded_broker, topic, **settings)
        first = threading.Event()
        threads.append(threading.Thread(target=iterate, args=(consumer, first)))
        threads[-1].start()
        # The next member comes while this one has a batch in hand, or there is nothing left to read.
        while not first.wait(0.05) and not all_seen.is_set():
            pass
    assert all_seen.wait(60)
    for thread in threads:
        thread.join()
    assert len(seen) == count
    ends = {n: committed(embedded_broker, group_id, topic, n) for n in range(4)}
    assert ends == dict.fromkeys(range(4), count // 4)
