"""Transactions by Apache Kafka's own producer and tools, out of its published jars."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from barnabas import Admin, NewTopic, Producer, TopicPartition
from barnabas.testing import EmbeddedBroker, run_kafka_tool

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUME = "org.apache.kafka.tools.consumer.ConsoleConsumer"

Tool = Callable[..., str]


@pytest.fixture
def tool(embedded_broker: EmbeddedBroker) -> Tool:
    """Runs a tool against the broker; its output."""

    def run(class_name: str, *arguments: str) -> str:
        server = "--bootstrap-server", embedded_broker.bootstrap
        result = run_kafka_tool(class_name, *server, *arguments, timeout=90)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run


@pytest.fixture
def flights(embedded_broker: EmbeddedBroker) -> str:
    name = f"flights-{uuid.uuid4().hex[:8]}"
    with Admin(embedded_broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1)])
    return name


@pytest.fixture
def open_transaction(embedded_broker: EmbeddedBroker, flights: str) -> Iterator[Producer]:
    """One record is in it."""
    with Producer(embedded_broker.bootstrap, transactional_id=f"of {flights}") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(flights, b"open").result(30)
        yield producer


def table(output: str) -> list[list[str]]:
    """The rows of a tool's table, without its head."""
    rows = [[cell.strip() for cell in line.split("\t")] for line in output.splitlines() if "\t" in line]
    return [row[:-1] for row in rows[1:]]


@pytest.mark.usefixtures("open_transaction")
def test_transactions_are_listed_described_and_found_with_their_producers(tool: Tool, flights: str) -> None:
    (listed,) = [row for row in table(tool(TRANSACTIONS, "list")) if flights in row[0]]
    _, coordinator, producer_id, state = listed
    assert (coordinator, state) == ("1", "Ongoing")
    (described,) = table(tool(TRANSACTIONS, "describe", "--transactional-id", f"of {flights}"))
    assert {producer_id, "Ongoing", f"{flights}-0"} <= set(described)
    (producer,) = table(tool(TRANSACTIONS, "describe-producers", "--topic", flights, "--partition", "0"))
    assert (producer[0], producer[-1]) == (producer_id, "0")
    assert table(tool(TRANSACTIONS, "find-hanging", "--broker-id", "1")) == []


def test_a_transaction_is_ended_in_a_partition_and_as_a_whole(
    tool: Tool, embedded_broker: EmbeddedBroker, flights: str, open_transaction: Producer
) -> None:
    first = TopicPartition(flights, 0)

    def stable_end() -> int:
        with Admin(embedded_broker.bootstrap) as admin:
            return admin.list_offsets({first: "latest"}, isolation_level="read_committed")[first].offset

    assert stable_end() == 0
    tool(TRANSACTIONS, "abort", "--topic", flights, "--partition", "0", "--start-offset", "0")
    assert stable_end() == 2
    tool(TRANSACTIONS, "forceTerminateTransaction", "--transactionalId", f"of {flights}")
    listed = tool(TRANSACTIONS, "list")
    assert [row[-1] for row in table(listed) if flights in row[0]] != ["Ongoing"]


def test_javas_producer_commits_what_javas_consumer_reads(tool: Tool, flights: str) -> None:
    tool(
        PRODUCER_PERFORMANCE,
        *("--topic", flights, "--num-records", "500", "--record-size", "20", "--throughput", "-1"),
        *("--transactional-id", f"java {flights}", "--transaction-duration-ms", "20"),
    )
    read = tool(
        CONSUME,
        *("--topic", flights, "--from-beginning", "--max-messages", "500", "--timeout-ms", "30000"),
        *("--isolation-level", "read_committed"),
    )
    assert len(read.split()) == 500


def test_features_are_told_lowered_and_raised(tool: Tool) -> None:
    def level() -> str:
        (line,) = [line for line in tool(FEATURES, "describe").splitlines() if "transaction.version" in line]
        return line.split("FinalizedVersionLevel:")[1].split()[0]

    assert level() == "2"
    tool(FEATURES, "downgrade", "--feature", "transaction.version=1")
    assert level() == "1"
    tool(FEATURES, "upgrade", "--feature", "transaction.version=2")
    assert level() == "2"
