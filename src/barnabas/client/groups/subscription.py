"""What the caller asked for: topics, a pattern, or partitions of its own choice, and who is told of changes.

Plain data. Knows nothing of groups, brokers or positions.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Awaitable, Callable, Iterable, Sequence

from barnabas.errors import MisuseError
from barnabas.types import TopicPartition
from barnabas.values import frozen

PartitionsCallback = Callable[[list[TopicPartition]], Awaitable[None] | None]


@frozen
class RebalanceListener:
    """Callbacks of a subscription; each gets the partitions concerned, in the thread that polls."""

    on_assigned: PartitionsCallback | None = None
    on_revoked: PartitionsCallback | None = None
    on_lost: PartitionsCallback | None = None
    """Without it, lost partitions are told to `on_revoked` (as in Java)."""

    def held_weakly(self) -> RebalanceListener:
        """The same callbacks for as long as somebody holds this listener. What they refer to, the consumer
        itself for instance, can be collected."""
        callbacks = (self.on_assigned, self.on_revoked, self.on_lost)
        return RebalanceListener(*(None if each is None else _held_weakly(each) for each in callbacks))


def _held_weakly(callback: PartitionsCallback) -> PartitionsCallback:
    try:
        reference = weakref.ref(callback)
    except TypeError:
        return callback

    def call(partitions: list[TopicPartition]) -> Awaitable[None] | None:
        held = reference()
        return None if held is None else held(partitions)

    return call


@frozen
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
        """By name, or the present matches of `pattern`."""
        self.pattern: re.Pattern[str] | None = None
        """Matched here, against the names in the metadata."""
        self.broker_pattern: str | None = None
        """Matched by the group's coordinator (KIP-848), in the syntax of RE2/J."""
        self.is_by_hand = False
        self.listener = RebalanceListener()

    @property
    def is_automatic(self) -> bool:
        """Whether the group decides which partitions are read."""
        return bool(self.topics) or self.pattern is not None or self.broker_pattern is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for: before `subscribe` and `assign`, and after `unsubscribe`."""
        return not (self.is_automatic or self.is_by_hand)

    @property
    def wish(self) -> tuple[frozenset[str], re.Pattern[str] | None, str | None]:
        """All that decides which topics are read: equal for subscriptions to the same."""
        return self.topics, self.pattern, self.broker_pattern

    def subscribe(
        self,
        topics: Iterable[str] | None,
        pattern: str | re.Pattern[str] | None,
        listener: RebalanceListener,
        *,
        by_broker: bool = False,
    ) -> None:
        """`by_broker`: a pattern that is a string is for the coordinator to match.

        Raises: MisuseError where both or neither are given, partitions were assigned by hand, or the pattern
        is not one of Python's; TypeError for topics whose names are no str.
        """
        if self.is_by_hand:
            raise MisuseError("partitions are assigned by hand: call unsubscribe() before subscribe()")
        if (topics is None) == (pattern is None):
            raise MisuseError("subscribe() takes either topics or pattern")
        if isinstance(topics, str):
            raise MisuseError(f"topics must be a list of names: [{topics!r}]")
        for topic in (topics := tuple(topics or ())):
            if not isinstance(topic, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"expected a str for each of topics, got {topic!r}")
        for_broker = pattern if by_broker and isinstance(pattern, str) else None
        compiled = compiled_pattern(pattern) if pattern is not None and for_broker is None else None
        self.clear()
        self.broker_pattern = for_broker
        self.pattern = compiled
        self.topics = frozenset(topics)
        self.listener = listener

    def match_here(self) -> None:
        """The coordinator turned out not to match patterns. Raises: MisuseError."""
        if self.broker_pattern is not None:
            self.pattern = compiled_pattern(self.broker_pattern)
            self.broker_pattern = None

    def takes(self, topic: str) -> bool:
        """Whether partitions of this topic may still be wanted, as far as can be told here."""
        return self.broker_pattern is not None or topic in self.topics

    def assign(self) -> None:
        """Raises: MisuseError where topics are subscribed to."""
        if self.is_automatic:
            raise MisuseError("topics are subscribed to: call unsubscribe() before assign()")
        self.is_by_hand = True

    def clear(self) -> None:
        self.topics = frozenset()
        self.pattern = None
        self.broker_pattern = None
        self.is_by_hand = False
        self.listener = RebalanceListener()

    def matches(self, topics: Sequence[str]) -> frozenset[str]:
        """The topics of these whose whole name the pattern matches, as in Kafka's own clients."""
        pattern = self.pattern
        return frozenset(t for t in topics if pattern is not None and pattern.fullmatch(t))


def compiled_pattern(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """The pattern, compiled. Raises: MisuseError."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise MisuseError(f"pattern {pattern!r} is not a regular expression: {error}") from error
