"""Our side of a share session (KIP-932): which partitions a broker shares with us, and what is new to it.

Owns a session's epoch, and the difference between one ShareFetch and the next. Does no I/O and knows nothing
of connections, records or acknowledgements.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from barnabas.types import TopicPartition
from barnabas.values import frozen

INITIAL_EPOCH = 0
"""A fetch with this epoch opens a session. It names every partition, and may not acknowledge anything."""
FINAL_EPOCH = -1
"""Ends the session: the broker then releases whatever is not acknowledged."""
_HIGHEST_EPOCH = 2**31 - 1


@frozen
class SessionFetch:
    """What a ShareFetch has to tell the broker of the session."""

    epoch: int
    added: dict[TopicPartition, UUID]
    forgotten: list[tuple[TopicPartition, UUID]]


class ShareSession:
    """One broker's session. Each `next_fetch` and `next_epoch` is followed by `answered` or `start_over`."""

    def __init__(self) -> None:
        self.number = 0
        """Counts the sessions with this broker: what was acquired in an earlier one is not ours any more."""
        self._epoch = INITIAL_EPOCH
        self._known: dict[TopicPartition, UUID] = {}

    @property
    def is_open(self) -> bool:
        """Whether the broker keeps a session for us, so that acknowledgements can be sent."""
        return self._epoch != INITIAL_EPOCH

    @property
    def partitions(self) -> Mapping[TopicPartition, UUID]:
        """What the broker has in the session, with the topic ids that it knows it by."""
        return self._known

    def next_fetch(self, wanted: Mapping[TopicPartition, UUID]) -> SessionFetch:
        """What to send so that the broker shares exactly `wanted`, given with topic ids."""
        known = self._known
        forgotten = [(partition, old) for partition, old in known.items() if wanted.get(partition) != old]
        added = {partition: new for partition, new in wanted.items() if known.get(partition) != new}
        self._known = dict(wanted)
        return SessionFetch(self._epoch, added, forgotten)

    def next_epoch(self) -> int:
        """The epoch of a request that leaves the partitions as they are: a ShareAcknowledge."""
        return self._epoch

    def answered(self) -> None:
        """The broker took the request: the next one has the next epoch."""
        self._epoch = 1 if self._epoch == _HIGHEST_EPOCH else self._epoch + 1

    def start_over(self) -> None:
        """The session is lost, or it is not known whether the broker took the last request."""
        if self.is_open:
            self.number += 1
        self._epoch = INITIAL_EPOCH
        self._known = {}
