"""Where to begin reading: what the group committed, or what auto_offset_reset says.

Owns the look-up of positions that partitions wait for: one at a time. Knows nothing of when it is due.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from barnabas.broker_errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.consume.partition_state import PartitionState
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.client.consume.topics_made_again import note_topic_ids
from barnabas.client.groups.offsets import check_partitions, fetch_committed, list_offsets
from barnabas.clock import CLOCK, now_ms
from barnabas.errors import BarnabasError
from barnabas.events import OffsetOutOfRange
from barnabas.settings.table import ConsumerConfig, reset_duration_ms
from barnabas.steps import PositionFound, PositionSought
from barnabas.types import EARLIEST_OFFSET, LATEST_OFFSET, OffsetAndTimestamp, TopicPartition

logger = logging.getLogger("barnabas.client")

_TIMESTAMPS = {"earliest": EARLIEST_OFFSET, "latest": LATEST_OFFSET}


class PositionFinder:
    """Finds the positions of partitions that have none."""

    def __init__(
        self,
        client: KafkaClient,
        subscription: SubscriptionState,
        config: ConsumerConfig,
        *,
        on_failed: Callable[[], None],
        on_ended: Callable[[], None],
    ) -> None:
        """`on_failed` is called when a look-up has failed and the next may `begin`, `on_ended` after each."""
        self._client = client
        self._subscription = subscription
        self._config = config
        self._on_failed = on_failed
        self._on_ended = on_ended
        self._lookup: asyncio.Task[None] | None = None
        self._failures = 0

    def begin(self) -> None:
        """Looks for what partitions wait for, in the background."""
        if self._lookup is None and self._subscription.awaiting_position():
            self._begin()

    async def ended(self, timeout: float) -> None:
        """Returns when a look-up has ended, or after `timeout` seconds; begins one if none is under way."""
        await asyncio.wait([self._lookup or self._begin()], timeout=timeout)

    async def close(self) -> None:
        if self._lookup is not None:
            self._lookup.cancel()
            await asyncio.gather(self._lookup, return_exceptions=True)

    def _begin(self) -> asyncio.Task[None]:
        self._lookup = self._client.in_background(self._find_all(), "finding positions")
        return self._lookup

    async def _find_all(self) -> None:
        try:
            while states := self._subscription.awaiting_position():
                await self._find(states, self._config.default_api_timeout_ms)
            self._failures = 0
        except BarnabasError as error:
            self._subscription.failures.raise_later(error)
            # A caller that goes on polling asks again.
            self._failures += 1
            await asyncio.sleep(self._client.backoff.delay_ms(self._failures) / 1000)
            self._on_failed()
        finally:
            self._lookup = None
            self._on_ended()

    async def _find(self, states: Sequence[PartitionState], timeout_ms: float) -> None:
        """One try at all of them. A partition that cannot have one stops, with an error for the caller.

        Raises: KafkaTimeoutError, BootstrapError, a BrokerError that concerns no partition in particular.
        """
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        epochs = {state.partition: (state, state.epoch) for state in states}
        await self._refuse_unknown(epochs, timeout_ms)
        note_topic_ids(self._client.metadata, states)
        wanted = {p: s.starting_point for p, (s, epoch) in epochs.items() if s.epoch == epoch}
        out_of_range = {p for p, start in wanted.items() if start == "reset"}
        committed = [p for p, start in wanted.items() if start == "committed"]
        steps = self._client.steps
        if steps and wanted:
            steps.emit(PositionSought({p: str(start) for p, start in wanted.items()}))
        if committed and self._config.group_id is not None:
            found = await fetch_committed(
                self._client, self._config.group_id, committed, timeout_ms=_milliseconds_until(deadline)
            )
            for partition, offset in found.items():
                if offset is not None:
                    state, epoch = epochs[partition]
                    leader_epoch = -1 if offset.leader_epoch is None else offset.leader_epoch
                    self._subscription.found_position(state, epoch, offset.offset, leader_epoch)
                    if steps:
                        steps.emit(PositionFound(partition, offset.offset, is_committed=True))
                    del wanted[partition]
        reset = self._config.auto_offset_reset
        timestamps: dict[TopicPartition, int] = {}
        without_reset: list[TopicPartition] = []
        for partition, start in wanted.items():
            named = start if start in _TIMESTAMPS else reset
            if named == "none":
                without_reset.append(partition)
            else:
                timestamps[partition] = _timestamp(named or reset)
        ends = await self._offsets_at(timestamps, deadline)
        for partition, end in ends.items():
            state, epoch = epochs[partition]
            if partition in out_of_range:
                logger.warning(
                    "%s: offset %d is %s; continuing at %d, as auto_offset_reset=%s says",
                    partition,
                    state.position,
                    "past the end" if state.position > end.offset else "not there any more",
                    end.offset,
                    reset,
                )
                leader = self._client.metadata.leader(partition)
                event = (self._config.client_id, partition, leader, state.position, end.offset, reset)
                self._client.events.emit(OffsetOutOfRange(*event))
            self._subscription.found_position(state, epoch, end.offset)
            if steps:
                steps.emit(PositionFound(partition, end.offset, is_committed=False))
        if without_reset:
            await self._refuse_reset(without_reset, out_of_range, epochs, deadline)

    async def _offsets_at(
        self, timestamps: Mapping[TopicPartition, int], deadline: float
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Where no record is as late as its timestamp: the end."""
        found = await list_offsets(
            self._client,
            timestamps,
            isolation_level=self._config.isolation_level,
            timeout_ms=_milliseconds_until(deadline),
        )
        too_late = [partition for partition, at in found.items() if at.offset < 0 <= timestamps[partition]]
        if too_late:
            found |= await self._offsets_at(dict.fromkeys(too_late, LATEST_OFFSET), deadline)
        return found

    async def _refuse_unknown(
        self, epochs: dict[TopicPartition, tuple[PartitionState, int]], timeout_ms: float
    ) -> None:
        """Stops the partitions that do not exist, and leaves the others in `epochs`."""
        try:
            await check_partitions(self._client, epochs, timeout_ms)
        except UnknownTopicOrPartitionError as error:
            metadata = self._client.metadata
            for partition in [p for p in epochs if metadata.partition(p) is None]:
                state, epoch = epochs.pop(partition)
                name, count = partition.topic, len(metadata.partitions_for(partition.topic))
                reason = f"topic {name!r} has {count} partitions, counted from 0"
                if not count:
                    reason = f"the cluster has no topic {name!r}; create it, or check its name"
                refusal = UnknownTopicOrPartitionError(f"{partition} does not exist: {reason}")
                refusal.__cause__ = error
                self._subscription.fail(state, epoch, refusal)

    async def _refuse_reset(
        self,
        partitions: Sequence[TopicPartition],
        out_of_range: set[TopicPartition],
        epochs: dict[TopicPartition, tuple[PartitionState, int]],
        deadline: float,
    ) -> None:
        """auto_offset_reset=none: the caller has to say where to go on."""
        starts = await self._offsets_at(dict.fromkeys(partitions, EARLIEST_OFFSET), deadline)
        ends = await self._offsets_at(dict.fromkeys(partitions, LATEST_OFFSET), deadline)
        for partition in partitions:
            state, epoch = epochs[partition]
            if state.starting_point == "made again":
                problem = (
                    f"topic {partition.topic!r} was deleted and created again, so {partition} has no position"
                )
            elif partition in out_of_range:
                problem = f"offset {state.position} of {partition} is not there"
            elif self._config.group_id is None:
                problem = f"{partition} has no position, and there is no group_id to have committed one"
            else:
                problem = f"group {self._config.group_id!r} has committed no offset for {partition}"
            error = OffsetOutOfRangeError(
                f"{problem}, and auto_offset_reset is 'none'; the partition holds offsets "
                f"{starts[partition].offset} to {ends[partition].offset}: seek to one of them, "
                "or set auto_offset_reset to 'earliest' or 'latest'"
            )
            self._subscription.fail(state, epoch, error)


def _timestamp(reset: str) -> int:
    duration_ms = reset_duration_ms(reset)
    return _TIMESTAMPS[reset] if duration_ms is None else max(0, now_ms() - duration_ms)


def _milliseconds_until(deadline: float) -> float:
    return max(0, deadline - CLOCK.monotonic()) * 1000
