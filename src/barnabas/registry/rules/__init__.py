"""Rules of schemas: conditions, transformations, encryption, migrations, and what follows when they fail.

A rule is carried out by an executor, found by the rule's type in a `RuleRegistry`. Own ones are subclasses of
`RuleExecutor`, `FieldRuleExecutor` and `RuleAction`. `DlqAction` sends what failed to a dead letter topic.
Must not know Kafka's clients.
"""

from barnabas.registry.rules.builtin import builtin_rules
from barnabas.registry.rules.context import FieldContext, FieldTransform, FieldTransformer, RuleContext
from barnabas.registry.rules.dlq import DlqAction
from barnabas.registry.rules.errors import RuleConditionError, RuleError
from barnabas.registry.rules.executors import (
    ErrorAction,
    FieldRuleExecutor,
    NoneAction,
    RuleAction,
    RuleBase,
    RuleExecutor,
)
from barnabas.registry.rules.kinds import FieldType, RuleKind, RuleMode, RulePhase
from barnabas.registry.rules.rule_registry import RuleOverride, RuleRegistry

__all__ = [
    "DlqAction",
    "ErrorAction",
    "FieldContext",
    "FieldRuleExecutor",
    "FieldTransform",
    "FieldTransformer",
    "FieldType",
    "NoneAction",
    "RuleAction",
    "RuleBase",
    "RuleConditionError",
    "RuleContext",
    "RuleError",
    "RuleExecutor",
    "RuleKind",
    "RuleMode",
    "RuleOverride",
    "RulePhase",
    "RuleRegistry",
    "builtin_rules",
]
