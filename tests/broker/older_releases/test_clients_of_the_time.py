"""Clients of the years of older releases, and newer ones that are told so, against the embedded broker that
passes for one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from tests.compat.kafka.differential import packages as kafka_python
from tests.compat.pykafka import packages as pykafka

from barnabas import Consumer, Producer
from barnabas.testing import EmbeddedBroker
from barnabas.testing.distribution import KafkaDistribution

FOLDER = Path(__file__).parent
Topic = Callable[[], str]


@pytest.fixture(scope="module", params=["0.10.0", "2.8"])
def broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(as_version=request.param) as broker:
        yield broker


@pytest.fixture(scope="module")
def broker_of_0_10_2() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(as_version="0.10.2") as broker:
        yield broker


def played(package: Path, script: str, *arguments: str) -> Any:
    command = [sys.executable, "-W", "ignore", str(FOLDER / script), *arguments]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(package)}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def numbered(count: int) -> list[list[Any]]:
    return [[index, f"k{index % 5}", f"{index % 5}"] for index in range(count)]


def test_kafka_python_produces_reads_in_a_group_and_commits(broker: EmbeddedBroker, topic: Topic) -> None:
    seen = played(kafka_python.genuine("2"), "kafka_python_script.py", broker.bootstrap, topic(), "asked")
    count = len(seen["offsets"])
    assert count >= 10
    assert seen == {
        "offsets": list(range(count)),
        "read": numbered(count),
        "committed": count,
        "ends": [0, count],
        "topics": True,
    }


def test_pykafka_produces_reads_in_a_group_and_commits(
    broker_of_0_10_2: EmbeddedBroker, topic: Topic
) -> None:
    bootstrap = broker_of_0_10_2.bootstrap
    seen = played(pykafka.genuine(), "pykafka_script.py", bootstrap, topic(), "0.10.2")
    assert seen == {"read": numbered(15), "earliest": [0], "latest": [15]}


@pytest.mark.parametrize("told", [{}, {"api.version.request": "false", "broker.version.fallback": "0.9.0"}])
def test_librdkafka_finds_its_way_or_is_told(
    broker: EmbeddedBroker, topic: Topic, told: dict[str, str]
) -> None:
    name = topic()
    common = {"bootstrap.servers": broker.bootstrap, **told}
    producer = confluent_kafka.Producer({**common, "compression.type": "gzip"})
    for index in range(100):
        producer.produce(name, b"%d" % index)
    assert producer.flush(30) == 0
    consumer = confluent_kafka.Consumer(
        {**common, "group.id": name, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([name])
    found = consumer.consume(100, timeout=30)
    assert [(message.error(), message.value()) for message in found] == [
        (None, b"%d" % index) for index in range(100)
    ]
    consumer.commit(message=found[-1], asynchronous=False)
    (committed,) = consumer.committed([confluent_kafka.TopicPartition(name, 0)], 30)
    assert committed.offset == 100
    consumer.close()


def test_kafkas_tools_of_then_produce_and_consume(broker_of_0_10_2: EmbeddedBroker, topic: Topic) -> None:
    name, then = topic(), KafkaDistribution("0.11.0.3")
    bootstrap = broker_of_0_10_2.bootstrap
    lines = "".join(f"{index}\n" for index in range(50))
    sent = then.tool(
        *("kafka.tools.ConsoleProducer", "--broker-list", bootstrap, "--topic", name), input=lines
    )
    assert sent.returncode == 0, sent.stderr
    read = then.tool(
        *("kafka.tools.ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", name),
        *("--from-beginning", "--max-messages", "50"),
    )
    assert read.stdout == lines, read.stderr


@pytest.mark.parametrize("release", ["0.11", "2.3"])
def test_our_own_clients_find_what_a_release_has(release: str, topic: Topic) -> None:
    name = topic()
    with EmbeddedBroker(as_version=release) as broker:
        with Producer(broker.bootstrap, transactional_id=name) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send(name, b"kept")
            producer.commit_transaction()
        with Consumer(
            broker.bootstrap,
            group_id=name,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        ) as consumer:
            consumer.subscribe([name])
            found: list[bytes | None] = []
            while not found:
                found += [record.value for record in consumer.poll(1)]
            consumer.commit()
        assert found == [b"kept"]
