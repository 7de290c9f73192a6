from __future__ import annotations

import pytest
from tests.compat.confluent_kafka.inventory import ELSEWHERE, missing, real_modules

_REGISTRY = "confluent_kafka.schema_registry."
_RULES = f"{_REGISTRY}rules."
_KEYS = f"{_RULES}encryption.dek_registry.dek_registry_client."

# What the original is made with, and no program needs.
ITS_OWN_WORKINGS = (
    # Its asyncio producer batches on threads; ours needs none.
    "confluent_kafka.aio._common: ",
    "confluent_kafka.aio.producer._buffer_timeout_manager: ",
    "confluent_kafka.aio.producer._kafka_batch_executor: ",
    "confluent_kafka.aio.producer._message_batch: ",
    "confluent_kafka.aio.producer._producer_batch_processor: ",
    # Which HTTP library, and which library of JSON Schema.
    f"{_REGISTRY}common._httpx_compat: ",
    *(f"{_REGISTRY}{module}json_schema.DEFAULT_SPEC" for module in ("", "_async.", "_sync.", "common.")),
    # How rules in CEL look at Protobuf's messages, and what CEL has besides.
    f"{_REGISTRY}common.protobuf.",
    *(f"{_RULES}cel.{module}" for module in ("cel_", "constraints", "decimal_funcs", "extra_func")),
    *(f"{_RULES}cel.{module}" for module in ("protobuf_result", "string_format", "timestamp", "variant_")),
    # The numbers of a binary form.
    f"{_REGISTRY}confluent.type.variant_utils.",
    # How keys of a KMS are reached, and what is done with them.
    f"{_RULES}encryption.azurekms.",
    f"{_RULES}encryption.encrypt_executor.",
    f"{_RULES}encryption.dek_registry.dek_registry_client.T: ",
    *(
        f"{_RULES}encryption.dek_registry.dek_registry_client.Dek.{name}"
        for name in ("key_", "encrypted_key_")
    ),
    # Handed on from where they are.
    *(f"{_RULES}dlq.dlq_action.{name}" for name in ("DLQ_", "FieldTransform")),
    f"{_RULES}encryption.gcpkms.gcp_client: ",
    f"{_RULES}encryption.hcvault.hcvault_client: ",
    f"{_RULES}encryption.localkms.local_client.LocalKmsClient.__init__: ",
)

# There the stub file of the real package is wrong, or its signature says less than ours.
WRONG_IN_THE_ORIGINAL = (
    "KafkaError.__init__: takes ['error',",
    "TimestampSpec.__init__: takes ['timestamp'], not ['_']",
    # attrs keeps a hash in an argument.
    "not ['_cache_wrapper=']",
)


@pytest.mark.integration
def test_every_name_signature_and_docstring_of_the_real_package_is_there() -> None:
    lines = [line for line in missing() if not line.startswith(ITS_OWN_WORKINGS)]
    assert [line for line in lines if not any(wrong in line for wrong in WRONG_IN_THE_ORIGINAL)] == []


# The real package imports urllib3, which binds a socket to see whether there is IPv6.
@pytest.mark.integration
def test_the_inventory_covers_all_modules() -> None:
    modules = set(real_modules())
    assert {"confluent_kafka.cimpl", "confluent_kafka.aio.producer", "confluent_kafka.admin"} <= modules
    assert {"confluent_kafka.avro.load", "confluent_kafka.schema_registry.error"} <= modules
    assert not any(module.startswith(ELSEWHERE) for module in modules)
