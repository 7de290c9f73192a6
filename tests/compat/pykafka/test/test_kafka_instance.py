from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.compat.pykafka import KafkaClient, SslConfig
from barnabas.compat.pykafka.test.kafka_instance import CertManager, KafkaConnection, KafkaInstance
from barnabas.compat.pykafka.test.utils import get_cluster, retry, stop_cluster
from barnabas.testing import EmbeddedBroker
from barnabas.testing.distribution import DEFAULT_VERSION


def test_a_cluster_for_tests_has_topics_messages_and_a_zookeeper(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROKERS", "ZOOKEEPER", "KAFKA_BIN"):
        monkeypatch.delenv(name, raising=False)
    cluster = get_cluster()
    try:
        assert isinstance(cluster, KafkaInstance)
        cluster.create_topic(b"topic", 2, 1)
        cluster.produce_messages("topic", ["a", b"b"])
        client = KafkaClient(zookeeper_hosts=cluster.zookeeper)
        topic = client.topics[b"topic"]
        assert sorted(topic.partitions) == [0, 1]
        consumer = topic.get_simple_consumer(consumer_timeout_ms=10000)
        assert {consumer.consume().value for _ in range(2)} == {b"a", b"b"}
        consumer.stop()
    finally:
        stop_cluster(cluster)


def test_a_cluster_that_runs_already_loses_its_topics_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedBroker() as broker:
        monkeypatch.setenv("BROKERS", broker.bootstrap)
        monkeypatch.setenv("ZOOKEEPER", "nowhere:2181")
        monkeypatch.setenv("KAFKA_BIN", "nowhere")
        cluster = get_cluster()
        assert isinstance(cluster, KafkaConnection)
        cluster.create_topic("topic", 1, 1)
        assert cluster.list_topics() == [b"topic"]
        stop_cluster(cluster)
        assert cluster.list_topics() == []


def test_a_call_is_tried_until_it_succeeds_or_time_is_over() -> None:
    left = [3]

    def fails_at_first() -> str:
        left[0] -= 1
        assert left[0] == 0
        return "done"

    assert retry(fails_at_first, wait_between_tries=0) == "done"
    with pytest.raises(ZeroDivisionError):
        retry(lambda: 1 // 0, retry_time=0, exception_to_retry=ZeroDivisionError)


def test_one_broker_of_a_newer_release_has_tls_and_certificates_for_it() -> None:
    instance = KafkaInstance(kafka_version=DEFAULT_VERSION)
    try:
        certs = instance.certs
        assert certs is not None
        config = SslConfig(
            certs.root_cert, certs.client_cert, certs.client_key, password=certs.client_pass.encode()
        )
        client = KafkaClient(instance.brokers_ssl, ssl_config=config)
        with client.topics[b"by-tls"].get_sync_producer() as producer:
            assert producer.produce(b"x").offset == 0
        assert instance.list_topics() == [b"by-tls"]
    finally:
        instance.terminate()


def test_certificates_are_made_once_below_the_folder_that_is_named(tmp_path: Path) -> None:
    made, again = CertManager(tmp_path), CertManager(str(tmp_path))
    assert vars(made) == vars(again)
    assert Path(made.client_key).parent == tmp_path / "test-certs"
    connection = KafkaConnection(tmp_path, "127.0.0.1:1", None, "127.0.0.1:2")
    assert connection.certs is not None
    assert connection.certs.root_cert == made.root_cert
    assert KafkaConnection(tmp_path, "127.0.0.1:1", None).certs is None
