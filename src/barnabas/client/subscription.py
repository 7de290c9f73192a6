"""What the caller asked for: topics, a pattern, or partitions of its own choice, and who is told of changes.

Plain data. Knows nothing of groups, brokers or positions.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from barnabas.errors import MisuseError
from barnabas.types import TopicPartition

PartitionsCallback = Callable[[list[TopicPartition]], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class RebalanceListener:
    """Callbacks of a subscription; each gets the partitions concerned, in the thread that polls."""

    on_assigned: PartitionsCallback | None = None
    on_revoked: PartitionsCallback | None = None
    on_lost: PartitionsCallback | None = None
    """Without it, lost partitions are told to `on_revoked` (as in Java)."""


@dataclass(frozen=True, slots=True)
class ListenerCall:
    """A callback that is due, with its partitions."""

    callback: PartitionsCallback
    partitions: list[TopicPartition]

    def run(self) -> Awaitable[None] | None:
        return self.callback(self.partitions)


class Subscription:
    """Topics by name, topics by pattern, or partitions by hand: one of the three at a time."""

    def __init__(self) -> None:
        self.topics: frozenset[str] = frozenset()
        """By name, or the present matches of the pattern."""
        self.pattern: re.Pattern[str] | None = None
        self.is_by_hand = False
        self.listener = RebalanceListener()

    @property
    def is_automatic(self) -> bool:
        """Whether the group decides which partitions are read."""
        return bool(self.topics) or self.pattern is not None

    def subscribe(
        self,
        topics: Iterable[str] | None,
        pattern: str | re.Pattern[str] | None,
        listener: RebalanceListener,
    ) -> None:
        """Raises: MisuseError where both or neither are given, or partitions were assigned by hand."""
        if self.is_by_hand:
            raise MisuseError("partitions are assigned by hand: call unsubscribe() before subscribe()")
        if (topics is None) == (pattern is None):
            raise MisuseError("subscribe() takes either topics or pattern")
        if isinstance(topics, str):
            raise MisuseError(f"topics must be a list of names: [{topics!r}]")
        if pattern is not None:
            # Kafka's own clients match the whole name.
            self.pattern = re.compile(pattern)
            self.topics = frozenset()
        else:
            self.pattern = None
            self.topics = frozenset(topics or ())
        self.listener = listener

    def assign(self) -> None:
        """Raises: MisuseError where topics are subscribed to."""
        if self.is_automatic:
            raise MisuseError("topics are subscribed to: call unsubscribe() before assign()")
        self.is_by_hand = True

    def clear(self) -> None:
        self.topics = frozenset()
        self.pattern = None
        self.is_by_hand = False
        self.listener = RebalanceListener()

    def matches(self, topics: Sequence[str]) -> frozenset[str]:
        """The topics of these that the pattern takes."""
        pattern = self.pattern
        return frozenset(t for t in topics if pattern is not None and pattern.fullmatch(t))
