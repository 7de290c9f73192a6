"""Conditions in CEL that schemas have themselves."""

from barnabas.registry.rules.cel.validator import CelValidator as CelValidator
