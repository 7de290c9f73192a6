"""The Consumer for asyncio: how a coroutine waits for records, and runs the callbacks that are due.

Owns the waiting. What there is to do, and in which order, is the core's.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# (pyarrow comes without types)

from __future__ import annotations

import asyncio
import contextlib
import re
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from barnabas._kernel import ArrowRecords, Record
from barnabas.client.arguments import (
    OffsetsLike,
    PartitionLike,
    TimestampsLike,
    as_limit,
    as_offsets,
    as_partition,
    as_partitions,
    as_timeout_ms,
    check_callbacks,
    check_seconds,
)
from barnabas.client.cluster.lifetimes import seconds_to_close
from barnabas.client.cluster.loop_lifetimes import OwnedByLoop
from barnabas.client.column_formats import ColumnFormat, formats_of
from barnabas.client.consume.consumer_core import CLOSE_TIMEOUT_MS, ConsumerCore
from barnabas.client.consume.consumer_front import ONE_FOR_EACH, ConsumerFront
from barnabas.client.groups.membership import GroupMembershipOperation
from barnabas.client.groups.offset_commits import CommitCallback
from barnabas.client.groups.poll_watch import polled_by_two
from barnabas.client.groups.subscription import ListenerCall, PartitionsCallback, RebalanceListener
from barnabas.clock import CLOCK
from barnabas.errors import MissingExtraError
from barnabas.settings.table import ConsumerConfig, load
from barnabas.types import (
    K,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    TopicPartition,
    V,
    Watermarks,
)

if TYPE_CHECKING:
    import pyarrow

    from barnabas.formats import Form
    from barnabas.settings.keywords import ConsumerSettings

T = TypeVar("T")

# How often an iteration comes back to see whether the consumer was closed.
ITERATION_POLL_SECONDS = 1.0


class Consumer(OwnedByLoop, ConsumerFront[K, V]):
    """Reads records of topics, as a member of a group or on its own. Made on a running event loop; used with
    `async with` and `async for`, or closed by `close`. For one coroutine at a time, except for `wakeup`.

    `topics` or `pattern` (matched against whole names): as `subscribe`. Without `group_id` a subscription
    means all partitions of the topics, and nothing is committed. Settings:
    `barnabas.settings.table.ConsumerConfig`.

    Raises: UnknownSettingError, InvalidSettingError. An unreachable cluster shows in `poll`, after
    default_api_timeout_ms.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        group_id: str | None = None,
        **settings: Unpack[ConsumerSettings[K, V]],
    ) -> None:
        self.config = load(
            ConsumerConfig, {"bootstrap_servers": bootstrap_servers, "group_id": group_id, **settings}
        )
        self._refuse_nameless_group()
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._is_woken = False
        self._polled_by: asyncio.Task[Any] | None = None
        self._core = ConsumerCore(self.config, notify=self._changed.set)
        self._core.go_on_after_errors()
        self._taken = self._core.taken
        self._client = self._core.client
        self._begin_life(f"consumer {self.config.client_id!r}")
        if topics is not None or pattern is not None:
            self.subscribe(topics, pattern=pattern)

    # What is read

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        on_assigned: PartitionsCallback | None = None,
        on_revoked: PartitionsCallback | None = None,
        on_lost: PartitionsCallback | None = None,
    ) -> None:
        """Reads these topics, or those whose whole name matches `pattern`, as the group divides them.

        With group_protocol="consumer" a pattern that is a string is matched by the broker, in the syntax of
        RE2/J; a compiled one always here, in Python's.
        The callbacks get a list of partitions; they run, or are awaited, inside of `poll` and `close`.
        Raises: MisuseError after `assign`, ClosedError.
        """
        self._give_back()
        check_callbacks(on_assigned=on_assigned, on_revoked=on_revoked, on_lost=on_lost)
        self._core.subscribe(topics, pattern, RebalanceListener(on_assigned, on_revoked, on_lost))

    async def unsubscribe(self) -> None:
        """Reads nothing any more and leaves the group; commits first if enable_auto_commit is set."""
        self._give_back()
        await self._give_up("the consumer unsubscribed", self.config.default_api_timeout_ms)

    def assign(self, partitions: Iterable[PartitionLike]) -> None:
        """Reads exactly these partitions, without the group having a say. Those assigned before keep their
        position; others begin where the group committed, or as auto_offset_reset says.

        Raises: MisuseError after `subscribe`, ClosedError.
        """
        self._give_back()
        self._core.assign(as_partitions(partitions))

    def enforce_rebalance(self, reason: str = "enforce_rebalance() was called") -> None:
        """Has this member join its group again in the next `poll`, so that partitions are divided again;
        the rebalance reaches all members. Without effect with group_protocol="consumer".

        Raises: MisuseError without group_id.
        """
        self._core.enforce_rebalance(reason)

    # Records

    async def poll(self, timeout: float = 1.0, max_records: int | None = None) -> list[Record[K, V]]:
        """The next records, up to `max_records` (max_poll_records); waits up to `timeout` seconds for the
        first. An empty list when none came, or after `wakeup`.

        Raises: CorruptBatchError and, with auto_offset_reset='none', OffsetOutOfRangeError (both again while
        they last, at the pace of retry_backoff_ms, until a seek; other partitions go on), BrokerError such
        as TopicAuthorizationFailedError, BootstrapError, ClosedError, MisuseError (a negative `timeout`, or
        nothing subscribed to or assigned), and what callbacks raise.
        """
        return await self._poll(timeout, max_records) or []

    async def poll_one(self, timeout: float = 1.0) -> Record[K, V] | None:
        """The next record, or None when none came within `timeout` seconds. Raises: see `poll`."""
        try:
            if not self._core.needs_attention:
                record = next(self._taken.records, None)
                if record is not None:
                    return record
            self._taken.put(await self._poll(timeout) or [])
            return next(self._taken.records, None)
        except BaseException as error:
            self._interrupted(error)
            raise

    async def __aiter__(self) -> AsyncIterator[Record[K, V]]:
        """Records without end; `wakeup` and `close` end it."""
        core = self._core
        while not core.is_closed:
            for record in self._taken.records:
                yield record
                if core.needs_attention:
                    break
            if core.is_closed:
                return
            try:
                records = await self._poll(ITERATION_POLL_SECONDS)
                self._taken.put(records or [])
            except BaseException as error:
                self._interrupted(error)
                raise
            if records is None:
                return

    async def poll_arrow(
        self,
        timeout: float = 1.0,
        max_records: int = 1_000_000,
        *,
        headers: bool = True,
        end_offsets: Mapping[TopicPartition, int] | None = None,
        key: ColumnFormat | Form | None = None,
        value: ColumnFormat | Form | None = None,
    ) -> pyarrow.RecordBatch:
        """The next records as columns key, value, topic, partition, offset, timestamp, timestampType and,
        with `headers`, headers. With `end_offsets` each partition is read up to its end (exclusive) and not
        fetched beyond. No rows when none came within `timeout` seconds.

        `key` and `value`: formats that make a column of their own type of either: a RegistryFormat, or one of
        `barnabas.formats`, such as `formats.json(type)` or `formats.text()`. Deserializers are not called.
        What cannot be read is null there, with the error in the column keyError or valueError. After an error
        of the registry the same records come again.

        Raises: MissingExtraError without pyarrow; MisuseError (a format is for other clients), RegistryError,
        SchemaError; else see `poll`.
        """
        formats = [*formats_of(key, value, is_awaited=True)]
        check_seconds(timeout)
        buffer = self._core.buffer
        limit = as_limit(max_records)

        def take() -> ArrowRecords | None:
            records = buffer.take_arrow(limit, headers=headers)
            return records if records.num_rows else None

        try:
            records = await self._next(take, timeout, end_offsets)
        except BaseException as error:
            self._interrupted(error)
            raise
        try:
            batch = to_arrow(records or buffer.take_arrow(0, headers=headers))
            for side, format in formats:
                batch = await format.run(format.decoded(batch, side))
        except BaseException:
            self._core.take_back()
            raise
        return batch

    def wakeup(self) -> None:
        """Has a `poll` that waits now, or the next one, return at once with nothing. Any thread."""
        self._is_woken = True
        self._loop.call_soon_threadsafe(self._changed.set)

    async def _poll(self, timeout: float, max_records: int | None = None) -> list[Record[K, V]] | None:
        """None after `wakeup`."""
        check_seconds(timeout)
        limit = self.config.max_poll_records if max_records is None else as_limit(max_records)
        buffer = self._core.buffer
        try:
            records = await self._next(lambda: buffer.take(limit), timeout)
            if not records and self._is_woken:
                self._is_woken = False
                return None
            return self._core.prepared(records) if records else []
        except BaseException as error:
            self._interrupted(error)
            raise

    async def _next(
        self,
        take: Callable[[], T | None],
        timeout: float,
        end_offsets: Mapping[TopicPartition, int] | None = None,
    ) -> T | None:
        """What `take` gives, as soon as that is something; None after `timeout` seconds, or when woken."""
        core = self._core
        task = asyncio.current_task()
        if self._polled_by not in (None, task):
            raise polled_by_two(ONE_FOR_EACH)
        core.check_reads()
        self._give_back()
        core.partitions.set_end_offsets(end_offsets or {})
        deadline = CLOCK.monotonic() + timeout
        # A callback may poll inside of a poll.
        outer, self._polled_by = self._polled_by, task
        core.poll_began()
        try:
            while True:
                self._changed.clear()
                await self._run_callbacks()
                if core.buffer.has_data and not core.rebalances.is_holding:
                    taken = take()
                    if taken or core.buffer.has_ends:
                        return taken
                    continue
                core.check_open()
                remaining = deadline - CLOCK.monotonic()
                if self._is_woken or remaining <= 0:
                    return None
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(remaining):
                        await self._changed.wait()
        finally:
            self._polled_by = outer
            core.poll_ended()

    async def _run_callbacks(self) -> None:
        """Lets the core go on as far as it can at present."""
        core = self._core
        while core.needs_attention:
            call = await core.advance()
            if call is not None:
                await _run_callback(call)
            for on_commit, offsets, error in core.commits.take_finished():
                on_commit(offsets, error)

    # Positions

    async def position(self, partition: PartitionLike, *, timeout: float | None = None) -> int:
        """The offset of the next record that this partition gives.

        Raises: MisuseError where it is not assigned, KafkaTimeoutError, UnknownTopicOrPartitionError.
        """
        self._give_back()
        return await self._core.position(as_partition(partition), self._timeout_ms(timeout))

    # Commits

    async def commit(
        self,
        offsets: OffsetsLike | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Stores the positions of all assigned partitions, or `offsets` (of the next record to read), for
        the group, and waits until that is done.

        Raises: GroupRebalancedError where the partitions may be another member's by now (the subclass is of
        the broker's code: UnknownMemberIdError, IllegalGenerationError, ...), FencedInstanceIdError,
        KafkaTimeoutError, MisuseError without group_id.
        """
        self._give_back()
        await self._core.commit(as_offsets(offsets), self._timeout_ms(timeout))

    def commit_async(
        self,
        offsets: OffsetsLike | None = None,
        on_commit: CommitCallback | None = None,
    ) -> None:
        """`commit` without waiting. `on_commit(offsets, error)` is called inside of a later `poll`; without
        it a failure is logged. Commits are made in the order of calls. Raises: MisuseError without group_id.
        """
        self._give_back()
        check_callbacks(on_commit=on_commit)
        self._core.commit_async(as_offsets(offsets), on_commit)

    async def committed(
        self, partitions: Iterable[PartitionLike], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group committed last, None where nothing. Raises: MisuseError, KafkaTimeoutError."""
        return await self._core.committed(as_partitions(partitions), self._timeout_ms(timeout))

    # What brokers know

    async def beginning_offsets(
        self, partitions: Iterable[PartitionLike], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition. Raises: UnknownTopicOrPartitionError, KafkaTimeoutError."""
        return await self._core.lookups.beginning_offsets(
            as_partitions(partitions), self._timeout_ms(timeout)
        )

    async def end_offsets(
        self, partitions: Iterable[PartitionLike], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset that the next record of each partition will get; with read_committed, the first of an
        open transaction. Raises: UnknownTopicOrPartitionError, KafkaTimeoutError."""
        return await self._core.lookups.end_offsets(as_partitions(partitions), self._timeout_ms(timeout))

    async def offsets_for_times(
        self, timestamps: TimestampsLike, *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after a time (milliseconds since 1970), None where there is none.

        Raises: UnknownTopicOrPartitionError, KafkaTimeoutError, MisuseError.
        """
        wanted = {as_partition(partition): timestamp for partition, timestamp in timestamps.items()}
        return await self._core.lookups.offsets_for_times(wanted, self._timeout_ms(timeout))

    async def lag(self, partition: PartitionLike, *, timeout: float | None = None) -> int:
        """How many offsets this consumer is behind the end, as of the last fetch. Raises: MisuseError."""
        self._give_back()
        return await self._core.lag(as_partition(partition), self._timeout_ms(timeout))

    async def watermarks(self, partition: PartitionLike, *, timeout: float | None = None) -> Watermarks:
        """The ends of a partition, asked for now; see also `cached_watermarks`.

        Raises: UnknownTopicOrPartitionError, KafkaTimeoutError.
        """
        return await self._core.lookups.watermarks(as_partition(partition), self._timeout_ms(timeout))

    async def partitions_for(self, topic: str, *, timeout: float | None = None) -> list[PartitionInfo]:
        """Returns the partitions of a topic, by number. `timeout` in seconds, default
        default_api_timeout_ms. Raises: UnknownTopicOrPartitionError when the topic is not there by then,
        KafkaTimeoutError."""
        return await self._core.lookups.partitions_for(topic, self._timeout_ms(timeout))

    async def topics(self, *, timeout: float | None = None) -> list[str]:
        """All topics of the cluster but Kafka's own. Raises: KafkaTimeoutError, BootstrapError."""
        return await self._core.lookups.topics(self._timeout_ms(timeout))

    # The end

    async def client_instance_id(self, *, timeout: float | None = None) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry (KIP-714). `timeout` in seconds,
        default default_api_timeout_ms.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        self._core.check_open()
        return await self._client.telemetry.client_instance_id(
            as_timeout_ms(timeout, self.config.default_api_timeout_ms)
        )

    async def close(
        self,
        timeout: float | None = None,
        *,
        group_membership_operation: GroupMembershipOperation = "default",
    ) -> None:
        """Commits what was returned (with enable_auto_commit), runs `on_revoked`, leaves the group and closes
        the connections, within `timeout` seconds (30). May be called twice.

        `group_membership_operation` (KIP-1092): a static member remains in the group by "default", any other
        leaves it; "leave_group" and "remain_in_group" are for both.
        """
        timeout_ms = as_timeout_ms(seconds_to_close(timeout), CLOSE_TIMEOUT_MS)
        await self._close(timeout_ms, group_membership_operation)

    async def _close(
        self,
        timeout_ms: float,
        operation: GroupMembershipOperation = "default",
        *,
        takes_back: bool = False,
    ) -> None:
        """`takes_back`: what the last poll returned may not be done, and is not committed."""
        if self._core.is_closed:
            return
        self._give_back()
        if takes_back:
            self._core.take_back()
        try:
            await self._give_up("the consumer was closed", timeout_ms, operation)
        finally:
            await self._core.close()
            self._changed.set()
            self._end_life()

    @property
    def _remains(self) -> _Unattended:
        return _Unattended(self, self._core)

    async def _give_up(
        self,
        reason: str,
        timeout_ms: float,
        operation: GroupMembershipOperation = "default",
    ) -> None:
        core = self._core

        def next_step() -> Coroutine[Any, Any, ListenerCall | None]:
            return core.next_giving_up_step(reason, commit=True, timeout_ms=timeout_ms, operation=operation)

        while call := await next_step():
            await _run_callback(call)
        for on_commit, offsets, error in core.commits.take_finished():
            on_commit(offsets, error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # What was being worked on when an error came up may not be done: it is not committed.
        timeout_ms = as_timeout_ms(seconds_to_close(None), CLOSE_TIMEOUT_MS)
        await self._close(timeout_ms, takes_back=exc_type is not None)


class _Unattended:
    """A consumer that nobody closes, at the end of its loop or of its own life."""

    def __init__(self, consumer: Consumer[Any, Any], core: ConsumerCore) -> None:
        self._consumer = consumer
        self.unfinished = core.unfinished
        self.waits_for = core.waits_for

    async def close_unattended(self) -> None:
        await self._consumer._close(CLOSE_TIMEOUT_MS, takes_back=True)  # pyright: ignore[reportPrivateUsage]


async def _run_callback(call: ListenerCall) -> None:
    result = call.run()
    if result is not None:
        await result


def to_arrow(records: ArrowRecords) -> pyarrow.RecordBatch:
    """Raises: MissingExtraError."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("poll_arrow", "arrow") from None
    return pyarrow.record_batch(records)
