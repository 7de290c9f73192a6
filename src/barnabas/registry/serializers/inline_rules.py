"""Conditions that the text of a schema itself has for its records and fields (`confluent:rules`)."""

from __future__ import annotations

from typing import Any, Literal

from barnabas.errors import SerializationError
from barnabas.registry.serializers.schema_format import ReadSchema
from barnabas.values import frozen


@frozen
class InlineRules:
    """When they are checked, and by what: `executor.execute(rule, schema, value)` gives whether a condition
    holds, or a text that says what is wrong."""

    time: Literal["before_rules", "after_rules"]
    executor: Any
    stops_at_first: bool = False

    def check(self, read: ReadSchema, value: Any) -> None:
        """Raises: SerializationError, which names all that does not hold."""
        violations = read.violations(self.executor, value, stops_at_first=self.stops_at_first)
        if violations:
            count = len(violations)
            head = f"Validation rule failed ({count} violation{'' if count == 1 else 's'}):"
            raise SerializationError("\n".join([head, *(f"  - {each}" for each in violations)]))
