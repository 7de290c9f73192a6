"""What everything that is written and read descends from."""

from barnabas.compat.kafka_engine.wire.types import AbstractType

__all__ = ["AbstractType"]
