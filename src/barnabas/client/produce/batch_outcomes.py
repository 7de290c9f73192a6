"""What becomes of a producer's batches: delivered, sent again, split, or failed.

Owns what an answer, its absence, or the end of their time means for batches that left the accumulator, and
the figures of that. Belongs to the event loop. Knows nothing of when batches leave, nor of connections.
"""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING

from barnabas._kernel import Accumulator
from barnabas.client.cluster.error_table import SEQUENCE_ERRORS, TOO_LARGE_ERRORS
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.produce.batches.batch_errors import expired_error, too_large_error, unanswered_error
from barnabas.client.produce.batches.batch_steps import BatchSteps
from barnabas.client.produce.batches.leader_in_flight import SentBatch
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.client.produce.batches.partition_queues import PartitionQueues
from barnabas.client.produce.counters import SenderStats
from barnabas.client.produce.producer_identity import ProducerIdentity
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    BrokerError,
    PurgedError,
    TransactionAbortedError,
)
from barnabas.protocol.messages.produce import ProduceResponse
from barnabas.settings.table import ProducerConfig
from barnabas.types import Node, TopicPartition
from barnabas.wording import records_were

if TYPE_CHECKING:
    from barnabas.client.produce.transactions import Transactions

logger = logging.getLogger("barnabas.producer")

LOG_INTERVAL_SECONDS = 10.0
# The transaction before is still being ended, which takes moments.
CONCURRENT_TRANSACTIONS_BACKOFF_SECONDS = 0.02


class BatchOutcomes:
    """Decides batches. `transactions` hears of those that fail."""

    def __init__(
        self,
        config: ProducerConfig,
        client: KafkaClient,
        accumulator: Accumulator,
        queues: PartitionQueues,
        identity: ProducerIdentity,
        stats: SenderStats,
        steps: BatchSteps,
        transactions: Transactions | None,
    ) -> None:
        self._config = config
        self._client = client
        self._accumulator = accumulator
        self._queues = queues
        self._identity = identity
        self._stats = stats
        self._steps = steps
        self._transactions = transactions
        self._logged_at = -LOG_INTERVAL_SECONDS

    def answered(
        self,
        leader_id: int,
        sent: dict[TopicPartition, SentBatch],
        names: dict[uuid.UUID, str],
        response: ProduceResponse,
    ) -> None:
        """`names`: of the topics, where the answer has their ids."""
        for topic in response.responses:
            name = topic.name or names.get(topic.topic_id, "")
            for answer in topic.partition_responses:
                entry = sent.pop(TopicPartition(name, answer.index), None)
                if entry is None or entry.pending.is_done:
                    continue
                if answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    self.deliver(entry, answer.base_offset, answer.log_append_time_ms)
                else:
                    self._refused(entry, answer, response.node_endpoints)
        if sent:
            self.not_answered(
                sent, BrokenProtocolError(f"node {leader_id} left a partition out of its answer")
            )

    def not_answered(self, sent: dict[TopicPartition, SentBatch], error: BarnabasError) -> None:
        if error.retriable:
            self._client.request_metadata_update()
        for entry in sent.values():
            if entry.pending.is_done:
                continue
            if error.retriable:
                self._retry(entry, unanswered_error(entry.pending, error))
            else:
                self.fail(entry.queue, entry.pending, error)

    def _refused(
        self,
        entry: SentBatch,
        answer: ProduceResponse.PartitionProduceResponse,
        endpoints: list[ProduceResponse.NodeEndpoint],
    ) -> None:
        queue, pending = entry.queue, entry.pending
        code = answer.error_code
        error = error_for(code, str(queue.partition), answer.error_message)
        if code in SEQUENCE_ERRORS and self._config.enable_idempotence:
            pending.last_error = error
            if queue.sequence_refused(pending, self._retry_at(pending, code)):
                self._queues.wait(queue)
                self._stats.batch_retries += 1
                queue.counters.batch_retries += 1
            else:
                self.fail(queue, pending, error)
        elif code in TOO_LARGE_ERRORS:
            self._split(queue, pending, error)
        elif error.retriable:
            if error.invalid_metadata:
                self._new_leader(queue.partition, answer, endpoints)
            self._retry(entry, error, code)
        else:
            for record_error in answer.record_errors:
                reason = record_error.batch_index_error_message or answer.error_message
                record = f"{queue.partition}, record {record_error.batch_index} of its batch"
                pending.batch.fail_record(record_error.batch_index, error_for(code, record, reason))
            if answer.record_errors:
                others = f"{queue.partition}: another record of the same batch was refused"
                error = error_for(code, others, answer.error_message)
            self.fail(queue, pending, error)

    def _new_leader(
        self,
        partition: TopicPartition,
        answer: ProduceResponse.PartitionProduceResponse,
        endpoints: list[ProduceResponse.NodeEndpoint],
    ) -> None:
        leader = answer.current_leader
        if leader.leader_id >= 0 and endpoints:
            nodes = [Node(node.node_id, node.host, node.port, node.rack) for node in endpoints]
            self._client.update_leader(partition, leader.leader_id, leader.leader_epoch, nodes)
        self._client.request_metadata_update()

    def _retry(self, entry: SentBatch, error: BarnabasError, code: int | None = None) -> None:
        queue, pending = entry.queue, entry.pending
        pending.last_error = error
        if pending.attempts > self._config.retries:
            self.fail(queue, pending, error)
            return
        self._stats.batch_retries += 1
        queue.counters.batch_retries += 1
        self._steps.retried(queue, pending, error)
        queue.retry(pending, self._retry_at(pending, code))
        self._queues.wait(queue)

    def _retry_at(self, pending: PendingBatch, code: int | None) -> float:
        seconds = self._client.backoff.delay_ms(pending.attempts) / 1000
        if code == ErrorCode.CONCURRENT_TRANSACTIONS:
            seconds = min(seconds, CONCURRENT_TRANSACTIONS_BACKOFF_SECONDS)
        return CLOCK.monotonic() + seconds

    def _split(self, queue: PartitionQueue, pending: PendingBatch, error: BrokerError) -> None:
        if pending.record_count == 1:
            self.fail(queue, pending, too_large_error(queue, pending, error))
            return
        self._stats.batch_splits += 1
        pending.is_done = True
        parts = pending.batch.split(max(pending.size // 2, 1))
        self._queues.outstanding.replace(pending, queue.replace(pending, parts))
        self._queues.wait(queue)

    def expire(self, now: float) -> float | None:
        """Fails what has waited for delivery_timeout_ms; gives the seconds until another may have."""
        until_ms = now * 1000 - self._config.delivery_timeout_ms
        expiry = self._queues.expiry
        for queue in list(expiry.take(until_ms)):
            self._fail_expired(queue, until_ms)
            remaining = [pending.batch.created_ms for pending in (*queue.in_flight, *queue.waiting)]
            if remaining:
                expiry.watch(queue, min(remaining))
        next_ms = expiry.next_ms
        return None if next_ms is None else (next_ms - until_ms) / 1000

    def _fail_expired(self, queue: PartitionQueue, until_ms: float) -> None:
        for pending in [*queue.in_flight, *queue.waiting]:
            if pending.batch.created_ms > until_ms:
                continue
            timeout_ms = self._config.delivery_timeout_ms
            self.fail(queue, pending, expired_error(queue, pending, timeout_ms, self._client))

    def deliver(self, entry: SentBatch, base_offset: int, log_append_time: int) -> None:
        entry.queue.succeeded(entry.pending)
        records, now = entry.pending.record_count, CLOCK.monotonic()
        self._stats.batch_delivered(entry.queue.partition.topic, records, entry.bytes, now)
        latency_ms = now * 1000 - entry.pending.batch.created_ms
        entry.queue.counters.batch_delivered(records, entry.bytes, now, latency_ms)
        self._steps.delivered(entry.queue, entry.pending, base_offset)
        entry.pending.is_done = True
        self._accumulator.release(entry.pending.batch)
        entry.pending.batch.complete(base_offset, log_append_time)
        self._queues.outstanding.done(entry.pending)

    def fail(self, queue: PartitionQueue, pending: PendingBatch, error: BarnabasError) -> None:
        self._steps.failed(queue, pending, error)
        queue.failed(pending)
        told = error
        if self._transactions is not None:
            leader_id = self._client.metadata.leader(queue.partition)
            place = (self._identity.producer_id, self._identity.producer_epoch)
            told = self._transactions.failed_by(error, queue, pending, leader_id, place)
        self._stats.records_failed += pending.record_count
        queue.counters.records_failed += pending.record_count
        pending.is_done = True
        self._accumulator.release(pending.batch)
        now = CLOCK.monotonic()
        was_wanted = isinstance(error, (PurgedError, TransactionAbortedError))
        if not was_wanted and now - self._logged_at >= LOG_INTERVAL_SECONDS:
            self._logged_at = now
            logger.error("%s not delivered: %s", records_were(pending.record_count), error)
        pending.batch.fail(told)
        self._queues.outstanding.done(pending)
