"""The executors that come with the package, in one registry, and with those of the process."""

from __future__ import annotations

import importlib

from barnabas.registry.rules.rule_registry import RuleRegistry


def builtin_rules() -> RuleRegistry:
    """A new registry with CEL, CEL_FIELD, JSONATA, ENCRYPT and ENCRYPT_PAYLOAD; DLQ needs a producer. What
    they need besides (extras: rules, encryption) is only loaded by a rule of theirs."""
    from barnabas.registry.rules.cel import CelExecutor, CelFieldExecutor
    from barnabas.registry.rules.jsonata import JsonataExecutor

    # By name: it has a client of its own, and whoever asks for these does no I/O.
    encryption = importlib.import_module("barnabas.registry.rules.encryption")
    rules = RuleRegistry()
    for executor in (
        CelExecutor(),
        CelFieldExecutor(),
        JsonataExecutor(),
        encryption.FieldEncryptionExecutor(),
        encryption.EncryptionExecutor(),
    ):
        rules.register_executor(executor)
    return rules


def rules_of_process() -> RuleRegistry:
    """A new registry with what is registered for the process, and with the package's own executors for types
    of rules that it has none for."""
    rules, process = builtin_rules(), RuleRegistry.get_global_instance()
    for executor in process.get_executors():
        rules.register_executor(executor)
    for action in process.get_actions():
        rules.register_action(action)
    for override in process.get_overrides():
        rules.register_override(override)
    return rules
