"""What a copy that follows is to copy as well: topics that come to match its pattern, and partitions that are
added to its topics. Copies no record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from barnabas import TopicPartition
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.cli.consuming import bounds
from barnabas.cli.copying.accounts import CopyAccount
from barnabas.cli.copying.plan import CopyRoute
from barnabas.cli.names import matching
from barnabas.cli.options import UsageError
from barnabas.cli.output import note

if TYPE_CHECKING:
    from barnabas import Consumer

_LOOK_SECONDS = 5.0

Plan = Callable[[Sequence[str]], list[CopyRoute]]
"""Where these topics go, checked, and made at the target where they are to be. Raises: UsageError."""

Counts = Callable[[Sequence[str]], Mapping[str, int]]
"""How many partitions each of these topics has now; without those that are gone."""


class Newcomers:
    """Looks for them, and assigns their partitions to the consumer beside `partitions`, which it adds to, as
    it does to `planned`. They begin with their first record, or with the first since a time. `pattern` None:
    no topics come. `chosen`: only these numbers are copied, so that no partitions come."""

    def __init__(
        self,
        consumer: Consumer,
        account: CopyAccount,
        pattern: str | None,
        plan: Plan,
        counts: Counts,
        planned: list[CopyRoute],
        partitions: list[TopicPartition],
        *,
        chosen: Sequence[int] | None,
        start: bounds.Since | Literal["beginning"],
    ) -> None:
        self._consumer = consumer
        self._account = account
        self._pattern = pattern
        self._plan = plan
        self._counts = counts
        self._planned = planned
        self._partitions = partitions
        self._chosen = chosen
        self._start: bounds.Start = start
        self._known_counts = {route.source: route.partition_count for route in planned}
        self._looked_at = time.monotonic()
        self._told: set[str] = set()

    def look(self) -> list[CopyRoute]:
        """Topics that have come, or have come to more partitions, if it is time to look again. One that
        cannot be copied is told of once, and looked at again each time."""
        if time.monotonic() < self._looked_at + _LOOK_SECONDS:
            return []
        found = [*self._grown_topics(), *self._new_topics()]
        self._looked_at = time.monotonic()
        return found

    def _new_topics(self) -> list[CopyRoute]:
        if self._pattern is None:
            return []
        known = {route.source for route in self._planned}
        # Of one cluster the targets may match as well.
        known |= {route.target for route in self._planned}
        found = matching(self._consumer.topics(), self._pattern)
        return [route for name in found if name not in known for route in self._take_topic(name)]

    def _grown_topics(self) -> list[CopyRoute]:
        if self._chosen:
            return []
        counts = self._counts(list(self._known_counts))
        grown = [name for name, count in counts.items() if count > self._known_counts[name]]
        return [route for name in grown for route in self._take_partitions(name)]

    def _take_topic(self, name: str) -> list[CopyRoute]:
        try:
            partitions = bounds.partitions_of(self._consumer, [name], self._chosen)
            routes = self._plan([name])
        except UnknownTopicOrPartitionError:
            # It is so new, or so old, that not all brokers agree.
            return []
        except UsageError as error:
            self._tell_once(name, f"{name} is new, and not copied: {error}")
            return []
        self._assign(partitions)
        self._planned += routes
        self._known_counts[name] = routes[0].partition_count
        note(f"{name} is new, and copied to {routes[0].target}")
        return routes

    def _take_partitions(self, name: str) -> list[CopyRoute]:
        known = self._known_counts[name]
        try:
            (route,) = self._plan([name])
        except UnknownTopicOrPartitionError:
            return []
        except UsageError as error:
            self._tell_once(name, f"{name} has new partitions, which are not copied: {error}")
            return []
        self._assign([TopicPartition(name, number) for number in range(known, route.partition_count)])
        self._known_counts[name] = route.partition_count
        self._told.discard(name)
        note(f"{name} has {route.partition_count} partitions by now, all of which are copied")
        return [route]

    def _assign(self, added: Sequence[TopicPartition]) -> None:
        self._partitions += added
        self._consumer.assign(self._partitions)
        bounds.seek(self._consumer, added, self._start)
        for place, kept in self._account.offsets(added).items():
            self._consumer.seek(place, kept)

    def _tell_once(self, name: str, what: str) -> None:
        if name not in self._told:
            self._told.add(name)
            note(f"warning: {what}")
