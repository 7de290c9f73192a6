"""What of programs for confluent_kafka and mapr_streams_python Kafka 4 does not serve or the newer packages
changed. Knows no sources."""

from __future__ import annotations

from barnabas.migrate.rules.change import BREAKS, CHANGES, KAFKA_4, Change

__all__ = ["CHANGES_OF_LIBRDKAFKA", "CONFIGURED_BY_DICTIONARIES"]

CONFIGURED_BY_DICTIONARIES = ("confluent_kafka", "mapr_streams_python")

_CLIENTS = ("Consumer", "Producer", "AdminClient", "DeserializingConsumer", "SerializingProducer")
_BEFORE_VERSIONS_WERE_ASKED_FOR = (
    "0.8.0",
    "0.8.1",
    "0.8.2",
    "0.8.2.0",
    "0.8.2.1",
    "0.8.2.2",
    "0.9.0",
    "0.9.0.0",
)
_NO = (False, "false", "False", 0, "0")
_KAFKA = "Kafka"
_LIBRDKAFKA = "confluent_kafka 2"

CHANGES_OF_LIBRDKAFKA: tuple[Change, ...] = (
    *(
        Change(
            f"{package}:{client}",
            KAFKA_4,
            BREAKS,
            "without api.version.request, requests are what that broker spoke, which gets no answer: "
            "deliveries time out, and a consumer reads nothing",
            "leave both out",
            argument="broker.version.fallback",
            values=_BEFORE_VERSIONS_WERE_ASKED_FOR,
            besides=("api.version.request", _NO),
        )
        for package in CONFIGURED_BY_DICTIONARIES
        for client in _CLIENTS
    ),
    Change(
        "confluent_kafka:AdminClient().alter_configs",
        _LIBRDKAFKA,
        CHANGES,
        "it is a DeprecationWarning, and resets each setting that is not named",
        "incremental_alter_configs, with incremental_operation in each ConfigEntry",
    ),
    *(
        Change(
            f"confluent_kafka:{client}",
            _LIBRDKAFKA,
            CHANGES,
            "it is a DeprecationWarning",
            instead,
        )
        for client, instead in (
            ("AvroProducer", "Producer, and AvroSerializer of confluent_kafka.schema_registry.avro"),
            ("AvroConsumer", "Consumer, and AvroDeserializer of confluent_kafka.schema_registry.avro"),
        )
    ),
    *(
        Change(
            f"mapr_streams_python:{client}",
            _KAFKA,
            BREAKS,
            "brokers have to be named, which a cluster of Data Fabric needs not",
            "bootstrap.servers, or BARNABAS_BOOTSTRAP_SERVERS with Barnabas's mapr_streams_python",
            argument="bootstrap.servers",
            lacking=True,
        )
        for client in ("Consumer", "Producer")
    ),
    *(
        Change(
            f"mapr_streams_python:{client}",
            _KAFKA,
            BREAKS,
            "confluent_kafka refuses it: no such configuration property",
            "Barnabas's mapr_streams_python, which takes it, or topics without streams",
            argument=f"streams.{client.lower()}.default.stream",
        )
        for client in ("Consumer", "Producer")
    ),
)
