"""Conditions that the text of a schema itself has for its records and fields (`confluent:rules`)."""

from __future__ import annotations

from typing import Any, Literal

from barnabas.errors import SerializationError
from barnabas.registry.rules.validation import ValidationRuleExecutor
from barnabas.registry.serializers.value_format import ReadSchema
from barnabas.values import frozen


@frozen
class InlineRules:
    """When inline rules are checked, and the function that checks them."""

    time: Literal["before_rules", "after_rules"]
    executor: ValidationRuleExecutor
    stops_at_first: bool = False

    def check(self, read: ReadSchema, value: Any) -> None:
        """Checks a value. Raises: SerializationError, which names all that does not hold."""
        violations = read.walk().violations(self.executor, value, stops_at_first=self.stops_at_first)
        if violations:
            count = len(violations)
            head = f"Validation rule failed ({count} violation{'' if count == 1 else 's'}):"
            raise SerializationError("\n".join([head, *(f"  - {each}" for each in violations)]))
