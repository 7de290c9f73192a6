"""Which executors and actions there are for rules, by type, and what holds in place of what rules say."""

from __future__ import annotations

import threading
from typing import Any

from barnabas.registry.rules.executors import RuleAction, RuleExecutor
from barnabas.values import frozen


@frozen
class RuleOverride:
    """Settings for all rules of a type, in place of the rules' own; None keeps the rule's."""

    type: str
    on_success: str | None
    on_failure: str | None
    disabled: bool | None


class RuleRegistry:
    """Executors, actions and overrides. All threads may share one; what is registered under a type later
    takes the place of what was."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rule_executors: dict[str, RuleExecutor] = {}
        self._rule_actions: dict[str, RuleAction] = {}
        self._rule_overrides: dict[str, RuleOverride] = {}

    def __getstate__(self) -> tuple[dict[str, Any], ...]:
        with self._lock:
            return dict(self._rule_executors), dict(self._rule_actions), dict(self._rule_overrides)

    def __setstate__(self, state: tuple[dict[str, Any], ...]) -> None:
        self._lock = threading.Lock()
        self._rule_executors, self._rule_actions, self._rule_overrides = state

    def register_executor(self, rule_executor: RuleExecutor) -> None:
        with self._lock:
            self._rule_executors[rule_executor.type()] = rule_executor

    def get_executor(self, name: str) -> RuleExecutor | None:
        with self._lock:
            return self._rule_executors.get(name)

    def get_executors(self) -> list[RuleExecutor]:
        with self._lock:
            return list(self._rule_executors.values())

    def register_action(self, rule_action: RuleAction) -> None:
        with self._lock:
            self._rule_actions[rule_action.type()] = rule_action

    def get_action(self, name: str) -> RuleAction | None:
        with self._lock:
            return self._rule_actions.get(name)

    def get_actions(self) -> list[RuleAction]:
        with self._lock:
            return list(self._rule_actions.values())

    def register_override(self, rule_override: RuleOverride) -> None:
        with self._lock:
            self._rule_overrides[rule_override.type] = rule_override

    def get_override(self, name: str) -> RuleOverride | None:
        with self._lock:
            return self._rule_overrides.get(name)

    def get_overrides(self) -> list[RuleOverride]:
        with self._lock:
            return list(self._rule_overrides.values())

    def clear(self) -> None:
        with self._lock:
            self._rule_executors.clear()
            self._rule_actions.clear()
            self._rule_overrides.clear()

    @staticmethod
    def get_global_instance() -> RuleRegistry:
        """The one that the whole process shares."""
        return _global_instance

    @staticmethod
    def register_rule_executor(rule_executor: RuleExecutor) -> None:
        _global_instance.register_executor(rule_executor)

    @staticmethod
    def register_rule_action(rule_action: RuleAction) -> None:
        _global_instance.register_action(rule_action)

    @staticmethod
    def register_rule_override(rule_override: RuleOverride) -> None:
        _global_instance.register_override(rule_override)


_global_instance = RuleRegistry()
