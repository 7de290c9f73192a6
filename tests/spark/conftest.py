"""What the Spark tests share: one session, and topics filled by librdkafka, which knows nothing of us."""

from __future__ import annotations

import os
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest
from bench import spark_connector
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming import DataStreamReader
from tests.waiting import wait_for

from barnabas import Consumer, TopicPartition
from barnabas.spark.clients import consumers, producers
from barnabas.testing import ApacheKafka, free_ports

# PySpark warns of pandas 3 where it looks for it, and takes an error there for want of Spark Connect.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    import pyspark.testing.utils  # noqa: F401

TIMEOUT_SECONDS = 150.0
# Set where Spark's Python workers run, and nowhere else before Spark is there.
RACK_VARIABLE, RACK = "BARNABAS_TEST_RACK", "rack-2"
CONNECTOR = Path(__file__).resolve().parents[2] / "build" / "spark-connector"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that is cut short while it waits for Java leaves an answer unread, and each call of the tests
    after it is given the answer of the one before."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session", autouse=True)
def spark_home_of_programs(spark_home: None) -> None:
    """Tests here start programs that start a Spark."""


@pytest.fixture(autouse=True)
def closed_clients() -> Iterator[None]:
    """What tests read in their own process, as Spark's workers do, leaves clients for the next task."""
    yield
    consumers.close_idle()
    producers.close_idle()


@pytest.fixture(scope="session")
def connect_port() -> int:
    return free_ports(1)[0]


@pytest.fixture(scope="session")
def connect_url(spark: SparkSession, connect_port: int) -> str:
    """Where the same Spark takes sessions of Spark Connect."""
    return f"sc://127.0.0.1:{connect_port}"


@pytest.fixture(scope="session")
def spark(spark_home: None, connect_port: int) -> Iterator[SparkSession]:
    """Spark on two threads of this machine. Its workers are of this Python, so they find this package.

    Spark's own connector is there as well, for `side_by_side`: a machine can run one session at a time."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ[RACK_VARIABLE] = RACK
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        # The best compiler and collector pay off after minutes only.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraClassPath", spark_connector.fetch(CONNECTOR).replace(",", os.pathsep))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "ERROR")
        .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
        .config("spark.connect.grpc.binding.address", "127.0.0.1")
        .config("spark.connect.grpc.binding.port", connect_port)
        .getOrCreate()
    )
    gateway = session.sparkContext._gateway
    yield session
    session.stop()
    # PySpark leaves its JVM to the end of the process, where an open pipe is a warning.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(TIMEOUT_SECONDS)
    SparkContext._gateway = SparkContext._jvm = None


@dataclass(frozen=True)
class Message:
    """A record as the tests write and read it. `timestamp` is in milliseconds."""

    value: bytes | None
    key: bytes | None = None
    partition: int = 0
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int | None = field(default=None, compare=False)


class Kafka:
    """A broker as seen by librdkafka."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})

    def create(
        self,
        partitions: int = 1,
        *,
        name: str | None = None,
        replicas: int = 1,
        config: Mapping[str, str] | None = None,
    ) -> str:
        name = name or f"spark-{uuid.uuid4().hex[:12]}"
        new = confluent_kafka.admin.NewTopic(name, partitions, replicas, config=dict(config or {}))
        self._admin.create_topics([new])[name].result(TIMEOUT_SECONDS)
        self._await_partitions(name, partitions)
        return name

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(TIMEOUT_SECONDS)

    def try_to_create(self, topic: str) -> bool:
        """False while a topic of this name is still being deleted."""
        try:
            self.create(name=topic)
        except confluent_kafka.KafkaException as error:
            if error.args[0].code() == confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            raise
        return True

    def grow(self, topic: str, partitions: int) -> None:
        new = confluent_kafka.admin.NewPartitions(topic, partitions)
        self._admin.create_partitions([new])[topic].result(TIMEOUT_SECONDS)
        self._await_partitions(topic, partitions)

    def _await_partitions(self, topic: str, count: int) -> None:
        """The controller answers before brokers have heard of them."""

        def are_known() -> bool:
            known = self._admin.list_topics(timeout=TIMEOUT_SECONDS).topics.get(topic)
            return known is not None and known.error is None and len(known.partitions) == count

        wait_for(are_known)

    def delete_records_before(self, topic: str, partition: int, offset: int) -> None:
        where = confluent_kafka.TopicPartition(topic, partition, offset)
        for future in self._admin.delete_records([where]).values():
            future.result(TIMEOUT_SECONDS)

    def write(self, topic: str, messages: Sequence[Message | bytes], **config: Any) -> None:
        """Writes in order and waits for all acknowledgements."""
        producer = confluent_kafka.Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0} | config)
        errors: list[Any] = []
        for message in messages:
            if isinstance(message, bytes):
                message = Message(message)
            producer.produce(
                topic,
                message.value,
                message.key,
                message.partition,
                on_delivery=lambda error, _: errors.append(error) if error else None,
                timestamp=message.timestamp or 0,
                headers=list(message.headers),
            )
        assert producer.flush(TIMEOUT_SECONDS) == 0
        assert errors == []

    def read(self, topic: str, count: int) -> list[Message]:
        """The first `count` records of a topic, by partition and offset."""
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": uuid.uuid4().hex,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": False,
            }
        )
        try:
            partitions = consumer.list_topics(topic, TIMEOUT_SECONDS).topics[topic].partitions
            beginning = confluent_kafka.OFFSET_BEGINNING
            consumer.assign([confluent_kafka.TopicPartition(topic, p, beginning) for p in partitions])
            found: list[Any] = []
            while len(found) < count:
                records = consumer.consume(count - len(found), TIMEOUT_SECONDS)
                assert records, f"{len(found)} of {count} records came within {TIMEOUT_SECONDS} s"
                found += records
        finally:
            consumer.close()
        found.sort(key=lambda record: (record.partition(), record.offset()))
        return [
            Message(
                record.value(),
                record.key(),
                record.partition(),
                tuple(record.headers() or ()),
                record.timestamp()[1],
            )
            for record in found
        ]

    def count(self, topic: str) -> int:
        """Offsets between the beginning and the end of all partitions."""
        return sum(high - low for low, high in self.offsets(topic))

    def offsets(self, topic: str) -> list[tuple[int, int]]:
        """Beginning and end of each partition."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.bootstrap, "group.id": "none"})
        try:
            partitions = consumer.list_topics(topic, TIMEOUT_SECONDS).topics[topic].partitions
            return [
                consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, p), TIMEOUT_SECONDS)
                for p in sorted(partitions)
            ]
        finally:
            consumer.close()

    def commit_somewhere(self, topic: str) -> None:
        """Commits an offset, so that the broker's own topic for that exists."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": uuid.uuid4().hex}
        )
        try:
            consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 0)], asynchronous=False)
        finally:
            consumer.close()

    def write_in_transaction(self, topic: str, values: Sequence[bytes], *, commit: bool) -> None:
        """Returns when the transaction's marker is written, which may be after its end was confirmed."""
        settings = {"bootstrap.servers": self.bootstrap, "transactional.id": uuid.uuid4().hex}
        producer = confluent_kafka.Producer(settings)
        producer.init_transactions(TIMEOUT_SECONDS)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        assert producer.flush(TIMEOUT_SECONDS) == 0
        if commit:
            producer.commit_transaction(TIMEOUT_SECONDS)
        else:
            producer.abort_transaction(TIMEOUT_SECONDS)
        confluent_kafka.Producer(settings).init_transactions(TIMEOUT_SECONDS)


def committed(kafka: Kafka, topic: str) -> list[bytes]:
    """What a reader of committed data sees, in the order of values, once nothing is open."""
    with (
        Consumer(kafka.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest") as consumer,
        Consumer(kafka.bootstrap) as everything,
    ):
        partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        deadline = time.monotonic() + 60
        while (ends := consumer.end_offsets(partitions)) != everything.end_offsets(partitions):
            assert time.monotonic() < deadline, "a transaction stays open"
        values: list[bytes] = []
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            values += [bytes(record.value) for record in consumer.poll(0.2)]
    return sorted(values)


@pytest.fixture
def missing_topic() -> str:
    """The name of a topic that no test makes. One that tests share would be there once a client had a broker
    make it."""
    return f"missing-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def kafka(broker: Any) -> Kafka:
    """Each kind of broker in turn."""
    return Kafka(broker.bootstrap)


@pytest.fixture(scope="session")
def real_kafka(apache_kafka: Any) -> Kafka:
    """Apache Kafka alone, for what the embedded broker does not do."""
    return Kafka(apache_kafka.bootstrap)


@pytest.fixture
def compacting_kafka() -> Iterator[Kafka]:
    """Apache Kafka that compacts at once instead of every 15 s."""
    config = {"log.cleaner.backoff.ms": "100", "log.retention.check.interval.ms": "100"}
    with ApacheKafka(config=config) as broker:
        yield Kafka(broker.bootstrap)


@pytest.fixture
def free_port() -> int:
    """A port where nothing listens."""
    return free_ports(1)[0]


Options = dict[str, Any]


def with_options(reader: Any, kafka: Kafka, options: Options) -> Any:
    return reader.format("barnabas").options(**{"kafka.bootstrap.servers": kafka.bootstrap} | options)


@pytest.fixture(scope="session")
def read(spark: SparkSession) -> Callable[..., DataFrame]:
    """`read(kafka, subscribe=topic, ...)` is a batch query."""

    def start(kafka: Kafka, **options: Any) -> DataFrame:
        reader: DataFrameReader = spark.read
        return with_options(reader, kafka, options).load()

    return start


@pytest.fixture(scope="session")
def read_stream(spark: SparkSession) -> Callable[..., DataFrame]:
    """`read_stream(kafka, subscribe=topic, ...)` is a streaming query's input."""

    def start(kafka: Kafka, **options: Any) -> DataFrame:
        reader: DataStreamReader = spark.readStream
        return with_options(reader, kafka, options).load()

    return start
