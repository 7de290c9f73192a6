"""The named tuples of kafka-python, as the chosen generation has them, and those that only others have."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka import errors
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.structs import PUBLIC_NAMES, STRUCTS
from barnabas.compat.kafka_engine.values.structs import MemberState as MemberState

globals().update(STRUCTS)

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
    *PUBLIC_NAMES,
    *(errors.__all__ if generation().structs_give_errors else ()),
]


def __getattr__(name: str) -> Any:
    """Programs for 1.2 look for errors here as well."""
    if name.startswith("__"):
        raise AttributeError(f"module 'kafka.structs' has no attribute {name!r}")
    return getattr(errors, name)
