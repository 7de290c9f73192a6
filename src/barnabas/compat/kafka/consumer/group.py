"""KafkaConsumer, in any generation: the arguments, results and exceptions of its methods.

What an open consumer does is its `RecordSession`'s. Single records that are at hand come out of the kernel
(`RecordPoller`), which calls `_next_record` for everything else.
"""

from __future__ import annotations

import logging
import math
import re
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Never, Self

from barnabas._kernel import RecordPoller
from barnabas.broker_errors import OffsetOutOfRangeError
from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.consumer.subscription_state import (
    AsyncConsumerRebalanceListener,
    ConsumerRebalanceListener,
)
from barnabas.compat.kafka.coordinator.assignors.range import RangePartitionAssignor
from barnabas.compat.kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from barnabas.compat.kafka.future import Future
from barnabas.compat.kafka.metrics._client_metrics import ConsumerMetrics
from barnabas.compat.kafka.serializer.abstract import Deserializer
from barnabas.compat.kafka.util import ensure_valid_topic_name
from barnabas.compat.kafka_engine.config.api_versions import known_version, version_of_text, version_spoken
from barnabas.compat.kafka_engine.config.merging import merged
from barnabas.compat.kafka_engine.consume.deserializers import called
from barnabas.compat.kafka_engine.consume.listeners import ToldListener
from barnabas.compat.kafka_engine.consume.offset_lookups import (
    committed_offset,
    first_offsets,
    member_of,
    next_offsets,
    offsets_at,
    partitions_of,
)
from barnabas.compat.kafka_engine.consume.record_class import ConsumerRecord
from barnabas.compat.kafka_engine.consume.refusals import check, refusal
from barnabas.compat.kafka_engine.consume.session import RecordSession
from barnabas.compat.kafka_engine.consume.settings import (
    check_group_settings,
    check_settings,
    consumer_settings,
)
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.settings import default_config
from barnabas.compat.kafka_engine.log.client_log import tell_log
from barnabas.compat.kafka_engine.network.bootstrap import reach
from barnabas.compat.kafka_engine.values.failures import as_programs_know, commit_failure_of, no_offset
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.errors import BarnabasError, KafkaTimeoutError
from barnabas.types import OffsetAndMetadata as CoreOffset
from barnabas.types import TopicPartition as CorePartition

log = logging.getLogger("kafka.consumer.group")

TopicPartition: Any = STRUCTS["TopicPartition"]
OffsetAndMetadata: Any = STRUCTS["OffsetAndMetadata"]

_OLDEST_WITH_OFFSETS = (0, 8, 1)
_DEFAULT_BOOTSTRAP_MS = 2000


class KafkaConsumer(RecordPoller):
    """Reads records of topics, as a member of a group or on its own: `for record in consumer`, or poll(). For
    one thread at a time. It has as many methods as kafka-python's.

    Topics to subscribe to are arguments; settings are keywords, by default as DEFAULT_CONFIG says.

    Raises: KafkaConfigurationError for a setting that it does not know (AssertionError in 1.2) or that cannot
    be; NoBrokersAvailable, in generation 3 KafkaTimeoutError, where no broker answers and api_version is not
    given.
    """

    DEFAULT_CONFIG = default_config(
        "KafkaConsumer",
        partition_assignment_strategy=(RangePartitionAssignor, RoundRobinPartitionAssignor),
        kafka_client=None,
    )

    DEFAULT_SESSION_TIMEOUT_MS_0_9 = DEFAULT_SESSION_TIMEOUT_MS_PRE_KIP_735 = 30000

    @as_programs_know
    def __init__(self, *topics: str, **configs: Any) -> None:
        self._closed = True
        self.config: dict[str, Any] = merged(
            "KafkaConsumer", self.DEFAULT_CONFIG, configs, Errors.KafkaConfigurationError
        )
        check_settings(self.config)
        if configs.get("kafka_client") is not None:
            log.warning("kafka_client is not used: this consumer's connections are Barnabas's")
        version = self.config["api_version"]
        if isinstance(version, str):
            version = version_of_text(version, log)
        if version is not None:
            self.config["api_version"] = version = known_version(version, log)
        self._shape_records(
            ConsumerRecord,
            called(self.config["key_deserializer"], "key_deserializer", Deserializer),
            called(self.config["value_deserializer"], "value_deserializer", Deserializer),
        )
        check_group_settings(self.config)
        self._session = session = RecordSession(
            self, consumer_settings(self.config, _topics_of(weakref.ref(self)))
        )
        tell_log(session.core.client.events, commits_itself=bool(self.config["enable_auto_commit"]))
        self._metrics = None
        if self.config.get("metrics_enabled", True):
            self._metrics = ConsumerMetrics(self.config, session.core.stats)
        self._closed = False
        self._iterates = False
        self._subscription: set[str] | None = None
        self._pattern: re.Pattern[str] | None = None
        self._listener: ToldListener | None = None
        try:
            if version is None:
                timeout_ms = self.config.get(generation().consumer_bootstrap_setting, _DEFAULT_BOOTSTRAP_MS)
                spoken = reach(session.core.client, self.config["bootstrap_servers"], timeout_ms)
                self.config["api_version"] = version_spoken(spoken)
            if topics:
                self.subscribe(topics=topics)
        except BaseException:
            self.close(autocommit=False)
            raise

    # What is read

    @as_programs_know
    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: str | None = None,
        listener: ConsumerRebalanceListener | AsyncConsumerRebalanceListener | None = None,
    ) -> None:
        """Reads these topics, or those that a regular expression matches the beginning of, as the group
        divides them: in place of those subscribed to before. `listener` hears of partitions that come and go.

        Raises: IllegalStateError after assign(), TypeError, ValueError (AssertionError before 3).
        """
        session = self._session
        check(topics or pattern, "nothing to subscribe to")
        if (topics and pattern) or session.core.subscription.is_by_hand:
            raise refusal("several ways of subscribing")
        if self._subscription is not None and (self._pattern is not None) != bool(pattern):
            raise refusal("several ways of subscribing")
        is_listener = not listener or isinstance(listener, _listener_classes())
        self._listener = ToldListener(
            listener if is_listener else None,
            self.config["group_id"],
            is_eager=not session.core.rebalances.is_cooperative,
        )
        told = self._listener.callbacks()
        callbacks: dict[str, Any] = {
            "on_assigned": told.on_assigned,
            "on_revoked": told.on_revoked,
            "on_lost": told.on_lost,
        }
        if pattern:
            log.info("Subscribing to pattern: /%s/", pattern)
            self._pattern = re.compile(pattern)
            self._subscription = set()
            # The core matches whole names.
            session.subscribe(pattern=re.compile(f"(?:{pattern}).*", re.DOTALL), **callbacks)
        else:
            names = _names(topics)
            self._pattern = None
            self._subscription = set(names)
            session.subscribe(names, **callbacks)
        check(is_listener, "listener is none")

    def _silence_listener(self) -> None:
        if self._listener is not None:
            self._listener.is_silent = True

    def subscription(self) -> set[str] | None:
        """The topics subscribed to, those that a pattern matches at present, or None."""
        if self._subscription is None:
            return None
        if self._pattern is not None:
            return set(self._session.core.subscription.topics)
        return self._subscription.copy()

    @as_programs_know
    def unsubscribe(self) -> None:
        """Reads nothing any more and leaves the group; commits first with enable_auto_commit."""
        self._subscription = self._pattern = None
        self._silence_listener()
        self._session.unsubscribe()

    @as_programs_know
    def assign(self, partitions: Iterable[Any]) -> None:
        """Reads exactly these partitions, without the group having a say. Raises: IllegalStateError after
        subscribe()."""
        wanted = list(partitions)
        if not wanted:
            self.unsubscribe()
            return
        if self._subscription is not None:
            raise refusal("several ways of subscribing")
        self._session.assign([CorePartition(*partition) for partition in wanted])

    def assignment(self) -> set[Any]:
        """The partitions that are read at present."""
        return {TopicPartition(*partition) for partition in self._session.assignment()}

    # Records

    @as_programs_know
    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> dict[Any, list[Any]]:
        """The next records by TopicPartition, max_records (max_poll_records) at most; waits up to
        `timeout_ms` for the first. An empty dict where none came. With `update_offsets` False they come
        again.

        Raises: OffsetOutOfRangeError and NoOffsetForPartitionError without auto_offset_reset,
        CorruptRecordError, TopicAuthorizationFailedError and other errors of brokers, what a deserializer
        raises, IllegalStateError of a closed consumer (AssertionError before 3).
        """
        check(timeout_ms >= 0, "negative timeout")
        check(not self._iterates, "poll and iteration")
        limit = self.config.get("max_poll_records", _UNLIMITED) if max_records is None else max_records
        check(isinstance(limit, int), "max_records is no number")
        check(limit > 0, "max_records is not positive")
        check(not self._closed, "consumer is closed")
        session = self._session
        if update_offsets:
            return session.take_records(limit, timeout_ms / 1000)
        before = session.positions()
        records = session.take_records(limit, timeout_ms / 1000)
        for partition, found in records.items():
            known = before.get(CorePartition(*partition))
            session.seek(CorePartition(*partition), found[0].offset if known is None else known)
        return records

    def _next_record(self) -> Any:
        """For the kernel, where the next record is not at hand or there is something else to be done."""
        if self._closed:
            raise StopIteration("KafkaConsumer closed")
        check(
            self._subscription is not None or self._session.core.subscription.is_by_hand,
            "iteration over nothing",
        )
        self._iterates = True
        limit_ms = self.config["consumer_timeout_ms"]
        timeout = math.inf if limit_ms < 0 else limit_ms / 1000
        record = self._await_record(timeout)
        if record is None:
            self._iterates = False
            raise StopIteration
        return record

    @as_programs_know
    def _await_record(self, timeout: float) -> Any | None:
        return self._session.next_record(timeout)

    def _was_refused(self, offset: int) -> None:
        self._session.loans.was_refused(offset)

    # Positions

    @as_programs_know
    def position(self, partition: Any, timeout_ms: float | None = None) -> int | None:
        """The offset of the next record of a partition; None where it was not found within `timeout_ms`
        (request_timeout_ms). Raises: IllegalStateError where it is not assigned (AssertionError before 3)."""
        core_partition = self._assigned(partition, "partition is not assigned")
        try:
            return self._session.position(core_partition, timeout=_seconds(timeout_ms))
        except KafkaTimeoutError:
            return None
        except OffsetOutOfRangeError as error:
            raise no_offset(partition) from error

    @as_programs_know
    def highwater(self, partition: Any) -> int | None:
        """The offset of the next record that will be written, as of the last fetch; None before the first."""
        watermarks = self._session.cached_watermarks(self._assigned(partition, "partition is not assigned"))
        return None if watermarks is None else watermarks.high

    @as_programs_know
    def seek(self, partition: Any, offset: Any) -> None:
        """Goes on at this offset. Raises: ValueError for an impossible one, or an unassigned partition
        (AssertionError before 3)."""
        check(isinstance(partition, TopicPartition), "partition is no TopicPartition")
        check(isinstance(offset, int) and offset >= 0, "impossible offset")
        self._session.seek(self._assigned(partition, "seek in an unassigned partition"), offset)

    @as_programs_know
    def seek_to_beginning(self, *partitions: Any) -> None:
        """Goes on at the first offset there is, in all assigned partitions where none are named."""
        self._session.seek_to_beginning(*self._to_seek_in(partitions))

    @as_programs_know
    def seek_to_end(self, *partitions: Any) -> None:
        """Goes on behind the last record there is, in all assigned partitions where none are named."""
        self._session.seek_to_end(*self._to_seek_in(partitions))

    def _to_seek_in(self, partitions: tuple[Any, ...]) -> list[CorePartition]:
        _check_partitions(partitions)
        if not partitions:
            assigned = self._session.assignment()
            check(assigned, "nothing is assigned")
            return assigned
        return [self._assigned(p, "seek to an end of an unassigned partition") for p in partitions]

    def _assigned(self, partition: Any, else_refused: str) -> CorePartition:
        check(isinstance(partition, TopicPartition), "partition is no TopicPartition")
        core_partition = CorePartition(*partition)
        check(core_partition in self._session.assignment(), else_refused, partition=partition)
        return core_partition

    @as_programs_know
    def pause(self, *partitions: Any) -> None:
        """Gives no records of these partitions until resume(). Raises: KeyError where one is not assigned."""
        self._session.pause(*self._of_assignment(partitions))

    @as_programs_know
    def resume(self, *partitions: Any) -> None:
        """Ends pause(). Raises: KeyError where a partition is not assigned."""
        self._session.resume(*self._of_assignment(partitions))

    def _of_assignment(self, partitions: tuple[Any, ...]) -> list[CorePartition]:
        _check_partitions(partitions)
        assigned = self._session.assignment()
        for partition in partitions:
            if CorePartition(*partition) not in assigned:
                raise KeyError(partition)
        return [CorePartition(*partition) for partition in partitions]

    def paused(self) -> set[Any]:
        """The assigned partitions that are paused."""
        return {TopicPartition(*partition) for partition in self._session.paused()}

    # Commits

    def commit(self, offsets: Mapping[Any, Any] | None = None, timeout_ms: float | None = None) -> None:
        """Stores the positions of all assigned partitions, or `offsets` (OffsetAndMetadata by
        TopicPartition),
        for the group, and waits. Raises: CommitFailedError where the group has rebalanced, KafkaTimeoutError,
        IllegalStateError without a group (AssertionError before 3)."""
        wanted = self._committable(offsets)
        session = self._session
        session.serve_commits()
        try:
            session.commit(wanted, timeout=_seconds(timeout_ms))
        except BarnabasError as error:
            raise commit_failure_of(error) from error

    def commit_async(
        self, offsets: Mapping[Any, Any] | None = None, callback: Callable[[Any, Any], object] | None = None
    ) -> Future:
        """commit() without waiting: a Future. `callback` (default_offset_commit_callback) is called with the
        offsets and the result, or an exception, in a later call. Raises: as commit() for its arguments."""
        wanted = self._committable(offsets)
        told = {TopicPartition(*p): _struct_of(offset) for p, offset in wanted.items()}
        self._session.serve_commits()
        called = self.config["default_offset_commit_callback"] if callback is None else callback
        future = Future()
        self._session.start_commit(wanted, told if offsets is None else offsets, called, future)
        return future

    @as_programs_know
    def _committable(self, offsets: Mapping[Any, Any] | None) -> dict[CorePartition, CoreOffset]:
        self._check_group()
        if offsets is None:
            return self._session.positions()
        check(
            all(isinstance(partition, TopicPartition) for partition in offsets)
            and all(isinstance(offset, OffsetAndMetadata) for offset in offsets.values()),
            "offsets are none",
        )
        return {CorePartition(*partition): _core_offset(offset) for partition, offset in offsets.items()}

    @as_programs_know
    def committed(self, partition: Any, metadata: bool = False, timeout_ms: float | None = None) -> Any:
        """The offset that the group committed last, with `metadata` an OffsetAndMetadata; None where there is
        none. Raises: IllegalStateError without a group (AssertionError before 3), KafkaTimeoutError."""
        self._check_group()
        check(isinstance(partition, TopicPartition), "partition is no TopicPartition")
        found = committed_offset(self._session, CorePartition(*partition), _seconds(timeout_ms))
        if found is None:
            return None
        return _struct_of(found) if metadata else found.offset

    def _check_group(self) -> None:
        check((self.config["api_version"] or _OLDEST_WITH_OFFSETS) >= _OLDEST_WITH_OFFSETS, "old broker")
        check(self.config["group_id"] is not None, "no group")

    def group_metadata(self) -> Any:
        """Which member of the group this is at present, for KafkaProducer.send_offsets_to_transaction."""
        if self.config["group_id"] is None:
            return STRUCTS["ConsumerGroupMetadata"](group_id=None)
        return member_of(self._session, is_rejoining=self._session.core.rebalances.is_rejoining)

    # What brokers know

    @as_programs_know
    def topics(self) -> set[str]:
        """The names of all topics of the cluster, but Kafka's own."""
        return set(self._session.topics())

    @as_programs_know
    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The numbers of a topic's partitions; empty, in 1.2 None, where there is no such topic."""
        found = partitions_of(self._session, topic)
        return found or (set() if generation().unknown_topics_have_no_partitions else None)

    @as_programs_know
    def beginning_offsets(self, partitions: Iterable[Any], timeout_ms: float | None = None) -> dict[Any, int]:
        """The first offset of each partition. Raises: KafkaTimeoutError."""
        return first_offsets(self._session, partitions, self._timeout(timeout_ms))

    @as_programs_know
    def end_offsets(self, partitions: Iterable[Any], timeout_ms: float | None = None) -> dict[Any, int]:
        """The offset that the next record of each partition will get. Raises: KafkaTimeoutError."""
        return next_offsets(self._session, partitions, self._timeout(timeout_ms))

    @as_programs_know
    def offsets_for_times(
        self, timestamps: Mapping[Any, int], timeout_ms: float | None = None
    ) -> dict[Any, Any]:
        """The first record at or after a time (milliseconds since 1970), an OffsetAndTimestamp; None where
        there is none, and for a partition that does not exist, beside one that does.

        Raises: ValueError for a negative time; KafkaTimeoutError, also where none of the partitions exists.
        """
        for partition, timestamp in timestamps.items():
            check(timestamp >= 0, "negative timestamp", partition=partition, timestamp=timestamp)
        return offsets_at(self._session, timestamps, self._timeout(timeout_ms))

    def _timeout(self, timeout_ms: float | None) -> float:
        return (self.config["request_timeout_ms"] if timeout_ms is None else timeout_ms) / 1000

    # The client

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = False) -> None:
        """Reaches for the cluster, within `timeout_ms` (bootstrap_timeout_ms), if it was not reached yet or
        with `refresh`. Raises: as the constructor."""
        client = self._session.kafka_client
        if refresh or not client.metadata.nodes:
            default = self.config.get(generation().consumer_bootstrap_setting, _DEFAULT_BOOTSTRAP_MS)
            reach(client, self.config["bootstrap_servers"], default if timeout_ms is None else timeout_ms)

    def bootstrap_connected(self) -> bool:
        """Whether a broker of the cluster was reached."""
        return bool(self._session.kafka_client.metadata.nodes)

    def metrics(self, raw: bool = False) -> dict[Any, Any] | None:
        """Figures by group and name; with `raw`, KafkaMetric by MetricName. None without metrics_enabled."""
        return None if self._metrics is None else self._metrics.metrics(raw)

    # What kafka-python 1.0 took away, and says what to do in place of

    def configure(self, **configs: Any) -> Never:
        raise NotImplementedError("deprecated -- initialize a new consumer")

    def set_topic_partitions(self, *topics: Any) -> Never:
        raise NotImplementedError("deprecated -- use subscribe() or assign()")

    def fetch_messages(self) -> Never:
        raise NotImplementedError("deprecated -- use poll() or iterator interface")

    def get_partition_offsets(
        self, topic: str, partition: int, request_time_ms: int, max_num_offsets: int
    ) -> Never:
        raise NotImplementedError("deprecated -- send an OffsetRequest with KafkaClient")

    def offsets(self, group: str | None = None) -> Never:
        raise NotImplementedError("deprecated -- use committed(partition)")

    def task_done(self, message: Any) -> Never:
        raise NotImplementedError("deprecated -- commit offsets manually if needed")

    @as_programs_know
    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Commits what was handed out (with enable_auto_commit and `autocommit`), leaves the group and closes
        the connections. May be called twice."""
        if self._closed:
            return
        log.debug("Closing the KafkaConsumer.")
        self._closed = True
        self._attend()
        if not generation().listeners_hear_of_closing:
            self._silence_listener()
        try:
            self._session.end(commit=autocommit, timeout=_seconds(timeout_ms))
        finally:
            if self._metrics is not None:
                self._metrics.close()
            for setting in ("key_deserializer", "value_deserializer"):
                close = getattr(self.config[setting], "close", None)
                if close is not None:
                    close()
        log.debug("The KafkaConsumer has closed.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *_: object) -> None:
        self.close(autocommit=exc_type is None)


_UNLIMITED = 2**31 - 1


def _names(topics: Iterable[str]) -> list[str]:
    if not generation().topic_names_are_checked:
        return list(topics)
    check(isinstance(topics, Sequence) and not isinstance(topics, str), "topics are no list")
    for topic in topics:
        ensure_valid_topic_name(topic)
    return list(topics)


def _topics_of(consumer_of: Callable[[], KafkaConsumer | None]) -> Callable[[], set[str]]:
    def topics() -> set[str]:
        consumer = consumer_of()
        return set() if consumer is None else consumer.subscription() or set()

    return topics


def _listener_classes() -> tuple[type, ...]:
    if generation().listeners_may_be_coroutines:
        return ConsumerRebalanceListener, AsyncConsumerRebalanceListener
    return (ConsumerRebalanceListener,)


def _check_partitions(partitions: Iterable[Any]) -> None:
    check(all(isinstance(p, TopicPartition) for p in partitions), "partitions are no TopicPartitions")


def _seconds(timeout_ms: float | None) -> float | None:
    return None if timeout_ms is None else max(0.0, timeout_ms / 1000)


def _core_offset(offset: Any) -> CoreOffset:
    epoch = getattr(offset, "leader_epoch", -1)
    return CoreOffset(
        offset.offset, offset.metadata or "", epoch if epoch is not None and epoch >= 0 else None
    )


def _struct_of(offset: CoreOffset) -> Any:
    is_known = generation().positions_have_epochs and offset.leader_epoch is not None
    epoch = offset.leader_epoch if is_known else -1
    return OffsetAndMetadata(*(offset.offset, offset.metadata, epoch)[: len(OffsetAndMetadata._fields)])
