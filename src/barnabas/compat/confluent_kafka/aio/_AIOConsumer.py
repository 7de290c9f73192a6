# pyright: basic
"""`AIOConsumer`: a Consumer whose calls are awaited.

Owns the waiting for messages on the event loop. What the calls mean is Consumer's.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import itertools
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from barnabas.compat.confluent_kafka.aio._client_thread import COMMON_CALLBACKS, ClientThread, weakly
from barnabas.compat.confluent_kafka.cimpl import Consumer

# What ends a wait besides messages, such as the longest time between polls, is looked for as often.
LONGEST_WAIT_SECONDS = 1.0
REBALANCE_CALLBACKS = ("on_assign", "on_revoke", "on_lost")
NOT_AT_HAND = object()


class LoopConsumer(Consumer):
    """A Consumer that says when there is something to poll for, and never waits on the event loop's
    thread."""

    def __init__(self, conf: dict[str, Any], thread: ClientThread, notify: Callable[[], None]) -> None:
        self._client_thread = thread
        self._notify = notify
        super().__init__(conf)

    def _attend(self) -> None:
        super()._attend()
        self._notify()

    def _poll(self, *args: Any, **kwargs: Any) -> Any:
        """What is not at hand takes the thread."""
        return NOT_AT_HAND if self._client_thread.is_on_loop else super()._poll(*args, **kwargs)


class AIOConsumer:
    """Consumer for asyncio: the same methods, to be awaited. Made on a running event loop, and used on one at
    a time.

    Callbacks, of the configuration and of subscribe(), are coroutine functions; they run on the event loop
    while the call that serves them waits, and may use this consumer. Other calls made meanwhile wait for
    their turn.

    Messages at hand are given out at once, and the wait for others takes no thread; a wait that is cancelled
    loses none. `max_workers` and `executor` are taken for the sake of programs that give them: there is no
    pool.
    """

    def __init__(
        self,
        consumer_conf: dict[str, Any],
        max_workers: int = 100,
        executor: concurrent.futures.Executor | None = None,
    ) -> None:
        if executor is None and max_workers < 1:
            raise ValueError("max_workers must be at least 1")
        self.executor = executor
        self._closed = False
        self._changed = asyncio.Event()
        # Messages of calls that were cancelled, and those of these calls that are still being made.
        self._kept: deque[Any] = deque()
        self._abandoned: set[asyncio.Future[Any]] = set()
        # By number of the call, from when the thread has them until somebody is given them: the loop on which
        # he waited may have ended before.
        self._taken: dict[int, Any] = {}
        self._taking_numbers = itertools.count()
        self._taken_for_nobody_below = 0
        self._thread = ClientThread("barnabas-aio-consumer")
        conf = self._thread.wrap_all(consumer_conf, (*COMMON_CALLBACKS, "on_commit"))
        self._consumer = LoopConsumer(conf, self._thread, weakly(self._notify))

    def _notify(self) -> None:
        # The loop may be closed by now; then nobody waits.
        with contextlib.suppress(RuntimeError):
            self._thread.loop.call_soon_threadsafe(self._changed.set)

    def _follow_loop(self) -> None:
        """What is waited for belongs to the loop that this is called on from now on."""
        if self._thread.follow():
            self._changed = asyncio.Event()
            self._abandoned.clear()
            self._taken_for_nobody_below = next(self._taking_numbers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def poll(self, *args: Any, **kwargs: Any) -> Any:
        """The next message, an event as a message with an error, or None when neither came within `timeout`
        seconds (negative: without end). See Consumer.poll."""
        self._follow_loop()
        await self._finish_abandoned()
        self._check_open()
        if self._kept:
            return self._kept.popleft()
        message = self._consumer.poll(*args, **kwargs)
        if message is not NOT_AT_HAND:
            return message
        timeout = _timeout(args, kwargs, 0)
        if timeout is None:
            return await self._call(self._consumer.poll, *args, **kwargs)
        deadline = time.monotonic() + timeout
        while True:
            self._changed.clear()
            message = await self._take(self._consumer.poll, 0)
            if message is not None or not await self._wait(deadline):
                return message

    async def consume(self, *args: Any, **kwargs: Any) -> Any:
        """Up to `num_messages` messages; waits for all of them, for up to `timeout` seconds (negative:
        without end). Faster than poll() where there are many. See Consumer.consume."""
        limit = args[0] if args else kwargs.get("num_messages", 1)
        timeout = _timeout(args, kwargs, 1)
        if timeout is None or type(limit) is not int or limit < 1:
            return await self._call(self._consumer.consume, *args, **kwargs)
        deadline = time.monotonic() + timeout
        messages: list[Any] = []
        self._follow_loop()
        await self._finish_abandoned()
        self._check_open()
        while self._kept and len(messages) < limit:
            messages.append(self._kept.popleft())
        try:
            while len(messages) < limit:
                self._changed.clear()
                messages += await self._take(self._consumer.consume, limit - len(messages), 0)
                if len(messages) < limit and not await self._wait(deadline):
                    break
        except BaseException:
            # Cancelled, or a callback raised.
            self._kept.extendleft(reversed(messages))
            raise
        return messages

    async def _wait(self, deadline: float) -> bool:
        """Whether to look again; waits until there is reason to."""
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(remaining, LONGEST_WAIT_SECONDS)):
                await self._changed.wait()
        return True

    async def _take(self, call: Callable[..., Any], *args: Any) -> Any:
        """`_call` for messages, which are kept for the next call if this one is cancelled."""
        number = next(self._taking_numbers)

        def take() -> Any:
            taken = self._taken[number] = call(*args)
            return taken

        future = self._thread.submit(take)
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            self._abandoned.add(future)
            future.add_done_callback(partial(self._keep, number))
            raise
        return self._taken.pop(number)

    async def _finish_abandoned(self) -> None:
        """What a cancelled call took comes before all that is taken from now on."""
        while self._abandoned:
            await asyncio.wait(self._abandoned)
        if self._taken_for_nobody_below:
            # The thread has made the calls of the loop before once it has made this one.
            await self._thread.submit(bool)
            for number in sorted(number for number in self._taken if number < self._taken_for_nobody_below):
                self._keep(number)
            self._taken_for_nobody_below = 0

    def _keep(self, number: int, future: asyncio.Future[Any] | None = None) -> None:
        if future is not None:
            self._abandoned.discard(future)
            # asyncio would log what the call raised, which nobody waits for.
            if not future.cancelled():
                future.exception()
        taken = self._taken.pop(number, None)
        if taken is not None:
            self._kept.extend(taken if isinstance(taken, list) else [taken])

    async def subscribe(self, *args: Any, **kwargs: Any) -> Any:
        """Reads topics, as the group divides them. `on_assign`, `on_revoke` and `on_lost` are coroutine
        functions, and are given this consumer. A plain function that is given by its position is called in
        the client's thread, with a Consumer. See Consumer.subscribe."""
        given = [
            self._rebalance_callback(value) if inspect.iscoroutinefunction(value) else value for value in args
        ]
        named = {
            name: self._rebalance_callback(value) if name in REBALANCE_CALLBACKS else value
            for name, value in kwargs.items()
        }
        return await self._call(self._consumer.subscribe, *given, **named)

    def _rebalance_callback(self, callback: Any) -> Any:
        if not callable(callback):
            return callback
        coroutine_function: Any = callback
        return self._thread.wrap(coroutine_function, self)

    async def unsubscribe(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.unsubscribe."""
        return await self._call(self._consumer.unsubscribe, *args, **kwargs)

    async def commit(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.commit; `asynchronous` means the same here: without it the answer is waited for."""
        return await self._call(self._consumer.commit, *args, **kwargs)

    async def close(self, *args: Any, **kwargs: Any) -> Any:
        """Commits, leaves the group and ends all. See Consumer.close.

        Raises: RuntimeError, when the consumer is closed already.
        """
        try:
            return await self._call(self._consumer.close, *args, **kwargs)
        finally:
            self._closed = True
            self._thread.stop()

    async def seek(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.seek."""
        return await self._call(self._consumer.seek, *args, **kwargs)

    async def pause(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.pause."""
        return await self._call(self._consumer.pause, *args, **kwargs)

    async def resume(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.resume."""
        return await self._call(self._consumer.resume, *args, **kwargs)

    async def store_offsets(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.store_offsets."""
        return await self._call(self._consumer.store_offsets, *args, **kwargs)

    async def committed(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.committed."""
        return await self._call(self._consumer.committed, *args, **kwargs)

    async def assign(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.assign."""
        return await self._call(self._consumer.assign, *args, **kwargs)

    async def unassign(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.unassign."""
        return await self._call(self._consumer.unassign, *args, **kwargs)

    async def incremental_assign(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.incremental_assign."""
        return await self._call(self._consumer.incremental_assign, *args, **kwargs)

    async def incremental_unassign(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.incremental_unassign."""
        return await self._call(self._consumer.incremental_unassign, *args, **kwargs)

    async def assignment(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.assignment."""
        return await self._call(self._consumer.assignment, *args, **kwargs)

    async def position(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.position."""
        return await self._call(self._consumer.position, *args, **kwargs)

    async def consumer_group_metadata(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.consumer_group_metadata."""
        return await self._call(self._consumer.consumer_group_metadata, *args, **kwargs)

    async def set_sasl_credentials(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.set_sasl_credentials."""
        return await self._call(self._consumer.set_sasl_credentials, *args, **kwargs)

    async def list_topics(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.list_topics."""
        return await self._call(self._consumer.list_topics, *args, **kwargs)

    async def cluster_id(self, *args: Any, **kwargs: Any) -> str:
        """See Consumer.cluster_id."""
        return await self._call(self._consumer.cluster_id, *args, **kwargs)

    async def get_watermark_offsets(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.get_watermark_offsets."""
        return await self._call(self._consumer.get_watermark_offsets, *args, **kwargs)

    async def offsets_for_times(self, *args: Any, **kwargs: Any) -> Any:
        """See Consumer.offsets_for_times."""
        return await self._call(self._consumer.offsets_for_times, *args, **kwargs)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Consumer closed")

    async def _call(self, blocking_task: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._check_open()
        self._follow_loop()
        return await self._thread.submit(blocking_task, *args, **kwargs)


def _timeout(args: tuple[Any, ...], kwargs: dict[str, Any], position: int) -> float | None:
    """The seconds among the arguments, infinite for a negative number; None where Consumer has to say what is
    wrong with them."""
    names = ("num_messages", "timeout")[-position - 1 :]
    if len(args) > position + 1 or not kwargs.keys() <= set(names[len(args) :]):
        return None
    timeout = args[position] if len(args) > position else kwargs.get("timeout", -1)
    if type(timeout) not in (int, float):
        return None
    return float("inf") if timeout < 0 else timeout
