# pyright: basic
"""Rules, subject names and ids of schemas: what (de)serializers of all formats have in common."""

from barnabas.compat.confluent_kafka.schema_registry._async.serde import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry._sync.serde import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry.common.serde import *  # noqa: F403
