"""The types of which programs make schemas of structs."""

from barnabas.compat.kafka_engine.wire.types import *  # noqa: F403
