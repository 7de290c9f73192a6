"""Reading: the batch reader, and what batch and streaming tasks share to read one range of offsets.

Rows go from the consumer to Spark as Arrow record batches; nothing here is done once a record.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from barnabas.broker_errors import OffsetOutOfRangeError
from barnabas.errors import LogTruncationError
from barnabas.spark.clients import consumers
from barnabas.spark.errors import DataLossError, ReadTimeoutError
from barnabas.spark.options import SourceOptions
from barnabas.spark.planning.losses import Available, Loss, cause_of
from barnabas.spark.planning.offsets import name_partitions
from barnabas.spark.planning.packing import TaskLimits, TaskRanges, pack_ranges, task_count
from barnabas.spark.planning.ranges import OffsetRange, OffsetSpec, batch_ranges
from barnabas.spark.planning.splitting import split_ranges
from barnabas.spark.reading.cluster import SourceCluster
from barnabas.spark.reading.garbage import without_collections
from barnabas.spark.short_errors import short_errors, short_errors_of_rows
from barnabas.spark.workers import begin_task
from barnabas.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from barnabas.sync.consumer import Consumer

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
# Batches of rows large enough to be quick and small enough for the JVM.
TARGET_BATCH_BYTES = 4 * 1024 * 1024
FIRST_BATCH_ROWS = 10_000
MIN_BATCH_ROWS = 100
MAX_BATCH_ROWS = 50_000


def report_loss(options: SourceOptions, loss: Loss) -> None:
    """Raises: DataLossError, unless the user allowed losses, which are then logged."""
    if options.fail_on_data_loss:
        raise DataLossError(f"{loss}. To read on with what is there, set the option failOnDataLoss to false")
    logger.warning("%s; failOnDataLoss is false, so reading goes on with what is there", loss)


class KafkaReader(DataSourceReader):
    """A batch query. Offsets are resolved on the driver, once for each `load()`: Spark keeps the plan of a
    Python source with its DataFrame, so records written after the first action need another `load()`."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._starting: OffsetSpec
        self._ending: OffsetSpec
        self._starting, self._ending = options.for_batch()

    @short_errors
    @without_collections
    def partitions(self) -> list[InputPartition]:
        with SourceCluster(self._options) as cluster:
            return tasks_of(self.ranges(cluster), self._options, cluster)

    def ranges(self, cluster: SourceCluster) -> list[OffsetRange]:
        """What the query reads."""
        options = self._options
        return batch_ranges(
            self._starting,
            self._ending,
            cluster.available(cluster.partitions()),
            lambda loss: report_loss(options, loss),
            cluster.offsets_for_times,
        )

    @short_errors_of_rows
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(partition, self._options)


def tasks_of(
    ranges: Sequence[OffsetRange], options: SourceOptions, cluster: SourceCluster
) -> list[InputPartition]:
    """Ranges as Spark's tasks, cut and put together as the options say."""
    most = options.max_bytes_per_partition
    sizes = None
    if most is not None:
        sizes = cluster.bytes_per_offset({each.partition: Available(each.start, each.end) for each in ranges})
    max_records = options.max_records_per_partition
    parts = split_ranges(ranges, options.min_partitions, max_records, most, sizes)
    limits = TaskLimits(max_records, most, sizes)
    most_tasks = options.max_partitions or task_count(parts, options.min_partitions)
    tasks = pack_ranges(parts, most_tasks, cluster.leaders, limits)
    return [InputPartition(task) for task in tasks]


def read_partition(partition: InputPartition | None, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """The rows of one task. Where a query has nothing to read, Spark makes a task with the value None, or,
    up to 4.0, without a partition."""
    if partition is None or partition.value is None:
        return
    begin_task("read")
    ranges: TaskRanges = partition.value
    rows = _read_range(ranges[0], options) if len(ranges) == 1 else _read_together(ranges, options)
    yield from rows if options.decoder is None else options.decoder.decode(rows)


def _read_together(ranges: TaskRanges, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """Rows of several partitions at once, as they come. Where something is lost in one of them, what is left
    of all is read one after the other."""
    positions = {each.partition: each.start for each in ranges}
    ends = {each.partition: each.end for each in ranges}
    max_rows = FIRST_BATCH_ROWS
    with consumers.lend(options.consumer_settings) as consumer:
        consumer.assign(list(positions))
        for each in ranges:
            epoch = each.leader_epoch
            consumer.seek(each.partition, OffsetAndMetadata(each.start, leader_epoch=epoch))
        deadline = time.monotonic() + options.poll_timeout_ms / 1000
        while unread := [partition for partition, end in ends.items() if positions[partition] < end]:
            try:
                batch = consumer.poll_arrow(
                    timeout=POLL_SECONDS,
                    max_records=max_rows,
                    headers=_needs_headers(options),
                    end_offsets=ends,
                )
                reached = {partition: consumer.position(partition) for partition in unread}
            except (OffsetOutOfRangeError, LogTruncationError):
                break
            if any(position > positions[partition] for partition, position in reached.items()):
                positions |= reached
                deadline = time.monotonic() + options.poll_timeout_ms / 1000
            elif time.monotonic() > deadline:
                raise ReadTimeoutError(
                    f"{name_partitions(unread)}: nothing came within {options.poll_timeout_ms} ms "
                    "(kafkaConsumer.pollTimeoutMs)"
                )
            if batch.num_rows:
                max_rows = _rows_of_next_batch(batch)
                yield batch
        consumer.assign([])
    for each in ranges:
        position = positions[each.partition]
        if position == each.start:
            yield from _read_range(each, options)
        elif position < each.end:
            # The epoch is that of the log at `start`; what was read since may be of a later one.
            yield from _read_range(OffsetRange(each.partition, position, each.end), options)


def _needs_headers(options: SourceOptions) -> bool:
    return options.decoder.needs_headers if options.decoder else options.include_headers


def _read_range(offset_range: OffsetRange, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    partition, position = offset_range.partition, offset_range.start
    max_rows = FIRST_BATCH_ROWS
    with consumers.lend(options.consumer_settings) as consumer:
        consumer.assign([partition])
        # With the epoch, the leader tells when what was before `position` is not in its log any more.
        consumer.seek(partition, OffsetAndMetadata(position, leader_epoch=offset_range.leader_epoch))
        is_epoch_known = offset_range.leader_epoch is not None
        deadline = time.monotonic() + options.poll_timeout_ms / 1000
        # The position can pass the end without a record: compaction and control records leave gaps.
        while position < offset_range.end:
            batch = None
            try:
                batch = consumer.poll_arrow(
                    timeout=POLL_SECONDS,
                    max_records=max_rows,
                    headers=_needs_headers(options),
                    end_offsets={partition: offset_range.end},
                )
                reached = consumer.position(partition)
            except (OffsetOutOfRangeError, LogTruncationError) as error:
                if batch is not None and batch.num_rows:
                    position = batch.column("offset")[-1].as_py() + 1
                    yield batch
                is_epoch_known |= isinstance(error, LogTruncationError)
                position = _next_position_after_loss(
                    consumer, offset_range, position, is_epoch_known, options
                )
                consumer.seek(partition, position)
                is_epoch_known = False
                continue
            if reached > position:
                position = reached
                deadline = time.monotonic() + options.poll_timeout_ms / 1000
            elif time.monotonic() > deadline:
                raise ReadTimeoutError(
                    f"{partition}: nothing came at offset {position} within {options.poll_timeout_ms} ms "
                    f"(kafkaConsumer.pollTimeoutMs), while reading [{offset_range.start}, {offset_range.end})"
                )
            if batch.num_rows:
                max_rows = _rows_of_next_batch(batch)
                yield batch
        consumer.assign([])


def _rows_of_next_batch(batch: pa.RecordBatch) -> int:
    bytes_per_row = max(1, batch.nbytes // batch.num_rows)
    return min(MAX_BATCH_ROWS, max(MIN_BATCH_ROWS, TARGET_BATCH_BYTES // bytes_per_row))


def _next_position_after_loss(
    consumer: Consumer,
    offset_range: OffsetRange,
    position: int,
    is_epoch_known: bool,
    options: SourceOptions,
) -> int:
    """Where to read on when `position` is not there, or is one of another history of the log than that whose
    epoch is known. Raises: DataLossError."""
    partition = offset_range.partition
    available = _available(consumer, partition)
    expired_before_it_was_read = offset_range.starts_at_earliest and position == offset_range.start
    if not (expired_before_it_was_read and position < available.earliest):
        end = offset_range.end
        cause = cause_of(position, end, available, is_same_topic=None)
        report_loss(options, Loss(partition, position, end, available, cause))
    if position < available.earliest:
        return min(available.earliest, offset_range.end)
    return position if is_epoch_known and position <= available.latest else offset_range.end


def _available(consumer: Consumer, partition: TopicPartition) -> Available:
    return Available(
        consumer.beginning_offsets([partition])[partition], consumer.end_offsets([partition])[partition]
    )
