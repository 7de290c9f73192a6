"""How long a rule's expression may take, and how much it may make: expressions come out of a registry, from
anyone who may write there.

An evaluator asks at each of its steps whether there is time left, and says what a step made. Knows nothing of
expressions.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from barnabas.registry.rules.errors import RuleError

LONGEST_SECONDS = 10.0
"""That an expression may take with one message, or with one field."""
LOOKS_AT_CLOCK_EVERY = 16
MOST_BYTES = 256 * 1024 * 1024
"""That an expression may make with one message, or with one field, whether they are freed or not."""


class _Evaluation(threading.local):
    deadline: float | None = None
    steps = 0
    bytes_made = 0


_evaluation = _Evaluation()


@contextmanager
def limited() -> Generator[None]:
    """Limits the time and the memory of what this thread evaluates within."""
    before, _evaluation.deadline = _evaluation.deadline, time.monotonic() + LONGEST_SECONDS
    if before is None:
        _evaluation.bytes_made = 0
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


def made(value: object) -> None:
    """Counts the result of a step, without the values that it holds: other steps made those.

    Raises: RuleError when the expression has made too much."""
    _evaluation.bytes_made += sys.getsizeof(value)
    if _evaluation.bytes_made > MOST_BYTES:
        raise RuleError(f"the expression made more than {MOST_BYTES} bytes")
