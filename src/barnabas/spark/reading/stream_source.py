"""The streaming reader: what the driver plans for each micro-batch.

The offsets of a query are in Spark's checkpoint; this keeps connections, and what Spark asks for twice.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.errors import AuthenticationError, BarnabasError
from barnabas.spark.errors import ForeignFirstBatchError
from barnabas.spark.options import SourceOptions
from barnabas.spark.planning.limits import limit_bytes, limit_offsets
from barnabas.spark.planning.losses import CREATED_AGAIN, Available, Loss
from barnabas.spark.planning.offsets import (
    START_MARK,
    Document,
    Offsets,
    from_document,
    starts_of,
    to_document,
    topic_ids_of,
)
from barnabas.spark.planning.ranges import (
    OffsetSpec,
    check_initial_offsets,
    depends_on_latest,
    resolve,
    stream_ranges,
)
from barnabas.spark.pyspark_features import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from barnabas.spark.reading.cluster import SourceCluster
from barnabas.spark.reading.garbage import without_collections
from barnabas.spark.reading.source import read_partition, report_loss, tasks_of
from barnabas.spark.short_errors import short_errors, short_errors_of_rows
from barnabas.types import TopicPartition

logger = logging.getLogger(__name__)


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming query's view of its topics."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._starting: OffsetSpec = options.for_streaming()
        self._cluster: SourceCluster | None = None
        self._initial: Document | None = None
        self._available_at_start: dict[TopicPartition, Available] | None = None
        self._bounds: Offsets | None = None
        """Where a bounded stream ends, once that was asked for."""
        self._latest: Document | None = None
        self._is_new_run = True
        self._leader_epochs: dict[TopicPartition, int] = {}
        """Those of the logs when they were last seen to reach at least to where the query stands."""
        self._read: list[tuple[Document, Offsets]] = []
        """The documents of this batch and the one before. Spark hands each over several times."""
        self._triggered_at: float | None = None
        """When a batch was last begun, on the clock of `time.monotonic()`."""

    @short_errors
    @without_collections
    def prepareForTriggerAvailableNow(self) -> None:
        """Fixes what the whole query reads; what is written later is left for the next query."""
        self._available_at_start = self._available()

    @short_errors
    @without_collections
    def initialOffset(self) -> Document:
        """Where a new query begins. Spark asks twice in its first batch, and must hear the same twice."""
        if self._initial is None:
            available = self._available_at_start or self._available()
            offsets = check_initial_offsets(
                resolve(self._starting, available, "startingOffsets", self.connected().offsets_for_times),
                available,
                self._lost,
            )
            self._initial = to_document(offsets, began=offsets, topic_ids=self.connected().topic_ids)
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark has no limit of several kinds for Python: `latestOffset` goes by the options."""
        options = self._options
        if options.max_offsets_per_trigger is not None:
            return ReadMaxRows(options.max_offsets_per_trigger)
        if options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(options.max_bytes_per_trigger)
        least = options.min_offsets_per_trigger
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    @short_errors
    @without_collections
    def latestOffset(self, start: Document, limit: ReadLimit) -> Document:
        """The end of the next micro-batch. `start` itself, unchanged, is Spark's sign for no new data."""
        self.connected().renew()
        try:
            return self._end_of_next_batch(start, limit)
        except AuthenticationError:
            # A connection was lost just when the password changed, in the middle of a trigger.
            if not self.connected().renew():
                raise
            return self._end_of_next_batch(start, limit)

    def _end_of_next_batch(self, start: Document, limit: ReadLimit) -> Document:
        began = self._offsets_of(start)
        self._leader_epochs = self.connected().leader_epochs
        end = self._latest_offsets(began)
        begun_anew = self._begin_anew(start, end)
        began |= begun_anew
        self._latest = to_document(end)
        if not isinstance(limit, ReadAllAvailable):
            if self._waits_for_more(began, end):
                return start
            end = self._limited(began, end)
        if end == began and not begun_anew:
            return start
        told = began if start == self._initial else begun_anew
        topic_ids = self.connected().topic_ids
        document = to_document(end, began=told, topic_ids=topic_ids)
        if document == start:
            # Other records of the same offsets, which Spark must not take for the same.
            return to_document(end, began=told, topic_ids=topic_ids, start_mark=2 * START_MARK)
        return document

    def reportLatestOffset(self) -> Document | None:
        return self._latest

    @short_errors
    @without_collections
    def partitions(self, start: Document, end: Document) -> list[InputPartition]:
        if start == end:
            return []
        began, ended = self._began(start, end), self._offsets_of(end)
        if self._is_new_run:
            # A batch that the run before has planned.
            self.connected().partitions()
            self._begin_anew(end, ended)
        ids_of_start, ids_of_end = topic_ids_of(start), topic_ids_of(end)
        unclear = [p for p, offset in ended.items() if p not in began or offset < began[p]]
        ranges = stream_ranges(
            began,
            ended,
            self._earliest(unclear),
            self._lost,
            leader_epochs=self._leader_epochs,
            same_topics={
                topic for topic, topic_id in ids_of_start.items() if ids_of_end.get(topic) == topic_id
            },
        )
        return tasks_of(ranges, self._options, self.connected())

    @short_errors_of_rows
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(partition, self._options)

    def commit(self, end: Document) -> None:
        """The offsets that count are in Spark's checkpoint; those of a group are for other tools to see."""
        group_id = self._options.committed_group
        if group_id is None:
            return
        try:
            self.connected().commit(group_id, from_document(end))
        except BarnabasError as error:
            logger.warning("the offsets of this batch were not committed to group %r: %s", group_id, error)

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()

    def _offsets_of(self, document: Document) -> Offsets:
        """A copy, for the caller to change."""
        for known, offsets in self._read:
            # In native code, and done at the first that differs: Spark makes a new one of its text each time.
            if known == document:
                return dict(offsets)
        offsets = from_document(document)
        self._read = [*self._read[-1:], (document, offsets)]
        return dict(offsets)

    def _waits_for_more(self, began: Offsets, end: Offsets) -> bool:
        """Whether there is less than minOffsetsPerTrigger, for less than maxTriggerDelay. With the trigger
        availableNow there will never be more."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._available_at_start is not None:
            return False
        now = time.monotonic()
        is_late = (
            self._triggered_at is None
            or (now - self._triggered_at) * 1000 >= self._options.max_trigger_delay_ms
        )
        if not is_late and sum(end.values()) - sum(began.get(partition, 0) for partition in end) < least:
            return True
        self._triggered_at = now
        return False

    def _began(self, start: Document, end: Document) -> Offsets:
        """Where the batch that ends at `end` began: not at `start` when a first batch is repeated, since that
        is then the initial offset of today. Raises: ForeignFirstBatchError."""
        told = starts_of(end)
        if not end:
            return {}
        if start != self._initial:
            known, now = topic_ids_of(start), topic_ids_of(end)
            anew = {topic for topic, topic_id in known.items() if now.get(topic) != topic_id}
            return self._offsets_of(start) | {p: offset for p, offset in told.items() if p.topic in anew}
        if not told and depends_on_latest(self._starting):
            raise ForeignFirstBatchError(
                "the first batch of this query was planned by Spark's own Kafka connector and not finished. "
                'Where it began ("latest" at that time) is kept where sources in Python cannot see it: run '
                "`barnabas pipeline carry-over CHECKPOINT --execute`"
            )
        return told or self._offsets_of(start)

    def _begin_anew(self, stands: Document, end: Offsets) -> Offsets:
        """The beginnings of partitions whose topic is not the one any more that `stands` is of."""
        self._is_new_run = False
        cluster, known = self.connected(), topic_ids_of(stands)
        recreated = {
            topic for topic, topic_id in cluster.topic_ids.items() if known.get(topic, topic_id) != topic_id
        }
        stood = {
            partition: offset
            for partition, offset in self._offsets_of(stands).items()
            if partition.topic in recreated and partition in end
        }
        earliest = self._earliest(stood)
        for partition in sorted(stood):
            self._leader_epochs.pop(partition, None)
            held = Available(earliest[partition], end[partition])
            self._lost(Loss(partition, stood[partition], None, held, CREATED_AGAIN))
        return earliest

    def _limited(self, began: Offsets, end: Offsets) -> Offsets:
        """`end`, brought down to what one batch may take."""
        most, most_bytes = self._options.max_offsets_per_trigger, self._options.max_bytes_per_trigger
        if most is None and most_bytes is None:
            return end
        began = began | self._earliest(end.keys() - began.keys())
        if most is not None:
            end = limit_offsets(began, end, most)
        if most_bytes is not None:
            ranges = {p: Available(began[p], offset) for p, offset in end.items()}
            end = limit_bytes(began, end, most_bytes, self.connected().bytes_per_offset(ranges))
        return end

    def _lost(self, loss: Loss) -> None:
        report_loss(self._options, loss)

    def connected(self) -> SourceCluster:
        if self._cluster is None:
            self._cluster = SourceCluster(self._options)
        return self._cluster

    def _available(self) -> dict[TopicPartition, Available]:
        cluster = self.connected()
        return cluster.available(cluster.partitions())

    def _earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        wanted = list(partitions)
        return self.connected().earliest(wanted) if wanted else {}

    def _latest_offsets(self, known: Offsets) -> Offsets:
        """The end of every partition. One that seems to have gone back may be answered by a replica that was
        not told of the latest writes yet, so it is asked again before it counts."""
        if self._available_at_start is not None:
            latest = {partition: held.latest for partition, held in self._available_at_start.items()}
            return self._bounded(known, latest)
        latest = self._ends(anew=False)
        for _ in range(self._options.offset_retries):
            if all(latest.get(partition, offset) >= offset for partition, offset in known.items()):
                break
            time.sleep(self._options.offset_retry_interval_ms / 1000)
            latest = self._ends(anew=True)
        return self._bounded(known, latest)

    def _bounded(self, known: Offsets, latest: Offsets) -> Offsets:
        """`latest`, where it is before the end of a bounded stream. Partitions found later are no part of
        that."""
        if not self._options.is_bounded_stream:
            return latest
        if self._bounds is None:
            ending = "latest" if self._options.ending is None else self._options.ending
            available = self._available_at_start or self._available()
            find_offsets = self.connected().offsets_for_times
            self._bounds = resolve(ending, available, "endingOffsets", find_offsets)
        bounds = self._bounds
        return {
            partition: max(min(offset, bounds[partition]), min(offset, known.get(partition, 0)))
            for partition, offset in latest.items()
            if partition in bounds
        }

    def _ends(self, *, anew: bool) -> Offsets:
        cluster = self.connected()
        try:
            return cluster.latest(cluster.partitions(anew=anew))
        except UnknownTopicOrPartitionError:
            if anew:
                raise
            # Deleted since the brokers were last asked what there is.
            return self._ends(anew=True)
