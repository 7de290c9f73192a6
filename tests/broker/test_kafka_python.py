"""kafka-python 3 against the embedded broker."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from barnabas.testing import EmbeddedBroker

with warnings.catch_warnings():
    # kafka-python reads its schemas, some of them late, in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata
    from kafka import TopicPartition as KafkaTopicPartition
    from kafka.admin import NewTopic

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")

Topic = Callable[[], str]


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_records_come_back_as_they_were_sent(
    embedded_broker: EmbeddedBroker, topic: Topic, compression: str | None
) -> None:
    name = topic()
    producer = KafkaProducer(
        bootstrap_servers=embedded_broker.bootstrap, acks="all", compression_type=compression
    )
    futures = [
        producer.send(name, key=b"%d" % index, value=b"value %d" % index, headers=[("n", b"%d" % index)])
        for index in range(500)
    ]
    assert [future.get(20).offset for future in futures] == list(range(500))
    producer.close()
    consumer = KafkaConsumer(
        name,
        bootstrap_servers=embedded_broker.bootstrap,
        group_id=name,
        auto_offset_reset="earliest",
        consumer_timeout_ms=10_000,
    )
    found = [next(consumer) for _ in range(500)]
    consumer.close()
    assert [(record.offset, record.key, record.value, record.headers) for record in found] == [
        (index, b"%d" % index, b"value %d" % index, [("n", b"%d" % index)]) for index in range(500)
    ]


def test_a_group_goes_on_where_it_committed(embedded_broker: EmbeddedBroker, topic: Topic) -> None:
    name = topic()
    producer = KafkaProducer(bootstrap_servers=embedded_broker.bootstrap)
    for index in range(100):
        producer.send(name, b"%d" % index)
    producer.flush(20)
    producer.close()

    def consumer() -> KafkaConsumer:
        return KafkaConsumer(
            name,
            bootstrap_servers=embedded_broker.bootstrap,
            group_id=name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=10_000,
        )

    first = consumer()
    assert [next(first).offset for _ in range(30)] == list(range(30))
    first.commit()
    first.close(autocommit=False)
    second = consumer()
    assert second.committed(KafkaTopicPartition(name, 0)) == 30
    assert [next(second).offset for _ in range(70)] == list(range(30, 100))
    second.close()


def test_topics_can_be_made_and_deleted(embedded_broker: EmbeddedBroker, topic: Topic) -> None:
    name = topic()
    admin = KafkaAdminClient(bootstrap_servers=embedded_broker.bootstrap)
    admin.create_topics([NewTopic(name, num_partitions=3, replication_factor=1)])
    assert name in admin.list_topics()
    admin.delete_topics([name])
    assert name not in admin.list_topics()
    admin.close()


@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_shows_with_its_offsets_once_it_is_committed(
    embedded_broker: EmbeddedBroker, topic: Topic, commits: bool
) -> None:
    source, target, group = topic(), topic(), topic()
    bootstrap = embedded_broker.bootstrap
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=group)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(target, b"first")
    position = KafkaTopicPartition(source, 0)
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(source, 1, 1)])
    producer.send_offsets_to_transaction({position: OffsetAndMetadata(7)}, group)
    (producer.commit_transaction if commits else producer.abort_transaction)()
    producer.begin_transaction()
    producer.send(target, b"second")
    producer.commit_transaction()
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        consumer_timeout_ms=10_000,
    )
    assert consumer.committed(position) == (7 if commits else None)
    consumer.assign([KafkaTopicPartition(target, 0)])
    expected = [b"first", b"second"] if commits else [b"second"]
    assert [next(consumer).value for _ in expected] == expected
    consumer.close()
    admin.close()
