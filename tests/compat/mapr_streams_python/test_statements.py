"""What HPE's documentation of `mapr_streams_python` says, each statement quoted above its test."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from barnabas._kernel import MessageSender
from barnabas.compat.mapr_streams_python import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from barnabas.testing import ApacheKafka

WAIT = 20


def a_topic() -> str:
    return f"/streams/statements:topic_{uuid.uuid4().hex[:12]}"


def a_consumer(kafka: ApacheKafka, **others: Any) -> Consumer:
    settings = {"bootstrap.servers": kafka.bootstrap, "group.id": uuid.uuid4().hex}
    return Consumer({**settings, "auto.offset.reset": "earliest", **others})


def fill(kafka: ApacheKafka, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(count):
        producer.produce(topic, str(number))
    assert producer.flush() == 0


def read(consumer: Consumer, count: int) -> list[Any]:
    messages = [consumer.poll(WAIT) for _ in range(count)]
    assert all(message is not None and message.error() is None for message in messages)
    return messages


# "callback( alias on_delivery) argument to pass a function (or lambda) that will be called from poll() when
# the message has been successfully delivered or permanently fails delivery."
def test_reports_of_every_kind_name_the_stream(apache_kafka: ApacheKafka) -> None:
    heard: list[Any] = []

    def told(error: KafkaError | None, message: Any) -> None:
        heard.append((error and error.code(), message.topic(), message.partition(), message.value()))

    producer = Producer(
        {
            "bootstrap.servers": apache_kafka.bootstrap,
            "streams.producer.default.stream": "/streams/of_reports",
            "on_delivery": told,
        }
    )
    name = f"topic_{uuid.uuid4().hex[:12]}"
    topic = f"/streams/of_reports:{name}"
    # The second time the topic and its partitions are known.
    for _ in range(2):
        producer.produce(name, "delivered", callback=told)
        producer.produce(topic, "by default")
        assert producer.flush() == 0
    producer.produce(name, None, partition=0)
    producer.produce(f"{name}_2", "nowhere", partition=7)
    assert producer.flush() == 0
    assert sorted(heard, key=str) == sorted(
        [
            (None, topic, 0, b"delivered"),
            (None, topic, 0, b"by default"),
            (None, topic, 0, b"delivered"),
            (None, topic, 0, b"by default"),
            (KafkaError._INVALID_ARG, topic, 0, None),
            (KafkaError._UNKNOWN_PARTITION, f"{topic}_2", 7, b"nowhere"),
        ],
        key=str,
    )


# "produce(topic[, value][, key][, partition][, callback])"
def test_produce_and_poll_run_in_the_kernel_alone() -> None:
    assert Producer.produce is MessageSender.produce
    assert Producer.poll is MessageSender.poll


# "When this function is called with NULL payload, an invalid argument error is sent to the callback."
def test_a_null_payload_in_a_batch_is_told_to_its_callback(apache_kafka: ApacheKafka) -> None:
    heard: list[Any] = []
    producer = Producer({"bootstrap.servers": apache_kafka.bootstrap})
    messages = [{"value": "0"}, {"key": "key"}, {"value": b""}]
    topic = a_topic()
    assert producer.produce_batch(topic, messages, callback=lambda *report: heard.append(report)) == 3
    assert producer.flush() == 0
    told = {(error and error.code(), message.key(), message.value()) for error, message in heard}
    assert told == {(None, None, b"0"), (None, None, b""), (KafkaError._INVALID_ARG, b"key", None)}
    assert {message.topic() for _, message in heard} == {topic}


# "len() This API returns a positive number to indicate that messages are waiting to be produced"
def test_len_is_positive_until_the_last_report(apache_kafka: ApacheKafka) -> None:
    producer = Producer({"bootstrap.servers": apache_kafka.bootstrap})
    assert len(producer) == 0
    producer.produce(a_topic(), "value", callback=lambda *report: None)
    producer.produce(a_topic(), None, callback=lambda *report: None)
    assert len(producer) > 0
    # "a convenience method that calls poll() until len() is zero"
    assert producer.flush() == len(producer) == 0


# "produce ... Raises: KafkaException – for other errors"
def test_a_closed_producer_takes_no_null_payload_either(apache_kafka: ApacheKafka) -> None:
    producer = Producer({"bootstrap.servers": apache_kafka.bootstrap})
    producer.close()
    with pytest.raises(RuntimeError, match="closed"):
        producer.produce(a_topic(), None)


# "subscribe(topics[, listener=None])", "on_assign(consumer, partitions)", "on_revoke(consumer, partitions)"
def test_a_listener_has_the_callbacks_or_is_the_first_of_them(apache_kafka: ApacheKafka) -> None:
    topic = a_topic()
    fill(apache_kafka, topic, 1)
    heard: list[Any] = []

    class Listener:
        def on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
            heard.append((consumer, [partition.topic for partition in partitions]))

        def on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
            heard.append((consumer, [partition.topic for partition in partitions]))

    listener = Listener()
    for arguments in ((listener,), (listener.on_assign, listener.on_revoke)):
        heard.clear()
        consumer = a_consumer(apache_kafka)
        consumer.subscribe([topic], *arguments)
        read(consumer, 1)
        consumer.close()
        assert heard == [(consumer, [topic])] * 2


# "If you call this API for an assigned consumer, error RD_KAFKA_RESP_ERR__CONFLICT is returned."
def test_a_consumer_assigned_piece_by_piece_cannot_subscribe(apache_kafka: ApacheKafka) -> None:
    topic = a_topic()
    with a_consumer(apache_kafka) as consumer:
        consumer.incremental_assign([TopicPartition(topic, 0)])
        with pytest.raises(KafkaException) as raised:
            consumer.subscribe([topic])
        assert raised.value.args[0].code() == KafkaError._CONFLICT


# "on_commit(err, partitions): A callback for Consumer.commit()", "async (bool) – Asynchronous commit, return
# immediately", and of close(): "Commits offsets"
def test_commits_are_told_of_and_made_by_close(apache_kafka: ApacheKafka) -> None:
    topic, group = a_topic(), uuid.uuid4().hex
    fill(apache_kafka, topic, 2)
    heard: list[Any] = []
    consumer = a_consumer(apache_kafka, **{"group.id": group, "on_commit": lambda *told: heard.append(told)})
    consumer.assign([TopicPartition(topic, 0, 0)])
    first, *_ = read(consumer, 2)
    assert consumer.commit(first, None, True) is None
    while not heard:
        consumer.poll(0.1)
    ((error, partitions),) = heard
    assert error is None
    assert [(each.topic, each.partition, each.offset) for each in partitions] == [(topic, 0, 1)]
    consumer.close()
    with a_consumer(apache_kafka, **{"group.id": group}) as other:
        (committed,) = other.committed([TopicPartition(topic, 0)], None)
        assert (committed.topic, committed.offset, committed.error) == (topic, 2, None)


def test_offsets_go_into_a_transaction_by_streams_names(apache_kafka: ApacheKafka) -> None:
    topic = a_topic()
    fill(apache_kafka, topic, 2)
    settings = {"bootstrap.servers": apache_kafka.bootstrap, "transactional.id": uuid.uuid4().hex}
    with (
        a_consumer(apache_kafka, **{"enable.auto.commit": False}) as consumer,
        Producer(settings) as producer,
    ):
        consumer.subscribe([topic])
        read(consumer, 2)
        producer.init_transactions(WAIT)
        producer.begin_transaction()
        producer.produce(topic, "2")
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), WAIT)
        producer.commit_transaction(WAIT)
        (committed,) = consumer.committed([TopicPartition(topic, 0)])
        assert (committed.topic, committed.offset) == (topic, 2)


# "topic() Returns: topic name": what is told of a client as a whole names topics as its messages do.
def test_statistics_name_the_stream(apache_kafka: ApacheKafka) -> None:
    topic = a_topic()
    texts: list[str] = []
    settings = {"statistics.interval.ms": 100, "stats_cb": texts.append}
    producer = Producer({"bootstrap.servers": apache_kafka.bootstrap, **settings})
    producer.produce(topic, "value")
    assert producer.flush() == 0
    assert_statistics_name(topic, texts, producer)
    texts.clear()
    with a_consumer(apache_kafka, **settings) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        read(consumer, 1)
        assert_statistics_name(topic, texts, consumer)


def assert_statistics_name(topic: str, texts: list[str], client: Any) -> None:
    def toppars() -> dict[str, Any]:
        """Empty as long as the partition's leader is not known."""
        brokers = json.loads(texts[-1])["brokers"].values() if texts else []
        return {name: each for broker in brokers for name, each in broker["toppars"].items()}

    while not toppars():
        client.poll(0.1)
    statistics = json.loads(texts[-1])
    assert {name: each["topic"] for name, each in statistics["topics"].items()} == {topic: topic}
    assert toppars() == {f"{topic}-0": {"topic": topic, "partition": 0}}
