"""Where programs look for `AsyncMockSchemaRegistryClient`."""

from barnabas.compat.confluent_kafka.schema_registry._async.schema_registry_client import (
    AsyncMockSchemaRegistryClient as AsyncMockSchemaRegistryClient,
)
