"""An event loop whose time passes only when nothing is left to do: nothing is waited for, and what happens
depends on nothing but the code that runs and the seed of its chances.

    async def scenario() -> None: ...

    world = VirtualWorld(seed=7)
    world.run(scenario)
    world.digest            # of all that was sent, and when

Time, timers and sleeps are those of the loop, `barnabas.clock.CLOCK` tells the same, connections are made in
memory, work for other threads is done at once, and ids are chosen by the seed. Files are real.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import selectors
import struct
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from unittest.mock import patch

from barnabas._kernel import set_time
from barnabas.chance import chance
from barnabas.clock import CLOCK
from barnabas.errors import KafkaConnectionError

from .network import Network, VirtualSocket

T = TypeVar("T")

# 2026-01-01.
BEGINS_AT_MS = 1_767_225_600_000
SHORTEST_DELAY_SECONDS = 0.0002
LONGEST_DELAY_SECONDS = 0.002
# Of the loop. Who waits for a moment that is less than a rounding error away looks again, until it has come.
TURN_SECONDS = 1e-9


# Name of the host that the current task runs on. A host loses all of its connections at once.
HERE = ContextVar("HERE", default="")


class NothingToWaitForError(Exception):
    """Everything waits, and no timer is set: real time would pass for ever."""


class VirtualTime:
    """What CLOCK and the kernel take for the machine's. `now` in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.tell_kernel()

    def tell_kernel(self) -> None:
        set_time(self.time_ns() // 1_000_000, self.now * 1000)

    def monotonic(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return BEGINS_AT_MS * 1_000_000 + round(self.now * 1e9)


class _Leaping(selectors.DefaultSelector):
    """Finds nothing ready, as no socket is watched but the one that the loop wakes itself by."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._time = time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise NothingToWaitForError("no timer is set, and nothing is ready")
        self._time.pass_time(max(timeout, TURN_SECONDS))
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, time: VirtualTime, network: Network) -> None:
        super().__init__(_Leaping(time))
        self._virtual_time = time
        self._network = network

    def time(self) -> float:
        return self._virtual_time.now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        """Done at once, on this thread, and told a turn later."""
        future: asyncio.Future[T] = self.create_future()
        try:
            result = func(*args)
        except Exception as error:
            self.call_soon(_fail, future, error)
        else:
            self.call_soon(_finish, future, result)
        return future

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return self._network.serve(protocol_factory, port or 0)

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, *, sock: Any = None, **_: Any
    ) -> Any:
        return self._network.connect(sock or self._network.dial(port, HERE.get()), protocol_factory)

    async def sendfile(self, transport: Any, file: Any, *_: Any, **__: Any) -> int:
        raise asyncio.SendfileNotAvailableError

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> Any:
        """Not here, as nothing that real time brings is watched. The kernel then calls instead."""
        raise NotImplementedError

    def remove_reader(self, fd: Any) -> Any:
        return False if not isinstance(fd, int) else super().remove_reader(fd)


def _finish(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


class VirtualWorld:
    """`trace`: who sent what and when, for those who compare two runs; `digest` is made of it."""

    def __init__(self, seed: int, *, keeps_trace: bool = False) -> None:
        self.chance = random.Random(seed)
        self.time = VirtualTime()
        self.trace: list[tuple[float, int, bytes]] = []
        self._keeps_trace = keeps_trace
        self._delays = random.Random(self.chance.random())
        self._ids = random.Random(self.chance.random())
        self.network = Network(self._delay_seconds, self._record)
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def run(self, scenario: Callable[[], Awaitable[T]]) -> T:
        """Raises: what the scenario raises; NothingToWaitForError."""

        async def main() -> T:
            return await scenario()

        with self._in_charge(), asyncio.Runner(loop_factory=self._new_loop) as runner:
            return runner.run(main())

    def _new_loop(self) -> VirtualLoop:
        return VirtualLoop(self.time, self.network)

    @contextmanager
    def _in_charge(self) -> Iterator[None]:
        state = chance.getstate()
        chance.seed(self.chance.random())
        with ExitStack() as stack:
            stack.callback(chance.setstate, state)
            stack.enter_context(patch.object(CLOCK, "machine", self.time))
            self.time.tell_kernel()
            stack.callback(set_time, None, None)
            stack.enter_context(patch("uuid.uuid4", self._uuid4))
            # Whoever takes turns lets others in whenever it looks, as the clock stands still meanwhile.
            stack.enter_context(patch("barnabas.turns.TURN_SECONDS", 0.0))
            stack.enter_context(patch("barnabas.net.connection.dial", self._dial))
            # A node that is killed leaves what it wrote. Only a power cut, which no world has, would not.
            stack.enter_context(patch("os.fsync", lambda descriptor: None))
            yield

    async def _dial(self, host: str, port: int, *_: Any) -> VirtualSocket:
        await asyncio.sleep(self._delay_seconds())
        await self.network.until_joined(HERE.get())
        try:
            return self.network.dial(port, HERE.get())
        except ConnectionRefusedError as error:
            raise KafkaConnectionError(f"{host}:{port}: {error.strerror}") from error

    def _delay_seconds(self) -> float:
        return self._delays.uniform(SHORTEST_DELAY_SECONDS, LONGEST_DELAY_SECONDS)

    def _uuid4(self) -> uuid.UUID:
        return uuid.UUID(int=self._ids.getrandbits(128), version=4)

    def _record(self, port: int, data: bytes) -> None:
        self._hash.update(struct.pack(">dIQ", self.time.now, port, len(data)))
        self._hash.update(data)
        if self._keeps_trace:
            self.trace.append((self.time.now, port, data))


def first_difference(
    one: Sequence[tuple[float, int, bytes]], other: Sequence[tuple[float, int, bytes]]
) -> str:
    """Where two traces part, for a message; empty where they do not."""
    for place, (first, second) in enumerate(zip(one, other, strict=False)):
        if first != second:
            return f"message {place}:\n{first}\n{second}"
    return "" if len(one) == len(other) else f"{len(one)} messages and {len(other)}"
