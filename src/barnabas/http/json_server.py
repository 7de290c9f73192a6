"""JSON over HTTP on the event loop, for programs of this machine: one request for each connection.

Owns the reading and writing of HTTP. Must not know what is asked. It has no passwords: it refuses what a page
in a browser could send, by the headers Host and Origin.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from barnabas.errors import InvalidSettingError
from barnabas.listening import stop_listening
from barnabas.values import frozen

logger = logging.getLogger(__name__)

LONGEST_HEAD_BYTES = 16_384
LONGEST_BODY_BYTES = 64 << 20
READ_TIMEOUT_SECONDS = 30.0
_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 408: "Request Timeout"}


class JsonCallError(Exception):
    """What a call is answered with that cannot be carried out."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@frozen
class JsonCall:
    """`path` in its parts, unquoted; `body` None where there is none."""

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    body: Any


Respond = Callable[[JsonCall], Awaitable[Any]]
"""Gives what the answer says. Raises: JsonCallError."""


class JsonServer:
    """Answers with what `respond` gives."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._host = ""
        self._port = 0

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def start(self, host: str, port: int) -> None:
        """Port 0 takes any free one. Raises: InvalidSettingError."""
        try:
            self._server = await asyncio.start_server(self._serve, host, port, limit=LONGEST_HEAD_BYTES)
        except OSError as error:
            raise InvalidSettingError(
                f"cannot listen for HTTP on {host}:{port}: {error.strerror or error}; choose another port"
            ) from None
        self._host = host
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Calls that wait are given up."""
        if self._server is None:
            return
        await stop_listening(self._server)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            status, said = await self._answer(reader)
            body = json.dumps(said).encode()
            head = f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            # The server stops; asyncio's streams would log what the task ended by.
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, Any]:
        try:
            async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                call = await self._read(reader)
            return 200, await self._respond(call)
        except JsonCallError as error:
            return error.status, {"error": str(error)}
        except TimeoutError as error:
            return 408, {"error": str(error) or "nothing came"}
        except asyncio.LimitOverrunError:
            return 400, {"error": f"the head of a request has {LONGEST_HEAD_BYTES} bytes at most"}
        except (OSError, asyncio.IncompleteReadError):
            raise
        except Exception as error:
            logger.exception("a call over HTTP failed")
            return 500, {"error": repr(error)}

    async def _read(self, reader: asyncio.StreamReader) -> JsonCall:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *lines = head.split("\r\n")
        words = start.split(" ")
        if len(words) != 3:
            raise JsonCallError(400, "this is no HTTP")
        fields = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        if "origin" in headers or not self._is_own_name(headers.get("host", "")):
            raise JsonCallError(403, "no page in a browser may ask this")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LONGEST_BODY_BYTES or "transfer-encoding" in headers:
            raise JsonCallError(400, f"a body has a Content-Length, of {LONGEST_BODY_BYTES} at most")
        content = await reader.readexactly(int(length))
        address = urlsplit(words[1])
        try:
            body = json.loads(content) if content.strip() else None
        except ValueError as error:
            raise JsonCallError(400, f"the body is not JSON: {error}") from None
        path = tuple(unquote(part) for part in address.path.split("/") if part)
        return JsonCall(words[0], path, dict(parse_qsl(address.query)), body)

    def _is_own_name(self, host: str) -> bool:
        """Whether the client named an address, or this machine: a name could be anybody's page's."""
        name = urlsplit(f"//{host}").hostname or ""
        if name in ("localhost", self._host):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
