"""What both Consumers do without waiting: positions, pauses, what is assigned.

Must not know how its fronts wait: one blocks a thread, the other awaits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from barnabas.client.arguments import (
    PartitionLike,
    TakenRecords,
    as_offset,
    as_partition,
    as_partitions,
    as_timeout_ms,
)
from barnabas.client.cluster.observed import Observed
from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.errors import BarnabasError, InvalidSettingError, MisuseError
from barnabas.settings.table import ConsumerConfig
from barnabas.stats import ConsumerStats
from barnabas.types import GroupIdentity, K, OffsetAndMetadata, TopicPartition, V, Watermarks
from barnabas.wording import counted

ONE_FOR_EACH = "a Consumer of its own, or use a ParallelConsumer"
"""What those are told who poll one Consumer at once."""


class ConsumerFront(Observed, Generic[K, V]):
    """The part that `barnabas.Consumer` and `barnabas.aio.Consumer` share. A front sets these attributes."""

    config: ConsumerConfig
    _core: ConsumerCore
    _taken: TakenRecords[K, V]

    def _refuse_nameless_group(self) -> None:
        """Raises: InvalidSettingError for a group without a name. A facade may leave that to the broker."""
        group_id = self.config.group_id
        if group_id is not None and not group_id.strip():
            raise InvalidSettingError(
                f"group_id is {group_id!r}: give the group a name, or leave group_id out for a consumer "
                "without a group"
            )

    def _doing(self) -> str:
        group = "" if self.config.group_id is None else f"in group {self.config.group_id!r}, "
        count = len(self._core.partitions.assignment)
        return f"{group}{counted(count, 'partition')} assigned"

    def stats(self) -> ConsumerStats:
        """Figures of the consumer, its brokers and its partitions, as they are now."""
        return self._core.stats()

    def subscription(self) -> set[str]:
        """The topics that are subscribed to: those of `subscribe`, or those that match its pattern now. Where
        the broker matches the pattern, the topics of assigned partitions. Empty after `assign`."""
        return self._core.subscribed_topics

    def assignment(self) -> list[TopicPartition]:
        """The partitions that are read at present."""
        return self._core.partitions.assignment

    def seek(self, partition: PartitionLike, offset: int | OffsetAndMetadata) -> None:
        """Continues at this offset. Raises: MisuseError where the partition is not assigned."""
        self._give_back()
        place = as_partition(partition)
        target = as_offset(place, offset)
        epoch = -1 if target.leader_epoch is None else target.leader_epoch
        self._core.partitions.seek(place, target.offset, epoch)

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
        self._core.partitions.pause(as_partitions(partitions))

    def resume(self, *partitions: PartitionLike) -> None:
        """Ends `pause`. Raises: MisuseError where a partition is not assigned."""
        self._core.partitions.resume(as_partitions(partitions))

    def paused(self) -> list[TopicPartition]:
        """The partitions that `pause` was called for, and `resume` was not since."""
        return self._core.partitions.paused

    def ends_reached(self) -> dict[TopicPartition, int]:
        """The partitions whose end the records so far have come to since the last call, each with the offset
        of that end (of the last stable offset, with read_committed). Each time the end is reached counts
        once. A poll stops at an end, and returns early for one without records: what it returns comes before
        the ends reached by then, what later ones return after.

        Raises: MisuseError without enable_partition_eof.
        """
        if not self.config.enable_partition_eof:
            raise MisuseError("ends_reached() needs enable_partition_eof=True")
        return {} if self._taken.count() else self._core.buffer.take_ends()

    def cached_watermarks(self, partition: PartitionLike) -> Watermarks | None:
        """The ends of an assigned partition as of the last fetch, without a request; None before the first.

        Raises: MisuseError where the partition is not assigned.
        """
        state = self._core.partitions.state(as_partition(partition))
        if state.high_watermark < 0:
            return None
        return Watermarks(state.log_start_offset, state.high_watermark)

    def group_metadata(self) -> GroupIdentity:
        """The group, and this member's id and generation in it, for `send_offsets_to_transaction`. After a
        member was expelled they stay what they were until it has joined again, so that a transaction with
        records that it read before is refused (KIP-447). Raises: MisuseError without group_id."""
        return self._core.last_group_metadata()

    def _give_back(self) -> None:
        """What was taken but not handed out is to be read again: positions are exact from here on."""
        self._core.give_back()

    def _on_made_again(self, listener: Callable[[list[TopicPartition]], object]) -> None:
        """See `SubscriptionState.on_made_again`."""
        self._core.partitions.on_made_again = listener

    def _interrupted(self, error: BaseException) -> None:
        """A call that was to return records ends by `error`. By Ctrl-C for instance, which comes at any
        moment: what the call had taken is read again."""
        if not isinstance(error, BarnabasError):
            self._core.take_back()

    def _timeout_ms(self, timeout: float | None) -> float:
        return as_timeout_ms(timeout, self.config.default_api_timeout_ms)
