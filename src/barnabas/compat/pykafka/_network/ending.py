"""How producers and consumers end that nobody stops: those that are dropped, and those that are still open
when the interpreter ends.

Knows nothing of what stopping takes.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

from barnabas import fork
from barnabas.loop_thread import is_on_loop_thread

__all__ = ["LastSteps", "can_be_stopped", "stop_dropped"]


def can_be_stopped(generation: int) -> bool:
    """Whether what is collected can be stopped at all. `generation`: of the process that made it.

    Once the interpreter ends, the loop's thread stands still: whoever waits for it waits forever. What was
    open then has been closed before, see `barnabas.client.cluster.lifetimes`. In the child of a fork it is
    the parent's, whose group must not lose a member.
    """
    return not sys.is_finalizing() and generation == fork.generation()


def stop_dropped(dropped: Any, log: logging.Logger) -> None:
    """Stops what is collected. Where the collector runs on the loop's thread, another one does it: the loop
    does not wait for itself."""
    log.debug("Finalising %s", dropped)
    if is_on_loop_thread():
        threading.Thread(target=_stop, args=(dropped, log), daemon=True).start()
    else:
        _stop(dropped, log)


def _stop(dropped: Any, log: logging.Logger) -> None:
    try:
        dropped.stop()
    except Exception as error:
        log.warning("%s was not stopped in order: %s", dropped, error)


class LastSteps:
    """What a consumer of a group has yet to do when the interpreter ends, for its Lifetime."""

    def __init__(self, group: str, count: int) -> None:
        self._group = group
        self._left = count

    def done(self) -> None:
        """One more is."""
        self._left -= 1

    def unfinished(self) -> int:
        return self._left

    async def close_unattended(self) -> None:
        """Nothing is left: what is collected stops then."""

    def waits_for(self) -> str:
        return f"the last commit of group {self._group!r} and for leaving it"
