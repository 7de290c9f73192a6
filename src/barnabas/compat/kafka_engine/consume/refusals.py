"""Raising what the chosen generation raises for a call that cannot be."""

from __future__ import annotations

import builtins
from typing import Any

from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.errors import CLASSES


def refusal(what: str, **details: Any) -> Exception:
    """The exception for `what` is wrong, a key of the generation's table, whose text has room for
    `details`."""
    kind, text = generation().consumer_refusals[what]
    cls = getattr(builtins, kind, None) or CLASSES[kind]
    return cls(text.format(**details)) if text else cls()


def check(holds: object, what: str, **details: Any) -> None:
    """Raises: the exception for `what`, unless it `holds`; one that this generation does not refuse,
    never."""
    if not holds and what in generation().consumer_refusals:
        raise refusal(what, **details)
