"""Conditions that the text of a schema has itself, for its records and fields: `confluent:rules`.

Owns what such a rule is, and what its verdict means. The walks of the formats find rules and values.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, cast

from barnabas.errors import SerializationError
from barnabas.registry.rules.errors import RuleError

VALIDATION_RULES_PROP = "confluent:rules"


class ValidationRule:
    """Of a record (message, object) or a field. `sql` is what `expr`, in CEL, was written as."""

    __slots__ = ("doc", "expr", "name", "sql")

    def __init__(
        self,
        name: str | None = None,
        doc: str | None = None,
        expr: str | None = None,
        sql: str | None = None,
    ) -> None:
        self.name = name
        self.doc = doc
        self.expr = expr
        self.sql = sql

    def _parts(self) -> tuple[str | None, ...]:
        return self.name, self.doc, self.expr, self.sql

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, ValidationRule) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"ValidationRule{{name={self.name}, doc={self.doc}, expr={self.expr}, sql={self.sql}}}"


class ValidationRuleError:
    """What does not hold, and where. `message`: what the rule itself said; `cause`: why it could not be
    evaluated. No exception: many may be found in one message."""

    __slots__ = ("cause", "field_path", "message", "rule")

    def __init__(
        self,
        rule: ValidationRule,
        field_path: str | None = None,
        message: str | None = None,
        cause: Exception | None = None,
    ) -> None:
        self.rule = rule
        self.field_path = field_path
        self.message = message
        self.cause = cause

    def _parts(self) -> tuple[Any, ...]:
        return self.rule, self.field_path, self.message

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, ValidationRuleError) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def __str__(self) -> str:
        detail = self.message or self.rule.doc or self.rule.sql or self.rule.expr
        why = "" if self.cause is None else f" (caused by: {self.cause})"
        return f"{self.field_path or '<root>'}: {self.rule.name or 'unnamed'}: {detail}{why}"

    def __repr__(self) -> str:
        return f"ValidationRuleError({self})"


class ValidationRuleExecutor(metaclass=ABCMeta):
    """Evaluates such rules."""

    @abstractmethod
    def execute(self, rule: ValidationRule, schema: Any, message: Any) -> bool | str:
        """Whether the rule holds for `message`; or a text that says why it does not, and is empty if it
        does. `schema`: what the format has for it. Raises: RuleError, which counts as not holding."""
        raise NotImplementedError


class Findings:
    """What does not hold in one message."""

    def __init__(self, executor: ValidationRuleExecutor, stops_at_first: bool) -> None:
        self.found: list[ValidationRuleError] = []
        self._executor = executor
        self._stops_at_first = stops_at_first

    @property
    def is_enough(self) -> bool:
        return self._stops_at_first and bool(self.found)

    def check(self, rules: list[ValidationRule], schema: Any, path: str, value: Any) -> None:
        for rule in rules:
            if self.is_enough:
                return
            evaluate_validation_rule(self._executor, rule, schema, value, path, self.found)


def parse_validation_rules(prop_value: Any) -> list[ValidationRule]:
    """Of what a schema has under `confluent:rules`. What is none is passed over."""
    if not isinstance(prop_value, list):
        return []
    entries = [
        cast(dict[str, Any], entry) for entry in cast(list[Any], prop_value) if isinstance(entry, dict)
    ]
    return [
        ValidationRule(entry.get("name"), entry.get("doc"), entry.get("expr"), entry.get("sql"))
        for entry in entries
    ]


def evaluate_validation_rule(
    executor: ValidationRuleExecutor,
    rule: ValidationRule,
    schema: Any,
    value: Any,
    path: str,
    out: list[ValidationRuleError],
) -> None:
    """Adds to `out` what does not hold. Raises: SerializationError, for a verdict that is none."""
    try:
        result: Any = executor.execute(rule, schema, value)
    except RuleError as error:
        out.append(ValidationRuleError(rule, path, None, error))
        return
    if isinstance(result, bool):
        if not result:
            out.append(ValidationRuleError(rule, path))
    elif isinstance(result, str):
        if result:
            out.append(ValidationRuleError(rule, path, result))
    else:
        raise SerializationError(
            f"Validation rule '{rule.name or 'unnamed'}' resolved to an unexpected type: "
            f"{type(result).__name__}"
        )
