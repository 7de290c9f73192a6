"""How large the records of partitions are on average, for limits in bytes.

Leaders tell the sizes of their logs, which are those of compressed records, to who may describe the cluster.
Otherwise a few records are read, and count with what they take decompressed. Must not know Spark.
"""

# PyArrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.errors import BarnabasError
from barnabas.spark.planning.limits import BytesPerOffset
from barnabas.spark.planning.losses import Available
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas.sync.admin import Admin
    from barnabas.sync.consumer import Consumer

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 60.0
# A leader that is away is not worth a batch's waiting.
MEASURE_TIMEOUT_SECONDS = 5.0
SAMPLED_PARTITIONS = 16
SAMPLED_RECORDS = 1000
SAMPLE_TIMEOUT_SECONDS = 2.0


class LogSizes:
    """Asks again after a minute, and for partitions that it does not know yet."""

    def __init__(self, admin: Admin, consumer: Consumer) -> None:
        self._admin = admin
        self._consumer = consumer
        self._known: dict[TopicPartition, float] = {}
        self._asked_at: float | None = None

    def bytes_per_offset(
        self, ranges: Mapping[TopicPartition, Available], leaders: Mapping[TopicPartition, int]
    ) -> BytesPerOffset:
        """At least one byte. `ranges` are those to be read.

        Raises: BarnabasError.
        """
        is_old = self._asked_at is None or time.monotonic() - self._asked_at > REFRESH_SECONDS
        wanted = {partition: held for partition, held in ranges.items() if held.earliest < held.latest}
        if is_old:
            self._known = {}
        missing = wanted.keys() - self._known.keys()
        if missing:
            self._known |= self._measured(missing, leaders) or self._sampled({p: wanted[p] for p in missing})
            self._asked_at = time.monotonic()
        return {partition: self._known.get(partition, 1.0) for partition in ranges}

    def _measured(
        self, partitions: Iterable[TopicPartition], leaders: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, float]:
        """By the sizes of the logs; nothing where a leader does not tell one."""
        asked = list(partitions)
        try:
            described = self._admin.describe_log_dirs(
                {leaders[p] for p in asked}, partitions=asked, timeout=MEASURE_TIMEOUT_SECONDS
            )
        except BarnabasError as error:
            logger.info("the sizes of logs cannot be asked for, a few records are read instead: %s", error)
            return {}
        earliest = self._consumer.beginning_offsets(asked)
        latest = self._consumer.end_offsets(asked)
        found: dict[TopicPartition, float] = {}
        for partition in asked:
            folders = described[leaders[partition]].values()
            sizes = [
                folder.replicas[partition].size_bytes for folder in folders if partition in folder.replicas
            ]
            if not sizes:
                return {}
            found[partition] = max(1.0, sum(sizes) / max(1, latest[partition] - earliest[partition]))
        return found

    def _sampled(self, ranges: Mapping[TopicPartition, Available]) -> dict[TopicPartition, float]:
        """By reading the first records of the greatest ranges, the mean of which stands for the others."""
        greatest = sorted(ranges, key=lambda p: ranges[p].earliest - ranges[p].latest)[:SAMPLED_PARTITIONS]
        found: dict[TopicPartition, float] = {}
        for partition in greatest:
            start, end = ranges[partition]
            self._consumer.assign([partition])
            self._consumer.seek(partition, start)
            batch = self._consumer.poll_arrow(
                timeout=SAMPLE_TIMEOUT_SECONDS,
                max_records=min(SAMPLED_RECORDS, end - start),
                headers=True,
                end_offsets={partition: end},
            )
            read = self._consumer.position(partition) - start
            if read > 0:
                columns = batch.select(["key", "value", "headers"])
                found[partition] = max(1.0, columns.nbytes / read)
        self._consumer.assign([])
        mean = sum(found.values()) / len(found) if found else 1.0
        return dict.fromkeys(ranges, mean) | found
