"""A proxy for tests, on a thread of its own: SOCKS 5 or HTTP's CONNECT, with a password where one is set."""

from __future__ import annotations

import asyncio
import base64
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from barnabas.listening import stop_listening


class ProxyServer:
    """`asked`: the (host, port) that clients wanted to reach. `user` and `password`: what it lets in."""

    def __init__(self, scheme: str, user: str | None = None, password: str = "") -> None:
        self.asked: list[tuple[str, int]] = []
        self.names = dict[str, str]()
        self._scheme = scheme
        self._user = user
        self._password = password
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> ProxyServer:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def _serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._client, "127.0.0.1", 0)

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        await stop_listening(self._server)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def url(self, scheme: str | None = None, user: str = "") -> str:
        return f"{scheme or self._scheme}://{user}127.0.0.1:{self.port}"

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            target = await (self._http if self._scheme == "http" else self._socks)(reader, writer)
            if target is not None:
                await self._forward(target, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self._tasks.discard(task)

    async def _socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int] | None:
        _, count = await reader.readexactly(2)
        offered = await reader.readexactly(count)
        wanted = 0 if self._user is None else 2
        if wanted not in offered:
            writer.write(b"\x05\xff")
            return None
        writer.write(bytes([5, wanted]))
        if wanted == 2:
            _, length = await reader.readexactly(2)
            user = (await reader.readexactly(length)).decode()
            password = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            is_known = (user, password) == (self._user, self._password)
            writer.write(bytes([1, 0 if is_known else 1]))
            if not is_known:
                return None
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            packed = await reader.readexactly(4 if kind == 1 else 16)
            host = socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, packed)
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append((host, port))
        writer.write(b"\x05\x00\x00\x01" + bytes(6) if port != 1 else b"\x05\x05\x00\x01" + bytes(6))
        return (host, port) if port != 1 else None

    async def _http(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int] | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        host, _, port = head.split(" ")[1].rpartition(":")
        credentials = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
        if self._user is not None and f"Proxy-Authorization: Basic {credentials}\r\n" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return None
        self.asked.append((host, int(port)))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return host, int(port)

    async def _forward(
        self, target: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        host = self.names.get(target[0], target[0])
        far_reader, far_writer = await asyncio.open_connection(host, target[1])
        try:
            await asyncio.gather(
                _copy(reader, far_writer.write, far_writer.close),
                _copy(far_reader, writer.write, writer.close),
            )
        finally:
            far_writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await far_writer.wait_closed()


async def _copy(
    reader: asyncio.StreamReader, write: Callable[[bytes], object], close: Callable[[], object]
) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            write(data)
    close()
