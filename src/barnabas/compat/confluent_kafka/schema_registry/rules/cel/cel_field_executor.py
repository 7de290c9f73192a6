# pyright: basic
"""Rules in CEL about fields."""

from __future__ import annotations

from barnabas.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from barnabas.registry.rules.cel import executors


class CelFieldExecutor(executors.CelFieldExecutor):
    """Of rules of type CEL_FIELD."""

    @classmethod
    def register(cls) -> None:
        """For the whole process."""
        RuleRegistry.register_rule_executor(cls())
