"""Producer: what SimpleProducer and KeyedProducer of kafka-python 1 have in common.

Owns how messages become requests, at once or by a thread that collects them. Knows nothing of how a partition
is chosen.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections import defaultdict
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.protocol.legacy import ALL_CODECS, CODEC_NONE, create_message_set
from barnabas.compat.kafka.structs import (  # pyright: ignore[reportAttributeAccessIssue]
    ProduceRequestPayload,  # pyright: ignore[reportUnknownVariableType]
    RetryOptions,  # pyright: ignore[reportUnknownVariableType]
    TopicPartition,  # pyright: ignore[reportUnknownVariableType]
)

__all__ = ["Producer"]

log = logging.getLogger("kafka.producer")

BATCH_SEND_DEFAULT_INTERVAL = 20
BATCH_SEND_MSG_COUNT = 20

ASYNC_QUEUE_MAXSIZE = 0
"""No limit."""
ASYNC_QUEUE_PUT_TIMEOUT = 0
ASYNC_RETRY_LIMIT = None
"""No limit."""
ASYNC_RETRY_BACKOFF_MS = 100
ASYNC_RETRY_ON_TIMEOUTS = True
ASYNC_LOG_MESSAGES_ON_ERROR = True

STOP_ASYNC_PRODUCER = -1
ASYNC_STOP_TIMEOUT_SECS = 30

SYNC_FAIL_ON_ERROR_DEFAULT = True


class Producer:
    """Sends messages to partitions, by the leaders that a SimpleClient knows.

    `codec`: of kafka.protocol.ALL_CODECS. `req_acks`: how many replicas have a message before it counts as
    written, an ACK_ constant; a leader waits for them for `ack_timeout` milliseconds. With
    `sync_fail_on_error` False, errors are among the answers.

    With `async` (`**{"async": True}` in Python 3.7 and later), `send_messages` only queues, and a thread
    with a copy of the client sends `batch_send_every_n` messages together, or what there is after
    `batch_send_every_t` seconds. It tries again without end, or `async_retry_limit` times, after
    `async_retry_backoff_ms`; also what may have been written, unless `async_retry_on_timeouts` is False.
    The queue holds `async_queue_maxsize` messages (0: any number); when it is full, `send_messages` waits
    for `async_queue_put_timeout` seconds. `stop` gives up after `async_stop_timeout` seconds.
    """

    ACK_NOT_REQUIRED = 0
    ACK_AFTER_LOCAL_WRITE = 1
    ACK_AFTER_CLUSTER_COMMIT = -1
    DEFAULT_ACK_TIMEOUT = 1000

    def __init__(
        self,
        client: Any,
        req_acks: int = ACK_AFTER_LOCAL_WRITE,
        ack_timeout: int = DEFAULT_ACK_TIMEOUT,
        codec: int | None = None,
        codec_compresslevel: int | None = None,
        sync_fail_on_error: bool = SYNC_FAIL_ON_ERROR_DEFAULT,
        async_: bool = False,
        batch_send: bool = False,
        batch_send_every_n: int = BATCH_SEND_MSG_COUNT,
        batch_send_every_t: float = BATCH_SEND_DEFAULT_INTERVAL,
        async_retry_limit: int | None = ASYNC_RETRY_LIMIT,
        async_retry_backoff_ms: float = ASYNC_RETRY_BACKOFF_MS,
        async_retry_on_timeouts: bool = ASYNC_RETRY_ON_TIMEOUTS,
        async_queue_maxsize: int = ASYNC_QUEUE_MAXSIZE,
        async_queue_put_timeout: float = ASYNC_QUEUE_PUT_TIMEOUT,
        async_log_messages_on_error: bool = ASYNC_LOG_MESSAGES_ON_ERROR,
        async_stop_timeout: float = ASYNC_STOP_TIMEOUT_SECS,
        **named: Any,
    ) -> None:
        self.stopped = True
        is_async = named.pop("async", async_)
        if named:
            raise TypeError(f"__init__() got an unexpected keyword argument {next(iter(named))!r}")
        if is_async:
            assert batch_send_every_n > 0
            assert batch_send_every_t > 0
            assert async_queue_maxsize >= 0
        self.client = client
        # No attribute can be written so.
        vars(self)["async"] = is_async
        self._is_async = is_async
        self.req_acks = req_acks
        self.ack_timeout = ack_timeout
        self.stopped = False
        codec = CODEC_NONE if codec is None else codec
        if codec not in ALL_CODECS:
            raise Errors.UnsupportedCodecError(f"Codec 0x{codec:02x} unsupported")
        self.codec = codec
        self.codec_compresslevel = codec_compresslevel
        if not is_async:
            self.sync_fail_on_error = sync_fail_on_error
            return
        self.queue: Queue[Any] = Queue(async_queue_maxsize)
        self.async_queue_put_timeout = async_queue_put_timeout
        self.thread_stop_event = Event()
        upstream = _Upstream(
            self,
            RetryOptions(async_retry_limit, async_retry_backoff_ms, async_retry_on_timeouts),
            batch_send_every_n,
            batch_send_every_t,
            async_stop_timeout,
            shows_messages=async_log_messages_on_error,
        )
        self.thread = Thread(target=upstream.run, name="kafka-python async producer", daemon=True)
        self.thread.start()
        self._cleanup_func = self._stop_at_exit
        atexit.register(self._cleanup_func)

    def send_messages(self, topic: Any, partition: Any, *msg: Any) -> list[Any]:
        """The answers about the request that has these messages, which are bytes or None; nothing where a
        thread sends them.

        Raises: FailedPayloadsError where the leader could not be asked, or there is none; what a leader
        refuses; AsyncProducerQueueFull with the messages that are not in the queue.
        """
        return self._send_messages(topic, partition, *msg)

    def _send_messages(self, topic: Any, partition: int, *msg: Any, key: Any = None) -> list[Any]:
        for each in msg:
            if each is None and key is None:
                raise TypeError("key and payload can't be null in one")
            if each is not None and not isinstance(each, bytes):
                raise TypeError("all produce message payloads must be null or type bytes")
        if key is not None and not isinstance(key, bytes):
            raise TypeError("the key must be type bytes")
        if self._is_async:
            self._enqueue(TopicPartition(topic, partition), msg, key)
            return []
        messages = create_message_set(
            [(each, key) for each in msg], self.codec, key, self.codec_compresslevel
        )
        try:
            return self.client.send_produce_request(
                [ProduceRequestPayload(topic, partition, messages)],
                acks=self.req_acks,
                timeout=self.ack_timeout,
                fail_on_error=self.sync_fail_on_error,
            )
        except Exception:
            log.exception("Unable to send messages")
            raise

    def _enqueue(self, partition: Any, messages: tuple[Any, ...], key: bytes | None) -> None:
        for place, message in enumerate(messages):
            try:
                if self.async_queue_put_timeout == 0:
                    self.queue.put_nowait((partition, message, key))
                else:
                    self.queue.put((partition, message, key), True, self.async_queue_put_timeout)
            except Full:
                raise Errors.AsyncProducerQueueFull(
                    messages[place:],
                    f"Producer async queue overfilled. Current queue size {self.queue.qsize()}.",
                ) from None

    def stop(self, timeout: Any = None) -> None:
        """Has the thread send what is queued, and waits for its end."""
        if timeout is not None:
            log.warning("timeout argument to stop() is deprecated - it will be removed in future release")
        if not self._is_async:
            log.warning("producer.stop() called, but producer is not async")
            return
        if self.stopped:
            log.warning("producer.stop() called, but producer is already stopped")
            return
        self.queue.put((STOP_ASYNC_PRODUCER, None, None))
        self.thread_stop_event.set()
        self.thread.join()
        atexit.unregister(self._cleanup_func)
        self.stopped = True

    def _stop_at_exit(self) -> None:
        if not self.stopped:
            self.stop()

    def __del__(self) -> None:
        if getattr(self, "_is_async", False) and not self.stopped:
            self.stop()


class _Upstream:
    """What an asynchronous producer's thread does. It knows the producer's queue, and not the producer."""

    def __init__(
        self,
        producer: Producer,
        retries: Any,
        batch_count: int,
        batch_seconds: float,
        stop_seconds: float,
        *,
        shows_messages: bool,
    ) -> None:
        self._queue = producer.queue
        self._client = producer.client.copy()
        self._codec = (producer.codec, producer.codec_compresslevel)
        self._acks = (producer.req_acks, producer.ack_timeout)
        self._is_to_stop = producer.thread_stop_event
        self._retries = retries
        self._batch_count = batch_count
        self._batch_seconds = batch_seconds
        self._stop_seconds = stop_seconds
        self._shows_messages = shows_messages
        self._tries: dict[Any, int] = {}

    def run(self) -> None:
        self._connect()
        give_up_at: float | None = None
        while not (self._is_to_stop.is_set() and self._queue.empty() and not self._tries):
            if self._is_to_stop.is_set():
                give_up_at = give_up_at or time.monotonic() + self._stop_seconds
                if time.monotonic() > give_up_at:
                    log.debug("Async producer stopping due to stop_timeout")
                    break
            # What is tried again goes before what comes later.
            if not self._tries:
                self._collect()
            if self._tries:
                self._send()
        if self._tries or not self._queue.empty():
            unsent = len(self._tries) + self._queue.qsize()
            log.error("Stopped producer with %s unsent messages", unsent)
        self._client.close()

    def _connect(self) -> None:
        while not self._is_to_stop.is_set():
            try:
                self._client.reinit()
                return
            except Exception:
                log.warning(
                    "Async producer failed to connect to brokers; backoff for %s(ms) before retrying",
                    self._retries.backoff_ms,
                )
                time.sleep(self._retries.backoff_ms / 1000)

    def _collect(self) -> None:
        """A request for each partition that gets messages until there are enough of them, or time is up."""
        found: dict[Any, list[tuple[Any, Any]]] = defaultdict(list)
        send_at = time.monotonic() + self._batch_seconds
        for _ in range(self._batch_count):
            remaining = send_at - time.monotonic()
            try:
                # After time is up, what is there already comes along.
                partition, message, key = self._queue.get(remaining > 0, max(remaining, 0))
            except Empty:
                break
            if partition == STOP_ASYNC_PRODUCER:
                self._is_to_stop.set()
                break
            found[partition].append((message, key))
        for partition, pairs in found.items():
            codec, level = self._codec
            messages = tuple(create_message_set(pairs, codec, None, level))
            self._tries[ProduceRequestPayload(partition.topic, partition.partition, messages)] = 0

    def _send(self) -> None:
        requests = list(self._tries)
        acks, timeout_ms = self._acks
        try:
            answers = self._client.send_produce_request(
                requests, acks=acks, timeout=timeout_ms, fail_on_error=False
            )
        except Exception:
            # The thread must not end while there are messages.
            log.exception("Unable to send messages")
            answers = [Errors.FailedPayloadsError(request) for request in requests]
        failed: dict[Any, Any] = {}
        # Without acks there are no answers but of those that failed.
        for place, answer in enumerate(answers):
            error = self._error_of(answer)
            if error is None:
                continue
            request = answer.payload if isinstance(answer, Errors.FailedPayloadsError) else requests[place]
            failed[request] = error
            log.error(
                "%s sending ProduceRequestPayload (#%d of %d) to %s:%d with msgs %s",
                *(error.__name__, place + 1, len(requests), request.topic, request.partition),
                self._shown(request),
            )
        again = {request: error for request, error in failed.items() if self._may_be_tried_again(error)}
        if again:
            self._prepare_retry(list(again.values()))
        limit = self._retries.limit
        self._tries = {
            request: count + 1
            for request, count in self._tries.items()
            if request in again and (limit is None or count < limit)
        }
        for request in self._tries:
            log.info(
                "Retrying ProduceRequestPayload to %s:%d with msgs %s",
                *(request.topic, request.partition, self._shown(request)),
            )

    @staticmethod
    def _error_of(answer: Any) -> Any:
        if isinstance(answer, Errors.FailedPayloadsError):
            return Errors.FailedPayloadsError
        return Errors.kafka_errors.get(answer.error, Errors.UnknownError) if answer.error else None

    def _may_be_tried_again(self, error: Any) -> bool:
        if issubclass(error, Errors.RETRY_ERROR_TYPES):
            return True
        return self._retries.retry_on_timeouts and issubclass(error, Errors.RequestTimedOutError)

    def _prepare_retry(self, errors: list[Any]) -> None:
        backoff_ms = self._retries.backoff_ms
        if backoff_ms and any(issubclass(each, Errors.RETRY_BACKOFF_ERROR_TYPES) for each in errors):
            log.warning("Async producer backoff for %s(ms) before retrying", backoff_ms)
            time.sleep(backoff_ms / 1000)
        if any(issubclass(each, Errors.RETRY_REFRESH_ERROR_TYPES) for each in errors):
            log.warning("Async producer forcing metadata refresh metadata before retrying")
            try:
                self._client.load_metadata_for_topics()
            except Exception:
                log.exception("Async producer couldn't reload topic metadata.")

    def _shown(self, request: Any) -> Any:
        return request.messages if self._shows_messages else hash(request.messages)
