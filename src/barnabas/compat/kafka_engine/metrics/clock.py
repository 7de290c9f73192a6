"""The clock that metrics go by, and which of their bases a program may leave incomplete."""

from __future__ import annotations

import time
from typing import TypeVar

from barnabas.clock import CLOCK
from barnabas.compat.kafka_engine.generations import generation

C = TypeVar("C", bound=type)


def now_ms() -> float:
    """The time that is taken where a program gives none."""
    return (CLOCK.monotonic() if generation().metrics_clock == "monotonic" else time.time()) * 1000


def complete_by_choice(base: C) -> C:
    """Where a generation never checked it, subclasses of `base` may lack some of its methods."""
    if not generation().metrics_bases_are_abstract:
        base.__abstractmethods__ = frozenset()
    return base
