# Made by codegen/plain_calls.py, of
# barnabas/compat/confluent_kafka/schema_registry/_async/mock_schema_registry_client.py
"""Where programs look for `MockSchemaRegistryClient`."""

from barnabas.compat.confluent_kafka.schema_registry._sync.schema_registry_client import (
    MockSchemaRegistryClient as MockSchemaRegistryClient,
)
