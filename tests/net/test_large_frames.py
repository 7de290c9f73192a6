from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.net.frames import FrameProtocol

SIZE = 1_000_000

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Received:
    """A connection to a server that says `answer`, and what came over it."""

    def __init__(self) -> None:
        self.frames: list[bytes | memoryview] = []
        self.errors: list[Exception | None] = []
        self.changed = asyncio.Event()
        self.protocol = FrameProtocol(self._on_frame, self._on_lost)

    def _on_frame(self, frame: bytes | memoryview) -> None:
        self.frames.append(frame)
        self.changed.set()

    def _on_lost(self, error: Exception | None) -> None:
        self.errors.append(error)
        self.changed.set()

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


def connected_to(answer: Answer, check: Callable[[Received], Awaitable[None]]) -> None:
    async def main() -> None:
        answered = asyncio.Event()

        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await answer(writer)
                await writer.drain()
            except ConnectionError:
                pass
            finally:
                await hang_up(writer)
                answered.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        received = Received()
        port = server.sockets[0].getsockname()[1]
        await asyncio.get_running_loop().create_connection(lambda: received.protocol, "127.0.0.1", port)
        received.protocol.receive_large_frames_apart()
        try:
            await check(received)
        finally:
            assert received.protocol.transport is not None
            received.protocol.transport.abort()
            await received.wait_for(lambda: bool(received.errors))
            await asyncio.wait_for(answered.wait(), 10)
            server.close()

    asyncio.run(main())


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def framed(*frames: bytes) -> bytes:
    return b"".join(len(frame).to_bytes(4) + frame for frame in frames)


def test_large_and_small_frames_arrive_whole_and_in_order() -> None:
    sizes = [10, SIZE, 0, 3 * SIZE, 65_000, 66_000, 131_072, SIZE, 7]
    frames = [bytes([number]) * size for number, size in enumerate(sizes)]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(framed(*frames))

    async def check(received: Received) -> None:
        await received.wait_for(lambda: len(received.frames) == len(frames))
        assert received.frames == frames

    connected_to(answer, check)


def test_a_large_frame_that_comes_in_pieces_arrives_whole() -> None:
    frame = bytes(range(256)) * (SIZE // 256)

    async def answer(writer: asyncio.StreamWriter) -> None:
        data = framed(frame, b"end")
        for start in range(0, len(data), 100_000):
            writer.write(data[start : start + 100_000])
            await writer.drain()
            await asyncio.sleep(0)

    async def check(received: Received) -> None:
        await received.wait_for(lambda: len(received.frames) == 2)
        assert received.frames == [frame, b"end"]

    connected_to(answer, check)


def test_a_connection_that_ends_within_a_large_frame_is_lost_once() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(framed(b"x" * SIZE)[:-1])

    seen: list[Received] = []

    async def check(received: Received) -> None:
        seen.append(received)
        await received.wait_for(lambda: bool(received.errors))

    connected_to(answer, check)
    assert seen[0].frames == []
    assert len(seen[0].errors) == 1


def receiving_threads() -> set[str]:
    """Their ids: those of connections that were closed before may be ending still."""
    threads: set[str] = set()
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if (thread / "comm").read_text().strip() == "barnabas-receiv":
                threads.add(thread.name)
    return threads


@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="threads of the kernel are listed on Linux only"
)
@pytest.mark.parametrize("way", ["close", "abort"])
def test_closing_within_a_large_frame_ends_the_thread_and_hangs_up(
    way: str, eventually_async: Callable[..., Awaitable[Any]]
) -> None:
    before = receiving_threads()
    heard: list[bytes] = []

    async def main() -> None:
        ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(framed(b"x" * SIZE)[:-1])
            try:
                heard.append(await reader.read())
            except ConnectionError:
                heard.append(b"")
            await hang_up(writer)
            ended.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        received = Received()
        port = server.sockets[0].getsockname()[1]
        await asyncio.get_running_loop().create_connection(lambda: received.protocol, "127.0.0.1", port)
        received.protocol.receive_large_frames_apart()
        own = await eventually_async(lambda: receiving_threads() - before)
        getattr(received.protocol.transport, way)()
        await asyncio.wait_for(ended.wait(), 10)
        await received.wait_for(lambda: bool(received.errors))
        await eventually_async(lambda: not own & receiving_threads())
        server.close()

    asyncio.run(main())
    assert heard == [b""]
