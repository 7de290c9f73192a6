# pyright: basic
"""Avro: serializers and deserializers."""

from barnabas.compat.confluent_kafka.schema_registry._async.avro import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry._sync.avro import *  # noqa: F403
from barnabas.compat.confluent_kafka.schema_registry.common.avro import *  # noqa: F403
