"""Which transactions hang: open in a partition, and no coordinator knows of them any more. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from barnabas.client.admin.types import AbortTransactionSpec, ProducerState, TransactionDescription
from barnabas.types import TopicPartition

OpenTransaction = tuple[TopicPartition, ProducerState]

# What the coordinator counts as open.
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")
DEFAULT_MINUTES = 15


def open_before(
    time_ms: float, producers: Mapping[TopicPartition, Sequence[ProducerState]]
) -> list[OpenTransaction]:
    """Those whose last record is older, by partition."""
    return [
        (tp, each)
        for tp, states in sorted(producers.items())
        for each in states
        if each.current_transaction_start_offset is not None and each.last_timestamp < time_ms
    ]


def unknown_to(
    described: Iterable[TransactionDescription], found: Iterable[OpenTransaction]
) -> list[OpenTransaction]:
    """Those of `found` that are in none of the transactions that coordinators know of."""
    known = {(each.producer_id, tp) for each in described if each.state in _OPEN for tp in each.partitions}
    return [(tp, each) for tp, each in found if (each.producer_id, tp) not in known]


def abort_of(partition: TopicPartition, producer: ProducerState) -> AbortTransactionSpec:
    """As Kafka's own tool: where there is no epoch, no coordinator has written a marker yet."""
    return AbortTransactionSpec(
        partition, producer.producer_id, producer.producer_epoch, producer.coordinator_epoch or 0
    )
