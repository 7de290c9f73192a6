"""`Consumer` as programs for librdkafka know it: the arguments, results and exceptions of its methods.

What an open consumer does is its `ConsumerSession`'s; without one it is closed. Single messages that are at
hand come out of the kernel (`MessagePoller.poll`), which calls `_poll` for everything else.
"""
# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from barnabas._kernel import Message, MessagePoller
from barnabas.client.groups.subscription import RebalanceListener
from barnabas.compat.librdkafka.cluster.metadata import cluster_id, list_topics
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.consumer_setup import ConsumerSetup
from barnabas.compat.librdkafka.consume.consumer_arguments import (
    checked_partitions,
    committable,
    error_with,
    invalid_argument,
    key_of,
    name_of,
    offset_after,
    offsets_to_assign,
    partition_made,
    with_offset,
    with_position,
)
from barnabas.compat.librdkafka.consume.consumer_lookups import offsets_for_times, watermarks
from barnabas.compat.librdkafka.consume.consumer_session import (
    ConsumerSession,
    ShownNames,
    abandon,
)
from barnabas.compat.librdkafka.events.client_events import ClientEvents, serve_to_the_end
from barnabas.compat.librdkafka.events.statistics import ConsumerStatistics
from barnabas.compat.librdkafka.log.client_log import APPLICATION, MAIN
from barnabas.compat.librdkafka.values.arguments import (
    c_arguments,
    c_no_arguments,
    c_one_argument,
    no_state,
)
from barnabas.compat.librdkafka.values.constants import OFFSET_STORED
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException, kafka_error_of
from barnabas.compat.librdkafka.values.group_metadata import group_metadata_to_bytes
from barnabas.compat.librdkafka.values.posix_patterns import PosixPatternError
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition
from barnabas.errors import BarnabasError, ClosedError, MisuseError
from barnabas.types import OffsetAndMetadata
from barnabas.types import TopicPartition as Partition

T = TypeVar("T")

MAX_MESSAGES = 1_000_000
UNLIMITED_MS = 2.0**31


class Consumer(MessagePoller):
    """Reads messages of topics, as a member of a group.

    Consumer(config) takes a dict of librdkafka's properties, group.id at least, and callbacks; keyword
    arguments count as well. Callbacks run in the thread that calls poll(), consume() or close(). Any method
    of a closed consumer raises RuntimeError.
    """

    __module__ = "cimpl"

    _session: ClassVar[ConsumerSession | None] = None
    _events: ClassVar[ClientEvents | None] = None
    _shown_names: ShownNames | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self._session is not None:
            raise RuntimeError("Consumer already initialized")
        setup = ConsumerSetup.of(Configuration.parse("consumer", args, kwargs))
        events = ClientEvents(setup.callbacks, name=setup.name, prefix=setup.address_prefix)
        session = ConsumerSession(
            self,
            setup,
            on_commit=_on_commit(setup.on_commit),
            serve=events.serve,
            shown_names=self._shown_names,
        )
        events.queue.notify(session.wake)
        statistics = ConsumerStatistics(session.core, events, session.offsets)
        events.attach(session, statistics.as_json)
        session.start()
        self._setup = setup
        self._finalizer = weakref.finalize(self, _abandon, session, events)
        self._finalizer.atexit = False
        self._events = events  # type: ignore[misc]
        self._session = session  # type: ignore[misc]

    @property
    def _open(self) -> ConsumerSession:
        session = self._session
        if session is None:
            raise RuntimeError("Consumer closed")
        return session

    # Messages

    @c_arguments("d")
    def _poll(self, timeout: float = -1.0) -> Message | None:
        session = self._open
        try:
            return session.next_message(None if timeout < 0 else timeout)
        except ClosedError:
            raise RuntimeError("Consumer closed") from None

    @c_arguments("Id")
    def consume(self, num_messages: int = 1, timeout: float = -1.0) -> list[Message]:
        """Up to `num_messages` messages (1 million at most); waits for all of them, for up to `timeout`
        seconds (negative: without end). Events are among them, as messages with an error. Callbacks are
        called.

        Raises: ValueError for a number beyond 1 million.
        """
        session = self._open
        if num_messages > MAX_MESSAGES:
            raise ValueError("num_messages must be between 0 and 1000000 (1M)")
        try:
            return session.next_messages(num_messages, None if timeout < 0 else timeout)
        except ClosedError:
            raise RuntimeError("Consumer closed") from None

    # What is read

    @c_arguments("OOOO")
    def subscribe(
        self,
        topics: list[str],
        on_assign: Any = ...,
        on_revoke: Any = ...,
        on_lost: Any = ...,
    ) -> None:
        """Reads these topics, as the group divides them; replaces the subscription before. One that begins
        with ^ is a regular expression, as POSIX has them, for a part of names.

        `on_assign(consumer, partitions)`, `on_revoke(...)` and `on_lost(...)` are called when partitions come
        and go. They may call assign(), unassign() and the incremental ones; otherwise that is done for them.
        Without `on_lost`, lost partitions are told to `on_revoke`.

        Raises: TypeError, KafkaException.
        """
        session = self._open
        if not isinstance(topics, list):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("expected list of topic unicode strings")
        callbacks = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost}
        for name, callback in callbacks.items():
            if callback is not ... and not callable(callback):
                raise TypeError(f"{name} expects a callable")
        names = [topic.decode() if isinstance(topic, bytes) else str(topic) for topic in topics]
        listener = RebalanceListener(*(self._rebalance_callback(c) for c in callbacks.values()))
        if not names or "" in names or len(set(names)) < len(names):
            raise invalid_argument("Failed to set subscription")
        try:
            session.subscribe(names, listener)
        except (PosixPatternError, MisuseError):
            raise invalid_argument("Failed to set subscription") from None
        text = f"{self._group}: subscribe to new subscription of {len(names)} topics"
        self._debug("cgrp consumer", "SUBSCRIBE", MAIN, text)

    def _rebalance_callback(self, callback: Any) -> Callable[[list[Partition]], None] | None:
        if callback is ...:
            return None
        consumer = weakref.ref(self)
        return lambda partitions: callback(consumer(), [topic_partition(*p) for p in partitions])

    @c_no_arguments("Consumer.unsubscribe")
    def unsubscribe(self) -> None:
        """Ends the subscription. Partitions are given back in the next poll, where `on_revoke` wants to
        hear."""
        self._open.unsubscribe()
        self._debug("cgrp", "UNSUBSCRIBE", MAIN, f"{self._group}: unsubscribe from current subscription")

    @property
    def _group(self) -> str:
        return f'Group "{self._setup.config.group_id}"'

    def _debug(self, contexts: str, facility: str, thread: str, text: str) -> None:
        if self._events is not None:
            self._events.log.debug(contexts, facility, thread, text)

    @c_one_argument("Consumer.assign")
    def assign(self, partitions: list[TopicPartition]) -> None:
        """Reads exactly these partitions, each from its offset, or from where the group committed.

        Raises: KafkaException.
        """
        session = self._open
        wanted = checked_partitions(partitions)
        if session.is_cooperative:
            raise error_with(KafkaError._STATE, "Failed to set assignment")
        # What was assigned before is gone even where this fails.
        session.assign({})
        session.incremental_assign(offsets_to_assign(wanted, "Failed to set assignment"))
        text = f"Added {len(wanted)} partition(s) to assignment"
        self._debug("cgrp consumer", "ASSIGNMENT", MAIN, text)

    @c_no_arguments("Consumer.unassign")
    def unassign(self) -> None:
        """Reads nothing any more. Raises: KafkaException."""
        session = self._open
        if session.is_cooperative and not session.is_closing:
            raise error_with(KafkaError._STATE, "Failed to remove assignment")
        session.unassign()

    @c_one_argument("Consumer.incremental_assign")
    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Reads these partitions too. Raises: KafkaException for one that is read already."""
        session = self._open
        wanted = offsets_to_assign(partitions, None)
        _refuse_if_eager(session)
        for partition in wanted:
            if partition in session.assignment:
                text = f"{name_of(partition)} is already part of the current assignment"
                raise KafkaException(KafkaError(KafkaError._CONFLICT, text))
        session.incremental_assign(wanted)

    @c_one_argument("Consumer.incremental_unassign")
    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Does not read these partitions any more. Raises: KafkaException for one that is not read."""
        session = self._open
        unwanted = offsets_to_assign(partitions, None)
        _refuse_if_eager(session)
        if unwanted and not session.assignment and not session.is_closing:
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, "Can't subtract from empty assignment"))
        for partition in unwanted:
            if partition not in session.assignment and not session.is_closing:
                text = f"{name_of(partition)} can't be unassigned since it is not in the current assignment"
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text))
        session.unassign(unwanted)

    def assignment(self, *_: Any, **__: Any) -> list[TopicPartition]:
        """The partitions that are read, each with the offset it was assigned with."""
        return [
            topic_partition(*p, a.offset, metadata=a.metadata, leader_epoch=a.leader_epoch)
            for p, a in self._open.assignment.items()
        ]

    # Positions

    @c_arguments("O")
    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """The partitions with the offset after the last message that was given out; OFFSET_INVALID before the
        first."""
        session = self._open
        wanted = checked_partitions(partitions)
        for partition in wanted:
            session.get_to_know(partition.topic)
        session.messages.settle()
        return [with_position(p, session.offsets.read(key_of(p))) for p in wanted]

    @c_arguments("O")
    def seek(self, partition: TopicPartition) -> None:
        """Goes on at the partition's offset, absolute or logical. Raises: KafkaException where it is not
        assigned, or while it is not known yet what the group committed of it: to begin elsewhere, assign it
        with an offset."""
        session = self._open
        if not isinstance(partition, TopicPartition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("expected cimpl.TopicPartition")
        key, what = key_of(partition), f"Failed to seek to offset {partition.offset}"
        if key not in session.assignment:
            raise error_with(_not_assigned(session, key), what)
        if not session.is_begun(key):
            raise error_with(KafkaError._STATE, what)
        if partition.offset == OFFSET_STORED:
            raise invalid_argument(what)
        self._run(what, partial(session.seek, key, partition.offset, partition.leader_epoch))
        self._debug("topic", "CONSUMER", APPLICATION, f"Seek {name_of(key)} to offset {partition.offset}")

    @c_arguments("O")
    def pause(self, partitions: list[TopicPartition]) -> None:
        """Gives no messages of these partitions until resume()."""
        session = self._open
        wanted = checked_partitions(partitions)
        session.pause([key_of(p) for p in wanted])
        self._debug("topic", "PAUSE", APPLICATION, f"Application pausing {len(wanted)} partition(s)")

    @c_arguments("O")
    def resume(self, partitions: list[TopicPartition]) -> None:
        """Ends pause()."""
        session = self._open
        wanted = checked_partitions(partitions)
        session.resume([key_of(p) for p in wanted])
        self._debug("topic", "RESUME", APPLICATION, f"Application resuming {len(wanted)} partition(s)")

    # Commits

    def commit(self, *args: Any, **kwargs: Any) -> list[TopicPartition] | None:
        """commit(message=None, offsets=None, asynchronous=True): commits the offset after `message`, or
        `offsets`, or what is stored of all assigned partitions. `async` is an older name of `asynchronous`.

        Without `asynchronous` waits, and gives the partitions with their offsets. Raises: KafkaException.
        """
        if "async" in kwargs:
            kwargs["async_"] = kwargs.pop("async")
        return self._commit(*args, **kwargs)

    @c_arguments("OOOO")
    def _commit(
        self, message: Any = None, offsets: Any = None, async_: Any = True, asynchronous: Any = True
    ) -> list[TopicPartition] | None:
        session = self._open
        if message is not None and offsets is not None:
            raise ValueError("message and offsets are mutually exclusive")
        is_asynchronous = bool(async_) and bool(asynchronous)
        if message is not None:
            named = [offset_after(message, "commit")]
        elif offsets is not None:
            named = checked_partitions(offsets)
        elif is_asynchronous:
            session.messages.settle()
            session.commits.commit_stored_async()
            return None
        else:
            return self._commit_stored(session)
        wanted = committable(named)
        if is_asynchronous:
            session.commits.commit_async(wanted)
            return None
        if not wanted:
            raise error_with(KafkaError._NO_OFFSET, "Commit failed")
        self._run("Commit failed", lambda: session.commits.commit(wanted, was_member=session.was_member))
        return named

    def _commit_stored(self, session: ConsumerSession) -> list[TopicPartition]:
        due = session.due()
        if not due:
            raise error_with(KafkaError._NO_OFFSET, "Commit failed")
        self._run("Commit failed", lambda: session.commits.commit(due, was_member=session.was_member))
        return [partition_made(p, due.get(p)) for p in session.assignment]

    @c_arguments("OO")
    def store_offsets(self, message: Any = None, offsets: Any = None) -> None:
        """Stores the offset after `message`, or `offsets`, for the next commit without arguments and for
        automatic ones. Needs enable.auto.offset.store=false. Raises: KafkaException.
        """
        session = self._open
        if message is not None and offsets is not None:
            raise ValueError("message and offsets are mutually exclusive")
        if message is None and offsets is None:
            raise ValueError("expected either message or offsets")
        named = [offset_after(message, "store")] if message is not None else checked_partitions(offsets)
        if self._setup.stores_automatically:
            raise invalid_argument("StoreOffsets failed")
        wanted = committable(named)
        stored = {p: offset for p, offset in wanted.items() if p in session.assignment}
        for partition, offset in stored.items():
            session.offsets.store(partition, offset)
        if wanted and not stored:
            raise error_with(_not_assigned(session, next(iter(wanted))), "StoreOffsets failed")

    @c_arguments("Od")
    def committed(self, partitions: list[TopicPartition], timeout: float = -1.0) -> list[TopicPartition]:
        """The partitions with the offsets that the group committed, OFFSET_INVALID where none. `timeout` in
        seconds. Raises: KafkaException."""
        session = self._open
        wanted = checked_partitions(partitions)
        keys = [key_of(p) for p in wanted if p.partition >= 0]
        # Even of no partitions librdkafka asks the coordinator; ours is asked for all there are.
        work = session.core.committed(keys if wanted else None, _milliseconds(timeout))
        try:
            found = self._run("Failed to get committed offsets", lambda: session.run(work))
        except KafkaException as error:
            if error.args[0].code() != KafkaError._ALL_BROKERS_DOWN:
                raise
            # Until there is a coordinator librdkafka waits, whatever its brokers do.
            raise error_with(KafkaError._TIMED_OUT, "Failed to get committed offsets") from error
        return [with_offset(p, found.get(key_of(p))) for p in wanted]

    # What brokers know

    @c_arguments("Odp")
    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1.0, cached: bool = False
    ) -> tuple[int, int]:
        """The first offset of a partition and the one after its last, asked for within `timeout` seconds;
        with `cached` as of the last fetch. Raises: KafkaException."""
        session = self._open
        if not isinstance(partition, TopicPartition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("expected cimpl.TopicPartition")
        if cached:
            return session.cached_watermarks(key_of(partition))
        return self._ask(
            "Failed to get watermark offsets",
            watermarks(session.core, key_of(partition), _milliseconds(timeout)),
        )

    @c_arguments("Od")
    def offsets_for_times(
        self, partitions: list[TopicPartition], timeout: float = -1.0
    ) -> list[TopicPartition]:
        """For each partition the first offset at or after the time in its `offset` (milliseconds since 1970),
        -1 where there is none. `timeout` in seconds. Raises: KafkaException."""
        session = self._open
        wanted = checked_partitions(partitions)
        if not wanted:
            raise invalid_argument("Failed to get offsets")
        return self._ask(
            "Failed to get offsets", offsets_for_times(session.core, wanted, _milliseconds(timeout))
        )

    @c_arguments("zd")
    def list_topics(self, topic: str | None = None, timeout: float = -1.0) -> Any:
        """The cluster's brokers and topics, or one topic, as ClusterMetadata. `timeout` in seconds.

        Raises: KafkaException."""
        session = self._handle
        allow = self._setup.config.allow_auto_create_topics
        return session.run(list_topics(session.core.client, topic, timeout, allow_auto_create=allow))

    @c_arguments("d")
    def cluster_id(self, timeout: float = -1.0) -> str:
        """The cluster's id. `timeout` in seconds. Raises: KafkaException."""
        session = self._handle
        return session.run(cluster_id(session.core.client, timeout))

    @property
    def _handle(self) -> ConsumerSession:
        session = self._session
        if session is None:
            raise RuntimeError("Handle has been closed")
        return session

    # The group

    @c_no_arguments("Consumer.memberid")
    def memberid(self) -> str | None:
        """The id that the group gave this member; None while it is none."""
        return self._open.identity().member_id or None

    @c_no_arguments("Consumer.consumer_group_metadata")
    def consumer_group_metadata(self) -> bytes:
        """What Producer.send_offsets_to_transaction() wants of this consumer."""
        return group_metadata_to_bytes(self._open.identity())

    @c_arguments("ss")
    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Connections that are opened from now on use these, with SASL PLAIN or SCRAM."""
        session = self._handle
        if session.config.sasl_mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            session.set_sasl_credentials(username, password)

    # The end

    @c_no_arguments("Consumer.close")
    def close(self) -> None:
        """Commits what is stored, unless enable.auto.commit is off, leaves the group, and ends all. All
        callbacks that are due are called, and what the last of them that raises raised comes out. A second
        time it does nothing."""
        session, events = self._session, self._events
        if session is None or events is None:
            return
        self._debug("cgrp consumer", "CLOSE", APPLICATION, "Closing consumer")

        def serve() -> None:
            session.commits.serve()
            events.serve()

        try:
            session.close()
        finally:
            # What a rebalance callback raised takes nothing from the others.
            events.detach()
            try:
                serve_to_the_end(serve)
            finally:
                self._session = None  # type: ignore[misc]
                self._finalizer.detach()
                self._take_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __getstate__(self) -> NoReturn:
        raise no_state(self)

    def _ask(self, what: str, work: Coroutine[Any, Any, T]) -> T:
        return self._run(what, partial(self._open.run, work))

    def _run(self, what: str, work: Callable[[], T]) -> T:
        try:
            return work()
        except ClosedError:
            raise RuntimeError("Consumer closed") from None
        except BarnabasError as error:
            raise error_with(kafka_error_of(error).code(), what) from error
        except TimeoutError:
            raise error_with(KafkaError._TIMED_OUT, what) from None


def _abandon(session: ConsumerSession, events: ClientEvents) -> None:
    events.detach()
    abandon(session)


def _milliseconds(timeout: float) -> float:
    return UNLIMITED_MS if timeout < 0 else timeout * 1000


def _refuse_if_eager(session: ConsumerSession) -> None:
    if session.is_eager and not session.is_closing:
        text = "Changes to the current assignment must be made using assign()"
        raise KafkaException(KafkaError(KafkaError._STATE, f"{text} when rebalance protocol type is EAGER"))


def _not_assigned(session: ConsumerSession, partition: Partition) -> int:
    return KafkaError._STATE if session.knows(partition.topic) else KafkaError._UNKNOWN_PARTITION


def _on_commit(
    callback: Callable[..., Any] | None,
) -> Callable[[KafkaError | None, tuple[Partition, ...], Mapping[Partition, OffsetAndMetadata]], None] | None:
    if callback is None:
        return None

    def on_commit(
        error: KafkaError | None,
        told: tuple[Partition, ...],
        offsets: Mapping[Partition, OffsetAndMetadata],
    ) -> None:
        callback(error, [partition_made(p, offsets.get(p), error if p in offsets else None) for p in told])

    return on_commit
