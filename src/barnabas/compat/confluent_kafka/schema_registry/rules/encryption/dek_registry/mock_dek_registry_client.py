"""Where programs look for `MockDekRegistryClient`."""

from barnabas.compat.confluent_kafka.schema_registry.rules.encryption.dek_registry import dek_registry_client

MockDekRegistryClient = dek_registry_client.MockDekRegistryClient
