"""What a scan finds in sources: where, why, and what it says to write instead."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from barnabas.migrate.findings import Effect, Finding
from barnabas.migrate.scan import scan, scan_text
from barnabas.migrate.sources import files_under


def found(source: str, older: str = "1.2", newer: str = "3") -> list[Finding]:
    return scan_text(textwrap.dedent(source), "app.py", older, newer)


def shown(source: str, older: str = "1.2", newer: str = "3") -> list[str]:
    """What breaks: line, name and with what."""
    return [
        f"{each.line} {each.what} {each.with_}"
        for each in found(source, older, newer)
        if each.effect is Effect.BREAKS
    ]


@pytest.mark.parametrize(
    "source",
    [
        "from kafka import SimpleConsumer",
        "from kafka import SimpleConsumer as Reader",
        "from kafka.consumer import SimpleConsumer",
        "import kafka; kafka.SimpleConsumer",
        "import kafka as k; k.consumer.SimpleConsumer",
        "from barnabas.compat import kafka; kafka.SimpleConsumer",
    ],
)
def test_a_name_that_is_gone_is_found_however_it_is_reached(source: str) -> None:
    [finding] = found(source)
    assert finding.with_ == "kafka-python 2"
    assert finding.what.endswith("SimpleConsumer")
    assert "KafkaConsumer(topic" in finding.instead


def test_each_name_of_a_module_that_is_gone_has_its_new_home() -> None:
    homes = {
        each.what: each.instead
        for each in found(
            "from kafka.common import KafkaError, TopicPartition, OffsetAndMetadata, ConnectionError"
        )
    }
    assert homes == {
        "kafka.common.KafkaError": "kafka.errors.KafkaError",
        "kafka.common.TopicPartition": "kafka.structs.TopicPartition",
        "kafka.common.OffsetAndMetadata": "kafka.structs.OffsetAndMetadata",
        "kafka.common.ConnectionError": "kafka.errors.KafkaConnectionError",
    }


def test_a_module_that_is_gone_later_breaks_with_that_generation_only() -> None:
    assert shown("import kafka.conn") == ["1 kafka.conn kafka-python 3"]
    assert shown("import kafka.conn", "1.2", "2") == []
    assert shown("from kafka import conn", "2", "3") == ["1 kafka.conn kafka-python 3"]


def test_an_exception_that_is_renamed_is_named_as_it_is_now() -> None:
    [finding] = found("from kafka.errors import NoBrokersAvailable", "2")
    assert finding.instead == "kafka.errors.KafkaTimeoutError"


def test_an_import_that_is_tried_does_not_break_the_program() -> None:
    [finding] = found(
        """
        try:
            from kafka import SimpleClient
        except ImportError:
            SimpleClient = None
        """
    )
    assert finding.effect is Effect.CHANGES
    assert "goes on" in finding.reason


def test_kafka_client_is_another_class_in_2_and_gone_in_3() -> None:
    source = "from kafka import KafkaClient"
    assert shown(source, "1.2", "2") == ["1 kafka.KafkaClient kafka-python 2"]
    assert shown(source, "2", "3") == ["1 kafka.KafkaClient kafka-python 3"]
    assert shown(source, "2", "2") == []


@pytest.mark.parametrize(
    "source",
    [
        "consumer = KafkaConsumer(); consumer.fetch_messages()",
        "KafkaConsumer().fetch_messages()",
        "def read(consumer: KafkaConsumer): consumer.fetch_messages()",
        "def read(consumer: 'KafkaConsumer | None'): consumer.fetch_messages()",
        "def make(): return KafkaConsumer()\nmake().fetch_messages()",
        "def make() -> KafkaConsumer: ...\nmake().fetch_messages()",
        "class Mine(KafkaConsumer): pass\nMine().fetch_messages()",
        "class Mine(KafkaConsumer):\n  def read(self): self.fetch_messages()",
        "class A:\n  def __init__(self): self.c = KafkaConsumer()\n  def run(self): self.c.fetch_messages()",
        "class A:\n  c: KafkaConsumer\n  def run(self):\n    c = self.c or None\n    c.fetch_messages()",
        "a = b = KafkaConsumer()\nif (c := b): c.fetch_messages()",
        "first, second = 1, 2\nx = KafkaConsumer() if first else None\nx.fetch_messages()",
        "from contextlib import closing\nread = KafkaConsumer().fetch_messages",
    ],
)
def test_an_object_is_followed_to_where_its_method_is_called(source: str) -> None:
    whats = [
        each.what
        for each in found(f"from kafka import KafkaConsumer\n{source}")
        if each.effect is Effect.BREAKS
    ]
    assert whats == ["KafkaConsumer.fetch_messages"]


def test_what_is_of_another_package_is_nobodys_business() -> None:
    assert found("import kafka\nclass Mine:\n  def poll(self): ...\nMine().fetch_messages()") == []
    assert found("from mykafka import SimpleConsumer") == []
    assert found("from .kafka import SimpleConsumer") == []


def test_an_argument_by_position_that_means_another_one_is_named() -> None:
    source = """
    from kafka import KafkaProducer
    KafkaProducer(acks=1, retries=0, connections_max_idle_ms=1).send("topic", b"value", b"key", 3)
    """
    [finding] = found(source)
    assert (finding.reason, finding.instead) == (
        "argument 4 of send was partition and is headers",
        "partition=...",
    )


def test_a_tuple_that_needs_more_fields_breaks_where_it_is_made() -> None:
    source = "from kafka.structs import OffsetAndMetadata\nOffsetAndMetadata(3, '')"
    [finding] = found(source, "1.2", "2")
    assert finding.instead == "leader_epoch=-1"
    assert found(source, "1.2", "3") == []


def test_a_setting_that_is_refused_is_told_of_with_the_exception() -> None:
    source = "from kafka import KafkaProducer\nKafkaProducer(buffer_memory=1)"
    [breaking] = [each for each in found(source) if each.effect is Effect.BREAKS]
    assert breaking.reason == "KafkaProducer refuses buffer_memory with ValueError"
    assert breaking.with_ == "kafka-python 3"
    told = [each.reason for each in found(source, "1.2", "2")]
    assert "buffer_memory does nothing, and is a DeprecationWarning" in told


@pytest.mark.parametrize(
    "source",
    [
        "KafkaProducer(buffer_memory=1)",
        "KafkaProducer(**{'buffer_memory': 1})",
        "config = {'buffer_memory': 1}\nKafkaProducer(**config)",
        "config = dict(buffer_memory=1)\nKafkaProducer(**config)",
        "config = {}\nconfig['buffer_memory'] = 1\nKafkaProducer(**config)",
        "one = {'buffer_memory': 1}\nKafkaProducer(**{**one, 'acks': 1})",
        "one = {'buffer_memory': 1}\nKafkaProducer(**(one | {'acks': 1}))",
    ],
)
def test_settings_are_found_in_dictionaries(source: str) -> None:
    reasons = [each.reason for each in found(f"from kafka import KafkaProducer\n{source}")]
    assert "KafkaProducer refuses buffer_memory with ValueError" in reasons


def test_timeouts_that_a_newer_consumer_refuses_together_are_told_of() -> None:
    source = "from kafka import KafkaConsumer\nKafkaConsumer(request_timeout_ms=9000, group_id='g')"
    [breaking] = [each for each in found(source, "1.2", "2") if each.effect is Effect.BREAKS]
    assert "session_timeout_ms that is not below request_timeout_ms" in breaking.reason
    assert shown(source, "1.2", "3") == []
    assert shown(source.replace("9000", "11000"), "1.2", "2") == []
    assert shown(source.replace("'g'", "None"), "1.2", "2") == []
    assert shown(source.replace("9000", "unknown"), "1.2", "2") == []


def test_requests_by_version_break_where_they_are_no_lists_any_more() -> None:
    source = "from kafka.protocol.metadata import MetadataRequest\nMetadataRequest[1]([])"
    [finding] = found(source, "2", "3")
    assert finding.instead == "MetadataRequest(version=1, ...)"
    assert found(source, "1.2", "2") == []


@pytest.mark.parametrize(
    ("source", "newer"),
    [
        ("from kafka import KafkaConsumer as C\nif C().partitions_for_topic('t') is None: pass", "2"),
        ("from kafka import KafkaConsumer\nKafkaConsumer(value_deserializer=str)", "3"),
        ("from kafka import KafkaProducer\nKafkaProducer(key_serializer=str)", "3"),
    ],
)
def test_what_goes_on_otherwise_is_a_change(source: str, newer: str) -> None:
    findings = [each for each in found(source, newer=newer) if "defaults" not in each.reason]
    assert [(each.effect, each.with_) for each in findings] == [(Effect.CHANGES, f"kafka-python {newer}")]


def test_defaults_that_change_are_told_of_unless_they_are_given() -> None:
    [finding] = found("from kafka import KafkaProducer\nKafkaProducer(retries=5)", "2", "3")
    assert finding.effect is Effect.CHANGES
    assert "acks was 1 and is -1" in finding.reason
    assert "enable_idempotence was False and is True" in finding.reason
    assert "retries" not in finding.reason
    [finding] = found("from kafka import KafkaProducer\nKafkaProducer(**unknown)", "2", "3")
    assert "where ** does not give them" in finding.reason
    given = "from kafka import KafkaProducer\nKafkaProducer(acks='all', enable_idempotence=True)"
    assert found(given, "2", "3") == []


@pytest.mark.parametrize(
    "source",
    [
        "topic, *rest = next(consumer)",
        "for topic, *rest in consumer: pass",
        "for message in consumer: topic, *rest = message",
        "for message in consumer: message[6]",
        "for partition, records in consumer.poll().items():\n  for record in records: record[6]",
        "for records in consumer.poll().values():\n  [a for a, b in records]",
    ],
)
def test_a_record_that_is_taken_apart_by_position_breaks_with_its_fields(source: str) -> None:
    source = f"import kafka\nconsumer = kafka.KafkaConsumer()\n{source}"
    assert [line.split(maxsplit=1)[1] for line in shown(source)] == ["ConsumerRecord kafka-python 2"]


def test_answers_of_the_admin_client_matter_only_where_they_are_used() -> None:
    source = "from kafka import KafkaAdminClient\nadmin = KafkaAdminClient()\n"
    assert shown(source + "admin.create_topics([])", "2", "3") == []
    assert shown(source + "answer = admin.create_topics([])", "2", "3") == [
        "3 KafkaAdminClient.create_topics kafka-python 3"
    ]


def test_a_method_that_overrides_with_other_arguments_is_found() -> None:
    source = """
    from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
    from kafka.serializer import Serializer
    class Mine(AbstractPartitionAssignor):
        def on_assignment(self, assignment): ...
    class Text(Serializer):
        def serialize(self, topic, value): ...
    """
    kinds = {each.what: (each.effect, each.instead) for each in found(source, "2", "3")}
    assert kinds == {
        "AbstractPartitionAssignor.on_assignment": (
            Effect.BREAKS,
            "def on_assignment(self, assignment, generation)",
        ),
        "Serializer.serialize": (Effect.CHANGES, "def serialize(self, topic, headers, data)"),
    }


@pytest.mark.parametrize("version", ["(0, 10)", "(0, 9)", "'0.10.1'", "(0, 8, 2)"])
def test_a_version_of_brokers_that_kafka_4_does_not_serve_breaks(version: str) -> None:
    source = f"from kafka import KafkaConsumer\nKafkaConsumer(api_version={version})"
    assert shown(source, "3", "3") == ["2 KafkaConsumer Kafka 4"]


@pytest.mark.parametrize("version", ["(0, 11)", "(2, 8)", "None", "unknown", "'2.6'"])
def test_any_other_version_of_brokers_is_right(version: str) -> None:
    assert found(f"from kafka import KafkaConsumer\nKafkaConsumer(api_version={version})", "3", "3") == []


def test_a_program_that_stays_with_1_2_is_told_that_kafka_4_has_no_answers_for_it() -> None:
    assert shown("from kafka import KafkaConsumer\nKafkaConsumer()", "1.2", "1.2") == [
        "2 KafkaConsumer Kafka 4"
    ]


def test_settings_of_topics_that_kafka_4_refuses_are_found() -> None:
    source = (
        "from kafka.admin import NewTopic\nNewTopic('t', topic_configs={'message.format.version': '2.0'})"
    )
    assert shown(source, "3", "3") == ["2 message.format.version Kafka 4"]
    assert found("settings = {'message.format.version': '2.0'}", "3", "3") == []


def test_pykafka_and_its_zookeeper_are_told_of() -> None:
    source = """
    from pykafka import KafkaClient
    client = KafkaClient(hosts="a:1", zookeeper_hosts="z:1")
    topic = client.topics[b"topic"]
    one = topic.get_balanced_consumer(b"group")
    two = topic.get_balanced_consumer(b"group", managed=True)
    three = topic.get_balanced_consumer(b"group", True)
    """
    assert shown(source) == [
        "3 KafkaClient Kafka 4",
        "3 KafkaClient(zookeeper_hosts=) Kafka 4",
        "5 Topic.get_balanced_consumer Kafka 4",
    ]


def test_properties_of_librdkafka_that_keep_it_from_kafka_4_are_told_of() -> None:
    source = """
    from confluent_kafka import Producer, Consumer
    Producer({"api.version.request": "false", "broker.version.fallback": "0.9.0"})
    Producer({"api.version.request": "false", "broker.version.fallback": "0.11.0"})
    Producer({"broker.version.fallback": "0.9.0"})
    """
    assert shown(source) == ["3 Producer(broker.version.fallback=) Kafka 4"]


def test_streams_of_data_fabric_are_no_topics_of_kafka() -> None:
    source = """
    from mapr_streams_python import Consumer
    consumer = Consumer({"group.id": "g"})
    consumer.subscribe(["/path/to/stream:topic"])
    """
    assert shown(source) == ["3 Consumer Kafka", "4 '/path/to/stream:topic' Kafka"]


def test_sources_for_pythons_in_which_async_was_a_name_are_read() -> None:
    source = """
    from kafka import SimpleProducer, SimpleClient
    producer = SimpleProducer(SimpleClient("a:1"), async=True)
    producer.async = False
    """
    assert [line.split()[1] for line in shown(source)] == ["kafka.SimpleClient", "kafka.SimpleProducer"]


def test_what_python_cannot_read_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("import kafka\nprint 'no'\n")
    (tmp_path / "zero.py").write_bytes(b"import kafka\0")
    (tmp_path / "code.py").write_bytes(b"# coding: utf-9\nimport kafka\n")
    assert [each.effect for each in scan([tmp_path], "1.2", "3")] == [Effect.UNREAD] * 3


def test_code_that_resolves_in_circles_ends() -> None:
    source = """
    import kafka
    def a(): return b()
    def b(): return a()
    x = y
    y = x
    class One(Two): pass
    class Two(One): pass
    x.poll(); a().poll(); One().poll()
    """
    assert found(source) == []


def test_folders_of_installed_packages_are_not_looked_into(tmp_path: Path) -> None:
    for folder in ("src", ".hidden", "env", "node_modules", "__pycache__"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "app.py").write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    assert [str(file.relative_to(tmp_path)) for file in files_under(tmp_path)] == ["src/app.py"]
