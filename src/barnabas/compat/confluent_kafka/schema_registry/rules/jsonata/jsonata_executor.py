# pyright: basic
"""Rules in JSONata, for migrations."""

from __future__ import annotations

from barnabas.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from barnabas.registry.rules import jsonata


class JsonataExecutor(jsonata.JsonataExecutor):
    """Of rules of type JSONATA."""

    @classmethod
    def register(cls) -> None:
        """For the whole process."""
        RuleRegistry.register_rule_executor(cls())
