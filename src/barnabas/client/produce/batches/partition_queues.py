"""All batches of a producer that have left the accumulator, by partition.

Owns which partitions have batches that wait or are due, which batches are neither delivered nor failed, and
which may have waited for too long. Belongs to the event loop. Does no I/O; knows nothing of brokers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable

from barnabas._kernel import Accumulator, ProducerBatch
from barnabas.client.produce.batches.expiry import ExpiryWatch
from barnabas.client.produce.batches.outstanding import OutstandingBatches
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.types import TopicPartition


class PartitionQueues:
    """One queue for each partition that was sent to."""

    def __init__(
        self,
        accumulator: Accumulator,
        *,
        is_idempotent: bool,
        is_transactional: bool,
        on_unsealed: Callable[[ProducerBatch], None] | None,
    ) -> None:
        """`on_unsealed` is called with a batch that was taken and has yet to be compressed; None where that
        is done without us."""
        self._accumulator = accumulator
        self._is_idempotent = is_idempotent
        self._is_transactional = is_transactional
        self._on_unsealed = on_unsealed
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._waiting: dict[TopicPartition, PartitionQueue] = {}
        """Queues with batches that wait; some may have none by now."""
        self._rotation = itertools.count()
        self.due: set[TopicPartition] = set()
        """Partitions with a batch in the accumulator that may leave, as of the last `look_for_due`."""
        self.expiry = ExpiryWatch()
        self.outstanding = OutstandingBatches()

    def all(self) -> list[PartitionQueue]:
        return list(self._queues.values())

    def of(self, partition: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(partition)
        if queue is None:
            queue = PartitionQueue(
                partition, is_idempotent=self._is_idempotent, is_transactional=self._is_transactional
            )
            self._queues[partition] = queue
        return queue

    def forget(self, topics: Container[str]) -> list[PartitionQueue]:
        """Takes out the queues of these topics that have nothing on its way and are not needed for what
        follows; gives them."""
        forgotten = [
            queue
            for partition, queue in self._queues.items()
            if partition.topic in topics and queue.can_be_forgotten
        ]
        for queue in forgotten:
            del self._queues[queue.partition]
            self._waiting.pop(queue.partition, None)
        return forgotten

    def take(self, queue: PartitionQueue) -> bool:
        """Closes the partition's oldest batch, which waits in its queue from now on; False without one."""
        batch = self._accumulator.drain(*queue.partition)
        if batch is None:
            return False
        pending = queue.add(batch)
        self.outstanding.add(pending)
        self._waiting[queue.partition] = queue
        self.expiry.watch(queue, batch.created_ms)
        if self._on_unsealed is not None and not batch.is_sealed:
            self._on_unsealed(batch)
        return True

    def take_all(self) -> None:
        """Takes all records out of the accumulator, however few there are."""
        for partition in self._accumulator.partitions():
            queue = self.of(TopicPartition(*partition))
            while self.take(queue):
                pass

    def left_directly(self, queue: PartitionQueue, batch: ProducerBatch) -> PendingBatch:
        """A batch that was sent without having waited here."""
        pending = queue.sent_directly(batch)
        self.outstanding.add(pending)
        self.expiry.watch(queue, batch.created_ms)
        return pending

    def wait(self, queue: PartitionQueue) -> None:
        """The queue has a batch that waits, again or for the first time."""
        self._waiting[queue.partition] = queue

    def look_for_due(self, now: float, linger_ms: float) -> tuple[list[PartitionQueue], float]:
        """Queues with a batch that waits or is due, beginning with another one each time; and the seconds
        until another one has lingered."""
        due, next_ms = self._accumulator.due(now * 1000, linger_ms)
        partitions = [TopicPartition(*partition) for partition in due]
        self.due = set(partitions)
        self._waiting = {partition: queue for partition, queue in self._waiting.items() if queue.waiting}
        queues = list(self._waiting.values())
        queues += [self.of(partition) for partition in partitions if partition not in self._waiting]
        first = next(self._rotation) % len(queues) if queues else 0
        return queues[first:] + queues[:first], next_ms / 1000

    def with_records(self) -> list[PartitionQueue]:
        """Queues that have something to send, as of the last `look_for_due`."""
        queues = [*self._waiting.values(), *map(self.of, self.due)]
        return [queue for queue in queues if queue.waiting or queue.partition in self.due]

    @property
    def topics(self) -> set[str]:
        """Topics with records that are not yet delivered."""
        taken = [queue.partition for queue in self._queues.values() if queue.waiting or queue.in_flight]
        return {topic for topic, _ in [*self._accumulator.partitions(), *taken]}

    @property
    def youngest_ms(self) -> float | None:
        """When the youngest batch here was created; None where there is none."""
        pendings = [p for queue in self._queues.values() for p in [*queue.in_flight, *queue.waiting]]
        return max((pending.batch.created_ms for pending in pendings), default=None)

    def give_up_sent(self) -> Iterable[tuple[PartitionQueue, PendingBatch]]:
        """The batches that may have been sent, also those that are in no queue any more. The others are left
        in the queues, for a new epoch."""
        unsent = {pending for queue in self._queues.values() for pending in queue.give_up_sent()}
        for pending in self.outstanding.all() - unsent:
            yield self._queues[TopicPartition(pending.batch.topic, pending.batch.partition)], pending

    def find_waiting(self) -> None:
        """Looks at each queue anew, where it may not be known which ones wait."""
        self._waiting = {queue.partition: queue for queue in self._queues.values() if queue.waiting}
