"""Whether this process is a child of the one that made an object. Knows nothing of clients."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from typing import Protocol

from barnabas.errors import ClosedError

current: int = 0
"""Changes in the child of a fork. For hot paths; elsewhere `generation()`."""


class Forked(Protocol):
    """What wants to know at once that it came along into a child."""

    def forked(self) -> None: ...


_to_be_told: weakref.WeakSet[Forked] = weakref.WeakSet()


def tell_in_child(whom: Forked) -> None:
    """`whom.forked()` is called in the child of every fork, as long as `whom` lives."""
    _to_be_told.add(whom)


def _forked() -> None:
    global current
    current += 1
    for one in list(_to_be_told):
        one.forked()


def in_child(call: Callable[[], object]) -> None:
    """`call()` is called in the child of every fork, where there are forks: not on Windows."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=call)


in_child(_forked)


def generation() -> int:
    """A number that changes in the child of a fork. Cheaper than the process id."""
    return current


def forked_error(what: str) -> ClosedError:
    """The error of a client that is used in a child of the process that made it."""
    return ClosedError(
        f"this {what} was made in the parent of this process (pid {os.getpid()}): its connections and its "
        f"thread did not come along; make a new {what} after the fork"
    )
