"""librdkafka's statistics, the JSON that `stats_cb` gets, out of what `stats()` of our clients gives.

A window covers what came since the statistics before, as in librdkafka. Knows nothing of when statistics are
due, nor of how they look (`statistics_json`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Protocol

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.client.produce.producer import Producer
from barnabas.client.produce.transactions import State
from barnabas.client.share.core import ShareCore
from barnabas.client.share.records import ShareRecord
from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.config.property_rules import PropertyValues
from barnabas.compat.librdkafka.events.client_events import ClientEvents
from barnabas.compat.librdkafka.events.statistics_json import (
    BatchWindows,
    Gauges,
    GroupFigures,
    Json,
    PartitionOffsets,
    admin_statistics,
    consumer_statistics,
    counted,
    producer_statistics,
    share_statistics,
)
from barnabas.compat.librdkafka.values.constants import OFFSET_INVALID
from barnabas.types import OffsetAndMetadata, TopicPartition
from barnabas.values import frozen

_TRANSACTION_STATES = {
    State.UNINITIALIZED: "Init",
    State.INITIALIZING: "WaitPID",
    State.READY: "Ready",
    State.IN_TRANSACTION: "InTransaction",
    State.COMMITTING: "CommittingTransaction",
    State.ABORTING: "AbortingTransaction",
    State.ABORTABLE_ERROR: "AbortableError",
    State.FATAL_ERROR: "FatalError",
}


class _Interval:
    """Since the statistics before."""

    def __init__(self) -> None:
        self._began_at = CLOCK.monotonic()

    def seconds(self) -> float:
        """How long the one was that ends now."""
        began_at, self._began_at = self._began_at, CLOCK.monotonic()
        return self._began_at - began_at


@frozen
class BatchTotals:
    """What was delivered to a topic by some time."""

    batches: int = 0
    messages: int = 0
    size_bytes: int = 0


class ProducerStatistics:
    """The statistics of one producer."""

    def __init__(
        self, core: Producer, events: ClientEvents, max_messages: int, max_message_bytes: int
    ) -> None:
        self._core = core
        self._events = events
        self._max_messages = max_messages
        self._max_message_bytes = max_message_bytes
        self._interval = _Interval()
        self._delivered: dict[str, BatchTotals] = {}

    def as_json(self) -> str:
        """As they are now."""
        queue = self._events.queue
        gauges = Gauges(
            self._events.name,
            len(queue),
            queue.outstanding_messages,
            queue.outstanding_bytes,
            self._max_messages,
            self._max_message_bytes,
        )
        stats = self._core.stats(self._interval.seconds())
        statistics = producer_statistics(stats, gauges, self._batches())
        if self._core.config.enable_idempotence:
            statistics["eos"] = self._exactly_once()
        return json.dumps(statistics)

    def _batches(self) -> dict[str, BatchWindows]:
        windows: dict[str, BatchWindows] = {}
        for topic, delivered in self._core.delivered_batches().items():
            totals = BatchTotals(delivered.batches, delivered.records, delivered.size_bytes)
            before = self._delivered.get(topic, BatchTotals())
            self._delivered[topic] = totals
            batches = totals.batches - before.batches
            windows[topic] = BatchWindows(
                counted(delivered.latest_bytes, batches, totals.size_bytes - before.size_bytes),
                counted(delivered.latest_records, batches, totals.messages - before.messages),
            )
        return windows

    def _exactly_once(self) -> Json:
        producer_id, producer_epoch = self._core.producer_identity
        transactions = self._core.transactions
        state = "Init" if transactions is None else _TRANSACTION_STATES[transactions.state]
        return {
            "idemp_state": "Init" if producer_id < 0 else "Assigned",
            "idemp_stateage": 0,
            "txn_state": state,
            "txn_stateage": 0,
            "txn_may_enq": transactions is not None and transactions.state is State.IN_TRANSACTION,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "epoch_cnt": 0,
        }


class KnownOffsets(Protocol):
    """What a consumer knows of the offsets of its partitions; those it knows nothing of are left out."""

    def stored(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]: ...

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]: ...


class ConsumerStatistics:
    """The statistics of one consumer."""

    def __init__(self, core: ConsumerCore, events: ClientEvents, offsets: KnownOffsets) -> None:
        self._core = core
        self._events = events
        self._offsets = offsets
        self._interval = _Interval()
        self._made_at = CLOCK.monotonic()
        self._rebalances = 0
        self._rebalanced_at = self._made_at

    def as_json(self) -> str:
        """As they are now."""
        stats, now = self._core.stats(self._interval.seconds()), CLOCK.monotonic()
        if stats.rebalances != self._rebalances:
            self._rebalances, self._rebalanced_at = stats.rebalances, now
        group = GroupFigures(
            state_age_ms=int((now - self._made_at) * 1000),
            rebalance_age_ms=int((now - self._rebalanced_at) * 1000),
            is_steady=stats.generation >= 0,
        )
        gauges = Gauges(self._events.name, len(self._events.queue))
        partitions = list(stats.partitions)
        stored, committed = self._offsets.stored(partitions), self._offsets.committed(partitions)
        offsets = {
            partition: PartitionOffsets(
                *_position(stored.get(partition)), *_position(committed.get(partition))
            )
            for partition in partitions
        }
        statistics = consumer_statistics(stats, gauges, offsets, group)
        if not self._core.subscription.is_automatic:
            # It is the group's assignment, not what the program has assigned itself.
            statistics["cgrp"]["assignment_size"] = 0
        return json.dumps(statistics)


class AdminStatistics:
    """The statistics of an AdminClient: in librdkafka a producer that produces nothing."""

    def __init__(self, client: KafkaClient, events: ClientEvents, values: PropertyValues) -> None:
        self._client = client
        self._events = events
        self._max_messages: int = values["queue.buffering.max.messages"]
        self._max_bytes: int = values["queue.buffering.max.kbytes"] * 1024
        self._interval = _Interval()

    def as_json(self) -> str:
        """As they are now."""
        stats = self._client.stats(self._interval.seconds())
        gauges = Gauges(
            self._events.name,
            len(self._events.queue),
            max_messages=self._max_messages,
            max_message_bytes=self._max_bytes,
        )
        return json.dumps(admin_statistics(stats, gauges))


class ShareStatistics:
    """The statistics of one share consumer."""

    def __init__(self, core: ShareCore, events: ClientEvents) -> None:
        self._core = core
        self._events = events
        self._interval = _Interval()
        self._made_at = CLOCK.monotonic()
        self._rebalances = 0
        self._rebalanced_at = self._made_at
        self._received: dict[TopicPartition, list[int]] = {}

    def received(self, records: Iterable[ShareRecord]) -> None:
        """Counts what a poll gives. Any thread."""
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            figures = self._received.setdefault(partition, [0, 0])
            figures[0] += 1
            figures[1] += len(record.key or b"") + len(record.value or b"")

    def as_json(self) -> str:
        """As they are now."""
        core, now = self._core, CLOCK.monotonic()
        stats, received = core.client.stats(self._interval.seconds()), dict(self._received)
        if core.rebalances != self._rebalances:
            self._rebalances, self._rebalanced_at = core.rebalances, now
        metadata = core.client.metadata
        leaders = {partition: metadata.leader(partition) for partition in core.assignment}
        group = GroupFigures(
            state_age_ms=int((now - self._made_at) * 1000),
            rebalance_age_ms=int((now - self._rebalanced_at) * 1000),
            is_steady=bool(leaders),
        )
        gauges = Gauges(self._events.name, len(self._events.queue))
        return json.dumps(share_statistics(stats, gauges, leaders, received, group, core.rebalances))


def _position(offset: OffsetAndMetadata | None) -> tuple[int, int]:
    """The offset and its leader epoch, as librdkafka shows them where they are not known."""
    if offset is None:
        return OFFSET_INVALID, -1
    return offset.offset, -1 if offset.leader_epoch is None else offset.leader_epoch
