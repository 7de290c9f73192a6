"""The records that a share consumer has acquired, until its program has them.

Owns their order: those that nobody has taken, those that the last poll took, and those that were handed out
last. What is decided of them is the ledger's. Knows nothing of brokers, nor of who waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from barnabas.client.share.acknowledgements import ShareLedger
from barnabas.client.share.records import ShareRecord
from barnabas.clock import CLOCK


class OfferedRecords:
    """Of one share consumer. Belongs to the event loop, but for what is handed out."""

    def __init__(self, ledger: ShareLedger, max_poll_records: int) -> None:
        self._ledger = ledger
        self._max_poll_records = max_poll_records
        self._records: deque[ShareRecord[Any, Any]] = deque()
        self._offered: deque[ShareRecord[Any, Any]] = deque()
        """What the last poll took and nobody has been handed yet."""
        self._handed: list[ShareRecord[Any, Any]] = []
        """What `hand_out` or `hand_out_next` gave last, until the caller goes on."""

    def add(self, records: Iterable[ShareRecord[Any, Any]]) -> None:
        self._records.extend(records)

    def add_first(self, records: Sequence[ShareRecord[Any, Any]]) -> None:
        """These come before the others."""
        self._records.extendleft(reversed(records))

    def lose(self, node_id: int) -> None:
        """What was acquired from this broker, and not taken, is another member's to get."""
        self._records = deque(r for r in self._records if r.acquisition.node_id != node_id)

    def forget_all(self) -> None:
        self._records.clear()
        self._offered.clear()
        self._handed = []

    def take(self, limit: int | None) -> None:
        """Offers what there is. Records whose acquisition lock has expired are another member's to get.

        Whoever polls now and then would keep a rest from everybody else until the next poll; with many
        records lent at once that may be all that the group's other members wait for.
        """
        taken = self._offered
        now = CLOCK.monotonic()
        most = self._max_poll_records if limit is None else limit
        while self._records and (len(taken) < most or (limit is None and self._is_of_one_loan(taken[-1]))):
            record = self._records[0]
            if record.acquisition.locked_until > now:
                taken.append(record)
            self._records.popleft()

    def _is_of_one_loan(self, record: ShareRecord[Any, Any]) -> bool:
        return self._records[0].acquisition is record.acquisition

    def take_back_offered(self) -> None:
        """Nothing is handed out any more. An exception may have ended what comes before, here or in the
        caller, at any line."""
        self._handed = []
        offered = list(self._offered)
        self._ledger.withdraw(offered)
        if offered and self._records and self._records[0] is offered[-1]:
            # It was taken, and not yet removed.
            self._records.popleft()
        if offered and not (self._records and self._records[0] is offered[0]):
            self._records.extendleft(reversed(offered))
        self._offered.clear()

    @property
    def offers(self) -> int:
        """How many records of the last poll are not handed out. Any thread."""
        return len(self._offered)

    def hand_out(self) -> list[ShareRecord[Any, Any]]:
        """All that the last poll took; from now on it is in hand. Any thread. Whoever is interrupted before
        the program has it calls `offer_again`."""
        return self._hand_out(list(self._offered), self._offered.clear)

    def hand_out_next(self) -> ShareRecord[Any, Any]:
        """One of what the last poll took, as `hand_out`. Only while it `offers` some."""
        return self._hand_out([self._offered[0]], self._offered.popleft)[0]

    def _hand_out(
        self, records: list[ShareRecord[Any, Any]], remove: Callable[[], object]
    ) -> list[ShareRecord[Any, Any]]:
        try:
            self._handed = records
            self._ledger.hand_out(records)
            remove()
            return records
        except BaseException:
            self.offer_again()
            raise

    def offer_again(self) -> None:
        """The caller did not get what was handed out last: it comes first in the next poll. Any thread."""
        handed = self.done_with_handed()
        if handed and not (self._offered and self._offered[0] is handed[0]):
            self._offered.extendleft(reversed(handed))

    def done_with_handed(self) -> list[ShareRecord[Any, Any]]:
        """What was handed out last, which the caller has by now. Any thread."""
        handed, self._handed = self._handed, []
        return handed
