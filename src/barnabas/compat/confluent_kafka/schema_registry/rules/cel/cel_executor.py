# pyright: basic
"""Rules in CEL about whole messages."""

from __future__ import annotations

from barnabas.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from barnabas.registry.rules.cel import executors


class CelExecutor(executors.CelExecutor):
    """Of rules of type CEL."""

    @classmethod
    def register(cls) -> None:
        """For the whole process."""
        RuleRegistry.register_rule_executor(cls())
