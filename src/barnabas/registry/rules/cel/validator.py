"""Conditions in schemas, in CEL: `this` is the value, `now` the time."""

from __future__ import annotations

from typing import Any

from barnabas.registry.rules.cel.executors import cel
from barnabas.registry.rules.errors import RuleError
from barnabas.registry.rules.validation import ValidationRule, ValidationRuleExecutor


class CelValidator(ValidationRuleExecutor):
    """Gives what the expression gives, which is to be true or false, or a text that says what is wrong."""

    def execute(self, rule: ValidationRule, schema: Any, message: Any) -> bool | str:
        name = rule.name or "unnamed"
        if message is None:
            raise RuleError(
                f"Validation rule '{name}' received a null value; walkers must enforce skip-on-null before "
                "invoking the executor."
            )
        if not rule.expr:
            raise RuleError(f"Validation rule '{name}' has no expression")
        environment = cel("environment")
        try:
            this = _as_cel(schema, message)
        except Exception as error:
            raise RuleError(f"Could not convert value for validation rule '{name}'") from error
        try:
            result: Any = environment.evaluated(rule.expr, {"this": this})
        except environment.celpy.CELParseError as error:
            raise RuleError(f"Could not compile validation rule '{name}'") from error
        except environment.celpy.CELEvalError as error:
            detail = f" ({rule.doc})" if rule.doc else ""
            raise RuleError(f"Could not execute validation rule '{name}'{detail}") from error
        if isinstance(result, bool):
            return result
        if isinstance(result, str):
            return str(result)
        raise RuleError(f"Validation rule '{name}' must return bool or string; got {type(result).__name__}")


def _as_cel(schema: Any, value: Any) -> Any:
    number = cel("decimals").of_value(value)
    if number is not None:
        return number
    messages = cel("messages")
    # Of a protobuf field, whose values do not say what they are.
    if not messages.is_message(value) and hasattr(schema, "containing_oneof"):
        return messages.field_as_cel(value, schema)
    return messages.as_cel(value)
