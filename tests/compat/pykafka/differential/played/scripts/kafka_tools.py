"""kafka-tools: what each command prints, and how it ends."""

from __future__ import annotations

from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka, script

COMMANDS = (
    "consume_topic",
    "desc_topic",
    "print_managed_consumer_groups",
    "print_consumer_lag",
    "print_offsets",
    "print_topics",
    "reset_offsets",
    "create_topic",
    "delete_topic",
)
FAR_AWAY = "2100-01-01T00:00:00"
LONG_AGO = "1971-01-01T00:00:00"


def tool(stage: Any, label: str, *arguments: str, version: str = "0.9.0") -> None:
    stage.tool(label, "-b", stage.bootstrap, "-o", version, *arguments)


@script()
def kafka_tools_without_a_command_prints_its_help(pykafka: Any, stage: Any) -> None:
    stage.tool("nothing")
    stage.tool("help", "--help")


@script()
def kafka_tools_tells_of_each_command(pykafka: Any, stage: Any) -> None:
    for command in COMMANDS:
        stage.tool(command, command, "--help")


@script()
def kafka_tools_complains_of_arguments_that_are_missing(pykafka: Any, stage: Any) -> None:
    for command in COMMANDS:
        stage.tool(command, command)


@script()
def kafka_tools_complains_of_arguments_that_are_wrong(pykafka: Any, stage: Any) -> None:
    stage.tool("no such command", "list_topics")
    stage.tool("no number", "consume_topic", "topic", "--limit", "many")
    stage.tool("no number of ms", "create_topic", "topic", "--timeout", "soon")
    stage.tool("one too many", "print_topics", "topic")
    stage.tool("no such file", "consume_topic", "topic", "-o", "/no/such/folder/file")


@script()
def kafka_tools_raises_what_a_client_does_without_brokers(pykafka: Any, stage: Any) -> None:
    stage.tool("topics", "-b", stage.bootstrap, "print_topics")


@script()
def kafka_tools_has_functions_for_programs(pykafka: Any, stage: Any) -> None:
    module = stage.module("cli.kafka_tools")
    names = (*COMMANDS, "fetch_offsets", "fetch_consumer_lag", "main")
    stage.record("callable", [name for name in names if callable(getattr(module, name, None))])


@on_kafka()
def desc_topic_prints_partitions(pykafka: Any, stage: Any) -> None:
    tool(stage, "three", "desc_topic", stage.topic(partitions=3))


@on_kafka()
def desc_topic_prints_them_for_newer_brokers_too(pykafka: Any, stage: Any) -> None:
    tool(stage, "one", "desc_topic", stage.topic(), version="2.0.0")


@on_kafka()
def kafka_tools_makes_no_topic_by_asking(pykafka: Any, stage: Any) -> None:
    topic, group = stage.name("topic"), stage.group()
    tool(stage, "describe", "desc_topic", topic)
    tool(stage, "consume", "consume_topic", topic)
    tool(stage, "groups", "print_managed_consumer_groups", topic)
    tool(stage, "lag", "print_consumer_lag", topic, group)
    tool(stage, "offsets", "print_offsets", topic, "latest")
    tool(stage, "reset", "reset_offsets", topic, group, "latest")
    stage.record("made", topic.encode() in stage.client().topics)


@on_kafka()
def print_offsets_prints_the_ends_of_partitions(pykafka: Any, stage: Any) -> None:
    topic = stage.topic(partitions=2)
    stage.fill(topic, b"a", b"b", b"c", partition=0)
    stage.fill(topic, b"d", partition=1)
    for offset in ("latest", "LATEST", "earliest", "EARLIEST"):
        tool(stage, offset, "print_offsets", topic, offset)


@on_kafka()
def print_offsets_prints_where_a_topic_begins_now(pykafka: Any, stage: Any) -> None:
    topic = stage.filled_topic(b"a", b"b", b"c")
    stage.ask("delete_records", topic, 0, 2)
    tool(stage, "earliest", "print_offsets", topic, "earliest")


@on_kafka()
def print_offsets_takes_a_time(pykafka: Any, stage: Any) -> None:
    topic = stage.filled_topic(b"a", b"b")
    tool(stage, "far away", "print_offsets", topic, FAR_AWAY)
    tool(stage, "not a time", "print_offsets", topic, "yesterday")
    tool(stage, "half a time", "print_offsets", topic, "2020-01-01")


@on_kafka()
def print_consumer_lag_prints_what_a_group_has_not_read(pykafka: Any, stage: Any) -> None:
    topic, group = stage.topic(partitions=2), stage.group()
    stage.fill(topic, *[b"x"] * 1500, partition=0)
    stage.fill(topic, b"y", b"z", partition=1)
    stage.ask("commit", group, topic, 0, 100)
    stage.ask("commit", group, topic, 1, 2)
    tool(stage, "lag", "print_consumer_lag", topic, group)


@on_kafka()
def print_consumer_lag_of_a_group_that_never_committed(pykafka: Any, stage: Any) -> None:
    tool(stage, "lag", "print_consumer_lag", stage.filled_topic(b"a", b"b"), stage.group())


@on_kafka()
def reset_offsets_commits_for_a_group(pykafka: Any, stage: Any) -> None:
    topic, group = stage.filled_topic(b"a", b"b", b"c"), stage.group()
    for offset in ("latest", "earliest", "LATEST"):
        tool(stage, offset, "reset_offsets", topic, group, offset)
        stage.record("committed", stage.ask("committed", group, topic, 0))
        tool(stage, "lag", "print_consumer_lag", topic, group)
    tool(stage, "not a time", "reset_offsets", topic, group, "soon")
    stage.record("still", stage.ask("committed", group, topic, 0))


@on_kafka()
def print_topics_has_a_line_for_each_topic(pykafka: Any, stage: Any) -> None:
    topic = stage.topic(partitions=2)
    module = stage.module("cli.kafka_tools")
    client = stage.client()
    for name in list(client.topics):
        if name != topic.encode():
            dict.pop(client.topics, name)
    stage.attempt("printed", module.print_topics, client, None)
    tool(stage, "unknown option", "print_topics", "--all")


@on_kafka()
def create_topic_makes_a_topic(pykafka: Any, stage: Any) -> None:
    topic = stage.name("topic")
    tool(stage, "made", "create_topic", topic, "-p", "3", version="0.10.1")
    tool(stage, "again", "create_topic", topic, version="0.10.1")
    tool(stage, "described", "desc_topic", topic)


@on_kafka()
def create_topic_refuses_what_brokers_do(pykafka: Any, stage: Any) -> None:
    tool(stage, "no partitions", "create_topic", stage.name("topic"), "-p", "0", version="0.10.1")
    tool(stage, "too many replicas", "create_topic", stage.name("topic"), "-r", "7", version="0.10.1")
    tool(stage, "a bad name", "create_topic", "not/a/topic", version="0.10.1")


@on_kafka()
def topics_are_neither_made_nor_deleted_for_old_brokers(pykafka: Any, stage: Any) -> None:
    topic = stage.topic()
    tool(stage, "made", "create_topic", stage.name("topic"))
    tool(stage, "deleted", "delete_topic", topic)
    tool(stage, "still there", "desc_topic", topic)


@on_kafka()
def delete_topic_deletes_a_topic(pykafka: Any, stage: Any) -> None:
    topic = stage.topic()
    tool(stage, "deleted", "delete_topic", topic, version="0.10.1")
    stage.until(lambda: topic.encode() not in stage.client().topics)
    tool(stage, "described", "desc_topic", topic)
    tool(stage, "again", "delete_topic", stage.name("topic"), version="0.10.1")


@on_kafka()
def print_managed_consumer_groups_without_any(pykafka: Any, stage: Any) -> None:
    tool(stage, "groups", "print_managed_consumer_groups", stage.topic())


@on_kafka()
def print_managed_consumer_groups_prints_those_that_read_the_topic(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a"), stage.group()
    topic = stage.topic_of(name)
    stage.stopping(topic.get_balanced_consumer(group.encode(), managed=True, consumer_timeout_ms=1000))
    tool(stage, "groups", "print_managed_consumer_groups", name)


@on_kafka()
def consume_topic_prints_messages(pykafka: Any, stage: Any) -> None:
    topic = stage.topic()
    module = stage.module("cli.kafka_tools")
    consumed = stage.client()
    known = consumed.topics[topic.encode()]
    begun: list[Any] = []

    class Filling:
        """The topic, which gets its messages once a consumer stands at its end."""

        def get_simple_consumer(self, *args: Any, **kwargs: Any) -> Any:
            begun.append((args, kwargs["reset_offset_on_start"]))
            consumer = stage.stopping(known.get_simple_consumer(*args, **kwargs))
            stage.fill(topic, b"a", b"", "ü".encode(), b"\xff!", b"e", b"not any more")
            return consumer

    class Client:
        def __init__(self) -> None:
            self.topics = {topic.encode(): Filling()}

    lines: list[str] = []

    class Lines:
        def write(self, text: str) -> None:
            lines.append(text)

        def close(self) -> None:
            lines.append("closed")

    class Arguments:
        def __init__(self) -> None:
            self.topic, self.limit, self.outfile = topic.encode(), 4, Lines()

    stage.attempt("consumed", module.consume_topic, Client(), Arguments())
    stage.record("begun", begun)
    stage.record("lines", lines)
