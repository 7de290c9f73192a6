# pyright: basic
"""Protobuf: serializers and deserializers."""

from barnabas.compat.confluent_kafka.schema_registry._async.protobuf import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry._sync.protobuf import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry.common.protobuf import *  # noqa: F403
