"""How long a rule's expression may take: expressions come out of a registry, from anyone who may write there.

An evaluator asks at each of its steps whether there is time left. Knows nothing of expressions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from barnabas.registry.rules.errors import RuleError

LONGEST_SECONDS = 10.0
"""That an expression may take with one message, or with one field."""
LOOKS_AT_CLOCK_EVERY = 16


class _Evaluation(threading.local):
    deadline: float | None = None
    steps = 0


_evaluation = _Evaluation()


@contextmanager
def limited() -> Generator[None]:
    """What is evaluated within, in this thread, has its time limited."""
    before, _evaluation.deadline = _evaluation.deadline, time.monotonic() + LONGEST_SECONDS
    try:
        yield
    finally:
        _evaluation.deadline = before


def step() -> None:
    """Raises: RuleError, when the time is over."""
    _evaluation.steps += 1
    if not _evaluation.steps % LOOKS_AT_CLOCK_EVERY:
        look_at_clock()


def look_at_clock() -> None:
    """Raises: RuleError, when the time is over."""
    deadline = _evaluation.deadline
    if deadline is not None and time.monotonic() > deadline:
        raise RuleError(f"the expression took more than {LONGEST_SECONDS:g} seconds")
