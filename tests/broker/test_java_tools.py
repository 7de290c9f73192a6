"""Apache Kafka's own command-line tools, out of its published jars, against the embedded broker."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker, run_kafka_tool

Topic = Callable[[], str]

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
PRODUCE = "org.apache.kafka.tools.ConsoleProducer"
CONSUME = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRECTORIES = "org.apache.kafka.tools.LogDirsCommand"
DUMP = "org.apache.kafka.tools.DumpLogSegments"

Tool = Callable[..., str]


@pytest.fixture
def tool(embedded_broker: EmbeddedBroker) -> Tool:
    """Runs a tool against the broker; its output."""

    def run(class_name: str, *arguments: str, input: str | None = None) -> str:
        return checked(class_name, "--bootstrap-server", embedded_broker.bootstrap, *arguments, input=input)

    return run


def checked(class_name: str, *arguments: str, input: str | None = None) -> str:
    result = run_kafka_tool(class_name, *arguments, input=input, timeout=90)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def rows(output: str) -> list[list[str]]:
    """The lines of a tool's table, cut at white space."""
    return [line.split() for line in output.splitlines() if line.strip()]


def test_topics_are_created_described_extended_and_deleted(tool: Tool, topic: Topic) -> None:
    name = topic()
    tool(TOPICS, "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=5000")
    tool(TOPICS, "--alter", "--topic", name, "--partitions", "3")
    described = tool(TOPICS, "--describe", "--topic", name)
    assert "PartitionCount: 3" in described
    assert "Configs: min.insync.replicas=1,retention.ms=5000" in described
    assert described.count("Leader: 1") == 3
    assert name in tool(TOPICS, "--list").split()
    tool(TOPICS, "--delete", "--topic", name)
    assert name not in tool(TOPICS, "--list").split()


def test_a_second_replica_is_refused_with_a_reason(embedded_broker: EmbeddedBroker, topic: Topic) -> None:
    server = ("--bootstrap-server", embedded_broker.bootstrap)
    result = run_kafka_tool(TOPICS, *server, "--create", "--topic", topic(), "--replication-factor", "2")
    assert result.returncode != 0
    assert "only 1 broker(s) are registered" in result.stdout + result.stderr


def test_settings_are_changed_and_shown(tool: Tool, topic: Topic) -> None:
    name = topic()
    tool(TOPICS, "--create", "--topic", name)
    entity = ("--entity-type", "topics", "--entity-name", name)
    tool(
        CONFIGS, *entity, "--alter", "--add-config", "max.message.bytes=2000,cleanup.policy=[compact,delete]"
    )
    described = tool(CONFIGS, *entity, "--describe")
    assert "max.message.bytes=2000" in described
    assert "cleanup.policy=compact,delete" in described
    tool(CONFIGS, *entity, "--alter", "--delete-config", "max.message.bytes")
    assert "max.message.bytes" not in tool(CONFIGS, *entity, "--describe")
    broker = tool(CONFIGS, "--entity-type", "brokers", "--entity-name", "1", "--describe", "--all")
    assert "num.partitions=1" in broker


def test_the_console_consumer_prints_what_the_console_producer_sent(tool: Tool, topic: Topic) -> None:
    name = topic()
    lines = [f"key{index}:value {index}" for index in range(200)]
    reader = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    tool(PRODUCE, "--topic", name, *reader, input="\n".join(lines) + "\n")
    formatter = ("--formatter-property", "print.key=true", "--formatter-property", "key.separator=:")
    limits = ("--max-messages", "200", "--timeout-ms", "30000")
    output = tool(CONSUME, "--topic", name, "--from-beginning", "--group", name, *formatter, *limits)
    assert output.splitlines() == lines


def test_groups_are_listed_described_reset_and_deleted(tool: Tool, topic: Topic) -> None:
    name = topic()
    tool(TOPICS, "--create", "--topic", name)
    tool(PRODUCE, "--topic", name, input="".join(f"{index}\n" for index in range(10)))
    limits = ("--max-messages", "10", "--timeout-ms", "30000")
    tool(CONSUME, "--topic", name, "--from-beginning", "--group", name, *limits)
    states = {row[0]: row[1] for row in rows(tool(GROUPS, "--list", "--state"))}
    assert states[name] == "Empty"
    group = ("--group", name)
    described = rows(tool(GROUPS, "--describe", *group))
    assert [name, name, "0", "10", "10", "0"] in [row[:6] for row in described]
    tool(GROUPS, *group, "--topic", name, "--reset-offsets", "--to-offset", "4", "--execute")
    described = rows(tool(GROUPS, "--describe", *group))
    assert [name, name, "0", "4", "10", "6"] in [row[:6] for row in described]
    tool(GROUPS, *group, "--topic", name, "--delete-offsets")
    tool(GROUPS, "--delete", *group)
    assert name not in tool(GROUPS, "--list").split()


def test_offsets_are_listed_and_records_deleted(tool: Tool, topic: Topic, tmp_path: Path) -> None:
    name = topic()
    tool(TOPICS, "--create", "--topic", name)
    tool(PRODUCE, "--topic", name, input="".join(f"{index}\n" for index in range(10)))
    plan = {"partitions": [{"topic": name, "partition": 0, "offset": 3}], "version": 1}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    tool(DELETE_RECORDS, "--offset-json-file", str(tmp_path / "plan.json"))
    assert tool(OFFSETS, "--topic", name, "--time", "earliest").split() == [f"{name}:0:3"]
    assert tool(OFFSETS, "--topic", name, "--time", "latest").split() == [f"{name}:0:10"]


def test_the_performance_tools_move_records_both_ways(tool: Tool, topic: Topic) -> None:
    name = topic()
    tool(TOPICS, "--create", "--topic", name, "--partitions", "2")
    size = ("--num-records", "100000", "--record-size", "100", "--throughput", "-1")
    sent = tool(PRODUCER_PERFORMANCE, "--topic", name, *size)
    assert re.search(r"^100000 records sent", sent, re.MULTILINE)
    read = tool(CONSUMER_PERFORMANCE, "--topic", name, "--num-records", "100000", "--timeout", "60000")
    assert int(read.splitlines()[-1].split(",")[4]) >= 100_000


@pytest.mark.parametrize("acks", ["-1", "1", "0"])
def test_the_verifiable_producer_has_every_record_acknowledged(tool: Tool, topic: Topic, acks: str) -> None:
    name = topic()
    output = tool(VERIFIABLE_PRODUCER, "--topic", name, "--max-messages", "1000", "--acks", acks)
    (summary,) = [json.loads(line) for line in output.splitlines() if '"tool_data"' in line]
    assert (summary["sent"], summary["acked"]) == (1000, 1000)
    if acks != "0":
        assert tool(OFFSETS, "--topic", name).split() == [f"{name}:0:1000"]


def test_log_directories_are_described(tool: Tool, topic: Topic) -> None:
    name = topic()
    tool(TOPICS, "--create", "--topic", name)
    output = tool(LOG_DIRECTORIES, "--describe", "--topic-list", name)
    (line,) = [line for line in output.splitlines() if line.startswith("{")]
    (directory,) = json.loads(line)["brokers"][0]["logDirs"]
    assert [partition["partition"] for partition in directory["partitions"]] == [f"{name}-0"]


def test_kafka_reads_our_log_files_and_indexes(tmp_path: Path, topic: Topic) -> None:
    name = topic()
    with EmbeddedBroker(tmp_path, config={"log.segment.bytes": "100000"}) as broker:
        server = ("--bootstrap-server", broker.bootstrap)
        size = ("--num-records", "5000", "--record-size", "100", "--throughput", "-1")
        checked(PRODUCER_PERFORMANCE, *server, "--topic", name, *size)
        limits = ("--max-messages", "10", "--timeout-ms", "30000")
        checked(CONSUME, *server, "--topic", name, "--from-beginning", "--group", name, *limits)
        broker.stop()
    (directory,) = tmp_path.rglob(f"{name}-0")
    logs = sorted(directory.glob("*.log"))
    assert len(logs) > 3
    dumped = checked(DUMP, "--deep-iteration", "--files", ",".join(map(str, logs)))
    assert re.findall(r"\| offset: (\d+) ", dumped) == [str(offset) for offset in range(5000)]
    assert "isvalid: false" not in dumped
    indexes = [*sorted(directory.glob("*.index")), *sorted(directory.glob("*.timeindex"))]
    assert len(indexes) == 2 * len(logs)
    for index in indexes:
        checks = checked(DUMP, "--files", str(index), "--verify-index-only")
        assert "Mismatches" not in checks
        assert "out of order" not in checks
    (offsets,) = tmp_path.rglob("__consumer_offsets-0/00000000000000000000.log")
    decoded = checked(DUMP, "--offsets-decoder", "--files", str(offsets))
    assert f'"group":"{name}","topic":"{name}","partition":0' in decoded
