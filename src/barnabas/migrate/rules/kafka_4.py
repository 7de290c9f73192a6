"""What brokers of Kafka 4 do not take any more. Knows no sources."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.migrate.rules.change import BREAKS, KAFKA_4, Change

__all__ = ["CHANGES_WITH_KAFKA_4", "TOPIC_SETTINGS"]

TOPIC_SETTINGS: Mapping[str, str] = {
    "message.format.version": "leave it out: there is one format",
    "message.downconversion.enable": "leave it out: nothing is converted any more",
    "message.timestamp.difference.max.ms": (
        "message.timestamp.before.max.ms and message.timestamp.after.max.ms"
    ),
}
"""Settings of topics that Kafka 4 refuses with InvalidConfigurationError: what to write instead."""

_CLIENTS_OF_1 = (
    *("KafkaConsumer", "KafkaProducer", "SimpleClient", "SimpleConsumer", "SimpleProducer", "KeyedProducer"),
    "MultiProcessConsumer",
)
_BALANCED = "pykafka:Topic().get_balanced_consumer"
_MANAGED = "managed=True, or KafkaConsumer(topic, group_id=...) of kafka-python"
_BARNABAS = "kafka-python 3, or Barnabas's facade of 1.2: python -m barnabas.compat --kafka-python 1.2 app.py"

CHANGES_WITH_KAFKA_4: tuple[Change, ...] = (
    *(
        Change(
            f"kafka:{client}",
            KAFKA_4,
            BREAKS,
            "kafka-python 1.2 asks in versions of Produce, Fetch and ListOffsets that Kafka 4 does not serve",
            _BARNABAS,
            generations=("1.2",),
        )
        for client in _CLIENTS_OF_1
    ),
    Change(
        "pykafka:KafkaClient",
        KAFKA_4,
        BREAKS,
        "pykafka knows no format of messages after Kafka 0.10: its newest Fetch is of version 2, and brokers "
        "serve none before 4",
        "KafkaProducer and KafkaConsumer of kafka-python 3, or barnabas.Producer and barnabas.Consumer",
    ),
    Change(
        "pykafka:KafkaClient",
        KAFKA_4,
        BREAKS,
        "there is no ZooKeeper to find brokers by",
        "hosts: the brokers' addresses",
        argument="zookeeper_hosts",
    ),
    Change(
        "pykafka:BalancedConsumer",
        KAFKA_4,
        BREAKS,
        "there is no ZooKeeper to share partitions out by",
        _MANAGED,
    ),
    Change(
        _BALANCED,
        KAFKA_4,
        BREAKS,
        "there is no ZooKeeper to share partitions out by",
        _MANAGED,
        argument="managed",
        position=1,
        lacking=True,
    ),
    Change(
        _BALANCED,
        KAFKA_4,
        BREAKS,
        "there is no ZooKeeper to share partitions out by",
        _MANAGED,
        argument="managed",
        position=1,
        values=(False,),
    ),
)
"""The changes that stand for whole packages, and for single calls."""
