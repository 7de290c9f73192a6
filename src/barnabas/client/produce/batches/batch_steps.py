"""Tells those who follow a producer what becomes of its batches. Decides nothing; costs a look where nobody
follows.
"""

from __future__ import annotations

from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.errors import BarnabasError
from barnabas.steps import (
    BatchDelivered,
    BatchFailed,
    BatchRetried,
    BatchSent,
    ProducerIdReceived,
    Step,
)


class BatchSteps:
    """Of one producer."""

    def __init__(self, steps: EventListeners[Step]) -> None:
        self._steps = steps

    def sent(self, queue: PartitionQueue, pending: PendingBatch, leader_id: int, size: int) -> None:
        if self._steps:
            self._steps.emit(
                BatchSent(
                    queue.partition,
                    pending.record_count,
                    pending.sequence,
                    leader_id,
                    size,
                    pending.attempts,
                    queue.producer_id,
                    queue.producer_epoch,
                )
            )

    def delivered(self, queue: PartitionQueue, pending: PendingBatch, base_offset: int) -> None:
        if self._steps:
            self._steps.emit(
                BatchDelivered(queue.partition, pending.record_count, pending.sequence, base_offset)
            )

    def retried(self, queue: PartitionQueue, pending: PendingBatch, error: BarnabasError) -> None:
        if self._steps:
            self._steps.emit(BatchRetried(queue.partition, pending.record_count, pending.sequence, error))

    def failed(self, queue: PartitionQueue, pending: PendingBatch, error: BarnabasError) -> None:
        if self._steps:
            self._steps.emit(BatchFailed(queue.partition, pending.record_count, pending.sequence, error))

    def received_producer_id(self, producer_id: int, producer_epoch: int) -> None:
        if self._steps:
            self._steps.emit(ProducerIdReceived(producer_id, producer_epoch))
