"""What goes wrong with a rule. Whoever serializes gets a SerializationError whose cause is one of these."""

from __future__ import annotations

from typing import Any


class RuleError(Exception):
    """A rule could not do what it says."""


class RuleConditionError(RuleError):
    """What a condition says of a message does not hold. Its text is the rule's `doc`, if it has one."""

    def __init__(self, rule: Any) -> None:
        super().__init__(self.error_message(rule))

    @staticmethod
    def error_message(rule: Any) -> str:
        if rule.doc:
            return str(rule.doc)
        if rule.expr:
            return f"Rule expr failed: {rule.expr}"
        return f"Rule failed: {rule.name}"
