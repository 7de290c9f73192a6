"""`Producer` as programs for librdkafka know it, on the asyncio Producer of Barnabas.

What runs for each message is in the kernel (`MessageSender`): produce, its bounds, and the delivery reports
that poll serves. Owned here: how a producer is set up, what waits (flush, transactions, close), and the
exceptions.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import concurrent.futures
import logging
import math
import warnings
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, Self, TypeVar, cast

from barnabas import background, fork
from barnabas._kernel import MessageSender
from barnabas.client.produce import producer as core_producer
from barnabas.client.produce.transactions import State, Transactions
from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.cluster import metadata
from barnabas.compat.librdkafka.cluster.reaching import reach_cluster
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.property_rules import LOG_WARNING
from barnabas.compat.librdkafka.events.client_events import ClientEvents
from barnabas.compat.librdkafka.events.statistics import ProducerStatistics
from barnabas.compat.librdkafka.log.client_log import APPLICATION
from barnabas.compat.librdkafka.produce.delivery_errors import delivery_error
from barnabas.compat.librdkafka.produce.fatal_end import FatalEnd
from barnabas.compat.librdkafka.produce.producer_setup import (
    NO_LIMIT,
    ProducerSetup,
)
from barnabas.compat.librdkafka.produce.transaction_errors import (
    call_error,
    check_state,
    conflict,
    not_transactional,
    produce_error,
    produce_exception,
    timed_out,
)
from barnabas.compat.librdkafka.produce.wanted_topics import WantedTopics
from barnabas.compat.librdkafka.values.arguments import (
    c_arguments,
    c_by_position,
    c_no_arguments,
    no_state,
)
from barnabas.compat.librdkafka.values.committed_metadata import kept_metadata
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.group_metadata import group_metadata_from_bytes
from barnabas.compat.librdkafka.values.posix_patterns import any_of
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition
from barnabas.errors import BarnabasError, KafkaTimeoutError, MisuseError, PurgedError
from barnabas.loop_thread import LoopThread, loop_thread
from barnabas.types import GroupIdentity, OffsetAndMetadata
from barnabas.types import TopicPartition as OwnTopicPartition
from barnabas.values import frozen

T = TypeVar("T")

logger = logging.getLogger("barnabas.compat")

MAX_TOPIC_NAME = 512
# librdkafka has no more room for what went wrong.
MAX_TEXT = 511
# Long enough to be none.
NO_TIMEOUT_SECONDS = 1e8
# The original flushes in pieces of so many seconds, each of which ends where a callback raises.
PIECE_SECONDS = 0.2
# How soon it is noticed that another thread has served the last report.
LOOK_SECONDS = 0.1


@frozen
class ProgramDialect:
    """What is other than in librdkafka for the programs of a facade: what topics are called, what errors of
    reports say, and whether there are messages without a value."""

    kafka_name: Callable[[str], str]
    """Raises: KafkaException."""
    shown_name: Callable[[str], str]
    shown_error: Callable[[KafkaError], KafkaError]
    takes_null_values: bool

    def delivery_error(self, cause: BaseException | int) -> KafkaError:
        """The error of a report."""
        return self.shown_error(delivery_error(cause))


class Producer(MessageSender):
    """Sends messages without waiting for them.

        Producer({"bootstrap.servers": "localhost:9092"})

    The configuration is a dictionary of librdkafka's properties and callbacks, or keyword arguments, or both.
    produce() hands messages over; poll() and flush() call the callbacks, delivery reports among them. len()
    is the number of messages and reports that wait.
    """

    __slots__ = (
        "__weakref__",
        "_core",
        "_end",
        "_events",
        "_failures_before",
        "_finalizer",
        "_is_closed",
        "_reaching",
        "_setup",
        "_thread",
        "_topics",
        "_unfinished_call",
    )
    __module__ = "cimpl"

    _core: core_producer.Producer
    _end: FatalEnd
    _events: ClientEvents
    _setup: ProducerSetup
    _thread: LoopThread
    _topics: WantedTopics
    _is_closed: bool
    _reaching: concurrent.futures.Future[None]
    _finalizer: Any
    _failures_before: int
    _unfinished_call: str
    _dialect: ProgramDialect | None = None
    """A facade sets it before it calls __init__."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if getattr(self, "_core", None) is not None:
            raise RuntimeError("Producer already __init__:ialized")
        self._open_with(ProducerSetup.of(Configuration.parse("producer", args, kwargs)))

    def _open_with(self, setup: ProducerSetup) -> None:
        self._setup = setup
        settings = setup.core_settings()
        self._is_closed = False
        self._failures_before = 0
        self._unfinished_call = ""
        self._thread = thread = loop_thread()
        self._events = events = ClientEvents(setup.callbacks, name=setup.name, prefix=setup.address_prefix)

        async def make() -> core_producer.Producer:
            return core_producer.Producer(**settings)

        self._core = core = thread.run(make(), what="producer")
        if setup.topic_blacklist:
            core.kafka_client.hide_topics(any_of(setup.topic_blacklist))
        parked = self._open(
            core.accumulator,
            events.queue,
            max_messages=setup.max_messages,
            max_bytes=setup.max_bytes,
            max_message_bytes=setup.max_message_bytes,
            only_errors=setup.only_errors,
            default_callback=setup.on_delivery,
            **self._reporting(),
        )
        self._topics = WantedTopics(
            core,
            parked,
            thread,
            propagation_ms=setup.propagation_ms,
            message_timeout_ms=setup.message_timeout_ms,
        )
        shown = None if self._dialect is None else self._dialect.shown_error
        self._end = FatalEnd(core, events, self._topics, shown)
        events.attach(core, ProducerStatistics(core, events, setup.max_messages, setup.max_bytes).as_json)
        self._reaching = thread.submit(reach_cluster(core.kafka_client))
        self._finalizer = weakref.finalize(self, _abandon, core, events, self._topics, self._reaching, thread)
        fork.tell_in_child(self)

    def _reporting(self) -> dict[str, Any]:
        dialect = self._dialect
        if dialect is None:
            return {"error_of": delivery_error}
        return {
            "error_of": dialect.delivery_error,
            "kafka_name": dialect.kafka_name,
            "shown_name": dialect.shown_name,
            "takes_null_values": dialect.takes_null_values,
        }

    def forked(self) -> None:
        """In the child of a fork there is nobody who would send."""
        self._shut()
        self._is_closed = True

    # What produce() meets

    def _refuse(self, code: int) -> None:
        raise produce_exception(code)

    def _failed_message(self, topic: str, reason: int | BaseException) -> KafkaError:
        if isinstance(reason, int):
            code = reason
        elif not isinstance(reason, KafkaException):
            raise reason
        elif len(topic) > MAX_TOPIC_NAME:
            text = f"Invalid topic: {topic}"[:MAX_TEXT]
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text))
        else:
            code = reason.args[0].code()
        return KafkaError(code, f"Message failed: {KafkaError(code).str()}")

    def _before_parking(self, topic: str) -> None:
        if len(topic) > MAX_TOPIC_NAME:
            raise produce_exception(KafkaError._INVALID_ARG)
        transactions = self._core.transactions
        if transactions is not None and (error := produce_error(transactions)) is not None:
            raise error
        if not topic or (self._core.accumulator.needs_metadata(topic) and not self._topics.want(topic)):
            raise produce_exception(KafkaError._UNKNOWN_TOPIC)

    def _after_parking(self, topic: str) -> None:
        self._topics.want(topic)

    # What waits

    @c_arguments("d")
    def flush(self, timeout: float = -1) -> int:
        """Waits until all messages are delivered or have failed, at most `timeout` seconds (negative: without
        end), and calls the callbacks meanwhile, as poll() does. Returns how many messages and reports are
        left."""
        self._check_open()
        self._serve_all(timeout)
        return len(self)

    @c_arguments("ppp")
    def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        """Throws messages away: those that were not sent yet (`in_queue`) and those that are on their way
        (`in_flight`), which may be stored nevertheless. poll() or flush() then report them with _PURGE_QUEUE
        and _PURGE_INFLIGHT. With `blocking` it returns when that is done."""
        self._check_open()
        if blocking:
            self._run(self._purge(in_queue, in_flight))
        else:
            self._thread.call(lambda: self._purge_now(in_queue, in_flight))

    async def _purge(self, in_queue: bool, in_flight: bool) -> None:
        self._purge_now(in_queue, in_flight)

    def _purge_now(self, in_queue: bool, in_flight: bool) -> None:
        if in_queue:
            self._topics.fail(None, PurgedError("the message was purged before its topic was known"))
        if not self._core.is_closed:
            self._core.purge(in_queue=in_queue, in_flight=in_flight)

    def close(self, *_: object, **__: object) -> bool:
        """Aborts an open transaction, waits until all messages are delivered or have failed, calling the
        callbacks, and closes. Gives True; a second time it does nothing. It closes, too, where it raises a
        fatal error that nothing has raised before."""
        if getattr(self, "_core", None) is None or self._is_closed:
            return True
        transactions = self._core.transactions
        if transactions is not None and (
            transactions.is_open or transactions.state in (State.COMMITTING, State.FATAL_ERROR)
        ):
            try:
                self.abort_transaction()
            except KafkaException as error:
                if not self._end.is_untold:
                    reason = error.args[0].str()
                    text = f"Producer abort_transaction failed during close: {reason}"
                    warnings.warn(text, RuntimeWarning, stacklevel=2)
                self._run(self._purge(True, True))
        try:
            self._serve_all(-1)
        finally:
            self._is_closed = True
            self._shut()
            self._finalizer.detach()
            self._reaching.cancel()
            self._events.detach()
            self._thread.call(self._topics.close)
            self._run(self._core.close(0))
        return True

    def _serve_all(self, timeout: float) -> None:
        core, flush = self._core, object()
        core.hurry(flush)
        failures = NO_LIMIT if timeout < 0 else max(1, math.ceil(timeout / PIECE_SECONDS))
        try:
            self._events.queue.serve_all(timeout, failures)
        finally:
            core.relax(flush)

    # Transactions

    @c_by_position("Producer.init_transactions")
    def init_transactions(self, timeout: float = -1, /) -> None:
        """Makes the producer ready for transactions: earlier producers with the same transactional.id are
        fenced, and what they left open is aborted. Once, before the first transaction. `timeout` in seconds.

        Raises KafkaException; where its error is retriable() the call may be made again."""
        call = "init_transactions"
        seconds = self._timeout(timeout)
        transactions = self._transactions(call, State.UNINITIALIZED)
        self._call(call, transactions, lambda: self._core.init_transactions(seconds))

    @c_no_arguments("Producer.begin_transaction")
    def begin_transaction(self) -> None:
        """Opens a transaction, which all that is produced from now on belongs to.

        Raises KafkaException."""
        call = "begin_transaction"
        transactions = self._transactions(call, State.READY)
        self._failures_before = self._failures()
        self._call(call, transactions, self._core.begin_transaction)

    @c_by_position("Producer.commit_transaction")
    def commit_transaction(self, timeout: float = -1, /) -> None:
        """Waits until all messages are delivered, calling the callbacks, and commits the transaction.
        `timeout` in seconds.

        Raises KafkaException: its error says with txn_requires_abort() that abort_transaction() is next, and
        with retriable() that the call may be made again."""
        call = "commit_transaction"
        seconds = self._timeout(timeout)
        transactions = self._transactions(call, State.IN_TRANSACTION)
        deadline = CLOCK.monotonic() + seconds
        raised = self._serve_before_end(call, seconds)
        if self._events.queue.outstanding_messages:
            raise timed_out()
        left = max(0.0, deadline - CLOCK.monotonic())
        self._call(call, transactions, lambda: self._core.commit_transaction(left))
        if raised is not None:
            raise raised

    @c_by_position("Producer.abort_transaction")
    def abort_transaction(self, timeout: float = -1, /) -> None:
        """Purges all messages, calls the callbacks, and ends the transaction so that no reader of committed
        data sees it. `timeout` in seconds.

        Raises KafkaException; where its error is retriable() the call may be made again."""
        call = "abort_transaction"
        seconds = self._timeout(timeout)
        transactions = self._transactions(call, State.IN_TRANSACTION, State.ABORTABLE_ERROR)
        deadline = CLOCK.monotonic() + seconds
        self._run(self._purge(True, True))
        raised = self._serve_before_end(call, seconds)
        left = max(0.0, deadline - CLOCK.monotonic())
        self._call(call, transactions, lambda: self._core.abort_transaction(left))
        if raised is not None:
            raise raised

    @c_by_position("Producer.send_offsets_to_transaction")
    def send_offsets_to_transaction(
        self, positions: list[TopicPartition], group_metadata: Any, timeout: float = -1, /
    ) -> None:
        """Commits a consumer's positions, a list of TopicPartition with the offsets of the next messages to
        read, if and when the transaction commits. `group_metadata` is what that consumer's
        consumer_group_metadata() gives. `timeout` in seconds. Partitions without a valid offset are passed
        over.

        Raises KafkaException: its error says with txn_requires_abort() that abort_transaction() is next, and
        with retriable() that the call may be made again."""
        call = "send_offsets_to_transaction"
        seconds = self._timeout(timeout)
        offsets = _offsets(positions)
        if not isinstance(group_metadata, bytes):
            raise TypeError(f"expected bytes, {type(group_metadata).__name__} found")
        try:
            identity = group_metadata_from_bytes(group_metadata)
        except ValueError as error:
            raise KafkaException(KafkaError(KafkaError._BAD_MSG, str(error))) from error
        if not offsets and self._core.transactions is not None:
            # In whatever state it is.
            return
        transactions = self._transactions(call, State.IN_TRANSACTION)
        self._call(call, transactions, lambda: self._send_offsets(offsets, identity, seconds, transactions))

    async def _send_offsets(
        self,
        offsets: dict[OwnTopicPartition, OffsetAndMetadata],
        group: GroupIdentity,
        seconds: float,
        transactions: Transactions,
    ) -> None:
        try:
            await self._core.send_offsets_to_transaction(offsets, group, seconds)
        except KafkaTimeoutError:
            # Who was refused until then is refused for good here, where Barnabas would go on trying.
            transactions.give_up_offsets()
            transactions.raise_error()
            raise

    def _serve_before_end(self, call: str, seconds: float) -> BaseException | None:
        """Serves until no message is outstanding. Raises what ended the producer, if that happens; gives what
        a callback raised, for after the end."""
        core, queue, flush = self._core, self._events.queue, object()
        deadline, raised = CLOCK.monotonic() + seconds, None
        core.hurry(flush)
        try:
            while queue.outstanding_messages or len(queue):
                left = max(0.0, deadline - CLOCK.monotonic())
                try:
                    queue.serve(min(left, LOOK_SECONDS))
                except Exception as error:
                    if self._end.is_told_by(error):
                        # In librdkafka such a call stays under way until it is made again.
                        self._unfinished_call = call
                        raise
                    raised = error
                if not left:
                    break
        finally:
            core.relax(flush)
        return raised

    def _transactions(self, call: str, *allowed: State) -> Transactions:
        self._check_open()
        transactions = self._core.transactions
        if transactions is None:
            raise not_transactional()
        self._tell_call(f"Transactional API called: {call} (while {transactions.state.value})")
        if self._unfinished_call not in ("", call):
            raise conflict(self._unfinished_call)
        self._unfinished_call = ""
        self._end.check()
        check_state(transactions, call, *allowed)
        return transactions

    def _timeout(self, timeout: Any) -> float:
        if isinstance(timeout, str) or not (hasattr(timeout, "__float__") or hasattr(timeout, "__index__")):
            raise TypeError(f"must be real number, not {type(timeout).__name__}")
        seconds = float(timeout)
        self._check_open()
        return NO_TIMEOUT_SECONDS if seconds < 0 else min(seconds, NO_TIMEOUT_SECONDS)

    def _call(
        self, call: str, transactions: Transactions, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        self._end.call = call
        result = "Success"
        try:
            self._run(work())
        except BarnabasError as error:
            self._end.check()
            failed = self._failures() - self._failures_before
            raised = call_error(transactions, call, error, failed=failed)
            result = raised.args[0].str()
            raise raised from error
        finally:
            self._tell_call(f"Transactional API {call} return: {result}")
            self._end.call = ""

    def _tell_call(self, text: str) -> None:
        self._events.log.debug("eos", "TXNAPI", APPLICATION, text)

    def _failures(self) -> int:
        """Messages that were not delivered, since the producer was made."""
        return self._core.stats().records_failed + self._topics.failures

    # The cluster

    @c_arguments("zd")
    def list_topics(self, topic: str | None = None, timeout: float = -1) -> metadata.ClusterMetadata:
        """The cluster with its brokers and all topics, or with one, which is created if the broker does that.
        `timeout` in seconds, negative for none. Raises KafkaException."""
        self._check_handle()
        allow = self._core.config.allow_auto_create_topics
        client = self._core.kafka_client
        return self._run(metadata.list_topics(client, topic, timeout, allow_auto_create=allow))

    @c_arguments("d")
    def cluster_id(self, timeout: float = -1) -> str:
        """The id of the cluster. `timeout` in seconds, negative for none. Raises KafkaException."""
        self._check_handle()
        return self._run(metadata.cluster_id(self._core.kafka_client, timeout))

    @c_arguments("ss")
    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Replaces the user and the password of PLAIN and SCRAM, for connections that are opened or
        authenticated from now on. Those that are open stay."""
        self._check_handle()
        try:
            self._core.set_sasl_credentials(username, password)
        except MisuseError as error:
            # librdkafka keeps them, and never uses them.
            logger.debug("%s: %s", self._events.name, error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if len(exception) != 3:
            raise TypeError(f"__exit__ expected 3 arguments, got {len(exception)}")
        self.close()

    def __getstate__(self) -> NoReturn:
        raise no_state(self)

    def _check_open(self) -> None:
        if getattr(self, "_core", None) is None or self._is_closed:
            raise RuntimeError("Producer has been closed")

    def _check_handle(self) -> None:
        if getattr(self, "_core", None) is None or self._is_closed:
            raise RuntimeError("Handle has been closed")

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(work, what="producer")


def _offsets(positions: Any) -> dict[OwnTopicPartition, OffsetAndMetadata]:
    if not isinstance(positions, list):
        raise TypeError("requires list of TopicPartition")
    offsets: dict[OwnTopicPartition, OffsetAndMetadata] = {}
    for position in cast("list[Any]", positions):
        if not isinstance(position, TopicPartition):
            raise TypeError("expected cimpl.TopicPartition")
        if position.offset >= 0:
            partition = OwnTopicPartition(position.topic, position.partition)
            offsets[partition] = OffsetAndMetadata(
                position.offset, kept_metadata(position.metadata), position.leader_epoch
            )
    return offsets


def _abandon(
    core: core_producer.Producer,
    events: ClientEvents,
    topics: WantedTopics,
    reaching: concurrent.futures.Future[None],
    thread: LoopThread,
) -> None:
    """The program let go of a producer without closing it, or ends."""
    if thread.generation != fork.generation():
        return
    reaching.cancel()
    left, size = events.queue.outstanding_messages, events.queue.outstanding_bytes
    if left:
        waiting = f"{left} message{'s' if left > 1 else ''} ({size} byte{'s' if size != 1 else ''})"
        text = (
            f"Producer terminating with {waiting} still in queue or transit: use flush() to wait for "
            "outstanding message delivery"
        )
        events.log.write(LOG_WARNING, "TERMINATE", APPLICATION, text)
    events.detach()

    def close() -> None:
        topics.close()
        background.start(core.close(0), what="closing a forgotten producer")

    thread.call(close)
