"""Where programs look for `MockSchemaRegistryClient`."""

from barnabas.compat.confluent_kafka.schema_registry._sync.schema_registry_client import (
    MockSchemaRegistryClient as MockSchemaRegistryClient,
)
