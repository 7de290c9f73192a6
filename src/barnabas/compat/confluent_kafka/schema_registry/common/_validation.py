# pyright: basic
"""Conditions that schemas have themselves: when they are checked, and by what."""

from __future__ import annotations

from enum import Enum
from typing import Any

from barnabas.compat.confluent_kafka.serialization import SerializationError
from barnabas.errors import MissingExtraError
from barnabas.errors import SerializationError as NoVerdictError
from barnabas.registry.rules.validation import ValidationRuleError, ValidationRuleExecutor


class ValidationRulesExecution(str, Enum):  # noqa: UP042  the bases are the original's
    """When they are checked: never, or before or after the rules of a subject change the value."""

    DISABLED = "DISABLED"
    BEFORE_DOMAIN_RULES = "BEFORE_DOMAIN_RULES"
    AFTER_DOMAIN_RULES = "AFTER_DOMAIN_RULES"


def default_validation_rule_executor() -> ValidationRuleExecutor:
    """What evaluates CEL. Raises: ValueError, where the extra is missing."""
    try:
        from barnabas.registry.rules.cel.validator import CelValidator

        return CelValidator()
    except (ImportError, MissingExtraError) as error:
        raise ValueError(
            "The default validation rule executor requires the CEL dependencies; install them with "
            "`pip install 'barnabas[registry-rules]'`, or set validation.rules.executor to a "
            "ValidationRuleExecutor instance."
        ) from error


class Validation:
    """`execution`, `fail_fast` and `executor`, as they are configured."""

    def __init__(
        self,
        execution: ValidationRulesExecution,
        fail_fast: bool,
        executor: ValidationRuleExecutor | None,
    ) -> None:
        self.execution = execution
        self.fail_fast = fail_fast
        self.executor = executor

    @property
    def is_enabled(self) -> bool:
        return self.execution != ValidationRulesExecution.DISABLED

    def check(self, walk: Any, value: Any) -> None:
        """Raises: SerializationError, which names all that does not hold."""
        if self.executor is None or value is None:
            return
        try:
            found = walk.violations(self.executor, value, stops_at_first=self.fail_fast)
        except NoVerdictError as error:
            raise SerializationError(str(error)) from error
        if found:
            raise SerializationError(_listed(found))


def _listed(violations: list[ValidationRuleError]) -> str:
    count = len(violations)
    head = f"Validation rule failed ({count} violation{'' if count == 1 else 's'}):"
    return "\n".join([head, *(f"  - {each}" for each in violations)])


def take_validation(conf: dict[str, Any]) -> Validation:
    """What `conf` says of it, which is taken out of it. Raises: ValueError."""
    given = conf.pop("validation.rules.execution", ValidationRulesExecution.DISABLED)
    try:
        execution = ValidationRulesExecution(given)
    except ValueError:
        names = ", ".join(each.value for each in ValidationRulesExecution)
        raise ValueError(f"validation.rules.execution must be one of {names}")  # noqa: B904
    fail_fast = conf.pop("validation.rules.fail.fast", False)
    if not isinstance(fail_fast, bool):
        raise ValueError("validation.rules.fail.fast must be a boolean value")
    executor = conf.pop("validation.rules.executor", None)
    if execution != ValidationRulesExecution.DISABLED:
        if executor is None:
            executor = default_validation_rule_executor()
        if not isinstance(executor, ValidationRuleExecutor):
            raise ValueError("validation.rules.executor must be a ValidationRuleExecutor instance")
    return Validation(execution, fail_fast, executor)
