"""Transactions: the calls of KafkaAdminClient about them (KIP-664), as kafka-python 3 answers, and what they
give."""

from __future__ import annotations

import time
from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.util import EnumHelper
from barnabas.compat.kafka_engine.admin import transactions as requests
from barnabas.compat.kafka_engine.admin.session import BrokerSession
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest

TopicPartition: Any = STRUCTS["TopicPartition"]

_SLACK_MS = 5 * 60 * 1000


class TransactionState(EnumHelper, str, Enum):  # noqa: UP042 kafka-python's own bases
    """How far a transaction is, in the brokers' words."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"


_OVER = (
    *(TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT),
    TransactionState.DEAD,
)


class TransactionListing(NamedTuple):
    """A transaction that a broker lists."""

    transactional_id: str
    producer_id: int
    state: TransactionState


class TransactionDescription(NamedTuple):
    """What its coordinator tells of a transaction."""

    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    topic_partitions: set[Any]


class ProducerState(NamedTuple):
    """A producer that a replica of a partition knows."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_transaction_start_offset: int


class PartitionProducerState(NamedTuple):
    """The producers of a partition."""

    active_producers: list[ProducerState]


class AbortTransactionSpec(NamedTuple):
    """A transaction that is to end in a partition. `coordinator_epoch`: -1 passes by the broker's check of
    it."""

    topic_partition: Any
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = -1


class TransactionsAdminMixin:
    """Calls about transactions and their producers."""

    _session: BrokerSession

    def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[Any] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """The transactions that brokers coordinate, by the broker's id; of all brokers for None.

        `state_filters`: TransactionStates, or the brokers' words for them. `duration_filter_ms`: those that
        take longer (3.8 and later). `transactional_id_pattern`: a regular expression (4.1 and later). Raises:
        UnsupportedVersionError of older brokers.
        """
        return self._session.run(
            self._listed_transactions(
                *(broker_ids, producer_id_filters, state_filters, duration_filter_ms),
                transactional_id_pattern,
            )
        )

    async def _listed_transactions(
        self,
        broker_ids: Iterable[int] | None,
        producer_ids: Iterable[int] | None,
        states: Iterable[Any] | None,
        duration_ms: int | None,
        pattern: str | None,
    ) -> dict[int, list[TransactionListing]]:
        if duration_ms is not None and await self._session.version(ListTransactionsRequest) < 1:
            raise Errors.UnsupportedVersionError(
                "duration_filter_ms requires broker support for ListTransactions v1+ (Apache Kafka 3.8+)."
            )
        if pattern is not None and await self._session.version(ListTransactionsRequest) < 2:
            raise Errors.UnsupportedVersionError(
                "transactional_id_pattern requires broker support for ListTransactions v2+ "
                "(Apache Kafka 4.1+, KIP-1152)."
            )
        answers = await requests.list_transactions(
            self._session,
            broker_ids,
            states=states or (),
            producer_ids=producer_ids or (),
            duration_ms=duration_ms,
            pattern=pattern,
        )
        found: dict[int, list[TransactionListing]] = {}
        for broker_id, answer in answers.items():
            answer.check_whole()
            found[broker_id] = [
                TransactionListing(
                    each.transactional_id, each.producer_id, TransactionState(each.transaction_state)
                )
                for each in answer.message.transaction_states
            ]
        return found

    def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
        """What their coordinators tell of transactions. Raises: TransactionalIdNotFoundError."""
        return self._session.run(self._described_transactions(list(transactional_ids)))

    async def _described_transactions(
        self, transactional_ids: list[str]
    ) -> dict[str, TransactionDescription]:
        found: dict[str, TransactionDescription] = {}
        if not transactional_ids:
            return found
        for answer in await requests.describe_transactions(self._session, transactional_ids):
            for each in answer.message.transaction_states:
                if each.error_code:
                    raise Errors.for_code(each.error_code)(
                        f"DescribeTransactionsRequest failed for transactional id '{each.transactional_id}'."
                    )
                found[each.transactional_id] = TransactionDescription(
                    coordinator_id=answer.node_id,
                    state=TransactionState(each.transaction_state),
                    producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch,
                    transaction_timeout_ms=each.transaction_timeout_ms,
                    transaction_start_time_ms=each.transaction_start_time_ms,
                    topic_partitions={
                        TopicPartition(topic.topic, partition)
                        for topic in each.topics
                        for partition in topic.partitions
                    },
                )
        return found

    def describe_producers(
        self, partitions: Iterable[Any], broker_id: int | None = None
    ) -> dict[Any, PartitionProducerState]:
        """The producers that the leaders of partitions know, or a replica of them. Raises:
        UnknownTopicOrPartitionError, NotLeaderForPartitionError."""
        wanted = list(partitions)
        found: dict[Any, PartitionProducerState] = {}
        if not wanted:
            return found
        for answer in self._session.run(requests.describe_producers(self._session, wanted, broker_id)):
            for topic in answer.message.topics:
                for partition in topic.partitions:
                    key = TopicPartition(topic.name, partition.partition_index)
                    if partition.error_code:
                        raise Errors.for_code(partition.error_code)(
                            f"DescribeProducersRequest failed for {key}: {partition.error_message}"
                        )
                    found[key] = PartitionProducerState(
                        [
                            ProducerState(
                                *(each.producer_id, each.producer_epoch, each.last_sequence),
                                *(each.last_timestamp, each.coordinator_epoch),
                                each.current_txn_start_offset,
                            )
                            for each in partition.active_producers
                        ]
                    )
        return found

    def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Ends a transaction that is open in a partition, whose coordinator has forgotten it. Raises:
        UnknownTopicOrPartitionError, InvalidProducerEpochError."""
        answer = self._session.run(requests.write_abort_marker(self._session, spec))
        for marker in answer.message.markers:
            for topic in marker.topics:
                for partition in topic.partitions:
                    if partition.error_code:
                        raise Errors.for_code(partition.error_code)(
                            f"WriteTxnMarkers (abort) failed for {spec.topic_partition}"
                        )

    def find_hanging_transactions(
        self, broker_ids: Iterable[int] | None = None, max_transaction_timeout_ms: int = 900000
    ) -> list[dict[str, Any]]:
        """The transactions that are open for five minutes longer than the brokers'
        transaction.max.timeout.ms: who has them, in which partitions, and for how long."""
        return self._session.run(
            self._hanging_transactions(broker_ids, max_transaction_timeout_ms + _SLACK_MS)
        )

    async def _hanging_transactions(
        self, broker_ids: Iterable[int] | None, threshold_ms: int
    ) -> list[dict[str, Any]]:
        listed = await self._listed_transactions(broker_ids, None, None, None, None)
        transactional_ids = sorted({each.transactional_id for some in listed.values() for each in some})
        described = await self._described_transactions(transactional_ids)
        now_ms = int(time.time() * 1000)
        return [
            {
                "transactional_id": transactional_id,
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "state": each.state.value,
                "age_ms": now_ms - each.transaction_start_time_ms,
                "coordinator_id": each.coordinator_id,
                "topic_partitions": sorted(each.topic_partitions),
            }
            for transactional_id, each in described.items()
            if each.state not in _OVER
            and each.transaction_start_time_ms >= 0
            and now_ms - each.transaction_start_time_ms >= threshold_ms
        ]
