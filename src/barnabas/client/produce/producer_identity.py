"""The id and epoch that a producer's batches carry (KIP-98).

Owns which they are at present, and getting those of an idempotent producer without transactions; the others
come from the transaction coordinator. Knows nothing of sequences, nor of what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.produce.batches.batch_steps import BatchSteps
from barnabas.client.produce.batches.partition_queue import HIGHEST_EPOCH, NO_PRODUCER_ID, PartitionQueue
from barnabas.client.produce.batches.partition_queues import PartitionQueues
from barnabas.error_codes import error_for
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest

TRANSACTION_TIMEOUT_MS = 2**31 - 1


class ProducerIdentity:
    """Of one producer. Belongs to the event loop."""

    def __init__(
        self,
        client: KafkaClient,
        queues: PartitionQueues,
        steps: BatchSteps,
        *,
        start: Callable[[Coroutine[Any, Any, None], str], None],
        on_received: Callable[[], None],
        on_refused: Callable[[BarnabasError], None],
    ) -> None:
        """`start` runs what takes time, until the producer is closed. `on_received` is called when there is
        an id that was waited for, `on_refused` when none will come."""
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = -1
        self._client = client
        self._queues = queues
        self._steps = steps
        self._start = start
        self._on_received = on_received
        self._on_refused = on_refused
        self._is_getting = False

    def use(self, producer_id: int, producer_epoch: int) -> None:
        """From now on batches carry these, and sequences from 0 on. Nothing may be on its way."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self._steps.received_producer_id(producer_id, producer_epoch)
        for queue in self._queues.all():
            queue.set_producer_id(producer_id, producer_epoch)

    def give(self, queue: PartitionQueue) -> None:
        """Gives the queue an id, if there is one that it can use; else that is asked for."""
        if self.producer_id == queue.exhausted_producer_id:
            self.producer_id = NO_PRODUCER_ID
        if self.producer_id != NO_PRODUCER_ID:
            queue.set_producer_id(self.producer_id, self.producer_epoch)
        elif not self._is_getting:
            self._is_getting = True
            self._start(self._get(), "getting a producer id")

    def forget(self, queue: PartitionQueue) -> None:
        """The queue is gone; another one of its partition begins with sequence 0. Brokers take that with a
        later epoch than this one had."""
        if queue.producer_id == NO_PRODUCER_ID or queue.producer_id != self.producer_id:
            return
        self.producer_epoch = max(self.producer_epoch, queue.producer_epoch + queue.has_used_epoch)
        if self.producer_epoch > HIGHEST_EPOCH:
            self.producer_id, self.producer_epoch = NO_PRODUCER_ID, -1

    async def _get(self) -> None:
        try:
            producer_id, epoch = await self._client.retry(self._ask, what="getting a producer id")
        except BarnabasError as error:
            if not error.retriable:
                self._on_refused(error)
            return
        finally:
            self._is_getting = False
        self.producer_id, self.producer_epoch = producer_id, epoch
        self._steps.received_producer_id(producer_id, epoch)
        self._on_received()

    async def _ask(self) -> tuple[int, int]:
        """A new producer id and its epoch, from any broker. Raises: as `KafkaClient.retry`, BrokerError."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS)
        response = await self._client.send_to_any(request)
        if response.error_code:
            raise error_for(response.error_code, "asking for a producer id (enable_idempotence)")
        return response.producer_id, response.producer_epoch
