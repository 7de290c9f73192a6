"""`ShareConsumer` as programs for librdkafka know it, on Barnabas' own.

Owns the arguments, results and exceptions of its methods, and which messages are still to be acknowledged.
"""
# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn, Self

from barnabas._kernel import Message
from barnabas.client.share.records import AcknowledgeType as Acknowledgement
from barnabas.client.share.records import ShareRecord
from barnabas.compat.librdkafka.config.client_callbacks import client_callbacks
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.told.events import ClientEvents
from barnabas.compat.librdkafka.told.statistics import ShareStatistics
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
from barnabas.errors import BarnabasError, MisuseError
from barnabas.sync.share_consumer import ShareConsumer as OwnShareConsumer
from barnabas.types import TopicPartition as Partition

# What poll waits for at a time where it waits without end.
LONG_WAIT_SECONDS = 3600.0
DEFAULT_COMMIT_SECONDS = 60.0
_ACKNOWLEDGEMENTS: dict[int, Acknowledgement] = {1: "accept", 2: "release", 3: "reject"}

Place = tuple[str, int, int]
"""Topic, partition and offset."""
CommitCallback = Callable[[dict[TopicPartition, set[int]], KafkaException | None], object]


class ShareConsumer:
    """Works through messages of topics together with the other members of a share group.

    ShareConsumer(config) takes a dict of librdkafka's properties, group.id at least. What poll() gives is
    lent for a while. With share.acknowledgement.mode=implicit, the default, the next poll or commit accepts
    it all; with explicit the program acknowledges each message and then commits. For one thread at a time:
    another one gets ConcurrentModificationException. A context manager. A closed one raises
    IllegalStateException.
    """

    __module__ = "cimpl"

    _consumer: OwnShareConsumer | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        configuration = Configuration.parse("share_consumer", args, kwargs)
        protocol: str = configuration.values["security.protocol"]
        prefix = "" if protocol == "plaintext" else f"{protocol}://"
        self._events = ClientEvents(
            client_callbacks(configuration), name=configuration.instance_name, prefix=prefix
        )
        consumer = OwnShareConsumer(configuration.bootstrap_servers, **configuration.settings)
        consumer.set_acknowledgement_commit_callback(self._note_result)
        self._statistics = ShareStatistics(consumer._core, self._events)
        self._events.attach(consumer, self._statistics.as_json)
        self._is_explicit = consumer.config.share_acknowledgement_mode == "explicit"
        self._topics: list[str] = []
        self._in_hand: dict[Place, ShareRecord] = {}
        self._undecided: set[Place] = set()
        self._results: list[tuple[Partition, set[int], BarnabasError | None]] = []
        self._callback: CommitCallback | None = None
        self._is_in_callback = False
        self._gate = threading.Lock()
        self._thread: int | None = None
        self._consumer = consumer

    @contextmanager
    def _using(self, conflict: str | None = None) -> Generator[OwnShareConsumer]:
        """The open consumer, for this thread alone."""
        consumer = self._consumer
        if consumer is None:
            raise IllegalStateException("Share consumer closed")
        this = threading.get_ident()
        with self._gate:
            other = self._thread
            if other is not None and other != this:
                text = (
                    "Share consumer is not safe for multi-threaded access. "
                    f"currentThread(id: {this}) otherThread(id: {other})"
                )
                if conflict is not None:
                    text = f"{conflict}: {text_of(KafkaError._CONFLICT)}"
                raise ConcurrentModificationException(text)
            self._thread = this
        try:
            yield consumer
        except (BarnabasError, TimeoutError) as error:
            raise KafkaException(kafka_error_of(error)) from error
        finally:
            self._thread = other

    @c_arguments("O")
    def subscribe(self, topics: list[str]) -> None:
        """Reads these topics in place of those before; none at all ends the subscription.

        Raises: ValueError for an empty name or one that comes twice.
        """
        with self._using("Failed to subscribe") as consumer:
            if not isinstance(topics, list):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError("expected list of topic unicode strings")
            names = [topic.decode() if isinstance(topic, bytes) else str(topic) for topic in topics]
            if "" in names or len(set(names)) < len(names):
                raise ValueError(f"Failed to subscribe: {text_of(KafkaError._INVALID_ARG)}")
            if names:
                consumer.subscribe(names)
                self._topics = names
            else:
                self._end_subscription(consumer)

    @c_no_arguments("ShareConsumer.unsubscribe")
    def unsubscribe(self) -> None:
        """Reads nothing any more; what is not acknowledged goes to others."""
        with self._using("Failed to unsubscribe") as consumer:
            self._end_subscription(consumer)

    def _end_subscription(self, consumer: OwnShareConsumer) -> None:
        if self._topics:
            self._topics = []
            self._drop_in_hand()
            consumer.unsubscribe()
            self._tell_results()

    @c_no_arguments("ShareConsumer.subscription")
    def subscription(self) -> list[str]:
        """The topics that are subscribed to."""
        with self._using("Failed to get subscription"):
            return sorted(self._topics)

    @c_arguments("d")
    def poll(self, timeout: float = -1.0) -> Messages:
        """The next messages; waits for up to `timeout` seconds (negative: without end) for the first.
        Callbacks are called from here.

        Raises: IllegalStateException without a subscription, or while a message of the last poll is to be
        acknowledged; KafkaException.
        """
        with self._using() as consumer:
            if not self._topics:
                raise IllegalStateException("Consumer is not subscribed to any topics")
            if self._undecided:
                count = len(self._undecided)
                raise IllegalStateException(f"{count} records from previous poll have not been acknowledged")
            self._drop_in_hand()
            self._events.serve()
            records = self._next_records(consumer, timeout)
            self._in_hand = {(r.topic, r.partition, r.offset): r for r in records}
            if self._is_explicit:
                self._undecided = set(self._in_hand)
            self._statistics.received(records)
            self._tell_results()
            return Messages([_message(record) for record in records])

    def _next_records(self, consumer: OwnShareConsumer, timeout: float) -> list[ShareRecord]:
        deadline = None if timeout < 0 else time.monotonic() + timeout
        while True:
            wait = LONG_WAIT_SECONDS if deadline is None else max(0.0, deadline - time.monotonic())
            records = consumer.poll(wait)
            self._events.serve()
            if records or (deadline is not None and time.monotonic() >= deadline):
                return records

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

    @c_arguments("siLi")
    def acknowledge_offset(self, topic: str, partition: int, offset: int, ack_type: int = 1) -> None:
        """`acknowledge` for whoever knows only where the message is."""
        self._acknowledge((topic, partition, offset), ack_type, "Failed to acknowledge offset")

    def _acknowledge(self, place: tuple[str | None, int, int], ack_type: int, what: str) -> None:
        with self._using(what) as consumer:
            topic, partition, offset = place
            if topic is None or partition < 0 or offset < 0:
                raise ValueError(f"{what}: {text_of(KafkaError._INVALID_ARG)}")
            key = (topic, partition, offset)
            record = self._in_hand.get(key)
            if not self._is_explicit or record is None:
                raise IllegalStateException(f"{what}: {text_of(KafkaError._STATE)}")
            acknowledgement = _ACKNOWLEDGEMENTS.get(ack_type)
            if acknowledgement is None:
                raise ValueError(f"{what}: {text_of(KafkaError._INVALID_ARG)}")
            try:
                consumer.acknowledge(record, acknowledgement)
            except MisuseError:
                raise IllegalStateException(f"{what}: {text_of(KafkaError._STATE)}") from None
            self._undecided.discard(key)

    @c_arguments("d")
    def commit_sync(
        self, timeout: float = DEFAULT_COMMIT_SECONDS
    ) -> dict[TopicPartition, KafkaException | None]:
        """Tells brokers what was acknowledged and waits for up to `timeout` seconds (negative: without end):
        for each partition None, or what failed. Raises: KafkaException."""
        with self._using() as consumer:
            outcome = consumer.commit(timeout=LONG_WAIT_SECONDS if timeout < 0 else timeout)
            self._forget_decided()
            self._tell_results()
            return {
                topic_partition(*partition, 0): None if error is None else _exception(error)
                for partition, error in outcome.items()
            }

    @c_no_arguments("ShareConsumer.commit_async")
    def commit_async(self) -> None:
        """Tells brokers what was acknowledged, without waiting; the callback hears what they say."""
        with self._using() as consumer:
            consumer.commit_async()
            self._forget_decided()
            self._tell_results()

    @c_arguments("O")
    def set_acknowledgement_commit_callback(self, callback: CommitCallback | None) -> None:
        """`callback(offsets, exception)` hears of acknowledgements that brokers have answered: the offsets by
        partition, and what failed or None. It is called from poll, the commits and close. None takes it away.

        Raises: TypeError, IllegalStateException in the callback itself.
        """
        with self._using():
            if callback is not None and not callable(callback):
                raise TypeError("callback must be callable or None")
            if self._is_in_callback:
                raise IllegalStateException(
                    "set_acknowledgement_commit_callback() cannot be called from the callback"
                )
            self._callback = callback

    @c_arguments("ss")
    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Connections that are opened from now on use these, with SASL PLAIN or SCRAM."""
        with self._using() as consumer:
            if consumer.config.sasl_mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
                consumer.set_sasl_credentials(username, password)

    @c_no_arguments("ShareConsumer.close")
    def close(self) -> None:
        """Tells brokers what was acknowledged and leaves the group. A second time it does nothing."""
        if self._consumer is None:
            return
        with self._using() as consumer:
            try:
                consumer.close()
                self._events.serve()
                self._tell_results()
            finally:
                self._consumer = None
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

    def _drop_in_hand(self) -> None:
        self._in_hand = {}
        self._undecided = set()

    def _forget_decided(self) -> None:
        """What was acknowledged and committed is not lent any more."""
        self._in_hand = {place: r for place, r in self._in_hand.items() if place in self._undecided}

    def _note_result(self, partition: Partition, offsets: Any, error: BarnabasError | None) -> None:
        self._results.append((partition, set(offsets), error))

    def _tell_results(self) -> None:
        results, self._results = self._results, []
        callback = self._callback
        if callback is None or not results:
            return
        by_error: dict[str, tuple[KafkaException | None, dict[TopicPartition, set[int]]]] = {}
        for partition, offsets, error in results:
            exception = None if error is None else _exception(error)
            _, told = by_error.setdefault(str(exception), (exception, {}))
            told.setdefault(topic_partition(*partition, 0), set()).update(offsets)
        self._is_in_callback = True
        try:
            for exception, told in by_error.values():
                callback(told, exception)
        finally:
            self._is_in_callback = False


def _exception(error: BarnabasError) -> KafkaException:
    return KafkaException(kafka_error_of(error))


def _message(record: ShareRecord) -> Message:
    epoch = record.leader_epoch
    headers = list(record.headers) or None
    return Message(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        value=record.value,
        headers=headers,
        timestamp=(record.timestamp_type + 1, record.timestamp),
        leader_epoch=-1 if epoch is None else epoch,
        delivery_count=record.delivery_count,
    )
