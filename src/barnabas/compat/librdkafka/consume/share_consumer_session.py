"""One open share consumer as librdkafka has it: the core beneath, which messages are to be acknowledged, and
what became of acknowledgements.

Owns what the program may still acknowledge, and the results that its callback has not heard of. Must not know
the client that the program holds, nor its callbacks: that client is collected when the program drops it, and
this is kept by the core.
"""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from barnabas._kernel import Message
from barnabas.broker_errors import InvalidTopicError, UnknownTopicOrPartitionError
from barnabas.client.cluster.observed import Observed
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.share.acknowledgements import AcknowledgementResult
from barnabas.client.share.core import CLOSE_TIMEOUT_MS, ShareCore
from barnabas.client.share.records import AcknowledgeType, ShareRecord
from barnabas.compat.librdkafka.cluster.reaching import reach_cluster
from barnabas.compat.librdkafka.consume.consumer_events import NOT_EVENTS
from barnabas.errors import BarnabasError, MisuseError
from barnabas.events import Event, PollIntervalExceeded
from barnabas.loop_thread import loop_thread
from barnabas.settings.table import ShareConsumerConfig
from barnabas.types import TopicPartition

T = TypeVar("T")

logger = logging.getLogger("barnabas.compat")

Place = tuple[str, int, int]
"""Topic, partition and offset."""

# librdkafka's waits for a topic that does not exist, and says nothing.
_NOT_TOLD = (*NOT_EVENTS, UnknownTopicOrPartitionError)


class ShareConsumerSession(Observed):
    """Belongs to one thread at a time, but for `wake`."""

    def __init__(self, config: ShareConsumerConfig) -> None:
        self.config = config
        self.is_explicit = config.share_acknowledgement_mode == "explicit"
        self.topics: list[str] = []
        self._overdue: deque[PollIntervalExceeded] = deque()
        self._in_hand: dict[Place, ShareRecord] = {}
        self._undecided: set[Place] = set()
        self._loop = loop_thread()

        async def make_core() -> ShareCore:
            return ShareCore(config)

        self.core = self.run(make_core())
        self._client = self.core.client
        self._client.events.add(self._listen)
        self._tasks = Tasks[None]()

    def start(self) -> None:
        """Reaches for the cluster. What it tells of that is heard by those that listen already."""
        client, tasks = self._client, self._tasks

        def begin() -> None:
            tasks.start_in_background(reach_cluster(client), client, "reaching for the cluster")

        self._loop.call(begin)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work, what="share consumer")

    def wake(self) -> None:
        """Has `take` return, or the next one. Any thread."""
        self._loop.call(self.core.wakeup)

    def _listen(self, event: Event) -> None:
        if isinstance(event, PollIntervalExceeded):
            self._overdue.append(event)

    # Subscriptions

    def subscribe(self, topics: list[str]) -> None:
        """Raises: BarnabasError."""
        self._on_loop(lambda: self.core.subscribe(topics))
        self.topics = topics

    def unsubscribe(self) -> None:
        """What was given out can still be acknowledged."""
        self.topics = []
        self._on_loop(self.core.end_subscription)

    # Messages

    def take(self, timeout: float) -> int | None:
        """How many records are lent next; waits for up to `timeout` seconds. None after `wake`. They are for
        `hand_out`, and without it for the next `take`. Raises: BarnabasError."""
        try:
            return self.run(self.core.poll(timeout))
        except _NOT_TOLD:
            # `error_cb` hears of it, and it is tried again.
            return 0
        except InvalidTopicError as error:
            # librdkafka reads the other topics, and says nothing.
            logger.warning("share group %r reads on: %s", self.config.group_id, error)
            return 0

    def next_overdue(self) -> PollIntervalExceeded | None:
        """That the program did not poll for too long, if it has not heard of it."""
        return self._overdue.popleft() if self._overdue else None

    def hand_out(self) -> list[Message]:
        """What `take` took. From now on these can be acknowledged, and no others."""
        records = self.core.records.hand_out()
        self._in_hand = {(r.topic, r.partition, r.offset): r for r in records}
        self._undecided = set(self._in_hand) if self.is_explicit else set()
        return [_message(record) for record in records]

    @property
    def in_hand(self) -> Iterable[ShareRecord]:
        """What was handed out last."""
        return self._in_hand.values()

    def offer_again(self) -> None:
        """The program did not get what was handed out last: the next `take` gives it."""
        self._in_hand, self._undecided = {}, set()
        self.core.records.offer_again()

    # Acknowledgements

    @property
    def undecided(self) -> int:
        """How many messages the program must say something of before it polls again."""
        return len(self._undecided)

    def acknowledge(self, place: Place, acknowledge_type: AcknowledgeType) -> bool:
        """Whether the message was there to be acknowledged."""
        record = self._in_hand.get(place)
        if record is None:
            return False
        try:
            self.core.acknowledge(record, acknowledge_type)
        except MisuseError:
            return False
        self._undecided.discard(place)
        return True

    def commit(
        self, timeout: float
    ) -> tuple[dict[TopicPartition, BarnabasError | None], set[TopicPartition]]:
        """What brokers say, and the partitions of which they say nothing within `timeout` seconds."""
        outcome = self.run(self.core.commit_by_partition(timeout * 1000))
        self._forget_decided()
        return outcome

    def commit_async(self) -> None:
        self._on_loop(self.core.commit_async)
        self._forget_decided()

    def _forget_decided(self) -> None:
        """What was acknowledged and committed is not lent any more."""
        self._in_hand = {place: r for place, r in self._in_hand.items() if place in self._undecided}

    def keep_results(self, *, wanted: bool) -> None:
        """Whether anybody takes them."""
        self.core.keeps_results = wanted

    def next_result(self) -> AcknowledgementResult | None:
        """What became of acknowledgements of one partition, which the program has not heard of."""
        return self.core.take_result()

    # The end

    def close(self) -> None:
        async def close() -> None:
            await self._tasks.end()
            await self.core.close(CLOSE_TIMEOUT_MS)

        self.run(close())

    def abandoned_with(self, client: object) -> weakref.finalize[..., Any]:
        """Ends this when `client` is collected. As with librdkafka, the group is not told; what was lent is
        released with the connections."""
        core, loop, tasks = self.core, self._loop, self._tasks

        async def abandon() -> None:
            await tasks.end()
            await core.abandon()

        def begin() -> None:
            core.client.in_background(abandon(), "closing a forgotten share consumer")

        finalizer = weakref.finalize(client, loop.call, begin)
        finalizer.atexit = False
        return finalizer

    def _on_loop(self, work: Callable[[], T]) -> T:
        async def run() -> T:
            return work()

        return self.run(run())


def _message(record: ShareRecord) -> Message:
    epoch = record.leader_epoch
    headers = list(record.headers) or None
    return Message(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        value=record.value,
        headers=headers,
        timestamp=(record.timestamp_type + 1, record.timestamp),
        leader_epoch=-1 if epoch is None else epoch,
        delivery_count=record.delivery_count,
    )
