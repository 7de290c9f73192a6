# pyright: basic
"""The clients of a registry, and what it keeps."""

from barnabas.compat.confluent_kafka.schema_registry._async.schema_registry_client import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry._sync.schema_registry_client import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry.error import SchemaRegistryError as SchemaRegistryError
