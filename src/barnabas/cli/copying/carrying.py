"""When groups are carried over: after a copy, and meanwhile where it follows. Looks for no record itself."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas import TopicPartition
from barnabas.cli.copying.groups import CarriedOffset, GroupTransfer
from barnabas.cli.copying.plan import CopyRoute
from barnabas.cli.output import note
from barnabas.errors import BarnabasError

if TYPE_CHECKING:
    from barnabas import Consumer

GROUPS_SECONDS = 60.0
"""Between two looks at the groups of a copy that follows."""


class GroupCarrying:
    """The carrying over of groups, while a copy runs and after it. `partitions` may grow, and so may
    `planned`. `make_rules` is called with groups that were not there at first."""

    def __init__(
        self,
        transfer: GroupTransfer,
        consumer: Consumer,
        planned: Sequence[CopyRoute],
        partitions: Sequence[TopicPartition],
        begins: Mapping[TopicPartition, int],
        make_rules: Callable[[Sequence[str]], None] | None,
    ) -> None:
        self._transfer = transfer
        self._consumer = consumer
        self._planned = planned
        self._partitions = partitions
        self._begins = begins
        self._make_rules = make_rules
        self._done_at = time.monotonic()
        # Raises for a group that is not there before anything is copied.
        committed = transfer.committed(self._targets(), partitions)
        self.groups = sorted({group for group, _ in committed})

    def found(self, *, is_before: bool = False) -> list[CarriedOffset]:
        """What would be committed now; with `is_before`, before the copy."""
        targets = self._targets()
        positions = {each: self._consumer.position(each) for each in self._partitions}
        committed = self._transfer.committed(targets, self._partitions)
        return self._transfer.found(committed, targets, self._begins, positions, is_before=is_before)

    def run(self) -> list[CarriedOffset]:
        self._done_at = time.monotonic()
        found = self.found()
        added = sorted({each.group for each in found}.difference(self.groups))
        if added and self._make_rules is not None:
            self._make_rules(added)
        self.groups += added
        return self._transfer.commit(found)

    def run_when_due(self) -> None:
        """What fails is tried again the next time, and at the end."""
        if time.monotonic() - self._done_at >= GROUPS_SECONDS:
            try:
                self.run()
            except BarnabasError as error:
                note(f"warning: groups were not carried over: {error}")

    def _targets(self) -> dict[str, str]:
        """Without topics that have come to share one, in which no offset is that of one of them."""
        sources = Counter(route.target for route in self._planned)
        return {route.source: route.target for route in self._planned if sources[route.target] == 1}
