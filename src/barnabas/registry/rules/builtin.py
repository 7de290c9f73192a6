"""The executors that come with the package, in one registry."""

from __future__ import annotations

from barnabas.registry.rules.rule_registry import RuleRegistry


def builtin_rules() -> RuleRegistry:
    """A new registry with CEL, CEL_FIELD, JSONATA, ENCRYPT and ENCRYPT_PAYLOAD; DLQ needs a producer. What
    they need besides (extras: rules, encryption) is only loaded by a rule of theirs."""
    from barnabas.registry.rules.cel import CelExecutor, CelFieldExecutor
    from barnabas.registry.rules.encryption import EncryptionExecutor, FieldEncryptionExecutor
    from barnabas.registry.rules.jsonata import JsonataExecutor

    rules = RuleRegistry()
    for executor in (
        CelExecutor(),
        CelFieldExecutor(),
        JsonataExecutor(),
        FieldEncryptionExecutor(),
        EncryptionExecutor(),
    ):
        rules.register_executor(executor)
    return rules
