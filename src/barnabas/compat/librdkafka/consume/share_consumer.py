"""`ShareConsumer` as programs for librdkafka know it: the arguments, results and exceptions of its methods.

Owns whose turn it is, and when the program's callbacks are called. What an open one does is its
`ShareConsumerSession`'s; without one it is closed.
"""
# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar

from barnabas._kernel import Message
from barnabas.client.share.records import AcknowledgeType as Acknowledgement
from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.config.client_callbacks import client_callbacks
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.first_token import with_first_token
from barnabas.compat.librdkafka.consume.consumer_events import overdue_error
from barnabas.compat.librdkafka.consume.share_consumer_session import ShareConsumerSession
from barnabas.compat.librdkafka.events.client_events import ClientEvents, serve_to_the_end
from barnabas.compat.librdkafka.events.statistics import ShareStatistics
from barnabas.compat.librdkafka.log.client_log import APPLICATION, MAIN
from barnabas.compat.librdkafka.values.arguments import c_arguments, c_no_arguments, no_state
from barnabas.compat.librdkafka.values.error_codes import text_of
from barnabas.compat.librdkafka.values.errors import (
    ConcurrentModificationException,
    IllegalStateException,
    KafkaError,
    KafkaException,
    kafka_error_of,
)
from barnabas.compat.librdkafka.values.models import Messages
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition
from barnabas.errors import BarnabasError
from barnabas.settings.table import ShareConsumerConfig, load

# What poll waits for at a time where it waits without end.
LONG_WAIT_SECONDS = 3600.0
DEFAULT_COMMIT_SECONDS = 60.0
_ACKNOWLEDGEMENTS: dict[int, Acknowledgement] = {1: "accept", 2: "release", 3: "reject"}

CommitCallback = Callable[[dict[TopicPartition, set[int]], KafkaException | None], object]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def _unless_closed(
    method: Callable[Concatenate[ShareConsumer, _Parameters], _Result],
) -> Callable[Concatenate[ShareConsumer, _Parameters], _Result]:
    """A closed consumer says so before it looks at arguments."""

    @functools.wraps(method)
    def checked(self: ShareConsumer, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        self._check_open()
        return method(self, *args, **kwargs)

    return checked


class ShareConsumer:
    """Works through messages of topics together with the other members of a share group.

    ShareConsumer(config) takes a dict of librdkafka's properties, group.id at least, and callbacks; keyword
    arguments count as well. Callbacks run in the thread that calls poll(), commit_sync(), commit_async() or
    close(), and what they raise comes out of there.

    What poll() gives is lent for a while. With share.acknowledgement.mode=implicit, the default, the next
    poll or commit accepts it all; with explicit the program acknowledges each message and then commits. For
    one thread at a time: another one gets ConcurrentModificationException. A context manager. A closed one
    raises IllegalStateException.
    """

    __module__ = "cimpl"

    _session: ShareConsumerSession | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self._session is not None:
            raise RuntimeError("ShareConsumer already initialized")
        configuration = Configuration.parse("share_consumer", args, kwargs)
        settings = {
            "bootstrap_servers": configuration.bootstrap_servers,
            **with_first_token(configuration),
        }
        config = load(ShareConsumerConfig, settings)
        protocol: str = configuration.values["security.protocol"]
        prefix = "" if protocol == "plaintext" else f"{protocol}://"
        self._events = ClientEvents(
            client_callbacks(configuration), name=configuration.instance_name, prefix=prefix
        )
        session = ShareConsumerSession(config)
        self._events.queue.notify(session.wake)
        self._statistics = ShareStatistics(session.core, self._events)
        self._events.attach(session, self._statistics.as_json)
        session.start()
        self._callback: CommitCallback | None = None
        self._is_in_callback = False
        self._gate = threading.Lock()
        self._thread: int | None = None
        self._finalizer = session.abandoned_with(self)
        self._session = session

    def _check_open(self) -> ShareConsumerSession:
        session = self._session
        if session is None:
            raise IllegalStateException("Share consumer closed")
        return session

    @contextmanager
    def _using(self, what: str | None = None) -> Generator[ShareConsumerSession]:
        """The open session, for this thread alone. `what` fails while another thread has it."""
        session = self._check_open()
        this = threading.get_ident()
        was_ours = self._thread == this
        # What is raised at any line, as the handler of a signal does, leaves the session to other threads.
        try:
            with self._gate:
                other = self._thread
                if other is not None and other != this:
                    text = (
                        "Share consumer is not safe for multi-threaded access. "
                        f"currentThread(id: {this}) otherThread(id: {other})"
                    )
                    raise ConcurrentModificationException(
                        text if what is None else _failed(what, KafkaError._CONFLICT)
                    )
                self._thread = this
            if self._is_in_callback:
                text = (
                    "Share consumer methods are not accessible from user-defined acknowledgement commit "
                    "callback"
                )
                raise IllegalStateException(text if what is None else _failed(what, KafkaError._STATE))
            yield session
        except (BarnabasError, TimeoutError) as error:
            raise KafkaException(kafka_error_of(error)) from error
        finally:
            if self._thread == this and not was_ours:
                self._thread = None

    @_unless_closed
    @c_arguments("O")
    def subscribe(self, topics: list[str]) -> None:
        """Reads these topics in place of those before; none at all ends the subscription.

        Raises: ValueError for an empty name or one that comes twice.
        """
        what = "Failed to subscribe"
        if not isinstance(topics, list):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("expected list of topic unicode strings")
        names = [str(topic) for topic in topics]
        with self._using(what) as session:
            if "" in names or len(set(names)) < len(names):
                raise ValueError(_failed(what, KafkaError._INVALID_ARG))
            if not names:
                session.unsubscribe()
                return
            session.subscribe(names)
            group = session.config.group_id
            text = f'Group "{group}": subscribe to new subscription of {len(names)} topics'
            self._events.log.debug("cgrp consumer", "SUBSCRIBE", MAIN, text)

    @c_no_arguments("ShareConsumer.unsubscribe")
    def unsubscribe(self) -> None:
        """Reads nothing any more. What was given out can still be acknowledged, and in the explicit mode has
        to be before the next poll."""
        with self._using("Failed to unsubscribe") as session:
            session.unsubscribe()

    @c_no_arguments("ShareConsumer.subscription")
    def subscription(self) -> list[str]:
        """The topics that are subscribed to."""
        with self._using("Failed to get subscription") as session:
            return sorted(session.topics)

    @_unless_closed
    @c_arguments("d")
    def poll(self, timeout: float = -1.0) -> Messages:
        """The next messages; waits for up to `timeout` seconds (negative: without end) for the first.
        Callbacks are called from here; if one raises, the next poll gives what has come meanwhile.

        Raises: IllegalStateException without a subscription, or while a message of the last poll is to be
        acknowledged; KafkaException, for instance once when max.poll.interval.ms was exceeded.
        """
        with self._using() as session:
            self._take_next(session, timeout)
            try:
                messages = Messages(session.hand_out())
                self._statistics.received(session.in_hand)
                return messages
            except BaseException:
                session.offer_again()
                raise

    def _take_next(self, session: ShareConsumerSession, timeout: float) -> None:
        deadline = None if timeout < 0 else CLOCK.monotonic() + timeout
        while True:
            self._serve(session)
            self._check_pollable()
            wait = LONG_WAIT_SECONDS if deadline is None else max(0.0, deadline - CLOCK.monotonic())
            taken = session.take(wait)
            if taken:
                # What a callback raises leaves the records for the next poll.
                self._serve(session)
                self._check_pollable()
                return
            if taken is not None and deadline is not None and CLOCK.monotonic() >= deadline:
                self._serve(session)
                return

    def _check_pollable(self) -> None:
        # A callback may have done what it liked.
        session = self._check_open()
        if session.undecided:
            raise IllegalStateException(
                f"{session.undecided} records from previous poll have not been acknowledged"
            )
        if not session.topics:
            raise IllegalStateException("Consumer is not subscribed to any topics")
        overdue = session.next_overdue()
        if overdue is not None:
            raise KafkaException(overdue_error(overdue, retriable=True))

    @_unless_closed
    @c_arguments((Message, "i"), function=None)
    def acknowledge(self, message: Message, ack_type: int = 1) -> None:
        """Says what is to become of a message (AcknowledgeType: ACCEPT, RELEASE or REJECT); the broker hears
        of it with the next poll or commit. Only with share.acknowledgement.mode=explicit.

        Raises: IllegalStateException where the message is not lent to this consumer, ValueError.
        """
        partition, offset = message.partition(), message.offset()
        place = (
            message.topic(),
            -1 if partition is None else partition,
            -1 if offset is None else offset,
        )
        self._acknowledge(place, ack_type, "Failed to acknowledge message")

    @_unless_closed
    @c_arguments("siLi")
    def acknowledge_offset(self, topic: str, partition: int, offset: int, ack_type: int = 1) -> None:
        """`acknowledge` for whoever knows only where the message is."""
        self._acknowledge((topic, partition, offset), ack_type, "Failed to acknowledge offset")

    def _acknowledge(self, place: tuple[str | None, int, int], ack_type: int, what: str) -> None:
        with self._using(what) as session:
            topic, partition, offset = place
            if topic is None or partition < 0 or offset < 0:
                raise ValueError(_failed(what, KafkaError._INVALID_ARG))
            if not session.is_explicit:
                raise IllegalStateException(_failed(what, KafkaError._STATE))
            acknowledgement = _ACKNOWLEDGEMENTS.get(ack_type)
            if acknowledgement is None:
                raise ValueError(_failed(what, KafkaError._INVALID_ARG))
            if not session.acknowledge((topic, partition, offset), acknowledgement):
                raise IllegalStateException(_failed(what, KafkaError._STATE))

    @_unless_closed
    @c_arguments("d")
    def commit_sync(
        self, timeout: float = DEFAULT_COMMIT_SECONDS
    ) -> dict[TopicPartition, KafkaException | None]:
        """Tells brokers what was acknowledged and waits for up to `timeout` seconds (negative: without end):
        for each partition None, or what failed. Callbacks are called. Raises: KafkaException."""
        with self._using() as session:
            outcome, silent = session.commit(LONG_WAIT_SECONDS if timeout < 0 else timeout)
            self._serve(session)
            errors = {p: None if error is None else kafka_error_of(error) for p, error in outcome.items()}
            errors |= dict.fromkeys(silent, KafkaError(KafkaError.REQUEST_TIMED_OUT))
            return {
                topic_partition(*p, 0, error=error): None if error is None else KafkaException(error)
                for p, error in errors.items()
            }

    @c_no_arguments("ShareConsumer.commit_async")
    def commit_async(self) -> None:
        """Tells brokers what was acknowledged, without waiting; the callback hears what they say. Callbacks
        are called."""
        with self._using() as session:
            session.commit_async()
            self._serve(session)

    @_unless_closed
    @c_arguments("O")
    def set_acknowledgement_commit_callback(self, callback: CommitCallback | None) -> None:
        """`callback(offsets, exception)` hears of acknowledgements that brokers have answered: the offsets of
        one partition, and what failed or None. It is called from poll, the commits and close, and cannot call
        this consumer. None takes it away.

        Raises: TypeError, IllegalStateException in the callback itself.
        """
        if callback is not None and not callable(callback):
            raise TypeError("callback must be callable or None")
        with self._using() as session:
            self._callback = callback
            session.keep_results(wanted=callback is not None)

    @_unless_closed
    @c_arguments("ss")
    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Connections that are opened from now on use these, with SASL PLAIN or SCRAM. Any thread."""
        session = self._check_open()
        if session.config.sasl_mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            session.set_sasl_credentials(username, password)

    @c_no_arguments("ShareConsumer.close")
    def close(self) -> None:
        """Tells brokers what was acknowledged and leaves the group. All callbacks that are due are called,
        and what the last of them that raises raised comes out. A second time it does nothing."""
        if self._session is None:
            return
        with self._using() as session:
            self._events.log.debug("cgrp consumer", "CLOSE", APPLICATION, "Closing consumer")
            try:
                session.close()
                self._events.detach()
                serve_to_the_end(lambda: self._serve(session))
            finally:
                self._session = None
                self._finalizer.detach()
                self._events.detach()

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

    def _serve(self, session: ShareConsumerSession) -> None:
        """Calls the callbacks that are due. If one raises, the others are left for the next time."""
        self._events.serve()
        while self._callback is not None and (result := session.next_result()) is not None:
            exception = None if result.error is None else KafkaException(kafka_error_of(result.error))
            offsets = {topic_partition(*result.partition, 0): set(result.offsets)}
            self._is_in_callback = True
            try:
                self._callback(offsets, exception)
            finally:
                self._is_in_callback = False


def _failed(what: str, code: int) -> str:
    return f"{what}: {text_of(code)}"
