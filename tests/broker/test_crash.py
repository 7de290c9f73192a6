"""What survives kill -9, and a full disk."""

from __future__ import annotations

import resource
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.waiting import Patience

from barnabas.testing import EmbeddedBroker

DEADLINE_SECONDS = 60.0
TOPIC = "flights"


def quiet(_: object) -> None:
    """Takes the errors that librdkafka would print while the broker is down."""


def client(broker: EmbeddedBroker, **settings: Any) -> dict[str, Any]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    fast = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100, "log_level": 0}
    return {"bootstrap.servers": broker.bootstrap, "error_cb": quiet, **fast, **named}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """Small segments, so that a crash finds the log in the middle of things."""
    with EmbeddedBroker(tmp_path, config={"log.segment.bytes": "200000"}) as running:
        yield running


def make_topic(broker: EmbeddedBroker, partitions: int = 1, **config: str) -> None:
    admin = AdminClient(client(broker))
    configs = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(TOPIC, partitions, 1, config=configs)])[TOPIC].result(DEADLINE_SECONDS)


def read_all(broker: EmbeddedBroker, partition: int) -> list[Message]:
    consumer = Consumer(client(broker, group_id="reader", enable_auto_commit=False))
    patience = Patience(DEADLINE_SECONDS)
    _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=60)
    consumer.assign([TopicPartition(TOPIC, partition, 0)])
    found: list[Message] = []
    while not found or found[-1].offset() < end - 1:
        patience.check(f"{len(found)} of {end}")
        for message in consumer.consume(10_000, 0.5):
            assert message.error() is None, message.error()
            found.append(message)
    consumer.close()
    return found


class Load(threading.Thread):
    """An idempotent producer that keeps numbering records, until it is told to end."""

    def __init__(self, broker: EmbeddedBroker, partitions: int) -> None:
        super().__init__()
        self.acknowledged: list[tuple[int, int, bytes]] = []
        self.failed: list[str] = []
        self.sent = 0
        self._partitions = partitions
        self._end = threading.Event()
        self._producer = Producer(
            client(broker, acks="all", enable_idempotence=True, linger_ms=2, message_timeout_ms=50_000)
        )

    def _on_delivery(self, error: object, message: Message) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.acknowledged.append((message.partition(), message.offset(), message.value()))

    def run(self) -> None:
        while not self._end.is_set():
            if len(self._producer) > 5_000:
                self._producer.poll(0.01)
                continue
            partition = self.sent % self._partitions
            self._producer.produce(
                TOPIC, b"%d" % self.sent, partition=partition, on_delivery=self._on_delivery
            )
            self.sent += 1
            self._producer.poll(0)

    def finish(self) -> None:
        self._end.set()
        self.join(DEADLINE_SECONDS)
        assert self._producer.flush(DEADLINE_SECONDS) == 0


def test_no_acknowledged_record_is_lost_doubled_or_moved_by_kill_9(
    broker: EmbeddedBroker, eventually: Callable[..., Any]
) -> None:
    partitions = 2
    make_topic(broker, partitions)
    load = Load(broker, partitions)
    load.start()
    for round_number in range(1, 5):
        goal = round_number * 5_000
        eventually(lambda goal=goal: len(load.acknowledged) >= goal, DEADLINE_SECONDS)
        broker.kill()
        broker.start()
    load.finish()
    assert load.failed == []
    assert len(load.acknowledged) == load.sent
    for partition in range(partitions):
        found = read_all(broker, partition)
        stored = {message.offset(): message.value() for message in found}
        acknowledged = {offset: value for number, offset, value in load.acknowledged if number == partition}
        assert acknowledged.items() <= stored.items()
        numbers = [int(message.value()) for message in found]
        assert numbers == list(range(partition, load.sent, partitions))


def test_committed_offsets_and_deleted_records_survive_kill_9(broker: EmbeddedBroker) -> None:
    make_topic(broker)
    producer = Producer(client(broker))
    for index in range(100):
        producer.produce(TOPIC, b"%d" % index)
    assert producer.flush(DEADLINE_SECONDS) == 0
    consumer = Consumer(client(broker, group_id="g", enable_auto_commit=False))
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 42)], asynchronous=False)
    trimmed = TopicPartition(TOPIC, 0, 7)
    admin = AdminClient(client(broker))
    admin.delete_records([trimmed])[trimmed].result(DEADLINE_SECONDS)
    consumer.close()
    broker.kill()
    broker.start()
    again = Consumer(client(broker, group_id="g"))
    (committed,) = again.committed([TopicPartition(TOPIC, 0)], timeout=60)
    assert committed.offset == 42
    assert again.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=60) == (7, 100)
    again.close()


def test_a_member_goes_on_in_its_generation_after_kill_9(broker: EmbeddedBroker) -> None:
    make_topic(broker)
    producer = Producer(client(broker))
    revoked: list[object] = []
    consumer = Consumer(client(broker, group_id="g", auto_offset_reset="earliest", session_timeout_ms=30_000))
    consumer.subscribe([TOPIC], on_revoke=lambda _, partitions: revoked.append(partitions))

    def next_value() -> bytes:
        patience = Patience(DEADLINE_SECONDS)
        while True:
            patience.check()
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                return message.value()

    producer.produce(TOPIC, b"before")
    producer.flush(DEADLINE_SECONDS)
    assert next_value() == b"before"
    broker.kill()
    broker.start()
    producer.produce(TOPIC, b"after")
    assert producer.flush(DEADLINE_SECONDS) == 0
    assert next_value() == b"after"
    consumer.commit(asynchronous=False)
    assert revoked == []
    consumer.close()


def limit_file_size(broker: EmbeddedBroker, size: int) -> None:
    """Makes writes beyond `size` fail as on a full disk; it needs no root and no small file system."""
    _, hard = resource.prlimit(broker.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (size, hard))


def test_a_full_disk_refuses_new_records_and_keeps_the_old_ones(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        make_topic(broker)
        value = bytes(1_000)
        patient, impatient = (
            Producer(client(broker, message_timeout_ms=timeout_ms, linger_ms=0, enable_idempotence=True))
            for timeout_ms in (60_000, 5_000)
        )
        outcomes: list[str | None] = []

        def send(producer: Producer) -> str | None:
            producer.produce(
                TOPIC, value, on_delivery=lambda error, _: outcomes.append(error and error.name())
            )
            assert producer.flush(DEADLINE_SECONDS) == 0
            return outcomes.pop()

        for _ in range(50):
            assert send(patient) is None
        (log_file,) = tmp_path.rglob(f"{TOPIC}-0/00000000000000000000.log")
        size = log_file.stat().st_size
        limit_file_size(broker, size + 500)
        assert send(impatient) is not None
        assert log_file.stat().st_size == size
        assert len(read_all(broker, 0)) == 50
        complaints = [line for line in broker.log.splitlines() if "cannot append" in line]
        assert len(complaints) == 1
        assert f"{TOPIC}-0: cannot append at offset 50" in complaints[0]
        assert "free space there" in complaints[0]
        limit_file_size(broker, resource.RLIM_INFINITY)
        again = Producer(client(broker, linger_ms=0))
        again.produce(TOPIC, value)
        assert again.flush(DEADLINE_SECONDS) == 0
        assert [message.offset() for message in read_all(broker, 0)] == list(range(51))


def test_a_full_disk_refuses_new_topics_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        limit_file_size(broker, 0)
        with pytest.raises(KafkaException, match="cannot create topic flights"):
            make_topic(broker)
        assert not list(tmp_path.rglob(f"{TOPIC}-*"))
        limit_file_size(broker, resource.RLIM_INFINITY)
        make_topic(broker)
