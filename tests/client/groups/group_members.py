"""Members of one group, for the tests of groups."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from tests.waiting import Patience

from barnabas import Consumer, Record, TopicPartition


class Group:
    """Members of one group, each polled by the test, with a diary of what they were told."""

    def __init__(self, broker: Any, **settings: Any) -> None:
        """`settings`: of every member."""
        self.broker = broker
        self.settings = settings
        self.name = f"group-{uuid.uuid4().hex[:12]}"
        self.members: list[Consumer] = []
        self.diary: list[tuple[str, Consumer, list[TopicPartition]]] = []
        self.records: list[tuple[Consumer, Record]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Closes all that are members still, each though another's closing fails."""
        with ExitStack() as closing:
            for consumer in self.members:
                closing.callback(consumer.close)

    def member(self, topics: list[str] | None = None, pattern: Any = None, **settings: Any) -> Consumer:
        settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50, **self.settings, **settings}
        consumer = Consumer(self.broker.bootstrap, group_id=self.name, **settings)

        def note(event: str) -> Callable[[list[TopicPartition]], None]:
            return lambda partitions: self.diary.append((event, consumer, partitions))

        consumer.subscribe(
            topics,
            pattern=pattern,
            on_assigned=note("assigned"),
            on_revoked=note("revoked"),
            on_lost=note("lost"),
        )
        self.members.append(consumer)
        return consumer

    def close(self, consumer: Consumer) -> None:
        self.members.remove(consumer)
        consumer.close()

    def poll(self) -> None:
        """One poll of each member."""
        for consumer in self.members:
            self.records += [(consumer, record) for record in consumer.poll(0.05)]

    def poll_until(self, condition: Callable[[], bool], timeout: float = 60.0) -> None:
        patience = Patience(timeout)
        while not condition():
            patience.check((self.sizes(), self.diary))
            self.poll()

    def sizes(self) -> list[int]:
        return sorted(len(consumer.assignment()) for consumer in self.members)

    def places(self) -> list[tuple[int, int]]:
        """Partition and offset of all that was read, in order."""
        return sorted((record.partition, record.offset) for _, record in self.records)

    def told(self, event: str, consumer: Consumer) -> list[TopicPartition]:
        """All partitions that this member was told of in such events."""
        return [p for e, c, partitions in self.diary if e == event and c is consumer for p in partitions]


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]
