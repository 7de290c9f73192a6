"""Leader epochs as clients state them (KIP-320): whoever has an older view must refresh it, a newer one is
ours to learn. Knows only the numbers.
"""

from __future__ import annotations

from barnabas.broker_errors import FencedLeaderEpochError, UnknownLeaderEpochError

NONE_STATED = -1


def check_leader_epoch(stated: int, current: int) -> None:
    """Raises: FencedLeaderEpochError, UnknownLeaderEpochError. A client that states none (-1) may pass."""
    if stated < current and stated != NONE_STATED:
        raise FencedLeaderEpochError(f"leader epoch {stated} is over, {current} is the current one")
    if stated > current:
        raise UnknownLeaderEpochError(f"leader epoch {stated} is not known, {current} is the current one")
