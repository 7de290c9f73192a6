# pyright: basic
"""`AIOProducer`: a Producer whose messages are futures.

Owns the futures, and the serving of delivery reports on the event loop as they come. What is produced, and
how, is Producer's.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import time
from asyncio import get_running_loop
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import get_ident
from typing import Any, Self

from barnabas.compat.confluent_kafka.aio._client_thread import COMMON_CALLBACKS, ClientThread, weakly
from barnabas.compat.confluent_kafka.cimpl import KafkaError, KafkaException, Message, Producer

# By the original's name: programs configure logging by it.
logger = logging.getLogger("confluent_kafka.aio.producer._AIOProducer")

NO_THREAD = 0
CLOSED = "Producer has been closed"
NO_HEADERS = (
    "Headers are not supported in AIOProducer batch mode. Use the synchronous Producer.produce() method if "
    "headers are required."
)


class AIOProducer:
    """Producer for asyncio: `produce` gives a future for each message. Made on a running event loop, and used
    on one at a time.

    Messages leave as `linger.ms` and `batch.size` of the configuration say, and futures are done as
    deliveries are reported: nobody has to poll. Callbacks of the configuration are coroutine functions and
    run on the event loop.

    `batch_size`: after as many messages without a pause, the event loop gets a turn. `buffer_timeout`: for
    how many seconds produce() waits for room in a full queue. `max_workers` and `executor` are taken for the
    sake of programs that give them: there is no pool.
    """

    def __init__(
        self,
        producer_conf: dict[str, Any],
        max_workers: int | None = 4,
        executor: concurrent.futures.Executor | None = None,
        batch_size: int = 1000,
        buffer_timeout: float = 1.0,
    ) -> None:
        if executor is None and max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self.executor = executor
        self._loop = get_running_loop()
        self._batch_size = batch_size
        self._room_timeout = buffer_timeout if buffer_timeout > 0 else 0.0
        self._produced_in_turn = 0
        self._is_closed = False
        self._has_ended = False
        self._thread = ClientThread("barnabas-aio-producer")
        self._is_serving_due = False
        self._served = 0
        self._has_served = asyncio.Event()
        self._fatal: KafkaException | None = None
        self._commits_under_way = 0
        # Reports that came in the thread, on their way to the event loop.
        self._reported: deque[tuple[asyncio.Future[Any], KafkaError | None, Message]] = deque()
        self._producer = Producer(self._thread.wrap_all(producer_conf, COMMON_CALLBACKS))
        self._producer._events.queue.notify(weakly(self._notify))
        # What is run for each message, without looking it up.
        self._produce = self._producer.produce
        self._create_future: Callable[[], asyncio.Future[Any]] = self._loop.create_future
        self._loop_thread = get_ident()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Delivers what was produced and closes the producer. Closing again does nothing. It closes, too,
        where it raises what a callback raised, or a fatal error."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await self.flush()
        except Exception:
            logger.exception("Error flushing messages during close")
            raise
        finally:
            try:
                await self._call(self._producer.close)
            finally:
                self._thread.stop()
                self._has_ended = True

    def __len__(self) -> int:
        """How many messages were produced and not yet reported."""
        return len(self._producer)

    async def poll(self, timeout: float = 0, *args: Any, **kwargs: Any) -> int:
        """How many events were served since the last call, deliveries included. Where there are none, waits
        for up to `timeout` seconds (negative: without end). Callbacks that were begun are through.

        Raises: KafkaException, once, when the producer can do nothing more."""
        self._follow_loop()
        if args or kwargs or type(timeout) not in (int, float):
            # Producer says what is wrong, or waits.
            return await self._call(self._producer.poll, timeout, *args, **kwargs)
        try:
            self._served += self._producer.poll(0)
        except KafkaException:
            self._notify()
            raise
        self._has_served.clear()
        if not self._served and timeout and self._fatal is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout if timeout > 0 else None):
                    await self._has_served.wait()
        self._raise_fatal()
        count, self._served = self._served, 0
        await self._thread.finish_callbacks()
        return count

    async def produce(
        self, topic: str, value: Any = None, key: Any = None, *args: Any, **kwargs: Any
    ) -> asyncio.Future[Any]:
        """Hands a message over. Gives a future of the delivered Message, or of the exception:
        KafkaException, or TypeError for a wrong argument. `partition` and `timestamp`: as in
        Producer.produce.

        Raises: NotImplementedError for headers; RuntimeError on a closed producer.
        """
        partition, timestamp = -1, 0
        if kwargs:
            if "headers" in kwargs:
                raise NotImplementedError(NO_HEADERS)
            partition, timestamp = kwargs.get("partition", -1), kwargs.get("timestamp", 0)
        if self._is_closed:
            raise RuntimeError(CLOSED)
        if get_running_loop() is not self._loop:
            self._follow_loop()
        future = self._create_future()
        told = partial(self._report, future)
        try:
            try:
                self._produce(topic, value, key, partition, told, told, timestamp)
            except BufferError:
                message = (topic, value, key, partition, told, told, timestamp)
                await self._produce_when_there_is_room(partial(self._produce, *message))
        except BufferError:
            future.set_exception(_failed(KafkaError._QUEUE_FULL))
        except KafkaException as error:
            future.set_exception(_failed(error.args[0].code()))
        except (TypeError, ValueError, OverflowError) as error:
            future.set_exception(error)
        self._produced_in_turn += 1
        if self._produced_in_turn >= self._batch_size:
            # Who only ever produces would keep the loop from hearing of deliveries.
            self._produced_in_turn = 0
            await asyncio.sleep(0)
        return future

    async def _produce_when_there_is_room(self, produce: Callable[[], None]) -> None:
        """Raises: BufferError, when there is none for too long."""
        deadline = time.monotonic() + self._room_timeout
        while True:
            self._has_served.clear()
            self._serve()
            remaining = deadline - time.monotonic()
            try:
                return produce()
            except BufferError:
                if remaining <= 0:
                    raise
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(remaining):
                    await self._has_served.wait()

    async def flush(self, *args: Any, **kwargs: Any) -> Any:
        """Waits until all messages are delivered or have failed, for up to `timeout` seconds. Gives how many
        are left. Callbacks that were begun are through. See Producer.flush."""
        left = await self._call(self._producer.flush, *args, **kwargs)
        self._settle()
        self._raise_fatal()
        await self._thread.finish_callbacks()
        return left

    async def purge(self, *args: Any, **kwargs: Any) -> Any:
        """Throws away messages that are not delivered: their futures fail. See Producer.purge."""
        return await self._call(self._producer.purge, *args, **kwargs)

    async def list_topics(self, *args: Any, **kwargs: Any) -> Any:
        """See Producer.list_topics."""
        return await self._call(self._producer.list_topics, *args, **kwargs)

    async def cluster_id(self, *args: Any, **kwargs: Any) -> str:
        """See Producer.cluster_id."""
        return await self._call(self._producer.cluster_id, *args, **kwargs)

    async def init_transactions(self, *args: Any, **kwargs: Any) -> Any:
        """See Producer.init_transactions."""
        return await self._call(self._producer.init_transactions, *args, **kwargs)

    async def begin_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """See Producer.begin_transaction."""
        return await self._call(self._producer.begin_transaction, *args, **kwargs)

    async def send_offsets_to_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """See Producer.send_offsets_to_transaction."""
        return await self._call(self._producer.send_offsets_to_transaction, *args, **kwargs)

    async def commit_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """Delivers all messages, then commits. See Producer.commit_transaction."""
        self._commits_under_way += 1
        try:
            return await self._call(self._producer.commit_transaction, *args, **kwargs)
        finally:
            self._commits_under_way -= 1
            self._notify()

    async def abort_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """Delivers all messages, then aborts: nobody who reads committed data sees them. See
        Producer.abort_transaction."""
        await self.flush()
        return await self._call(self._producer.abort_transaction, *args, **kwargs)

    async def set_sasl_credentials(self, *args: Any, **kwargs: Any) -> Any:
        """See Producer.set_sasl_credentials."""
        return await self._call(self._producer.set_sasl_credentials, *args, **kwargs)

    async def _call(self, blocking_task: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._has_ended:
            raise RuntimeError(CLOSED)
        self._follow_loop()
        try:
            return await self._thread.submit(blocking_task, *args, **kwargs)
        except KafkaException:
            # Reports that it has left are served by no other call.
            self._notify()
            raise
        finally:
            self._settle()

    def _follow_loop(self) -> None:
        """Futures and waits belong to the loop that this is called on from now on."""
        if not self._thread.follow():
            return
        self._loop = self._thread.loop
        self._create_future = self._loop.create_future
        # Reports of messages that were produced on another loop have to find their way.
        self._loop_thread = NO_THREAD if len(self._producer) else get_ident()
        self._has_served = asyncio.Event()
        self._is_serving_due = False
        self._notify()

    # Events, served on the event loop as they come

    def _notify(self) -> None:
        """There is something to serve. On any thread."""
        if not self._is_serving_due:
            self._is_serving_due = True
            # The loop may be closed by now; then nobody waits.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._serve_notified)

    def _serve_notified(self) -> None:
        self._is_serving_due = False
        # A commit serves events itself while it delivers, and raises a fatal error that comes then. Taken
        # here, the error would be raised once more by the next flush.
        if not self._commits_under_way:
            self._serve()

    def _serve(self) -> None:
        # A closed one has served all.
        with contextlib.suppress(RuntimeError):
            try:
                served = self._producer.poll(0)
            except KafkaException as error:
                # For who polls or flushes next. Reports come behind it.
                self._fatal = error
                self._has_served.set()
                self._notify()
                return
            if served:
                self._served += served
                self._has_served.set()

    def _raise_fatal(self) -> None:
        error, self._fatal = self._fatal, None
        if error is not None:
            raise error

    def _report(self, future: asyncio.Future[Any], error: KafkaError | None, message: Message) -> None:
        """The report of a message, given on the event loop's thread or in the client's."""
        if get_ident() == self._loop_thread:
            # As `_settle`, without the call: this is run for each message.
            if error is None and not future.done():
                future.set_result(message)
            else:
                _settle(future, error, message)
            return
        self._reported.append((future, error, message))
        if len(self._reported) == 1:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        while self._reported:
            future, error, message = self._reported.popleft()
            loop = future.get_loop()
            # A loop may be closed by now, and whoever waited on it gone.
            with contextlib.suppress(RuntimeError):
                if loop is get_running_loop() or loop.is_closed():
                    _settle(future, error, message)
                else:
                    loop.call_soon_threadsafe(_settle, future, error, message)


def _settle(future: asyncio.Future[Any], error: KafkaError | None, message: Message) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(message)
    else:
        future.set_exception(KafkaException(error))


def _failed(code: int) -> KafkaException:
    return KafkaException(KafkaError(code, f"Message failed: {KafkaError(code).str()}"))
