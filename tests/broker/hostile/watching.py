"""Hostile clients, and how long one turn holds the event loop of their broker.

Processor time is what counts, so that a busy machine changes little; but a core that is shared makes each
turn take more of it."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from barnabas.broker.server import Broker
from barnabas.net.addresses import in_thread
from barnabas.protocol.frame import encode_request
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest

LONGEST_TURN_SECONDS = 0.05
REPLY_SECONDS = 60
TOPIC = "t" * 34 + "b"


class Watch:
    """`longest`: the processor time of the longest turn of the loop."""

    def __init__(self) -> None:
        self.longest = 0.0


@contextmanager
def watched(loop: asyncio.AbstractEventLoop) -> Iterator[Watch]:
    """Looks at the clock of the loop's thread between all of its callbacks."""
    watch, is_over = Watch(), False
    before = time.thread_time()

    def look() -> None:
        nonlocal before
        now = time.thread_time()
        watch.longest = max(watch.longest, now - before)
        if not is_over:
            loop.call_soon(look)
            before = time.thread_time()

    loop.call_soon(look)
    try:
        yield watch
    finally:
        is_over = True


def how_slow_this_machine_is() -> float:
    """Against the one that the limit was measured on: never quicker."""
    began = time.thread_time()
    sum(place * place % 7 for place in range(200_000))
    return max(1.0, (time.thread_time() - began) / 0.02)


@asynccontextmanager
async def running(folder: Path, **config: str) -> AsyncIterator[Broker]:
    named = {name.replace("_", "."): value for name, value in config.items()}
    broker = Broker(folder, config=named)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


def ask(port: int, frame: bytes) -> bytes:
    """The answer to a frame, from another thread; empty where the broker hangs up."""
    with socket.create_connection(("127.0.0.1", port), REPLY_SECONDS) as connection:
        connection.sendall(frame)
        stream = connection.makefile("rb")
        try:
            start = stream.read(4)
            return stream.read(struct.unpack(">i", start)[0]) if start else b""
        except ConnectionResetError:
            return b""


def send_and_hang_up(connection: socket.socket, sent: bytes) -> None:
    """Sends all of it and then nothing more. Waits until the broker hangs up, whatever it answers before."""
    try:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass


async def asked(broker: Broker, request: Any, version: int, client_id: str = "hostile") -> bytes:
    return await in_thread(lambda: ask(broker.port, encode_request(request, version, 1, client_id)))


def watch_while(
    folder: Path, attack: Callable[[Broker], Awaitable[None]], prepare: Callable[[Broker], Awaitable[None]]
) -> float:
    """The longest turn, of the broker alone: what clients do is on other threads."""

    async def main() -> float:
        async with running(folder) as broker:
            await prepare(broker)
            # Else what other tests have left would be looked through in one of these turns.
            gc.collect()
            gc.freeze()
            try:
                with watched(asyncio.get_running_loop()) as watch:
                    await attack(broker)
            finally:
                gc.unfreeze()
            return watch.longest

    return asyncio.run(main())


async def with_a_topic(broker: Broker) -> None:
    topic = CreateTopicsRequest.CreatableTopic(TOPIC, 1, 1)
    await asked(broker, CreateTopicsRequest([topic], 5000), 7)
    await asked(broker, InitProducerIdRequest(TOPIC, 10_000), 4)
