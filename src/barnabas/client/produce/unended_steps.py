"""Whether a producer's steps came to their ends.

The handler of a signal may raise at any line of a callback of the event loop. asyncio then goes on, or ends
the loop, without the rest of that callback. A step that changes what is on its way is counted before its
first change, and no more counted after its last. What is counted when a cycle begins has not ended: sequences
and the order of batches may be wrong, and nothing more may be sent by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.client.produce.outstanding import OutstandingBatches
from barnabas.client.produce.partition_queue import PartitionQueue, PendingBatch
from barnabas.types import TopicPartition


class UnendedSteps:
    """Belongs to one event loop. Steps may be within others; none waits."""

    def __init__(self) -> None:
        self.count = 0


def in_doubt(
    queues: Mapping[TopicPartition, PartitionQueue], outstanding: OutstandingBatches
) -> Iterable[tuple[PartitionQueue, PendingBatch]]:
    """The batches that may have been sent, also those that are in no queue any more. The others are left in
    the queues, for a new epoch."""
    unsent = {pending for queue in queues.values() for pending in queue.give_up_sent()}
    for pending in outstanding.all() - unsent:
        yield queues[TopicPartition(pending.batch.topic, pending.batch.partition)], pending
