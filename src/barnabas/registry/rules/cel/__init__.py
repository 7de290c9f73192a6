"""Rules in CEL: conditions and transformations of messages and fields, and conditions in schemas themselves.

The language is cel-python's (extra: rules); the functions are those that Confluent's clients add to it.
"""

from barnabas.registry.rules.cel.executors import CelExecutor, CelFieldExecutor
from barnabas.registry.rules.cel.validator import CelValidator

__all__ = ["CelExecutor", "CelFieldExecutor", "CelValidator"]
