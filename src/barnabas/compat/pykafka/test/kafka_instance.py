"""Clusters for tests, under the names that pykafka's own have.

The original downloads Kafka and runs its shell scripts; these are the brokers of `barnabas.testing`, and what
is asked of them is asked by the core's clients.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from barnabas.client.admin.types import NewTopic
from barnabas.compat.pykafka.utils.compat import get_bytes, get_string
from barnabas.sync.admin import Admin
from barnabas.sync.producer import Producer
from barnabas.testing import ApacheKafka, ApacheKafkaCluster
from barnabas.testing.distribution import DEFAULT_VERSION

__all__ = ["KafkaConnection", "KafkaInstance"]

_WITH_ZOOKEEPER = "2.8.2"
_PATIENCE_SECONDS = 30.0


class KafkaConnection:
    """A cluster that runs. `brokers`: host:port of each, separated by commas. `zookeeper` and `brokers_ssl`
    are kept for who asks; `bin_dir` is not needed."""

    def __init__(self, bin_dir: Any, brokers: str, zookeeper: str | None, brokers_ssl: Any = None) -> None:
        self.brokers = brokers
        self.zookeeper = zookeeper
        self.brokers_ssl = brokers_ssl

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


class KafkaInstance:
    """A new cluster, which runs until `terminate`.

    `kafka_version`: None is a release of pykafka's time with its ZooKeeper for one broker, and the newest for
    several, which have none. The other arguments are the original's, and change nothing.
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
        if num_instances == 1:
            single = ApacheKafka(kafka_version or _WITH_ZOOKEEPER)
            self._kafka = single
            single.start()
            if single.distribution.has_zookeeper:
                self.zookeeper = single.zookeeper
        else:
            self._kafka = ApacheKafkaCluster(kafka_version or DEFAULT_VERSION, brokers=num_instances)
            self._kafka.start()
        self.brokers = self._kafka.bootstrap
        self.brokers_ssl = None
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
