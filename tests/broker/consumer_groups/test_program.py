"""Groups of the consumer protocol through restarts, and with the clients of others."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.broker_errors import GroupSubscribedToTopicError
from barnabas.testing import EmbeddedBroker, run_kafka_tool

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSUME = "org.apache.kafka.tools.consumer.ConsoleConsumer"
Topic = Callable[[], str]


@pytest.mark.parametrize("end", ["restart", "kill"])
def test_members_and_their_partitions_outlive_the_broker(end: str) -> None:
    with EmbeddedBroker() as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic("t", 4)])
        with (
            Producer(broker.bootstrap) as producer,
            Consumer(
                broker.bootstrap,
                topics=["t"],
                group_id="g",
                group_protocol="consumer",
                auto_offset_reset="earliest",
            ) as consumer,
        ):
            producer.send("t", b"before").result(60)
            assert [record.value for record in consumer.poll(60)] == [b"before"]
            before = consumer.group_metadata()
            if end == "kill":
                broker.kill()
                broker.start()
            else:
                broker.restart()
            producer.send("t", b"after").result(60)
            patience = Patience()
            found: list[bytes | None] = []
            while not found:
                patience.check()
                found += [record.value for record in consumer.poll(1)]
            assert found == [b"after"]
            consumer.commit()
            after = consumer.group_metadata()
            assert (after.member_id, after.generation) == (before.member_id, before.generation)


def test_librdkafka_and_javas_clients_share_a_group_with_ours(
    embedded_broker: EmbeddedBroker, topic: Topic
) -> None:
    name, group = topic(), f"group-{uuid.uuid4().hex[:8]}"
    with Admin(embedded_broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 6)])
        settings: Any = {"topics": [name], "group_id": group, "group_protocol": "consumer"}
        other = confluent_kafka.Consumer(
            {
                "bootstrap.servers": embedded_broker.bootstrap,
                "group.id": group,
                "group.protocol": "consumer",
                "group.remote.assignor": "range",
            }
        )
        other.subscribe([name])
        with Consumer(embedded_broker.bootstrap, **settings) as ours:
            patience = Patience()
            while not (len(ours.assignment()) == len(other.assignment()) == 3):
                patience.check()
                ours.poll(0.1)
                other.poll(0.1)
            described = run_kafka_tool(
                *(GROUPS, "--bootstrap-server", embedded_broker.bootstrap, "--group", group),
                *("--describe", "--members", "--verbose"),
                timeout=90,
            )
            assert described.returncode == 0, described.stderr
            assert described.stdout.count(group) == 2
            assert admin.describe_groups([group])[group].state == "Stable"
            with pytest.raises(GroupSubscribedToTopicError):
                admin.delete_group_offsets(group, [TopicPartition(name, 0)])
            with Consumer(embedded_broker.bootstrap, topics=[name], group_id=group) as classic:
                members = (ours, other, classic)
                while [len(member.assignment()) for member in members] != [2, 2, 2]:
                    patience.check()
                    for member in members:
                        member.poll(0.1)
        other.close()


def test_javas_console_consumer_reads_in_a_group_of_the_protocol(
    embedded_broker: EmbeddedBroker, topic: Topic
) -> None:
    name = topic()
    with Producer(embedded_broker.bootstrap) as producer:
        for number in range(20):
            producer.send(name, b"%d" % number)
    result = run_kafka_tool(
        *(
            CONSUME,
            "--bootstrap-server",
            embedded_broker.bootstrap,
            "--topic",
            name,
            "--group",
            f"java-{name}",
        ),
        *("--from-beginning", "--max-messages", "20", "--command-property", "group.protocol=consumer"),
        timeout=90,
    )
    assert result.returncode == 0, result.stderr
    assert sorted(map(int, result.stdout.split())) == list(range(20))
