"""How far a follower is behind its leader, in time: Kafka's rule for who is in sync no more.

Pure. Must not know logs, nodes or what the time is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FollowerLag:
    """`end_offset`: up to where the follower has the leader's log, as far as the leader has heard; -1 is
    nothing. `caught_up_ms`: when it last had all that there was."""

    end_offset: int
    caught_up_ms: float
    _last_heard_ms: float = 0
    _last_leader_end_offset: int = 0

    def hear(self, end_offset: int, leader_end_offset: int, now_ms: float) -> None:
        """The follower asks for what comes after `end_offset`. One that keeps getting all that the leader had
        when it asked before is not behind, though the leader be ahead by now."""
        if end_offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif end_offset >= self._last_leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self._last_heard_ms)
        self.end_offset = end_offset
        self._last_heard_ms, self._last_leader_end_offset = now_ms, leader_end_offset

    def is_too_long(self, leader_end_offset: int, now_ms: float, max_lag_ms: float) -> bool:
        """However silent, a follower that lacks nothing stays in sync."""
        return self.end_offset != leader_end_offset and now_ms - self.caught_up_ms > max_lag_ms
