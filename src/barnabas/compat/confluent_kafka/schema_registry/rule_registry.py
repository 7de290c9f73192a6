"""Which executors and actions there are for rules."""

from barnabas.registry.rules.executors import RuleAction as RuleAction
from barnabas.registry.rules.executors import RuleExecutor as RuleExecutor
from barnabas.registry.rules.rule_registry import RuleOverride as RuleOverride
from barnabas.registry.rules.rule_registry import RuleRegistry as RuleRegistry
