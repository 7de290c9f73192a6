"""Producers and transactions: what Admin takes and gives. Plain data."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.types import TopicPartition
from barnabas.values import frozen


@frozen
class ProducerState:
    """A producer that a partition's leader remembers. `last_timestamp` is in milliseconds since 1970;
    `coordinator_epoch` and `current_transaction_start_offset` are None where there is none (KIP-664)."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    current_transaction_start_offset: int | None


@frozen
class TransactionListing:
    """`state` is Kafka's word: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort."""

    transactional_id: str
    producer_id: int
    state: str


@frozen
class TransactionDescription:
    """`coordinator_id` is the node id of the coordinator. `start_timestamp`, in milliseconds since 1970, is
    None unless a transaction is open."""

    transactional_id: str
    coordinator_id: int
    state: str
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    start_timestamp: int | None
    partitions: tuple[TopicPartition, ...]


@frozen
class AbortTransactionSpec:
    """A transaction that hangs in a partition, in the words of `describe_producers`."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


class ProducerIdAndEpoch(NamedTuple):
    """What a coordinator knows a producer by. A later one of the same transactional id has a higher epoch."""

    producer_id: int
    producer_epoch: int
