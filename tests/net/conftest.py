"""A server that answers as a test tells it to, over a real socket: for what no real broker does on demand."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from barnabas.listening import stop_listening
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.server_frame import decode_request, encode_response

SPOKEN = [(ApiVersionsRequest, 0, 4), (MetadataRequest, 0, 12)]

Answer = Callable[["ScriptedConnection", Any, Any], Awaitable[None]]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class ScriptedConnection:
    """What a script has of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    def answer(self, header: Any, response: Any, *, correlation_id: int | None = None) -> None:
        correlation_id = header.correlation_id if correlation_id is None else correlation_id
        version = header.request_api_version
        self.write(encode_response(response, header.request_api_key, version, correlation_id))

    def close(self) -> None:
        self.writer.transport.abort()


def versions_response() -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=[
            ApiVersionsResponse.ApiVersion(api_key=request.API_KEY, min_version=low, max_version=high)
            for request, low, high in SPOKEN
        ]
    )


def metadata_response(cluster_id: str = "cluster", **fields: Any) -> MetadataResponse:
    return MetadataResponse(brokers=[], cluster_id=cluster_id, controller_id=1, topics=[], **fields)


class ScriptedBroker:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[Any] = []
        self.headers: list[Any] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ScriptedConnection(writer)
        while True:
            size = int.from_bytes(await reader.readexactly(4))
            header, request = decode_request(await reader.readexactly(size))
            self.headers.append(header)
            self.requests.append(request)
            if isinstance(request, ApiVersionsRequest):
                connection.answer(header, versions_response())
            else:
                await self._answer(connection, header, request)


@contextlib.asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[int]:
    """A server on a free port, which is given; leaves no task and no socket behind."""
    tasks: list[asyncio.Task[Any]] = []

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await stop_listening(server)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)
        await server.wait_closed()


@pytest.fixture
def tcp_server() -> Callable[[Serve], contextlib.AbstractAsyncContextManager[int]]:
    """`async with tcp_server(serve) as port`: `serve(reader, writer)` has each connection."""
    return serving


@pytest.fixture
def scripted_broker() -> Callable[[Answer], contextlib.AbstractAsyncContextManager[ScriptedBroker]]:
    """`async with scripted_broker(answer) as broker`: `answer(connection, header, request)` gets each request
    but ApiVersions."""

    @contextlib.asynccontextmanager
    async def scripted(answer: Answer) -> AsyncIterator[ScriptedBroker]:
        broker = ScriptedBroker(answer)
        async with serving(broker.serve) as broker.port:
            yield broker

    return scripted


@pytest.fixture
def metadata() -> Callable[..., MetadataResponse]:
    """Makes an answer to a Metadata request."""
    return metadata_response
