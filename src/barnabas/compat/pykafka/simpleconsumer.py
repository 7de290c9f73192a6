"""SimpleConsumer: reads partitions of one topic, and commits how far that was consumed where it is told to.

What runs for each message is in the kernel (`PartitionPoller`), and what reads between start and stop is a
`MessageSession`. Owned here: offsets - where they are asked for, what they are reset to, when they are
committed - and what waits.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from barnabas._kernel import MessageIterator, PartitionPoller
from barnabas.client.cluster.lifetimes import OfThisProcess
from barnabas.compat.pykafka._consume.auto_commits import Commit
from barnabas.compat.pykafka._consume.errors import RAISED, error_handlers
from barnabas.compat.pykafka._consume.message_loans import OutOfRange
from barnabas.compat.pykafka._consume.owned_partition import MAGIC_OFFSETS, OwnedPartition
from barnabas.compat.pykafka._consume.session import MessageSession
from barnabas.compat.pykafka._consume.settings import consumer_settings
from barnabas.compat.pykafka._network.ending import can_be_stopped, stop_dropped
from barnabas.compat.pykafka._produce.failures import failure_of
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.exceptions import (
    ERROR_CODES,
    ConsumerStoppedException,
    KafkaException,
    OffsetRequestFailedError,
    SocketDisconnectedError,
    UnicodeException,
)
from barnabas.compat.pykafka.protocol import Message
from barnabas.compat.pykafka.utils import msg_protocol_version
from barnabas.compat.pykafka.utils.compat import get_string
from barnabas.compat.pykafka.utils.error_handlers import handle_partition_responses, valid_int
from barnabas.errors import BarnabasError
from barnabas.fork import generation
from barnabas.loop_thread import Steps
from barnabas.types import GroupIdentity, OffsetAndMetadata, TopicPartition

__all__ = ["SimpleConsumer"]

log = logging.getLogger("pykafka.simpleconsumer")

_LOOK_SECONDS = 1.0

PartitionOffsets = Iterable[tuple[Any, Any]]


class SimpleConsumer(PartitionPoller, OfThisProcess):
    """Reads all partitions of a topic, or those that it is given, without dividing them with anybody.

    With a `consumer_group` it begins where that committed, and `commit_offsets` or `auto_commit_enable`
    commits; without one, at offset 0, unless `reset_offset_on_start` has it begin as `auto_offset_reset`
    says. `consumer_timeout_ms`: how long it waits for a message before it gives None; -1 is without end.
    """

    def __init__(
        self,
        topic: Any,
        cluster: Any,
        consumer_group: Any = None,
        partitions: Iterable[Any] | None = None,
        fetch_message_max_bytes: int = 1024 * 1024,
        num_consumer_fetchers: int = 1,
        auto_commit_enable: bool = False,
        auto_commit_interval_ms: int = 60 * 1000,
        queued_max_messages: int = 2000,
        fetch_min_bytes: int = 1,
        fetch_error_backoff_ms: int = 500,
        fetch_wait_max_ms: int = 100,
        offsets_channel_backoff_ms: int = 1000,
        offsets_commit_max_retries: int = 5,
        auto_offset_reset: int = OffsetType.EARLIEST,
        consumer_timeout_ms: int = -1,
        auto_start: bool = True,
        reset_offset_on_start: bool = False,
        compacted_topic: bool = False,
        generation_id: int = -1,
        consumer_id: bytes = b"",
        deserializer: Callable[[Any, Any], Any] | None = None,
        reset_offset_on_fetch: bool = True,
    ) -> None:
        self._running = False
        self._generation = generation()
        self._session: MessageSession | None = None
        self._is_inner = False
        """Whether a balanced consumer sees to its end."""
        self._cluster = cluster
        self._consumer_group: bytes | None = None
        if consumer_group:
            try:
                self._consumer_group = get_string(consumer_group).encode("ascii")
            except UnicodeEncodeError:
                raise UnicodeException(
                    f"Consumer group name '{consumer_group}' contains non-ascii characters"
                ) from None
        self._topic = topic
        self._fetch_message_max_bytes = valid_int(fetch_message_max_bytes)
        self._fetch_min_bytes = valid_int(fetch_min_bytes)
        self._queued_max_messages = valid_int(queued_max_messages)
        self._num_consumer_fetchers = valid_int(num_consumer_fetchers)
        self._fetch_wait_max_ms = valid_int(fetch_wait_max_ms, allow_zero=True)
        self._consumer_timeout_ms = valid_int(consumer_timeout_ms, allow_zero=True, allow_negative=True)
        self._offsets_channel_backoff_ms = valid_int(offsets_channel_backoff_ms)
        self._auto_offset_reset = auto_offset_reset
        self._offsets_commit_max_retries = valid_int(offsets_commit_max_retries, allow_zero=True)
        self._offsets_fetch_max_retries = self._offsets_commit_max_retries
        self._offsets_reset_max_retries = self._offsets_commit_max_retries
        self._auto_start = auto_start
        self._reset_offset_on_start = reset_offset_on_start
        self._is_compacted_topic = compacted_topic
        self._generation_id = -1
        self._consumer_id: Any = b""
        self._deserializer = deserializer
        self._reset_offset_on_fetch = reset_offset_on_fetch
        self._auto_commit_enable = auto_commit_enable
        self._auto_commit_interval_ms = valid_int(auto_commit_interval_ms)
        self._worker_exception: BaseException | None = None
        self._update_lock = cluster.handler.Lock()
        # Waits in the kernel would hold up all greenlets.
        self._has_greenlets = type(cluster.handler).__name__ == "GEventHandler"
        self._discover_group_coordinator()
        chosen = list(topic.partitions.values() if partitions is None else partitions)
        self._partitions: dict[Any, OwnedPartition] = {
            each: OwnedPartition(each, cluster.handler, None, compacted_topic) for each in chosen
        }
        self._partitions_by_id = {each.partition.id: each for each in self._partitions.values()}
        self._default_error_handlers = error_handlers(self)
        self._shape_messages(
            Message,
            {number: each.partition for number, each in self._partitions_by_id.items()},
            msg_protocol_version(cluster._broker_version),
            deserializer,
        )
        if self._auto_start:
            self.start()

    # What it is

    @property
    def consumer_id(self) -> Any:
        return self._consumer_id

    @consumer_id.setter
    def consumer_id(self, value: Any) -> None:
        self._consumer_id = value
        for each in self._partitions.values():
            each.set_consumer_id(value)

    @property
    def generation_id(self) -> int:
        return self._generation_id

    @generation_id.setter
    def generation_id(self, value: int) -> None:
        self._generation_id = valid_int(value, allow_zero=True, allow_negative=True)

    def __repr__(self) -> str:
        kind = type(self)
        return (
            f"<{kind.__module__}.{kind.__name__} at {hex(id(self))} (consumer_group={self._consumer_group})>"
        )

    @property
    def topic(self) -> Any:
        """The topic that is read."""
        return self._topic

    @property
    def partitions(self) -> dict[int, Any]:
        """The partitions that are read, by number."""
        return {number: each.partition for number, each in self._partitions_by_id.items()}

    @property
    def held_offsets(self) -> dict[int, int]:
        """The offset of each partition's message that was consumed last; OffsetType.EARLIEST where none
        was."""
        offsets = {number: each.last_offset_consumed for number, each in self._partitions_by_id.items()}
        return {number: OffsetType.EARLIEST if at == -1 else at for number, at in offsets.items()}

    # The beginning and the end

    def start(self) -> None:
        """Begins to read, again where the consumer was stopped."""
        self._running = True
        if self._reset_offset_on_start:
            self.reset_offsets()
        elif self._consumer_group is not None:
            self.fetch_offsets()
        held = {number: each.held for number, each in self._partitions_by_id.items()}
        try:
            self._session = MessageSession(self, consumer_settings(self), self._topic_name, held)
            self._session.read_from(
                {n: max(each.next_offset, 0) for n, each in self._partitions_by_id.items()}
            )
            if self._auto_commit_enable and self._consumer_group is not None:
                owned = list(self._partitions.values())
                identity = self._identity()
                self._session.commit_every(
                    self._auto_commit_interval_ms / 1000,
                    identity.group_id,
                    partial(_due, weakref.ref(self._session), identity, self._topic_name, owned),
                    _Failures(self),
                )
            if self._is_inner:
                self._session.leave_end_to_owner()
        except BarnabasError as error:
            raise failure_of(error) from error
        self._raise_worker_exceptions()

    def _identity(self) -> GroupIdentity:
        group = get_string(self._consumer_group)
        return GroupIdentity(group, self._generation_id, get_string(self._consumer_id))

    @property
    def _topic_name(self) -> str:
        return get_string(self._topic.name)

    def stop(self) -> None:
        """Reads no more. With auto_commit_enable, commits what was consumed. `consume` raises from now on."""
        self._running = False
        session, self._session = self._session, None
        self._attend()
        try:
            if session is not None:
                session.end_commits()
            if self._auto_commit_enable and self._consumer_group is not None:
                # What was handed out counts; nothing is handed out behind it.
                if session is None:
                    self.commit_offsets()
                else:
                    session.hold()
                    self._commit_of(session, self._owned("commit_offsets", None, None))
        finally:
            if session is not None:
                session.end()

    def steps_at_exit(self, *, commits: bool) -> Steps:
        """Of a consumer inside a balanced one, when the interpreter ends."""
        session = self._session
        if session is not None:
            yield from session.steps_at_exit(commits=commits)

    def __del__(self) -> None:
        if getattr(self, "_running", False) and can_be_stopped(self._generation):
            stop_dropped(self, log)

    def cleanup(self) -> None:
        """Lets go whoever waits for a message."""
        session = self._session
        if session is not None:
            session.wakeup()

    def _raise_worker_exceptions(self) -> None:
        if self._worker_exception is not None:
            raise self._worker_exception

    def fail(self, error: BaseException) -> None:
        """Has the program's next call raise this. Any thread."""
        self._worker_exception = error
        self._attend()

    def _update(self) -> None:
        with self._update_lock:
            self._cluster.update()
            self._discover_group_coordinator()

    def _discover_group_coordinator(self) -> None:
        if self._consumer_group is not None:
            self._group_coordinator = self._cluster.get_group_coordinator(self._consumer_group)

    # Messages

    def fetch(self) -> None:
        """Waits until there are messages to consume, at most fetch_wait_max_ms. They are fetched anyway."""
        self._raise_worker_exceptions()
        session = self._session
        if session is not None:
            session.await_messages(self._fetch_wait_max_ms / 1000)

    def __iter__(self) -> Iterator[Any]:
        """Messages, until none has come for consumer_timeout_ms."""
        if type(self).consume is not SimpleConsumer.consume:
            return iter(lambda: self.consume(block=True), None)
        return MessageIterator(self)

    def _consume(self, block: bool, unblock_event: Any) -> Any:
        seconds = self._consumer_timeout_ms / 1000 if self._consumer_timeout_ms > 0 else None
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self._raise_worker_exceptions()
            session = self._session
            if not self._running or session is None:
                raise ConsumerStoppedException()
            left = _LOOK_SECONDS if deadline is None else max(deadline - time.monotonic(), 0)
            message = self._next(session, left if block else 0)
            if message is not None:
                return message
            if not self._running:
                raise ConsumerStoppedException()
            if not block or (deadline is not None and time.monotonic() >= deadline):
                return None
            if unblock_event and unblock_event.is_set():
                return None

    def _next(self, session: MessageSession, timeout: float) -> Any:
        try:
            if self._has_greenlets and timeout > 0:
                return session.next_for_greenlet(timeout, self._cluster.handler.sleep)
            return session.next_message(timeout)
        except OutOfRange as error:
            log.info("Resetting offsets in response to OffsetOutOfRangeError")
            self.reset_offsets(
                [(self._partitions_by_id[error.partition_id].partition, self._auto_offset_reset)]
            )
            return None
        except BarnabasError as error:
            if not self._running:
                raise ConsumerStoppedException() from None
            raise failure_of(error) from error

    # Offsets

    def commit_offsets(self, partition_offsets: PartitionOffsets | None = None) -> None:
        """Commits, for the group, what was consumed of all partitions, or pairs of a partition and the offset
        of the next message.

        Raises: KafkaException for a partition that is not read; Exception without a consumer group.
        """
        if not self._consumer_group:
            raise Exception("consumer group must be specified to commit offsets")
        wanted = self._owned("commit_offsets", partition_offsets, None)
        session = self._session
        if session is None:
            self._commit(wanted)
            return
        with session.commits_held():
            self._commit_of(session, wanted)

    def _commit_of(self, session: MessageSession, wanted: dict[OwnedPartition, Any]) -> None:
        """Without positions in a topic that is gone, which mean nothing in another one of its name."""
        gone = {each for each in wanted if not session.is_in_topic(each.partition.id)}
        if gone:
            numbers = sorted(each.partition.id for each in gone)
            log.warning(
                "Not committing offsets of partitions %s of topic '%s', which was deleted and created again",
                numbers,
                self._topic.name,
            )
            wanted = {each: at for each, at in wanted.items() if each not in gone}
            if not wanted:
                return
        self._commit(wanted)

    def _commit(self, wanted: dict[OwnedPartition, Any]) -> None:
        requests = [each.build_offset_commit_request(offset=at) for each, at in wanted.items()]
        for attempt in range(self._offsets_commit_max_retries):
            self._cluster.handler.sleep(attempt * self._offsets_channel_backoff_ms / 1000)
            try:
                response = self._group_coordinator.commit_consumer_group_offsets(
                    self._consumer_group, self._generation_id, self._consumer_id, requests
                )
            except (SocketDisconnectedError, OSError):
                log.error(
                    "Error committing offsets for topic '%s' from consumer id '%s'(SocketDisconnectedError)",
                    self._topic.name,
                    self._consumer_id,
                )
                if attempt >= self._offsets_commit_max_retries - 1:
                    raise
                self._update()
                continue
            failed = self._failed(response)
            if not failed:
                return
            self._log_errors("Error committing offsets for topic", failed)
            requests = [
                each.build_offset_commit_request(offset=wanted[each])
                for pairs in failed.values()
                for each, _ in pairs
            ]

    def fetch_offsets(self) -> list[tuple[int, Any]]:
        """Goes to where the group committed, and to `auto_offset_reset` where it has not. Gives pairs of a
        partition's number and the broker's answer for it.

        Raises: KafkaException; Exception without a consumer group.
        """
        if not self._consumer_group:
            raise Exception("consumer group must be specified to fetch offsets")
        if not self._partitions:
            return []
        requests = [each.build_offset_fetch_request() for each in self._partitions.values()]
        found: list[tuple[int, Any]] = []
        failed: dict[int, list[Any]] = {}
        for attempt in range(self._offsets_fetch_max_retries):
            response = self._group_coordinator.fetch_consumer_group_offsets(self._consumer_group, requests)
            by_error = handle_partition_responses(
                self._default_error_handlers,
                response=response,
                success_handler=self._go_to_committed if self._reset_offset_on_fetch else None,
                partitions_by_id=self._partitions_by_id,
            )
            found.extend((each.partition.id, answer) for each, answer in by_error.get(0, []))
            failed = {code: pairs for code, pairs in by_error.items() if code != 0}
            if not failed:
                return found
            self._log_errors("Error fetching offsets for topic", failed)
            self._cluster.handler.sleep(attempt * self._offsets_channel_backoff_ms / 1000)
            requests = [each.build_offset_fetch_request() for pairs in failed.values() for each, _ in pairs]
        raise KafkaException(failed)

    def _go_to_committed(self, parts: list[tuple[OwnedPartition, Any]]) -> None:
        uncommitted: list[tuple[Any, Any]] = []
        committed: dict[int, int] = {}
        for owned, answer in parts:
            if answer.offset == -1:
                uncommitted.append((owned.partition, self._auto_offset_reset))
            else:
                committed[owned.partition.id] = answer.offset - 1
        self._move(committed)
        if uncommitted:
            self.reset_offsets(uncommitted)

    def reset_offsets(self, partition_offsets: PartitionOffsets | None = None) -> None:
        """Goes, in all partitions, to `auto_offset_reset`; or, in those of the pairs, behind the message of
        an offset, to an OffsetType, or to what was written before a datetime. Commits that for the group.

        Raises: KafkaException for a partition that is not read, ValueError for what is no offset,
        OffsetRequestFailedError.
        """
        wanted = self._owned("reset_offsets", partition_offsets, self._auto_offset_reset)
        log.info("Resetting offsets for %s partitions", len(wanted))
        asked = {
            each: at for each, at in wanted.items() if isinstance(at, dt.datetime) or at in MAGIC_OFFSETS
        }
        wanted.update(self._looked_up(asked))
        for each, at in sorted(wanted.items(), key=lambda pair: pair[0].partition.id):
            if not isinstance(at, int):
                raise ValueError(
                    "Invalid offset value encountered in reset_offsets:\n\t"
                    f"Partition {each.partition.id} got offset '{at}'."
                )
        self._move({each.partition.id: at for each, at in wanted.items()})
        if self._consumer_group is not None:
            self.commit_offsets()

    def _looked_up(self, asked: dict[OwnedPartition, Any]) -> dict[OwnedPartition, int]:
        """The offsets before those that brokers tell for times and ends."""
        found: dict[OwnedPartition, int] = {}
        left = dict(asked)
        for attempt in range(self._offsets_reset_max_retries if left else 0):
            by_leader: defaultdict[Any, list[Any]] = defaultdict(list)
            for each, at in left.items():
                by_leader[each.partition.leader].append(each.build_offset_request(at))
            for leader, requests in by_leader.items():
                response = leader.request_offset_limits(requests)
                by_error = handle_partition_responses(
                    self._default_error_handlers, response=response, partitions_by_id=self._partitions_by_id
                )
                for each, answer in by_error.get(0, []):
                    found[each] = self._before(each, answer.offset, left.pop(each))
                failed = {code: pairs for code, pairs in by_error.items() if code != 0}
                if failed:
                    self._log_errors("Error in ListOffsetRequest for topic", failed)
                    self._cluster.handler.sleep(attempt * self._offsets_channel_backoff_ms / 1000)
            if not left:
                break
        if left:
            raise OffsetRequestFailedError(
                "Offset request failed after %d retries", self._offsets_reset_max_retries
            )
        return found

    def _before(self, owned: OwnedPartition, offsets: Any, asked: Any) -> int:
        if len(offsets):
            return int(offsets[0]) - 1
        log.warning(
            "Partition %s: no offsets available before %s. Defaulting to OffsetType.EARLIEST.",
            owned.partition.id,
            asked,
        )
        return OffsetType.EARLIEST

    def _owned(
        self, call: str, partition_offsets: PartitionOffsets | None, default: Any
    ) -> dict[OwnedPartition, Any]:
        if partition_offsets is None:
            return dict.fromkeys(self._partitions.values(), default)
        try:
            return {self._partitions[partition]: offset for partition, offset in partition_offsets}
        except KeyError as error:
            raise KafkaException(f"Unknown partition supplied to {call}\n%s", error) from None

    def _move(self, offsets: dict[int, int]) -> None:
        """Sets how far partitions were consumed, while it is read or before."""
        session = self._session
        if session is not None:
            session.move(offsets)
            return
        for number, offset in offsets.items():
            self._partitions_by_id[number].set_offset(offset)

    def _failed(self, response: Any) -> dict[int, list[Any]]:
        by_error = handle_partition_responses(
            self._default_error_handlers, response=response, partitions_by_id=self._partitions_by_id
        )
        return {code: pairs for code, pairs in by_error.items() if code != 0}

    def _log_errors(self, what: str, failed: dict[int, list[Any]]) -> None:
        log.error(
            "%s '%s' (errors: %s)",
            what,
            self._topic.name,
            {ERROR_CODES[code]: [each.partition.id for each, _ in pairs] for code, pairs in failed.items()},
        )


def _due(
    session_of: Callable[[], MessageSession | None],
    identity: GroupIdentity,
    topic: str,
    owned: list[OwnedPartition],
) -> Commit:
    """What is committed by the clock; it keeps no consumer."""
    session = session_of()
    if session is None:
        return identity, {}, {}
    offsets = {
        TopicPartition(topic, each.partition.id): OffsetAndMetadata(
            each.next_offset, metadata=each.offset_metadata_json
        )
        for each in owned
        if session.is_in_topic(each.partition.id)
    }
    topic_id = session.topic_id
    return identity, offsets, {} if topic_id is None else dict.fromkeys(offsets, topic_id)


class _Failures:
    """What goes wrong in commits by the clock; the next call of the program raises what it has to hear of."""

    def __init__(self, consumer: SimpleConsumer) -> None:
        self._consumer_of = weakref.ref(consumer)

    def __call__(self, error: BarnabasError) -> None:
        failure = failure_of(error)
        consumer = self._consumer_of()
        if consumer is not None and isinstance(failure, RAISED):
            consumer.fail(failure)
