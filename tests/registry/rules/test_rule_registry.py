from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pytest

from barnabas.registry import Rule, Schema
from barnabas.registry import rules as ours
from barnabas.registry.rules import RuleOverride, RuleRegistry, builtin_rules


class Executor(ours.RuleExecutor):
    def __init__(self, kind: str) -> None:
        self._kind = kind

    def type(self) -> str:
        return self._kind

    def transform(self, ctx: ours.RuleContext, message: Any) -> Any:
        return message


def test_what_is_registered_is_found_until_another_takes_its_place() -> None:
    registry, first, second = RuleRegistry(), Executor("A"), Executor("A")
    action, override = ours.NoneAction(), RuleOverride("A", None, "NONE", True)
    registry.register_executor(first)
    registry.register_executor(second)
    registry.register_action(action)
    registry.register_override(override)
    assert (registry.get_executor("A"), registry.get_executor("B")) == (second, None)
    assert (registry.get_executors(), registry.get_actions()) == ([second], [action])
    assert (registry.get_action("NONE"), registry.get_override("A")) == (action, override)
    assert registry.get_overrides() == [override]
    registry.clear()
    assert registry.get_executors() == registry.get_actions() == registry.get_overrides() == []


def test_the_process_has_one_registry_for_all() -> None:
    everywhere = RuleRegistry.get_global_instance()
    try:
        RuleRegistry.register_rule_executor(Executor("A"))
        RuleRegistry.register_rule_action(ours.NoneAction())
        RuleRegistry.register_rule_override(RuleOverride("A", None, None, None))
        assert everywhere is RuleRegistry.get_global_instance()
        assert [each.type() for each in everywhere.get_executors()] == ["A"]
        assert everywhere.get_action("NONE") is not None
        assert everywhere.get_override("A") is not None
    finally:
        everywhere.clear()


def test_the_package_s_own_executors_travel() -> None:
    rules = pickle.loads(pickle.dumps(builtin_rules()))
    kinds = ["CEL", "CEL_FIELD", "ENCRYPT", "ENCRYPT_PAYLOAD", "JSONATA"]
    assert sorted(each.type() for each in rules.get_executors()) == kinds
    rule = Rule("r", kind="TRANSFORM", type="CEL", expr="message.a + 1")
    mode = ours.RuleMode.WRITE
    context = ours.RuleContext(None, None, None, Schema("{}"), "s", mode, rule, 0, [rule], None, None)
    executor = rules.get_executor("CEL")
    assert executor is not None
    assert executor.transform(context, {"a": 1}) == 2


def test_of_rules_that_do_the_same_to_the_same_fields_one_runs() -> None:
    class Appends(ours.FieldRuleExecutor):
        def type(self) -> str:
            return "X"

        def new_transform(self, ctx: ours.RuleContext) -> ours.FieldTransform:
            return lambda ctx, field, value: value

    rules = [Rule(name, kind="TRANSFORM", mode="WRITEREAD", type="X", tags=["PII"]) for name in "ab"]

    def ran(mode: ours.RuleMode, index: int) -> bool:
        def walk(ctx: Any, transform: Any, message: Any) -> Any:
            return "walked"

        context = ours.RuleContext(None, None, None, None, "s", mode, rules[index], index, rules, None, walk)
        return Appends().transform(context, "as it was") == "walked"

    write, read = ours.RuleMode.WRITE, ours.RuleMode.READ
    assert [ran(write, 0), ran(write, 1), ran(read, 0), ran(read, 1)] == [True, False, False, True]


@pytest.mark.integration
def test_rules_load_no_extra_before_one_is_run() -> None:
    program = """
import sys
from barnabas.registry.rules import builtin_rules
builtin_rules()
for name in ("celpy", "jsonata", "cryptography", "httpx", "google.protobuf", "fastavro", "jsonschema_rs"):
    assert name not in sys.modules, name
"""
    subprocess.run([sys.executable, "-c", program], check=True)
