"""Clusters for tests, under the names that pykafka's own have.

The original downloads Kafka and runs its shell scripts; these are the brokers of `barnabas.testing`, and what
is asked of them is asked by the core's clients.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from barnabas.client.admin.types import NewTopic
from barnabas.compat.pykafka.utils.compat import get_bytes, get_string
from barnabas.sync.admin import Admin
from barnabas.sync.producer import Producer
from barnabas.testing import ApacheKafka, ApacheKafkaCluster, SecureListeners
from barnabas.testing.certificates import Certificates
from barnabas.testing.distribution import DEFAULT_VERSION, KafkaDistribution

__all__ = ["CertManager", "KafkaConnection", "KafkaInstance"]

_WITH_ZOOKEEPER = "2.8.2"
_PATIENCE_SECONDS = 30.0


class CertManager:
    """Certificates for brokers and clients of tests, in `test-certs` below `root_dir`, made when they are not
    there. `client_pass`: of `client_key`. Stores are in PEM, which Kafka reads from 2.7 on.

    Raises: MissingProgramError without the `cryptography` package.
    """

    def __init__(self, root_dir: Any) -> None:
        self._show(Certificates.in_folder(_made(Path(root_dir) / "test-certs")))

    @classmethod
    def of(cls, certificates: Certificates) -> Self:
        """Those of a broker that runs."""
        found = cls.__new__(cls)
        found._show(certificates)
        return found

    def _show(self, certificates: Certificates) -> None:
        self.root_cert = str(certificates.ca)
        self.truststore = str(certificates.ca)
        self.keystore = str(certificates.broker)
        self.client_cert = str(certificates.client)
        self.client_key = str(certificates.client_key_encrypted)
        self.client_pass = certificates.key_password


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class KafkaConnection:
    """A cluster that runs. `brokers`: host:port of each, separated by commas. `zookeeper` and `brokers_ssl`
    are kept for who asks; `certs` for brokers with TLS are looked for in `bin_dir`, as the original does."""

    def __init__(self, bin_dir: Any, brokers: str, zookeeper: str | None, brokers_ssl: Any = None) -> None:
        self.brokers = brokers
        self.zookeeper = zookeeper
        self.brokers_ssl = brokers_ssl
        self.certs = None if brokers_ssl is None else CertManager(bin_dir)

    def create_topic(self, topic_name: Any, num_partitions: int, replication_factor: int) -> None:
        """Returns when the topic is there."""
        name = get_string(topic_name)
        with Admin(self.brokers) as admin:
            admin.create_topics([NewTopic(name, int(num_partitions), int(replication_factor))])
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while name not in admin.list_topics():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"topic {name} was created and did not appear")
                time.sleep(0.05)

    def delete_topic(self, topic_name: Any) -> None:
        with Admin(self.brokers) as admin:
            admin.delete_topics([get_string(topic_name)])

    def flush(self) -> None:
        """Deletes all topics but Kafka's own."""
        for topic in self.list_topics():
            if not topic.startswith(b"__"):
                self.delete_topic(topic)

    def list_topics(self) -> list[bytes]:
        with Admin(self.brokers) as admin:
            return sorted(name.encode() for name in admin.list_topics())

    def produce_messages(self, topic_name: Any, messages: Iterable[Any], batch_size: int = 200) -> None:
        """`messages`: texts or bytes."""
        with Producer(self.brokers) as producer:
            for message in messages:
                producer.send(get_string(topic_name), get_bytes(message))


def _single(version: str) -> ApacheKafka:
    if KafkaDistribution(version).has_zookeeper:
        return ApacheKafka(version)
    everyone = {"allow.everyone.if.no.acl.found": "true"}
    return ApacheKafka(version, security=SecureListeners(), config=everyone)


class KafkaInstance:
    """A new cluster, which runs until `terminate`.

    `kafka_version`: None is a release of pykafka's time with its ZooKeeper for one broker, and the newest for
    several, which have none. One broker of a release without ZooKeeper has a port for TLS, `brokers_ssl`, and
    `certs` for it. The other arguments are the original's, and change nothing.
    """

    def __init__(
        self,
        num_instances: int = 1,
        kafka_version: str | None = None,
        scala_version: str = "2.11",
        bin_dir: str = "/tmp/kafka-bin",
        name: str = "kafka",
        use_gevent: bool = False,
    ) -> None:
        self._kafka: ApacheKafka | ApacheKafkaCluster
        self.zookeeper: str | None = None
        self.brokers_ssl: str | None = None
        self.certs: CertManager | None = None
        if num_instances == 1:
            self._kafka = single = _single(kafka_version or _WITH_ZOOKEEPER)
            single.start()
            if single.security is not None:
                self.brokers_ssl = single.bootstrap_for("SSL")
                self.certs = CertManager.of(single.certificates)
            else:
                self.zookeeper = single.zookeeper
        else:
            self._kafka = ApacheKafkaCluster(kafka_version or DEFAULT_VERSION, brokers=num_instances)
            self._kafka.start()
        self.brokers = self._kafka.bootstrap
        self.connection = KafkaConnection(bin_dir, self.brokers, self.zookeeper)

    def terminate(self) -> None:
        self._kafka.close()

    def flush(self) -> None:
        """Deletes all topics but Kafka's own."""
        self.connection.flush()

    def create_topic(self, topic_name: Any, num_partitions: int, replication_factor: int) -> None:
        self.connection.create_topic(topic_name, num_partitions, replication_factor)

    def delete_topic(self, topic_name: Any) -> None:
        self.connection.delete_topic(topic_name)

    def list_topics(self) -> list[bytes]:
        return self.connection.list_topics()

    def produce_messages(self, topic_name: Any, messages: Iterable[Any]) -> None:
        self.connection.produce_messages(topic_name, messages)
