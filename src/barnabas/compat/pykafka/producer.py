"""Producer: sends messages to the partitions of one topic, and reports what became of them.

What runs for each message is in the kernel (`MessageOutlet`). Owned here: how a producer is set up, what a
message meets that is not plain, what waits, and the end.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from queue import Empty
from typing import Any, Self

from barnabas._kernel import MessageOutlet, ReportQueue
from barnabas.client.cluster.lifetimes import Lifetime, OfThisProcess
from barnabas.client.produce import producer as core_producer
from barnabas.clock import CLOCK
from barnabas.compat.pykafka._network.ending import can_be_stopped
from barnabas.compat.pykafka._network.outage import PATIENCE_SECONDS, Outage
from barnabas.compat.pykafka._produce.failures import failure_of, is_of_connection
from barnabas.compat.pykafka._produce.settings import producer_settings
from barnabas.compat.pykafka.common import CompressionType
from barnabas.compat.pykafka.exceptions import (
    KafkaException,
    MessageSizeTooLarge,
    NoBrokersAvailableError,
    ProduceFailureError,
    ProducerQueueFullError,
    ProducerStoppedException,
)
from barnabas.compat.pykafka.partitioners import RandomPartitioner
from barnabas.compat.pykafka.protocol import Message
from barnabas.compat.pykafka.utils import msg_protocol_version
from barnabas.compat.pykafka.utils.error_handlers import valid_int
from barnabas.errors import BarnabasError, KafkaTimeoutError
from barnabas.fork import generation
from barnabas.loop_thread import Steps, is_on_loop_thread, loop_thread

__all__ = ["Producer"]

log = logging.getLogger("pykafka.producer")

_METADATA_SECONDS = 5.0
_PATIENCE_SECONDS = 5.0
# Between two looks of a greenlet, whose hub a wait in the kernel would hold up.
_GREENLET_SECONDS = 0.001


class Producer(MessageOutlet, OfThisProcess):
    """Sends messages to a topic; all threads may share one. A context manager, which stops at its end.

    Messages leave when `min_queued_messages` of them wait, after `linger_ms`, or when a request is full.
    `sync`: `produce` waits until its message is delivered. `delivery_reports`: what becomes of the messages
    of a thread is told to it by `get_delivery_report`.
    """

    def __init__(
        self,
        cluster: Any,
        topic: Any,
        partitioner: Any = None,
        compression: int = CompressionType.NONE,
        max_retries: int = 3,
        retry_backoff_ms: int = 100,
        required_acks: int = 1,
        ack_timeout_ms: int = 10 * 1000,
        max_queued_messages: int = 100000,
        min_queued_messages: int = 70000,
        linger_ms: int = 5 * 1000,
        queue_empty_timeout_ms: int = 0,
        block_on_queue_full: bool = True,
        max_request_size: int = 1000012,
        sync: bool = False,
        delivery_reports: bool = False,
        pending_timeout_ms: int = 5 * 1000,
        auto_start: bool = True,
        serializer: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self._running = False
        self._generation = generation()
        self._cluster = cluster
        self._protocol_version = msg_protocol_version(cluster._broker_version)
        self._topic = topic
        self._partitioner: Any = partitioner or RandomPartitioner()
        self._compression = compression
        self._max_retries = valid_int(max_retries, allow_zero=True)
        self._retry_backoff_ms = valid_int(retry_backoff_ms)
        self._required_acks = valid_int(required_acks, allow_zero=True, allow_negative=True)
        self._ack_timeout_ms = valid_int(ack_timeout_ms, allow_zero=True)
        self._max_queued_messages = valid_int(max_queued_messages, allow_zero=True)
        self._min_queued_messages = 1 if sync else max(1, valid_int(min_queued_messages))
        self._linger_ms = valid_int(linger_ms, allow_zero=True)
        self._queue_empty_timeout_ms = valid_int(queue_empty_timeout_ms, allow_zero=True, allow_negative=True)
        self._block_on_queue_full = block_on_queue_full
        self._max_request_size = valid_int(max_request_size)
        self._synchronous = sync
        self._worker_exceptions: deque[Exception] = deque(maxlen=1)
        self._delivery_reports: Any = (
            _DeliveryReportQueue() if delivery_reports or sync else _DeliveryReportNone()
        )
        self._pending_timeout_ms = pending_timeout_ms
        self._auto_start = auto_start
        self._serializer = serializer
        self._thread = loop_thread()
        self._core: core_producer.Producer | None = None
        self._life: Lifetime | None = None
        self._is_flushing_soon = False
        # Waits in the kernel would hold up all greenlets.
        self._has_greenlets = type(cluster.handler).__name__ == "GEventHandler"
        if self._auto_start:
            self.start()

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is None or not self._running or not can_be_stopped(self._generation):
            return
        log.debug("Finalising %s", self)
        if is_on_loop_thread():
            # Wherever the collector happens to run, the loop does not wait for itself.
            self._running = False
            self._stop_appending()
            if self._life is not None:
                self._life.end()
            self._thread.submit(core.close_unattended())
            return
        try:
            self.stop()
        except KafkaException as error:
            log.warning("%s was not stopped in order: %s", self, error)

    def __repr__(self) -> str:
        kind = type(self)
        return f"<{kind.__module__}.{kind.__name__} at {hex(id(self))}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # The beginning and the end

    def start(self) -> None:
        """Begins to take messages, again where the producer was stopped."""
        if not self._running:
            self._core = self._made_core()
            # The methods of what stays behind for the end of the process.
            self._life = Lifetime(
                self._steps_at_exit, f"producer of {self._name!r}", self._thread, self._core
            )
            self._open(
                self._core.accumulator,
                self._name,
                message_class=Message,
                protocol_version=self._protocol_version,
                partitions=self._topic.partitions,
                max_request_size=self._max_request_size,
                max_queued_messages=self._max_queued_messages,
                min_queued_messages=self._min_queued_messages,
                error_of=_Reporter(self),
                is_plain=self._is_plain(),
                sync_timeout=self._pending_timeout_ms / 1000 if self._waits_in_kernel() else None,
                reports=None if self._delivery_reports.queue is None else self._delivery_reports,
            )
            self._running = True
        self._raise_worker_exceptions()

    def _is_plain(self) -> bool:
        return (
            type(self._partitioner) is RandomPartitioner
            and self._serializer is None
            and not self._has_greenlets
        )

    def _waits_in_kernel(self) -> bool:
        return self._synchronous and not self._has_greenlets

    @property
    def _name(self) -> str:
        name = self._topic.name
        return name.decode() if isinstance(name, bytes) else name

    def _made_core(self) -> core_producer.Producer:
        settings = producer_settings(self)

        async def make() -> core_producer.Producer:
            core = core_producer.Producer(**settings)
            Outage(core.kafka_client, core.give_up)
            try:
                await core.wait_for_partition_count(self._name, CLOCK.monotonic() + PATIENCE_SECONDS)
            except BaseException as error:
                # Brokers that are away now are the affair of those messages for which they still are.
                if not is_of_connection(error):
                    await core.close(0)
                    raise
            return core

        try:
            return self._thread.run(make(), what="producer")
        except BarnabasError as error:
            raise failure_of(error) from error

    def stop(self) -> None:
        """Takes no more messages, and waits until those that there are were delivered, at most
        `pending_timeout_ms`.

        Raises: what went wrong meanwhile, or before, and was not raised by another call.
        """
        if not self._running:
            return
        log.info("Blocking until all messages are sent or until pending_timeout_ms")
        timeout = self._pending_timeout_ms / 1000
        self._thread.run_steps(
            self._closing(timeout if timeout >= 0 else threading.TIMEOUT_MAX), what="producer"
        )
        self._raise_worker_exceptions()

    def _steps_at_exit(self) -> Steps:
        """When the interpreter ends."""
        core = self._core
        return self._closing(0.0 if core is None else core.config.delivery_timeout_ms / 1000)

    def _closing(self, timeout: float) -> Steps:
        self._running = False
        self._stop_appending()
        if self._core is not None:
            try:
                yield self._core.close(max(timeout, 0.0))
            finally:
                if self._life is not None:
                    self._life.end()

    def _after_late_append(self) -> None:
        # stop() may have looked for the last time before this message came.
        core = self._core
        if core is not None and core.is_closed:
            self._thread.call(core.fail_leftovers)

    def _flush_soon(self) -> None:
        core = self._core
        if core is None or self._is_flushing_soon:
            return
        self._is_flushing_soon = True

        def flush() -> None:
            self._is_flushing_soon = False
            if not core.is_closed:
                core.kafka_client.in_background(core.flush(), "sending what waits")

        self._thread.call(flush)

    # Producing what is not plain

    def _raise_worker_exceptions(self) -> None:
        if not self._worker_exceptions:
            return
        # Before it is taken: one that comes meanwhile keeps calls coming here.
        self._set_plain(self._running and self._is_plain())
        with contextlib.suppress(IndexError):
            raise self._worker_exceptions.popleft()

    def _produce(self, message: Any, partition_key: Any, timestamp: Any) -> Any:
        if self._serializer is None:
            for part, name in ((partition_key, "partition_key"), (message, "message")):
                if part is not None and type(part) is not bytes:
                    raise TypeError(
                        f"Producer.produce accepts a bytes object as {name}, but it got '%s'",
                        type(part),  # pyright: ignore[reportUnknownArgumentType]
                    )
        if timestamp is not None and self._protocol_version < 1:
            raise RuntimeError("Producer.produce got a timestamp with protocol 0")
        if not self._running:
            raise ProducerStoppedException()
        self._raise_worker_exceptions()
        if self._serializer is not None:
            message, partition_key = self._serializer(message, partition_key)
        partitions = list(self._topic.partitions.values())
        produced = Message(
            value=message,
            partition_key=partition_key,
            partition_id=self._partitioner(partitions, partition_key).id,
            timestamp=timestamp,
            protocol_version=self._protocol_version,
            delivery_report_q=self._delivery_reports.queue,
        )
        if message is not None and len(produced) > self._max_request_size:
            self._refuse(produced)
        else:
            self._enqueue(produced)
            if self._synchronous and self._has_greenlets:
                self._await_report(produced)
        self._raise_worker_exceptions()
        return produced

    def _refuse(self, message: Any) -> None:
        error = MessageSizeTooLarge(f"Message size larger than max_request_size: {self._max_request_size}")
        log.warning(error)
        if self._synchronous:
            raise error
        if message.delivery_report_q is not None:
            message.delivery_report_q.put((message, error))

    def _enqueue(self, message: Any) -> None:
        timestamp_ms = None if message.timestamp is None else int(message.timestamp)
        self._wait_for_slot_available()
        while True:
            try:
                is_appended = self._append_message(
                    message, message.value, message.partition_key, message.partition_id, timestamp_ms
                )
            except BarnabasError as error:
                raise failure_of(error) from error
            if is_appended:
                return
            self._wait_for_room()

    def _wait_for_slot_available(self) -> None:
        while self._outstanding >= self._max_queued_messages:
            if not self._block_on_queue_full:
                raise ProducerQueueFullError("Queue full for topic %s", self._name)
            self._flush_soon()
            if self._has_greenlets:
                self._cluster.handler.sleep(_GREENLET_SECONDS)
            else:
                self._wait_below(self._max_queued_messages, _PATIENCE_SECONDS)
            if not self._running:
                raise ProducerStoppedException()

    def _wait_for_room(self) -> None:
        core = self._core
        if core is None or not self._running:
            raise ProducerStoppedException()
        deadline = CLOCK.monotonic() + _METADATA_SECONDS
        try:
            if core.accumulator.needs_metadata(self._name):
                self._thread.run(core.wait_for_partition_count(self._name, deadline), what="producer")
            elif self._block_on_queue_full:
                self._thread.run(core.wait_for_room(deadline), what="producer")
            else:
                raise ProducerQueueFullError("Queue full for topic %s", self._name)
        except BarnabasError as error:
            raise failure_of(error) from error

    # Reports

    def get_delivery_report(self, block: bool = True, timeout: float | None = None) -> tuple[Any, Any]:
        """A message that this thread produced, and None or the exception that it failed with. `timeout` in
        seconds.

        Raises: queue.Empty; KafkaException without delivery_reports.
        """
        queue: ReportQueue | None = self._delivery_reports.queue
        if queue is None:
            raise KafkaException("Delivery-reporting is disabled")
        if not self._has_greenlets or not block:
            return queue.get(block, timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                return queue.get_nowait()
            except Empty:
                if deadline is not None and time.monotonic() >= deadline:
                    raise
                self._cluster.handler.sleep(_GREENLET_SECONDS)

    def _await_report(self, message: Any) -> None:
        timeout = None if self._pending_timeout_ms < 0 else self._pending_timeout_ms / 1000
        try:
            reported, error = self.get_delivery_report(timeout=timeout)
        except Empty:
            reported, error = None, None
        if reported is not message:
            raise ProduceFailureError("Delivery report not received after timeout")
        if error is not None:
            raise error

    def _raise_failure(self, error: BaseException) -> None:
        if type(error) is KafkaTimeoutError:
            self._raise_worker_exceptions()
            raise ProduceFailureError("Delivery report not received after timeout") from error
        failure = self.failure_told(error)
        self._raise_worker_exceptions()
        raise failure from error

    def failure_told(self, error: BaseException) -> BaseException:
        """What a message failed with, as its report has it."""
        failure = failure_of(error, f"Produce request for {self._name}")
        log.error("Message not delivered!! %r", failure)
        if is_of_connection(error):
            self._worker_exceptions.append(
                NoBrokersAvailableError("Unable to connect to a broker to fetch metadata. See logs.")
            )
            self._set_plain(False)
        return failure


class _Reporter:
    """`failure_told` of a producer, which this does not keep alive."""

    def __init__(self, producer: Producer) -> None:
        self._producer_of = weakref.ref(producer)

    def __call__(self, error: BaseException) -> BaseException:
        producer = self._producer_of()
        return failure_of(error) if producer is None else producer.failure_told(error)


class _DeliveryReportQueue(threading.local):
    """A queue for each thread."""

    def __init__(self) -> None:
        self.queue = ReportQueue()


class _DeliveryReportNone:
    queue = None
