"""Polls columns and sends them, in steps that are delivered and kept account of. Knows no option."""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from barnabas import TopicPartition
from barnabas.cli.consuming.bounds import Ends
from barnabas.cli.consuming.filters import RecordFilter
from barnabas.cli.copying.accounts import CopyAccount
from barnabas.cli.copying.columns import by_topic, to_send, wanted
from barnabas.cli.copying.newcomers import Newcomers
from barnabas.cli.producing.throttle import Throttle

if TYPE_CHECKING:
    import pyarrow

    from barnabas import Consumer, Producer
    from barnabas.cli.copying.schemas import SchemaTransfer
    from barnabas.client.produce.arrow_delivery import ArrowDelivery

_STEP_SECONDS = 1.0
"""Between two notes of how far a copy is: at most so much is sent again, or aborted, when it breaks off."""
_POLL_SECONDS = 0.2
_MOST_RECORDS_A_POLL = 200_000


class Copier:
    """One copy. `targets`: topics by those that they are copied from. `partitions` may grow."""

    def __init__(
        self,
        consumer: Consumer,
        producer: Producer,
        account: CopyAccount,
        targets: Mapping[str, str],
        partitions: Sequence[TopicPartition],
        *,
        is_wanted: RecordFilter | None,
        keeps_partitions: bool,
        has_source_headers: bool,
        throttle: Throttle,
        max_records: int | None,
        schemas: SchemaTransfer | None = None,
    ) -> None:
        self._consumer = consumer
        self._producer = producer
        self._account = account
        self._targets = dict(targets)
        self._partitions = partitions
        self._is_wanted = is_wanted
        self._keeps_partitions = keeps_partitions
        self._has_source_headers = has_source_headers
        self._throttle = throttle
        self._max_records = max_records
        self._schemas = schemas
        self._ends: Ends | None = None
        self._kept: dict[TopicPartition, int] = {}
        self._deliveries: list[ArrowDelivery] = []
        self._sent: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        """Records delivered at the target, by the topic that they came from. An account of them is kept too,
        but for those of a step that Ctrl-C ended."""

    def run(self, ends: Ends | None, told: Callable[[], None], newcomers: Newcomers | None = None) -> None:
        """Until the ends, or without end. `told` is called after each step. `newcomers` are taken as they
        come, until the ends are known."""
        self._ends = ends
        self._kept = self._positions()
        while not self._is_done():
            if newcomers is not None and (ends is None or ends.offsets is None):
                self._take(newcomers)
            batch = self._poll()
            if batch.num_rows:
                is_in_transaction = self._account.is_in_transaction
                try:
                    with self._producer.transaction() if is_in_transaction else nullcontext():
                        self._step(batch)
                except KeyboardInterrupt:
                    # What left already is there, whoever wants it to end; a transaction took it back.
                    if not is_in_transaction:
                        self._deliver()
                        self._count_sent()
                    raise
                self._count_sent()
            told()

    def _take(self, newcomers: Newcomers) -> None:
        for route in newcomers.look():
            self._targets[route.source] = route.target
            of_topic = [place for place in self._partitions if place.topic == route.source]
            added = [place for place in of_topic if place not in self._kept]
            self._kept |= {place: self._consumer.position(place) for place in added}
            if self._ends is not None:
                self._ends.add(added)

    def _step(self, batch: pyarrow.RecordBatch) -> None:
        until = time.monotonic() + _STEP_SECONDS
        while batch.num_rows:
            self._send(batch)
            if time.monotonic() > until or self._is_done():
                break
            batch = self._poll()
        self._deliver()
        positions = self._positions()
        self._account.keep({p: offset for p, offset in positions.items() if self._kept.get(p) != offset})
        self._kept = positions

    def _deliver(self) -> None:
        self._producer.flush()
        for delivery in self._deliveries:
            delivery.result()
        self._deliveries.clear()

    def _count_sent(self) -> None:
        self.counts.update(self._sent)
        self._sent.clear()

    def _poll(self) -> pyarrow.RecordBatch:
        most = self._throttle.records_at_once(_MOST_RECORDS_A_POLL)
        if self._max_records is not None:
            most = min(most, self._max_records - self._count())
        offsets = None if self._ends is None else self._ends.offsets
        return self._consumer.poll_arrow(_POLL_SECONDS, most, end_offsets=offsets)

    def _send(self, batch: pyarrow.RecordBatch) -> None:
        if self._is_wanted is not None:
            batch = wanted(batch, self._is_wanted)
        for topic, rows in by_topic(batch):
            if self._schemas is not None:
                rows = self._schemas.rewritten(rows, topic, self._targets[topic])
            columns = to_send(
                rows, keeps_partitions=self._keeps_partitions, has_source_headers=self._has_source_headers
            )
            self._deliveries.append(self._producer.send_arrow(self._targets[topic], columns))
            self._sent[topic] += rows.num_rows
        self._throttle.wait(batch.num_rows, batch.nbytes)

    def _is_done(self) -> bool:
        if self._max_records is not None and self._count() >= self._max_records:
            return True
        return self._ends is not None and self._ends.are_reached()

    def _count(self) -> int:
        return self.counts.total() + self._sent.total()

    def _positions(self) -> dict[TopicPartition, int]:
        return {partition: self._consumer.position(partition) for partition in self._partitions}
