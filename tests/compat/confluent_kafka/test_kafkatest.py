"""The verifiable clients, run as programs against Apache Kafka, as Kafka's own system tests run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.compat.confluent_kafka.kafkatest.verifiable_client import VerifiableClient
from barnabas.compat.confluent_kafka.kafkatest.verifiable_consumer import AssignedPartition
from barnabas.testing import ApacheKafka
from barnabas.testing.distribution import KafkaDistribution

PACKAGE = "barnabas.compat.confluent_kafka.kafkatest"
DEADLINE_SECONDS = 60


class Program:
    """A verifiable client as a process, whose events can be read while it runs. A `name` that begins with
    java. is Kafka's own."""

    def __init__(self, name: str, *arguments: str) -> None:
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by kill
        self._process = subprocess.Popen(
            [*_command(name), *arguments],
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        assert self._process.stdout is not None
        self._stdout = self._process.stdout
        self.events: list[dict[str, Any]] = []

    def until(self, name: str) -> dict[str, Any]:
        """Reads events until the next one of this name."""
        for line in self._stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["name"] == name:
                return self.events[-1]
        raise AssertionError(f"no {name}: {self.events}, {self.end()}")

    def terminate(self) -> None:
        os.kill(self._process.pid, signal.SIGTERM)

    def end(self) -> tuple[int, str]:
        """The exit status and what was said on stderr; reads the rest of the events."""
        self.events += [json.loads(line) for line in self._stdout]
        status = self._process.wait(DEADLINE_SECONDS)
        self._said.seek(0)
        return status, self._said.read()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._stdout.close()
        self._said.close()

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["name"] == name]


def _command(name: str) -> list[str]:
    if name.startswith("java."):
        java = KafkaDistribution().java_arguments(heap_mb=128, log_level="ERROR", log_target="SYSTEM_ERR")
        return [*java, f"org.apache.kafka.tools.{name.removeprefix('java.')}"]
    module = name if "." in name else f"{PACKAGE}.{name}"
    return [sys.executable, "-m", *module.split()]


@pytest.fixture
def program() -> Iterator[Callable[..., Program]]:
    programs: list[Program] = []

    def start(name: str, *arguments: str) -> Program:
        programs.append(Program(name, *arguments))
        return programs[-1]

    yield start
    for each in programs:
        each.kill()


@pytest.fixture
def produced(apache_kafka: ApacheKafka, topic: Callable[[], str], program: Callable[..., Program]) -> str:
    """A topic with the numbers 0 to 19 in it."""
    name = topic()
    producer = program(
        *("verifiable_producer", "--topic", name, "--max-messages", "20"),
        *("--bootstrap-server", apache_kafka.bootstrap),
    )
    assert producer.end()[0] == 0
    return name


def plain(event: dict[str, Any]) -> dict[str, Any]:
    """An event without the time."""
    return {name: value for name, value in event.items() if name not in ("timestamp", "_time")}


def test_the_producer_tells_of_each_acknowledged_number(
    apache_kafka: ApacheKafka, topic: Any, program: Any
) -> None:
    name = topic()
    producer = program(
        *("verifiable_producer", "--topic", name, "--broker-list", apache_kafka.bootstrap),
        *("--max-messages", "5", "--value-prefix", "7", "--repeating-keys", "2", "--acks", "-1"),
        *("--throughput", "200", "--message-create-time", "1000"),
    )
    assert producer.end()[0] == 0
    assert [event["name"] for event in producer.events] == [
        "startup_complete",
        *["producer_send_success"] * 5,
        "shutdown_complete",
        "tool_data",
    ]
    assert all(event["timestamp"] > 1_600_000_000_000 for event in producer.events)
    assert [plain(event) for event in producer.named("producer_send_success")] == [
        {
            "name": "producer_send_success",
            "topic": name,
            "partition": 0,
            "key": str(number % 2),
            "value": f"7.{number}",
            "offset": number,
        }
        for number in range(5)
    ]
    (tool_data,) = producer.named("tool_data")
    assert (tool_data["sent"], tool_data["acked"], tool_data["target_throughput"]) == (5, 5, 200)
    assert tool_data["avg_throughput"] > 0


def assert_alike(ours: Program, javas: Program) -> None:
    """Events of the same names in the same order, each with all that Java's has in it."""
    our_events, java_events = to_compare(ours), to_compare(javas)
    assert [event["name"] for event in our_events] == [event["name"] for event in java_events]
    for our, java in zip(our_events, java_events, strict=True):
        said = {name: our[name] for name in java if name not in CHANGING and name in our}
        assert said == {name: value for name, value in java.items() if name not in CHANGING}
        assert CHANGING & java.keys() <= our.keys()


def to_compare(program: Program) -> list[dict[str, Any]]:
    """Its events without assignments of nothing: a coordinator that has not computed a group's assignment
    yet answers a member who joins by the consumer protocol with an empty one (KIP-848), of which the member
    tells."""
    return [event for event in program.events if event != {**event, **ASSIGNED_NOTHING}]


ASSIGNED_NOTHING = {"name": "partitions_assigned", "partitions": []}

# Times, and the exception of a client in another language.
CHANGING = {"timestamp", "avg_throughput", "exception", "message"}


@pytest.mark.parametrize(
    "arguments",
    [
        "--max-messages 3",
        "--max-messages 3 --value-prefix 7 --repeating-keys 2 --acks 1 --throughput 100",
        "--max-messages 2 --acks 0",
        "--max-messages 0",
    ],
)
def test_the_producer_tells_what_kafkas_own_tells(
    apache_kafka: ApacheKafka, topic: Any, program: Any, arguments: str
) -> None:
    where = ("--bootstrap-server", apache_kafka.bootstrap, "--topic")
    name = topic()
    javas = program("java.VerifiableProducer", *where, name, *arguments.split())
    assert javas.end()[0] == 0
    ours = program("verifiable_producer", *where, (other := topic()), *arguments.split())
    assert ours.end()[0] == 0
    for event in ours.events:
        if event.get("topic") == other:
            event["topic"] = name
    assert_alike(ours, javas)


@pytest.mark.parametrize(
    "arguments",
    [
        "--verbose --reset-policy earliest",
        "--group-instance-id one --session-timeout 10000 --assignment-strategy "
        "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "--group-protocol CONSUMER --group-remote-assignor range",
    ],
)
def test_the_consumer_tells_what_kafkas_own_tells(
    apache_kafka: ApacheKafka, produced: str, topic: Any, program: Any, arguments: str
) -> None:
    where = ("--bootstrap-server", apache_kafka.bootstrap, "--topic", produced)
    consumers = [
        program(name, *where, "--group-id", topic(), *arguments.split())
        for name in ("verifiable_consumer", "java.VerifiableConsumer")
    ]
    for consumer in consumers:
        while not consumer.named("offsets_committed"):
            consumer.until("offsets_committed")
        consumer.terminate()
        consumer.end()
    assert_alike(*consumers)


def test_programs_run_under_the_originals_name_too(
    apache_kafka: ApacheKafka, topic: Any, program: Any
) -> None:
    producer = program(
        "barnabas.compat -m confluent_kafka.kafkatest.verifiable_producer",
        *("--topic", topic(), "--bootstrap-server", apache_kafka.bootstrap, "--max-messages", "1"),
    )
    assert producer.end()[0] == 0
    assert len(producer.named("producer_send_success")) == 1


def test_the_producer_ends_in_order_on_sigterm(apache_kafka: ApacheKafka, topic: Any, program: Any) -> None:
    producer = program(
        *("verifiable_producer", "--topic", topic(), "--throughput", "1000"),
        *("--bootstrap-server", apache_kafka.bootstrap, "-X", "linger.ms=1"),
    )
    producer.until("producer_send_success")
    producer.terminate()
    assert producer.end()[0] == 0
    (tool_data,) = producer.named("tool_data")
    acked = [int(event["value"]) for event in producer.named("producer_send_success")]
    assert acked == list(range(tool_data["acked"]))
    assert tool_data["sent"] == tool_data["acked"]


@pytest.mark.integration
def test_the_producer_tells_of_what_was_not_delivered(program: Any) -> None:
    producer = program(
        *("verifiable_producer", "--topic", "t", "--max-messages", "2", "--broker-list", "127.0.0.1:1"),
        *("-X", "message.timeout.ms=300"),
    )
    assert producer.end()[0] == 0
    errors = producer.named("producer_send_error")
    assert [(event["value"], event["exception"]) for event in errors] == [
        ("0", "_MSG_TIMED_OUT"),
        ("1", "_MSG_TIMED_OUT"),
    ]
    assert errors[0]["message"] == "Local: Message timed out"


def test_the_consumer_tells_what_it_was_assigned_read_and_committed(
    apache_kafka: ApacheKafka, produced: str, program: Any
) -> None:
    consumer = program(
        *("verifiable_consumer", "--topic", produced, "--group-id", produced, "--verbose"),
        *("--broker-list", apache_kafka.bootstrap, "--reset-policy", "earliest", "--max-messages", "12"),
        *("--assignment-strategy", "org.apache.kafka.clients.consumer.RangeAssignor"),
        *("--session-timeout", "10000", "--group-instance-id", "one"),
    )
    assert consumer.end()[0] == 0
    partition = {"topic": produced, "partition": 0}
    assert consumer.events[0]["name"] == "startup_complete"
    (assigned,) = consumer.named("partitions_assigned")
    assert assigned["partitions"] == [partition]
    records = [plain(event) for event in consumer.named("record_data")]
    assert records == [
        {"name": "record_data", **partition, "key": None, "value": str(number), "offset": number}
        for number in range(12)
    ]
    consumed = consumer.named("records_consumed")
    assert sum(event["count"] for event in consumed) == 12
    ranges = [(each["minOffset"], each["maxOffset"]) for event in consumed for each in event["partitions"]]
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 11
    commits = consumer.named("offsets_committed")
    assert all(event["success"] for event in commits)
    assert commits[-1]["offsets"] == [{**partition, "offset": 12}]
    (revoked,) = consumer.named("partitions_revoked")
    assert revoked["partitions"] == [partition]
    assert plain(consumer.events[-1]) == {"name": "shutdown_complete", "failed": False}


@pytest.mark.parametrize("protocol", ["CLASSIC", "CONSUMER"])
def test_the_consumer_ends_in_order_on_sigterm_and_another_goes_on(
    apache_kafka: ApacheKafka, produced: str, program: Any, protocol: str
) -> None:
    arguments = (
        *("--topic", produced, "--group-id", produced, "--bootstrap-server", apache_kafka.bootstrap),
        *("--enable-autocommit", "--group-protocol", protocol, "--session-timeout", "10000"),
        *("--reset-policy", "earliest"),
    )
    first = program("verifiable_consumer", *arguments, "--max-messages", "7")
    assert first.end()[0] == 0
    assert first.named("offsets_committed")[-1]["offsets"][0]["offset"] == 7
    second = program("verifiable_consumer", *arguments)
    consumed = second.until("records_consumed")
    assert consumed["partitions"][0]["minOffset"] == 7
    second.terminate()
    assert second.end()[0] == 0
    assert second.events[-1]["name"] == "shutdown_complete"


def test_properties_come_from_options_and_from_a_java_clients_file(
    apache_kafka: ApacheKafka, topic: Any, program: Any, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "# a comment\n\n! another\nlinger.ms = 1\nbootstrap.servers=127.0.0.1:1\n"
        "key.serializer=org.apache.kafka.common.serialization.StringSerializer\n"
    )
    assert VerifiableClient.read_config_file(str(file)) == {
        "linger.ms": "1",
        "bootstrap.servers": "127.0.0.1:1",
    }
    producer = program(
        *("verifiable_producer", "--topic", topic(), "--max-messages", "1"),
        *("--bootstrap-server", apache_kafka.bootstrap, "--producer.config", str(file)),
    )
    assert producer.end()[0] == 0
    assert len(producer.named("producer_send_success")) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--topic", "t"], "one of the arguments --bootstrap-server --broker-list is required"),
        (["--broker-list", "b:1"], "the following arguments are required: --topic"),
        (["--topic", "t", "--broker-list", "b:1", "-X", "linger.ms"], "'linger.ms' is no name=value"),
        (["--topic", "t", "--broker-list", "b:1", "--producer.config", "/no/file"], "/no/file"),
    ],
)
@pytest.mark.integration
def test_wrong_arguments_are_explained(program: Any, arguments: list[str], complaint: str) -> None:
    status, said = program("verifiable_producer", *arguments).end()
    assert status == 2
    assert complaint in said


@pytest.mark.integration
def test_an_assignor_that_there_is_not_is_explained(program: Any) -> None:
    status, said = program(
        *("verifiable_consumer", "--topic", "t", "--group-id", "g", "--broker-list", "b:1"),
        *("--assignment-strategy", "org.apache.kafka.clients.consumer.StickyAssignor"),
    ).end()
    assert status == 2
    assert "no assignor 'StickyAssignor': there are RangeAssignor" in said


def test_configuration_is_taken_from_arguments_by_their_names() -> None:
    conf: dict[str, Any] = {}
    arguments = {"conf_group.id": "g", "topicconf_acks": 1, "linger.ms": "5", "topic": "t", "conf_x": None}
    VerifiableClient.set_config(conf, arguments)
    assert conf == {"group.id": "g", "acks": 1, "linger.ms": "5"}


def test_a_partitions_state_is_told_once() -> None:
    partition = AssignedPartition("t", 3)
    partition.add(5)
    partition.add(6)
    told = {"topic": "t", "partition": 3, "count": 2, "minOffset": 5, "maxOffset": 6}
    assert partition.to_dict() == told
    partition.clear()
    assert partition.to_dict() == {**told, "count": 0, "minOffset": -1, "maxOffset": -1}
