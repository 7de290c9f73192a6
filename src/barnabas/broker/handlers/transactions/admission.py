"""Whether a batch of a transaction may be written to a partition (KIP-890).

Owns what Produce and TxnOffsetCommit ask alike, and the codes that their versions know.
"""

from __future__ import annotations

from barnabas.broker.handlers.api import BrokerParts
from barnabas.broker.replication.acknowledgement import Written
from barnabas.broker.topic import Partition
from barnabas.broker.transactions.transaction import VERSION_WITH_EPOCH_BUMPS
from barnabas.broker.transactions.transaction_manager import TransactionManager
from barnabas.broker_errors import (
    ConcurrentTransactionsError,
    CoordinatorNotAvailableError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    NotEnoughReplicasError,
    ProducerFencedError,
    TransactionAbortableError,
)
from barnabas.errors import BrokerError


def admit(
    transactions: TransactionManager,
    partition: Partition,
    transactional_id: str,
    producer: tuple[int, int],
    *,
    adds: bool,
    tells_abortable: bool,
) -> None:
    """Lets a producer write to a partition that its transaction has, or, with `adds`, adds the partition.

    Raises: what the producer is refused for.
    """
    if partition.log.producers.has_open(*producer):
        return
    try:
        if adds:
            transactions.add_partitions(
                transactional_id, producer, [partition.name], VERSION_WITH_EPOCH_BUMPS
            )
            return
        missing = transactions.missing_partitions(transactional_id, producer, [partition.name])
    except ProducerFencedError as error:
        raise InvalidProducerEpochError(error.context) from None
    except CoordinatorNotAvailableError as error:
        # Clients ask again, without looking for another coordinator or leader.
        raise NotEnoughReplicasError(error.context) from None
    except ConcurrentTransactionsError as error:
        if adds:
            raise
        raise NotEnoughReplicasError(error.context) from None
    if missing:
        refusal = TransactionAbortableError if tells_abortable else InvalidTxnStateError
        raise refusal(f"{partition.name} was not added to the transaction of {transactional_id}")


async def until_admitted(parts: BrokerParts, transactional_id: str) -> None:
    """Waits, among several nodes, until it is where it outlives the coordinator that the transaction has the
    partition: one that forgot would leave it open there for ever. Raises: NotEnoughReplicasError."""
    partition = parts.transaction_store.topic.partition_for(transactional_id)
    metadata = parts.transactions.by_id.get(transactional_id)
    if metadata is None:
        raise NotEnoughReplicasError(f"{transactional_id} has no coordinator")
    try:
        await Written.all_of(partition).until_replicated(metadata.timeout_ms)
    except BrokerError as error:
        raise NotEnoughReplicasError(str(error)) from None
