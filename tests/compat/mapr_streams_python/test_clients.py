"""`mapr_streams_python` against Apache Kafka: what its documentation says, and names that are streams'."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.compat import mapr_streams_python as mapr
from barnabas.compat.mapr_streams_python import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from barnabas.compat.mapr_streams_python._names import EscapedNaming
from barnabas.testing import ApacheKafka


@pytest.fixture
def stream_topic() -> Callable[[], str]:
    """Names of topics of streams that no other test uses."""
    return lambda: f"/user/some-one/a_stream.v1:topic_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def producer(apache_kafka: ApacheKafka) -> Any:
    return Producer({"bootstrap.servers": apache_kafka.bootstrap})


@pytest.fixture
def consumer(apache_kafka: ApacheKafka) -> Any:
    with make_consumer(apache_kafka) as consumer:
        yield consumer


def make_consumer(kafka: ApacheKafka, **others: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            **others,
        }
    )


def fill(producer: Producer, topic: str, count: int) -> None:
    for number in range(count):
        producer.produce(topic, str(number), "key")
    assert producer.flush() == 0


def next_message(consumer: Consumer) -> Any:
    message = consumer.poll(20)
    assert message is not None
    return message


def test_the_module_has_what_is_documented() -> None:
    documented = {
        "Consumer": (
            *("assign", "unassign", "assignment", "close", "commit", "committed", "poll", "position"),
            *("subscribe", "unsubscribe", "get_watermark_offsets"),
        ),
        "Producer": ("__len__", "flush", "poll", "produce"),
        "Message": ("__len__", "error", "key", "offset", "partition", "topic", "value", "timestamp"),
        "TopicPartition": ("error", "offset", "partition", "topic"),
        "KafkaError": ("code", "name", "str"),
        "KafkaException": (),
    }
    missing = [
        f"{name}.{member}"
        for name, members in documented.items()
        for member in members
        if not hasattr(getattr(mapr, name), member)
    ]
    assert missing == []
    assert (mapr.OFFSET_BEGINNING, mapr.OFFSET_END, mapr.OFFSET_STORED) == (-2, -1, -1000)
    assert KafkaError._PARTITION_EOF == -191


@pytest.mark.integration
def test_messages_go_through_a_stream_and_are_called_by_its_name(
    apache_kafka: ApacheKafka, producer: Producer, consumer: Consumer, stream_topic: Any
) -> None:
    topic = stream_topic()
    reports: list[Any] = []
    producer.produce(topic, "value", "key", 0, lambda *report: reports.append(report))
    assert len(producer) > 0
    assert producer.flush() == 0
    assert len(producer) == 0
    ((error, reported),) = reports
    assert error is None
    assert (reported.topic(), reported.partition(), reported.offset()) == (topic, 0, 0)
    consumer.subscribe([topic])
    message = next_message(consumer)
    assert (message.topic(), message.partition(), message.offset()) == (topic, 0, 0)
    assert (message.key(), message.value(), len(message), message.error()) == (b"key", b"value", 5, None)
    assert message.timestamp()[0] == mapr.TIMESTAMP_CREATE_TIME
    # Any other client finds it under the name that the documentation gives.
    kafka_name = EscapedNaming().kafka_name(topic)
    with make_consumer(apache_kafka) as other:
        other.assign([TopicPartition(kafka_name, 0)])
        assert next_message(other).topic() == topic


def test_a_default_stream_has_the_topics_that_name_none(apache_kafka: ApacheKafka) -> None:
    name = f"topic-{uuid.uuid4().hex[:12]}"
    producer = Producer(
        **{"bootstrap.servers": apache_kafka.bootstrap, "streams.producer.default.stream": "/default/stream"}
    )
    fill(producer, name, 1)
    with make_consumer(apache_kafka, **{"streams.consumer.default.stream": "/default/stream"}) as consumer:
        consumer.subscribe([name])
        assert next_message(consumer).topic() == f"/default/stream:{name}"


def test_a_null_payload_is_an_invalid_argument_told_to_the_callback(
    apache_kafka: ApacheKafka, producer: Producer, consumer: Consumer, stream_topic: Any
) -> None:
    topic = stream_topic()
    reports: list[Any] = []
    producer.produce(topic, None, "key", callback=lambda *report: reports.append(report))
    producer.produce(topic, key="key", on_delivery=lambda *report: reports.append(report))
    producer.produce(topic)
    assert reports == []
    assert len(producer) > 0
    assert producer.poll(0) == 2
    for error, message in reports:
        assert error.code() == message.error().code() == KafkaError._INVALID_ARG
        assert (message.topic(), message.key(), message.value()) == (topic, b"key", None)
    fill(producer, topic, 1)
    consumer.subscribe([topic])
    assert next_message(consumer).value() == b"0"
    heard: list[Any] = []
    configured = Producer(
        {"bootstrap.servers": apache_kafka.bootstrap, "on_delivery": lambda *report: heard.append(report)}
    )
    configured.produce(topic)
    configured.produce(topic, "value")
    assert configured.flush() == 0
    assert [error and error.code() for error, _ in heard] == [KafkaError._INVALID_ARG, None]
    assert {message.topic() for _, message in heard} == {topic}


def test_the_position_of_a_partition_that_was_not_read_is_zero(
    producer: Producer, consumer: Consumer, stream_topic: Any
) -> None:
    partition = TopicPartition(stream_topic(), 0)
    fill(producer, partition.topic, 2)
    assert [each.offset for each in consumer.position([partition])] == [0]
    consumer.assign([partition])
    assert [each.offset for each in consumer.position([partition], timeout=1)] == [0]
    next_message(consumer)
    (position,) = consumer.position([partition])
    assert (position.topic, position.offset) == (partition.topic, 1)


def test_subscribe_conflicts_with_assign(consumer: Consumer, stream_topic: Any) -> None:
    topic = stream_topic()
    consumer.assign([TopicPartition(topic, 0)])
    with pytest.raises(KafkaException) as raised:
        consumer.subscribe([topic])
    assert raised.value.args[0].code() == KafkaError._CONFLICT
    consumer.unassign()
    consumer.subscribe([topic])


def test_callbacks_of_a_subscription_and_of_commits_hear_streams_names(
    apache_kafka: ApacheKafka, producer: Producer, stream_topic: Any
) -> None:
    topic = stream_topic()
    fill(producer, topic, 1)
    heard: list[Any] = []

    def note(what: str) -> Callable[[Any, list[TopicPartition]], None]:
        return lambda _, partitions: heard.append((what, [(each.topic, each.offset) for each in partitions]))

    def on_assign(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        note("assigned")(consumer, partitions)
        consumer.assign(partitions)

    with make_consumer(
        apache_kafka, **{"enable.auto.commit": False, "on_commit": note("committed")}
    ) as consumer:
        consumer.subscribe([topic], on_assign=on_assign, on_revoke=note("revoked"))
        message = next_message(consumer)
        assert [each.topic for each in consumer.assignment()] == [topic]
        consumer.commit(message)
        while heard[-1][0] != "committed":
            consumer.poll(0.1)
        consumer.subscribe([topic])
    assert heard[:2] == [("assigned", [(topic, -1001)]), ("committed", [(topic, 1)])]


def test_offsets_are_committed_and_asked_for_by_streams_names(
    producer: Producer, consumer: Consumer, stream_topic: Any
) -> None:
    partition = TopicPartition(stream_topic(), 0)
    fill(producer, partition.topic, 5)
    consumer.assign([partition])
    message = next_message(consumer)
    (done,) = consumer.commit(message, **{"async": False})
    assert (done.topic, done.offset) == (partition.topic, 1)
    wanted = TopicPartition(partition.topic, 0, 3)
    (done,) = consumer.commit(offsets=[wanted], asynchronous=False)
    assert (done.topic, done.offset) == (partition.topic, 3)
    (found,) = consumer.committed([partition], timeout=60)
    assert (found.topic, found.offset, found.error) == (partition.topic, 3, None)
    assert consumer.get_watermark_offsets(partition) == (0, 5)
    assert consumer.get_watermark_offsets(partition, cached=True)[1] == 5
    (found,) = consumer.offsets_for_times([TopicPartition(partition.topic, 0, 0)])
    assert (found.topic, found.offset) == (partition.topic, 0)
    consumer.seek(TopicPartition(partition.topic, 0, 4))
    assert next_message(consumer).offset() == 4
    consumer.pause([partition])
    consumer.resume([partition])


def test_list_topics_names_streams_and_kafkas_own(
    producer: Producer, consumer: Consumer, stream_topic: Any
) -> None:
    topic, own = stream_topic(), f"own-{uuid.uuid4().hex[:12]}"
    fill(producer, topic, 1)
    fill(producer, own, 1)
    for client in (producer, consumer):
        topics = client.list_topics(timeout=60).topics
        assert topics[topic].topic == topic
        assert topics[own].topic == own
        assert list(client.list_topics(topic).topics) == [topic]


def test_errors_name_streams(consumer: Consumer, stream_topic: Any) -> None:
    partition = TopicPartition(stream_topic(), 0)
    consumer.incremental_assign([partition])
    with pytest.raises(KafkaException) as raised:
        consumer.incremental_assign([partition])
    assert raised.value.args[0].str() == f"{partition.topic} [0] is already part of the current assignment"
    consumer.incremental_unassign([partition])
    consumer.subscribe([partition.topic])
    error = next_message(consumer).error()
    assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert partition.topic in error.str()


@pytest.mark.parametrize("topic", ["no-stream:topic", "/stream:", "/" + "x" * 300 + ":t"])
def test_a_name_that_no_stream_can_have_is_refused(producer: Producer, topic: str) -> None:
    with pytest.raises(KafkaException) as raised:
        producer.produce(topic, "value")
    assert raised.value.args[0].code() == KafkaError._INVALID_ARG


def test_brokers_may_come_from_the_environment(
    apache_kafka: ApacheKafka, stream_topic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVERS", apache_kafka.bootstrap)
    fill(Producer({}), stream_topic(), 1)


class Flat:
    """A rule of a user's: one stream, whose topics are Kafka's."""

    def kafka_name(self, stream_topic: str) -> str:
        return stream_topic.removeprefix("/all:")

    def stream_topic(self, kafka_name: str) -> str | None:
        return f"/all:{kafka_name}"


def test_another_rule_for_names_can_be_set(apache_kafka: ApacheKafka) -> None:
    name = f"flat-{uuid.uuid4().hex[:12]}"
    settings = {"bootstrap.servers": apache_kafka.bootstrap, "streams.topic.naming": Flat()}
    fill(Producer(settings), f"/all:{name}", 1)
    with make_consumer(apache_kafka) as consumer:
        consumer.subscribe([name])
        assert next_message(consumer).topic() == name
    with pytest.raises(KafkaException, match=r"streams\.topic\.naming"):
        Producer({**settings, "streams.topic.naming": "nothing"})


def test_a_configuration_is_a_dictionary_or_keywords() -> None:
    with pytest.raises(TypeError):
        Producer([])
    with pytest.raises(KafkaException) as raised:
        Consumer({"group.id": "g", "no.such.property": 1})
    assert raised.value.args[0].code() == KafkaError._INVALID_ARG


def test_a_client_that_was_not_initialised_says_that_it_is_closed() -> None:
    class ForgetfulConsumer(Consumer):
        def __init__(self) -> None:
            pass

    class ForgetfulProducer(Producer):
        def __init__(self) -> None:
            pass

    consumer, producer = ForgetfulConsumer(), ForgetfulProducer()
    topic = "/stream:topic"
    partition = TopicPartition(topic, 0, 5)
    message = mapr.Message(topic, 0, 5)
    calls: list[Callable[[], object]] = [
        lambda: consumer.poll(0),
        lambda: consumer.consume(1, 0),
        lambda: consumer.subscribe([topic]),
        lambda: consumer.unsubscribe(),
        lambda: consumer.assign([partition]),
        lambda: consumer.unassign(),
        lambda: consumer.assignment(),
        lambda: consumer.incremental_assign([partition]),
        lambda: consumer.incremental_unassign([partition]),
        lambda: consumer.position([partition]),
        lambda: consumer.seek(partition),
        lambda: consumer.pause([partition]),
        lambda: consumer.resume([partition]),
        lambda: consumer.commit(),
        lambda: consumer.commit(message),
        lambda: consumer.store_offsets(message),
        lambda: consumer.committed([partition]),
        lambda: consumer.get_watermark_offsets(partition),
        lambda: consumer.offsets_for_times([partition]),
        lambda: consumer.list_topics(topic),
        lambda: producer.produce(topic, b"value"),
        lambda: producer.poll(0),
        lambda: producer.flush(),
        lambda: producer.list_topics(topic),
        lambda: producer.init_transactions(),
        lambda: producer.send_offsets_to_transaction([partition], b"group"),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="closed"):
            call()
    consumer.close()
    assert len(producer) == 0
