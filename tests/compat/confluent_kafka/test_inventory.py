from __future__ import annotations

from tests.compat.confluent_kafka.inventory import ELSEWHERE, missing, real_modules

# How the original's asyncio producer batches on threads; ours needs none.
ITS_OWN_WORKINGS = (
    "confluent_kafka.aio._common: ",
    "confluent_kafka.aio.producer._buffer_timeout_manager: ",
    "confluent_kafka.aio.producer._kafka_batch_executor: ",
    "confluent_kafka.aio.producer._message_batch: ",
    "confluent_kafka.aio.producer._producer_batch_processor: ",
)

# There the stub file of the real package is wrong, or its signature says less than ours.
WRONG_IN_THE_ORIGINAL = (
    "KafkaError.__init__: takes ['error',",
    "TimestampSpec.__init__: takes ['timestamp'], not ['_']",
    # attrs keeps a hash in an argument.
    "not ['_cache_wrapper=']",
)

# These come with the serializers of schema registries.
NOT_YET = (
    "confluent_kafka.schema_registry._async.",
    "confluent_kafka.schema_registry._sync.",
    "confluent_kafka.schema_registry.avro",
    "confluent_kafka.schema_registry.common.",
    "confluent_kafka.schema_registry.confluent",
    "confluent_kafka.schema_registry.json_schema",
    "confluent_kafka.schema_registry.protobuf",
    "confluent_kafka.schema_registry.rule",
    "confluent_kafka.schema_registry.serde",
)


def test_every_name_signature_and_docstring_of_the_real_package_is_there() -> None:
    lines = [line for line in missing() if not line.startswith((*ITS_OWN_WORKINGS, *NOT_YET))]
    assert [line for line in lines if not any(wrong in line for wrong in WRONG_IN_THE_ORIGINAL)] == []


def test_the_inventory_covers_all_modules() -> None:
    modules = set(real_modules())
    assert {"confluent_kafka.cimpl", "confluent_kafka.aio.producer", "confluent_kafka.admin"} <= modules
    assert {"confluent_kafka.avro.load", "confluent_kafka.schema_registry.error"} <= modules
    assert not any(module.startswith(ELSEWHERE) for module in modules)
