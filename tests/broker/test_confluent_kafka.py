"""librdkafka, through confluent-kafka, against the embedded broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)
from tests.waiting import Patience

from barnabas.testing import EmbeddedBroker

Topic = Callable[[], str]
DEADLINE_SECONDS = 60.0


def quiet(_: object) -> None:
    """Takes the errors that librdkafka would print; tests look at results."""


def client(bootstrap: str, **settings: Any) -> dict[str, Any]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return {"bootstrap.servers": bootstrap, "error_cb": quiet, **named}


def make_topic(bootstrap: str, name: str, partitions: int = 1, **config: str) -> AdminClient:
    admin = AdminClient(client(bootstrap))
    configs = {key.replace("_", "."): value for key, value in config.items()}
    for future in admin.create_topics([NewTopic(name, partitions, 1, config=configs)]).values():
        future.result(DEADLINE_SECONDS)
    return admin


def produce(bootstrap: str, topic: str, count: int, **settings: Any) -> list[Message]:
    producer = Producer(client(bootstrap, **settings))
    delivered: list[Message] = []

    def on_delivery(error: object, message: Message) -> None:
        assert error is None, error
        delivered.append(message)

    for index in range(count):
        producer.produce(topic, key=f"{index}", value=f"value {index}", on_delivery=on_delivery)
        producer.poll(0)
    assert producer.flush(DEADLINE_SECONDS) == 0
    return delivered


def consume(consumer: Consumer, count: int) -> list[Message]:
    found: list[Message] = []
    patience = Patience(DEADLINE_SECONDS)
    while len(found) < count:
        patience.check(f"{len(found)} of {count} came")
        for message in consumer.consume(count - len(found), 0.5):
            assert message.error() is None, message.error()
            found.append(message)
    return found


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("idempotence", [True, False])
def test_records_come_back_as_they_were_sent(
    embedded_broker: EmbeddedBroker, topic: Topic, compression: str, idempotence: bool
) -> None:
    name = topic()
    make_topic(embedded_broker.bootstrap, name, 3)
    delivered = produce(
        embedded_broker.bootstrap, name, 3000, compression_type=compression, enable_idempotence=idempotence
    )
    consumer = Consumer(client(embedded_broker.bootstrap, group_id=name, auto_offset_reset="earliest"))
    consumer.subscribe([name])
    found = consume(consumer, 3000)
    consumer.close()

    def place(message: Message) -> tuple[Any, ...]:
        return message.partition(), message.offset(), message.key(), message.value(), message.timestamp()

    assert sorted(map(place, found)) == sorted(map(place, delivered))


def test_a_group_goes_on_where_it_committed(embedded_broker: EmbeddedBroker, topic: Topic) -> None:
    name = topic()
    make_topic(embedded_broker.bootstrap, name)
    produce(embedded_broker.bootstrap, name, 100)
    settings = client(
        embedded_broker.bootstrap, group_id=name, auto_offset_reset="earliest", enable_auto_commit=False
    )
    first = Consumer(settings)
    first.subscribe([name])
    consume(first, 40)
    first.commit(offsets=[TopicPartition(name, 0, 40, "note")], asynchronous=False)
    first.close()
    second = Consumer(settings)
    (committed,) = second.committed([TopicPartition(name, 0)], timeout=60)
    assert (committed.offset, committed.metadata) == (40, "note")
    second.subscribe([name])
    assert [message.offset() for message in consume(second, 60)] == list(range(40, 100))
    second.close()


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_share_the_partitions_and_take_over_from_one_that_leaves(
    embedded_broker: EmbeddedBroker, topic: Topic, strategy: str
) -> None:
    name = topic()
    make_topic(embedded_broker.bootstrap, name, 6)
    settings = client(
        embedded_broker.bootstrap,
        group_id=name,
        partition_assignment_strategy=strategy,
        session_timeout_ms=6000,
    )
    members = [Consumer(settings) for _ in range(3)]
    for member in members:
        member.subscribe([name])

    def poll_until(expected: list[int], consumers: list[Consumer]) -> None:
        patience = Patience(DEADLINE_SECONDS)
        while True:
            for consumer in consumers:
                consumer.poll(0.05)
            owned = [{part.partition for part in consumer.assignment()} for consumer in consumers]
            together = sorted(index for each in owned for index in each)
            if [len(each) for each in owned] == expected and together == list(range(6)):
                return
            patience.check(owned)

    poll_until([2, 2, 2], members)
    members.pop().close()
    poll_until([3, 3], members)
    for member in members:
        member.close()


def test_a_static_member_keeps_its_partitions_over_a_restart(
    embedded_broker: EmbeddedBroker, topic: Topic
) -> None:
    name = topic()
    make_topic(embedded_broker.bootstrap, name, 4)
    revoked: list[object] = []

    def member(instance: str) -> Consumer:
        consumer = Consumer(
            client(
                embedded_broker.bootstrap, group_id=name, group_instance_id=instance, session_timeout_ms=20000
            )
        )
        consumer.subscribe([name], on_revoke=lambda _, partitions: revoked.append(partitions))
        return consumer

    def owned(consumer: Consumer) -> set[int]:
        return {part.partition for part in consumer.assignment()}

    stays, restarts = member("stays"), member("restarts")
    patience = Patience(DEADLINE_SECONDS)
    while not (len(owned(stays)) == len(owned(restarts)) == 2):
        stays.poll(0.05)
        restarts.poll(0.05)
        patience.check()
    before, revoked[:] = owned(restarts), []
    restarts.close()
    revoked.clear()
    again = member("restarts")
    while owned(again) != before:
        stays.poll(0.05)
        again.poll(0.05)
        patience.check()
    assert len(owned(stays)) == 2
    assert revoked == []
    again.close()
    stays.close()


def test_administration_works(embedded_broker: EmbeddedBroker, topic: Topic) -> None:
    name = topic()
    bootstrap = embedded_broker.bootstrap
    admin = make_topic(bootstrap, name, 2, retention_ms="5000")
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    config = admin.describe_configs([resource])[resource].result(DEADLINE_SECONDS)
    assert config["retention.ms"].value == "5000"
    assert config["cleanup.policy"].value == "delete"
    change = ConfigResource(
        ConfigResource.Type.TOPIC,
        name,
        incremental_configs=[
            ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND)
        ],
    )
    admin.incremental_alter_configs([change])[change].result(DEADLINE_SECONDS)
    config = admin.describe_configs([resource])[resource].result(DEADLINE_SECONDS)
    assert config["cleanup.policy"].value == "delete,compact"
    admin.create_partitions([NewPartitions(name, 4)])[name].result(DEADLINE_SECONDS)
    assert len(admin.list_topics(name, timeout=60).topics[name].partitions) == 4
    produce(bootstrap, name, 100)
    ends = {TopicPartition(name, index): OffsetSpec.latest() for index in range(4)}
    offsets = {part: future.result().offset for part, future in admin.list_offsets(ends).items()}
    assert sum(offsets.values()) == 100
    trimmed = TopicPartition(name, 0, 1)
    deleted = admin.delete_records([trimmed])[trimmed].result(DEADLINE_SECONDS)
    assert deleted.low_watermark == 1
    admin.delete_topics([name])[name].result(DEADLINE_SECONDS)
    assert name not in admin.list_topics(timeout=60).topics


def test_groups_can_be_described_and_deleted(embedded_broker: EmbeddedBroker, topic: Topic) -> None:
    name = topic()
    admin = make_topic(embedded_broker.bootstrap, name, 2)
    produce(embedded_broker.bootstrap, name, 10)
    consumer = Consumer(client(embedded_broker.bootstrap, group_id=name, auto_offset_reset="earliest"))
    consumer.subscribe([name])
    consume(consumer, 10)
    described = admin.describe_consumer_groups([name])[name].result(DEADLINE_SECONDS)
    assert described.state.name == "STABLE"
    assert {part.partition for part in described.members[0].assignment.topic_partitions} == {0, 1}
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([name])[name].result(DEADLINE_SECONDS)
    consumer.close()
    assert name in {group.group_id for group in admin.list_consumer_groups().result(DEADLINE_SECONDS).valid}
    admin.delete_consumer_groups([name])[name].result(DEADLINE_SECONDS)
    assert name not in {
        group.group_id for group in admin.list_consumer_groups().result(DEADLINE_SECONDS).valid
    }


def test_bad_topics_and_settings_are_refused_with_a_reason(
    embedded_broker: EmbeddedBroker, topic: Topic
) -> None:
    admin = AdminClient(client(embedded_broker.bootstrap))

    def refusal(new: NewTopic) -> str:
        with pytest.raises(KafkaException) as caught:
            admin.create_topics([new])[new.topic].result(DEADLINE_SECONDS)
        return f"{caught.value.args[0].name()}: {caught.value.args[0].str()}"

    assert "INVALID_REPLICATION_FACTOR" in (text := refusal(NewTopic(topic(), 1, 3)))
    assert "only 1 broker(s) are registered" in text
    assert "INVALID_CONFIG" in (text := refusal(NewTopic(topic(), 1, 1, config={"retention": "1"})))
    assert "did you mean retention.ms?" in text
    assert "INVALID_PARTITIONS" in refusal(NewTopic(topic(), 0, 1))
    assert "TOPIC_EXCEPTION" in refusal(NewTopic("no/slash", 1, 1))


@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_shows_once_it_is_committed_with_the_offsets_of_its_input(
    embedded_broker: EmbeddedBroker, topic: Topic, commits: bool
) -> None:
    bootstrap, source, target, group = embedded_broker.bootstrap, topic(), topic(), topic()
    make_topic(bootstrap, source)
    make_topic(bootstrap, target)
    produce(bootstrap, source, 3)
    reader = Consumer(
        client(bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)
    )
    reader.subscribe([source])
    consume(reader, 3)
    producer = Producer(client(bootstrap, transactional_id=topic()))
    producer.init_transactions(DEADLINE_SECONDS)
    producer.begin_transaction()
    producer.produce(target, b"first")
    position = [TopicPartition(source, 0, 3)]
    producer.send_offsets_to_transaction(position, reader.consumer_group_metadata(), DEADLINE_SECONDS)
    if commits:
        producer.commit_transaction(DEADLINE_SECONDS)
    else:
        producer.abort_transaction(DEADLINE_SECONDS)
    committed = reader.committed([TopicPartition(source, 0)], DEADLINE_SECONDS)
    assert committed[0].offset == (3 if commits else -1001)
    reader.close()
    producer.begin_transaction()
    producer.produce(target, b"second")
    producer.commit_transaction(DEADLINE_SECONDS)
    follower = Consumer(
        client(bootstrap, group_id=topic(), auto_offset_reset="earliest", isolation_level="read_committed")
    )
    follower.assign([TopicPartition(target, 0, 0)])
    expected = [b"first", b"second"] if commits else [b"second"]
    assert [message.value() for message in consume(follower, len(expected))] == expected
    follower.close()
