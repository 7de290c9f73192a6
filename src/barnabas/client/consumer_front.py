"""What both Consumers do without waiting: positions, pauses, what is assigned.

Must not know how its fronts wait: one blocks a thread, the other awaits.
"""

from __future__ import annotations

from barnabas.client.consumer_arguments import (
    PartitionLike,
    TakenRecords,
    as_offset,
    as_partition,
    as_partitions,
    as_timeout_ms,
)
from barnabas.client.consumer_core import ConsumerCore
from barnabas.client.offsets import GroupIdentity
from barnabas.config import ConsumerConfig
from barnabas.types import OffsetAndMetadata, TopicPartition


class ConsumerFront:
    """The part that `barnabas.Consumer` and `barnabas.aio.Consumer` share. A front sets these attributes."""

    config: ConsumerConfig
    _core: ConsumerCore
    _taken: TakenRecords

    def assignment(self) -> list[TopicPartition]:
        """The partitions that are read at present."""
        return self._core.buffer.assignment

    def seek(self, partition: PartitionLike, offset: int | OffsetAndMetadata) -> None:
        """Continues at this offset. Raises: MisuseError where the partition is not assigned."""
        self._give_back()
        target = as_offset(offset)
        epoch = -1 if target.leader_epoch is None else target.leader_epoch
        self._core.buffer.seek(as_partition(partition), target.offset, epoch)

    def seek_to_beginning(self, *partitions: PartitionLike) -> None:
        """Continues at the first offset there is; without arguments in all assigned partitions."""
        self._give_back()
        self._core.seek_to(as_partitions(partitions), "earliest")

    def seek_to_end(self, *partitions: PartitionLike) -> None:
        """Continues after the last record there is then; without arguments in all assigned partitions."""
        self._give_back()
        self._core.seek_to(as_partitions(partitions), "latest")

    def pause(self, *partitions: PartitionLike) -> None:
        """Returns no records of these partitions until `resume`; still owns them, and keeps what was fetched.

        Raises: MisuseError where one is not assigned.
        """
        self._give_back()
        self._core.buffer.pause(as_partitions(partitions))

    def resume(self, *partitions: PartitionLike) -> None:
        """Ends `pause`. Raises: MisuseError where a partition is not assigned."""
        self._core.buffer.resume(as_partitions(partitions))

    def paused(self) -> list[TopicPartition]:
        return self._core.buffer.paused

    def group_metadata(self) -> GroupIdentity:
        """The group, and this member's id and generation in it. Raises: MisuseError without group_id."""
        return self._core.group_metadata()

    def _give_back(self) -> None:
        """What was taken but not handed out is to be read again: positions are exact from here on."""
        unused = self._taken.rest()
        if unused:
            self._core.buffer.give_back(unused)

    def _timeout_ms(self, timeout: float | None) -> float:
        return as_timeout_ms(timeout, self.config.default_api_timeout_ms)
