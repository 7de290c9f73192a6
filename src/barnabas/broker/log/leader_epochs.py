"""Where each leader epoch began in a partition (KIP-101, KIP-320). Knows nothing of who sets epochs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

UNDEFINED = -1


class LeaderEpochs:
    """Entries (epoch, first offset written in it), both growing."""

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._entries = list(entries)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Notes that records from `start_offset` on are of `epoch`, unless that is known."""
        if epoch < 0 or (self._entries and self._entries[-1][0] >= epoch):
            return
        while self._entries and self._entries[-1][1] >= start_offset:
            self._entries.pop()
        self._entries.append((epoch, start_offset))

    def truncate_from_end(self, end_offset: int) -> None:
        """Forgets epochs that begin at or after the end of the log."""
        while self._entries and self._entries[-1][1] >= end_offset:
            self._entries.pop()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forgets epochs that lie before the start of the log; the one that spans it then begins there."""
        spanning = [entry for entry in self._entries if entry[1] <= start_offset]
        rest = self._entries[len(spanning) :]
        if spanning and (not rest or rest[0][1] > start_offset):
            rest.insert(0, (spanning[-1][0], start_offset))
        self._entries = rest

    def epoch_at(self, offset: int) -> int:
        """The epoch of the record at an offset, or of the next one to come; UNDEFINED if none is known."""
        return next((epoch for epoch, start in reversed(self._entries) if start <= offset), UNDEFINED)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(the epoch itself or the greatest below it, the offset where that ended), or UNDEFINED for both."""
        if not self._entries or epoch < 0 or epoch > self._entries[-1][0]:
            return UNDEFINED, UNDEFINED
        if epoch == self._entries[-1][0]:
            return epoch, log_end_offset
        below = [entry for entry in self._entries if entry[0] <= epoch]
        end = self._entries[len(below)][1]
        return (below[-1][0] if below else epoch), end
