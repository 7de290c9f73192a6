"""OffsetCommitContext of kafka-python 1: commits what a program marked as done."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Self

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.structs import (  # pyright: ignore[reportAttributeAccessIssue]
    OffsetCommitRequestPayload,  # pyright: ignore[reportUnknownVariableType]
)

__all__ = ["OffsetCommitContext"]


class OffsetCommitContext:
    """Around messages of a SimpleConsumer, which commits nothing by itself and gives partitions with them: at
    the end of the `with`, the consumer stands behind what was marked, which is committed, and where it was
    before if nothing was, or if there was an error. After an OffsetOutOfRangeError, which goes no further, it
    stands at the beginning."""

    def __init__(self, consumer: Any) -> None:
        self.consumer = consumer
        self.initial_offsets: Any = None
        self.high_water_mark: Any = None
        self.logger = logging.getLogger("kafka.context")

    def mark(self, partition: int, offset: int) -> None:
        """All of a partition up to this offset is done."""
        reached = max(offset + 1, self.high_water_mark.get(partition, 0))
        self.logger.debug("Setting high-water mark to: %s", {partition: reached})
        self.high_water_mark[partition] = reached

    def __bool__(self) -> bool:
        """Whether anything is marked."""
        return bool(self.high_water_mark)

    def __enter__(self) -> Self:
        self.initial_offsets = dict(self.consumer.offsets)
        self.high_water_mark = {}
        self.logger.debug("Starting context at: %s", self.initial_offsets)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> bool:
        if exc_type is None:
            self.commit()
        elif isinstance(exc_value, Errors.OffsetOutOfRangeError):
            self.handle_out_of_range()
            return True
        else:
            self.rollback()
        return False

    def commit(self) -> None:
        """Commits what is marked, and goes there; back to where it was if nothing is."""
        if self.high_water_mark:
            self.logger.info("Committing offsets: %s", self.high_water_mark)
            self.commit_partition_offsets(self.high_water_mark)
            self.update_consumer_offsets(self.high_water_mark)
        else:
            self.update_consumer_offsets(self.initial_offsets)

    def rollback(self) -> None:
        """Goes back to where it was."""
        self.logger.info("Rolling back context: %s", self.initial_offsets)
        self.update_consumer_offsets(self.initial_offsets)

    def commit_partition_offsets(self, partition_offsets: Mapping[int, int]) -> None:
        """Commits offsets by partition. Raises: what the brokers refuse it with."""
        self.logger.debug("Committing partition offsets: %s", partition_offsets)
        answers = self.consumer.client.send_offset_commit_request(
            self.consumer.group,
            [
                OffsetCommitRequestPayload(self.consumer.topic, partition, offset, None)
                for partition, offset in partition_offsets.items()
            ],
        )
        for answer in answers:
            Errors.check_error(answer)

    def update_consumer_offsets(self, partition_offsets: Mapping[int, int]) -> None:
        """Goes to offsets by partition."""
        self.logger.debug("Updating consumer offsets to: %s", partition_offsets)
        self.consumer.offsets.update(partition_offsets)
        # What the consumer has read ahead is no longer what comes next.
        self.consumer.seek(0, 1)

    def handle_out_of_range(self) -> None:
        """Goes to the beginning."""
        self.logger.info("Seeking beginning of partition on out of range error")
        self.consumer.seek(0, 0)
