# pyright: basic
"""JSON with JSON Schema: serializers and deserializers."""

from barnabas.compat.confluent_kafka.schema_registry._async.json_schema import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry._sync.json_schema import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry.common.json_schema import *  # noqa: F403
