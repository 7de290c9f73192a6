"""The Consumer for plain calls: how a thread waits for records, and runs the callbacks that are due.

Owns the waiting. A poll that finds records takes and decodes them in the caller's thread; everything else is
the core's, on the event loop's thread.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# (pyarrow comes without types)

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeVar, Unpack

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
from barnabas.client.cluster.lifetimes import Lifetime, closed_on_error, is_handling_ctrl_c
from barnabas.client.column_formats import ColumnFormat, formats_of
from barnabas.client.consume.consumer import ITERATION_POLL_SECONDS, to_arrow
from barnabas.client.consume.consumer_core import CLOSE_TIMEOUT_MS, ConsumerCore
from barnabas.client.consume.consumer_front import ONE_FOR_EACH, ConsumerFront
from barnabas.client.groups.membership import GroupMembershipOperation
from barnabas.client.groups.offset_commits import CommitCallback
from barnabas.client.groups.poll_watch import polled_by_two
from barnabas.client.groups.subscription import ListenerCall, PartitionsCallback, RebalanceListener
from barnabas.errors import MisuseError
from barnabas.fork import forked_error, generation
from barnabas.loop_thread import Steps, loop_thread
from barnabas.settings.table import ConsumerConfig, load
from barnabas.sync.crossing import OnLoopThread
from barnabas.sync.poll_session import Look, run_poll
from barnabas.sync.waiting import PollWaiting, direct_fetches
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


def _run_callback(call: ListenerCall) -> None:
    if call.run() is not None:
        raise MisuseError("a callback of a Consumer for plain calls must not be a coroutine function")


class Consumer(ConsumerFront[K, V], OnLoopThread):
    """Reads records of topics, as a member of a group or on its own. Used with `with` and `for`, or closed by
    `close`. For one thread at a time, except for `wakeup`.

    `topics` or `pattern` (matched against whole names): as `subscribe`. Without `group_id` a subscription
    means all partitions of the topics, and nothing is committed. Settings:
    `barnabas.settings.table.ConsumerConfig`.

    Raises: UnknownSettingError, InvalidSettingError. An unreachable cluster shows in `poll`, after
    default_api_timeout_ms.
    """

    _what = "consumer"

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
        self._generation = generation()
        self._loop = loop_thread()
        self._waiting = PollWaiting()
        self._is_woken = False
        self._polls = threading.RLock()
        """Held while a thread polls."""

        async def make_core() -> ConsumerCore:
            core = ConsumerCore(
                self.config,
                notify=self._notifier(),
                direct_fetches=direct_fetches(self._waiting),
            )
            core.go_on_after_errors()
            return core

        self._core = self._loop.run(make_core(), what=self._what)
        self._taken = self._core.taken
        self._client = self._core.client
        self._life = Lifetime(
            self._steps_at_exit, f"consumer {self.config.client_id!r}", self._loop, self._core
        )
        self._listener = RebalanceListener()
        if topics is not None or pattern is not None:
            with closed_on_error(self):
                self.subscribe(topics, pattern=pattern)

    def _notifier(self) -> Callable[[], None]:
        """What has a poll look again, on any thread; it does not keep this consumer alive."""
        return self._waiting.wake

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
        RE2/J; a compiled one always here, in Python's. The callbacks get a list of partitions; they run, in
        the caller's thread, inside of `poll` and `close`. Raises: MisuseError after `assign`, ClosedError.
        """
        self._give_back()
        check_callbacks(on_assigned=on_assigned, on_revoked=on_revoked, on_lost=on_lost)
        listener = RebalanceListener(on_assigned, on_revoked, on_lost)
        weak_listener = listener.held_weakly()
        self._on_loop(lambda: self._core.subscribe(topics, pattern, weak_listener))
        self._listener = listener

    # Records

    def wakeup(self) -> None:
        """Has a `poll` that waits now, or the next one, return at once with nothing. Any thread."""
        self._is_woken = True
        self._waiting.wake()

    def _next(
        self,
        take: Callable[[], T | None],
        timeout: float,
        end_offsets: Mapping[TopicPartition, int] | None = None,
    ) -> T | None:
        """What `take` gives, as soon as that is something; None after `timeout` seconds, or when woken."""
        self._check_process()
        if not self._polls.acquire(blocking=False):
            raise polled_by_two(ONE_FOR_EACH)
        try:
            return self._next_alone(take, timeout, end_offsets)
        finally:
            self._polls.release()

    def _next_alone(
        self,
        take: Callable[[], T | None],
        timeout: float,
        end_offsets: Mapping[TopicPartition, int] | None,
    ) -> T | None:
        core = self._core
        core.check_reads()
        self._give_back()
        core.partitions.set_end_offsets(end_offsets or {})

        def look() -> T | Literal[Look.WAIT, Look.AGAIN] | None:
            if core.needs_attention:
                self._run_callbacks()
            if core.buffer.has_data and not core.rebalances.is_holding:
                taken = take()
                return taken if taken or core.buffer.has_ends else Look.AGAIN
            if not self._is_woken:
                return Look.WAIT
            core.check_open()
            return None

        return run_poll(core, self._waiting, look, timeout=timeout)

    def _check_process(self) -> None:
        """Raises: ClosedError in a process that was forked from that of the consumer."""
        if self._generation != generation():
            raise forked_error("consumer")

    def _give_back(self) -> None:
        """Raises: MisuseError while another thread polls."""
        if not self._polls.acquire(blocking=False):
            raise polled_by_two(ONE_FOR_EACH)
        try:
            super()._give_back()
        finally:
            self._polls.release()

    def _end_poll(self, timeout_ms: float) -> None:
        """Has a poll in another thread return, and waits until it has."""
        self.wakeup()
        if self._polls.acquire(timeout=timeout_ms / 1000):
            self._is_woken = False
            self._polls.release()

    # Positions

    def position(self, partition: PartitionLike, *, timeout: float | None = None) -> int:
        """The offset of the next record that this partition gives.

        Raises: MisuseError where it is not assigned, KafkaTimeoutError, UnknownTopicOrPartitionError.
        """
        self._check_process()
        self._give_back()
        place = as_partition(partition)
        # Programs ask after each poll: a known position is answered without the event loop.
        known = self._core.partitions.position(place)
        if known is not None:
            return known
        return self._run(self._core.position(place, self._timeout_ms(timeout)))

    # The end

    def close(
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
        timeout_ms = as_timeout_ms(timeout, CLOSE_TIMEOUT_MS)
        self._close(self._closing(timeout_ms, group_membership_operation), is_hurried=timeout is None)

    def _steps_at_exit(self) -> Steps:
        """When the interpreter ends. Nobody has said that the record in hand is done with."""
        return self._closing(CLOSE_TIMEOUT_MS, takes_back=True)

    def _close(self, steps: Steps, *, is_hurried: bool) -> None:
        """`is_hurried`: Ctrl-C leaves it only moments."""
        if is_hurried and is_handling_ctrl_c():
            self._life.close_in_moments(steps)
        else:
            self._loop.run_steps(steps, what=self._what)

    def _closing(
        self,
        timeout_ms: float,
        operation: GroupMembershipOperation = "default",
        *,
        takes_back: bool = False,
        commit: bool = True,
    ) -> Steps:
        """`takes_back`: what the last poll returned may not be done, and is not committed."""
        if self._core.is_closed or self._generation != generation():
            return
        self._end_poll(timeout_ms)
        self._give_back()
        if takes_back:
            self._core.take_back()
        try:
            yield from self._giving_up("the consumer was closed", timeout_ms, operation, commit=commit)
        except GeneratorExit:
            raise
        except BaseException:
            yield self._end_core()
            raise
        yield self._end_core()

    async def _end_core(self) -> None:
        try:
            await self._core.close()
        finally:
            self._waiting.wake()
            self._life.end()

    def _giving_up(
        self,
        reason: str,
        timeout_ms: float,
        operation: GroupMembershipOperation = "default",
        *,
        commit: bool = True,
    ) -> Steps:
        core = self._core
        while call := (
            yield core.next_giving_up_step(reason, commit=commit, timeout_ms=timeout_ms, operation=operation)
        ):
            _run_callback(call)
        for on_commit, offsets, error in core.commits.take_finished():
            on_commit(offsets, error)

    def _give_up(self, reason: str, timeout_ms: float) -> None:
        self._loop.run_steps(self._giving_up(reason, timeout_ms), what=self._what)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What was being worked on when an error came up may not be done: it is not committed.
        steps = self._closing(CLOSE_TIMEOUT_MS, takes_back=kind is not None)
        self._close(steps, is_hurried=True)

    # From here on made by codegen/plain_calls.py, of barnabas/client/consume/consumer.py

    def unsubscribe(self) -> None:
        """Reads nothing any more and leaves the group; commits first if enable_auto_commit is set."""
        self._give_back()
        self._give_up("the consumer unsubscribed", self.config.default_api_timeout_ms)

    def assign(self, partitions: Iterable[PartitionLike]) -> None:
        """Reads exactly these partitions, without the group having a say. Those assigned before keep their
        position; others begin where the group committed, or as auto_offset_reset says.

        Raises: MisuseError after `subscribe`, ClosedError.
        """
        self._give_back()
        self._on_loop(self._core.assign, as_partitions(partitions))

    def enforce_rebalance(self, reason: str = "enforce_rebalance() was called") -> None:
        """Has this member join its group again in the next `poll`, so that partitions are divided again;
        the rebalance reaches all members. Without effect with group_protocol="consumer".

        Raises: MisuseError without group_id.
        """
        self._on_loop(self._core.enforce_rebalance, reason)

    def poll(self, timeout: float = 1.0, max_records: int | None = None) -> list[Record[K, V]]:
        """The next records, up to `max_records` (max_poll_records); waits up to `timeout` seconds for the
        first. An empty list when none came, or after `wakeup`.

        Raises: CorruptBatchError and, with auto_offset_reset='none', OffsetOutOfRangeError (both again while
        they last, at the pace of retry_backoff_ms, until a seek; other partitions go on), BrokerError such
        as TopicAuthorizationFailedError, BootstrapError, ClosedError, MisuseError (a negative `timeout`, or
        nothing subscribed to or assigned), and what callbacks raise.
        """
        return self._poll(timeout, max_records) or []

    def poll_one(self, timeout: float = 1.0) -> Record[K, V] | None:
        """The next record, or None when none came within `timeout` seconds. Raises: see `poll`."""
        try:
            if not self._core.needs_attention:
                record = next(self._taken.records, None)
                if record is not None:
                    return record
            self._taken.put(self._poll(timeout) or [])
            return next(self._taken.records, None)
        except BaseException as error:
            self._interrupted(error)
            raise

    def __iter__(self) -> Iterator[Record[K, V]]:
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
                records = self._poll(ITERATION_POLL_SECONDS)
                self._taken.put(records or [])
            except BaseException as error:
                self._interrupted(error)
                raise
            if records is None:
                return

    def poll_arrow(
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
        formats = [*formats_of(key, value, is_awaited=False)]
        check_seconds(timeout)
        buffer = self._core.buffer
        limit = as_limit(max_records)

        def take() -> ArrowRecords | None:
            records = buffer.take_arrow(limit, headers=headers)
            return records if records.num_rows else None

        try:
            records = self._next(take, timeout, end_offsets)
        except BaseException as error:
            self._interrupted(error)
            raise
        try:
            batch = to_arrow(records or buffer.take_arrow(0, headers=headers))
            for side, format in formats:
                batch = format.run(format.decoded(batch, side))
        except BaseException:
            self._core.take_back()
            raise
        return batch

    def _poll(self, timeout: float, max_records: int | None = None) -> list[Record[K, V]] | None:
        """None after `wakeup`."""
        check_seconds(timeout)
        limit = self.config.max_poll_records if max_records is None else as_limit(max_records)
        buffer = self._core.buffer
        try:
            records = self._next(lambda: buffer.take(limit), timeout)
            if not records and self._is_woken:
                self._is_woken = False
                return None
            return self._core.prepared(records) if records else []
        except BaseException as error:
            self._interrupted(error)
            raise

    def _run_callbacks(self) -> None:
        """Lets the core go on as far as it can at present."""
        core = self._core
        while core.needs_attention:
            call = self._run(core.advance())
            if call is not None:
                _run_callback(call)
            for on_commit, offsets, error in core.commits.take_finished():
                on_commit(offsets, error)

    def commit(
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
        self._run(self._core.commit(as_offsets(offsets), self._timeout_ms(timeout)))

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
        self._on_loop(self._core.commit_async, as_offsets(offsets), on_commit)

    def committed(
        self, partitions: Iterable[PartitionLike], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group committed last, None where nothing. Raises: MisuseError, KafkaTimeoutError."""
        return self._run(self._core.committed(as_partitions(partitions), self._timeout_ms(timeout)))

    def beginning_offsets(
        self, partitions: Iterable[PartitionLike], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition. Raises: UnknownTopicOrPartitionError, KafkaTimeoutError."""
        return self._run(
            self._core.lookups.beginning_offsets(as_partitions(partitions), self._timeout_ms(timeout))
        )

    def end_offsets(
        self, partitions: Iterable[PartitionLike], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset that the next record of each partition will get; with read_committed, the first of an
        open transaction. Raises: UnknownTopicOrPartitionError, KafkaTimeoutError."""
        return self._run(self._core.lookups.end_offsets(as_partitions(partitions), self._timeout_ms(timeout)))

    def offsets_for_times(
        self, timestamps: TimestampsLike, *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after a time (milliseconds since 1970), None where there is none.

        Raises: UnknownTopicOrPartitionError, KafkaTimeoutError, MisuseError.
        """
        wanted = {as_partition(partition): timestamp for partition, timestamp in timestamps.items()}
        return self._run(self._core.lookups.offsets_for_times(wanted, self._timeout_ms(timeout)))

    def lag(self, partition: PartitionLike, *, timeout: float | None = None) -> int:
        """How many offsets this consumer is behind the end, as of the last fetch. Raises: MisuseError."""
        self._give_back()
        return self._run(self._core.lag(as_partition(partition), self._timeout_ms(timeout)))

    def watermarks(self, partition: PartitionLike, *, timeout: float | None = None) -> Watermarks:
        """The ends of a partition, asked for now; see also `cached_watermarks`.

        Raises: UnknownTopicOrPartitionError, KafkaTimeoutError.
        """
        return self._run(self._core.lookups.watermarks(as_partition(partition), self._timeout_ms(timeout)))

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> list[PartitionInfo]:
        """Returns the partitions of a topic, by number. `timeout` in seconds, default
        default_api_timeout_ms. Raises: UnknownTopicOrPartitionError when the topic is not there by then,
        KafkaTimeoutError."""
        return self._run(self._core.lookups.partitions_for(topic, self._timeout_ms(timeout)))

    def topics(self, *, timeout: float | None = None) -> list[str]:
        """All topics of the cluster but Kafka's own. Raises: KafkaTimeoutError, BootstrapError."""
        return self._run(self._core.lookups.topics(self._timeout_ms(timeout)))

    def client_instance_id(self, *, timeout: float | None = None) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry (KIP-714). `timeout` in seconds,
        default default_api_timeout_ms.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        self._core.check_open()
        return self._run(
            self._client.telemetry.client_instance_id(
                as_timeout_ms(timeout, self.config.default_api_timeout_ms)
            )
        )
