"""Whether this process is a child of the one that made an object. Knows nothing of clients."""

from __future__ import annotations

import os

from barnabas.errors import ClosedError

current: int = 0
"""Changes in the child of a fork. For hot paths; elsewhere `generation()`."""


def _forked() -> None:
    global current
    current += 1


os.register_at_fork(after_in_child=_forked)


def generation() -> int:
    """A number that changes in the child of a fork. Cheaper than the process id."""
    return current


def forked_error(what: str) -> ClosedError:
    """The error of a client that is used in a child of the process that made it."""
    return ClosedError(
        f"this {what} was made in the parent of this process (pid {os.getpid()}): its connections and its "
        f"thread did not come along; make a new {what} after the fork"
    )
