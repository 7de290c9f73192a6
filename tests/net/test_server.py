"""The listening side: framing, order, versions, what it does with nonsense."""

from __future__ import annotations

import asyncio
import logging
import struct
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.net.connection import Connection
from barnabas.net.server import DisconnectError, KafkaServer, ListenError, RequestContext
from barnabas.protocol.frame import decode_response, encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse

VERSIONS = {18: (0, 4), 3: (0, 13), 1: (4, 12)}
RECORDS = bytes(range(256)) * 40_000


async def handle(context: RequestContext, header: Any, request: Any) -> Any:
    if isinstance(request, ApiVersionsRequest):
        keys = [ApiVersionsResponse.ApiVersion(key, *versions) for key, versions in VERSIONS.items()]
        return ApiVersionsResponse(api_keys=keys)
    if isinstance(request, FetchRequest):
        data = FetchResponse.PartitionData(records=RECORDS)
        return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[data])])
    if request.topics and request.topics[0].name == "slow":
        for _ in range(100):
            await asyncio.sleep(0)
    if request.topics and request.topics[0].name == "broken":
        raise ZeroDivisionError("a bug")
    if request.topics and request.topics[0].name == "hang up":
        raise DisconnectError("asked to")
    return MetadataResponse(cluster_id=header.client_id)


def run(scenario: Callable[[int], Awaitable[None]], **options: int) -> None:
    async def main() -> None:
        server = KafkaServer(handle, VERSIONS, **options)
        port = await server.start("127.0.0.1", 0)
        try:
            await asyncio.wait_for(scenario(port), 30)
        finally:
            await server.stop()

    asyncio.run(main())


def metadata(name: str | None = None) -> MetadataRequest:
    topics = None if name is None else [MetadataRequest.MetadataRequestTopic(name=name)]
    return MetadataRequest(topics=topics)


async def exchange(port: int, sent: bytes) -> bytes:
    """What comes back until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


def test_answers_come_in_the_order_of_the_requests() -> None:
    async def scenario(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        names = ["slow", "fast", "slow", *["fast"] * 200]
        for correlation_id, name in enumerate(names):
            writer.write(encode_request(metadata(name), 12, correlation_id, "me"))
        for correlation_id in range(len(names)):
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            frame = await reader.readexactly(size)
            assert int.from_bytes(frame[:4], "big") == correlation_id
        writer.close()

    run(scenario)


def test_a_large_answer_arrives_whole_at_a_slow_reader() -> None:
    async def scenario(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
        for correlation_id in range(3):
            writer.write(encode_request(FetchRequest(), 12, correlation_id, None))
        for _ in range(3):
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            frame = bytearray()
            while len(frame) < size:
                frame += await reader.read(size - len(frame))
                await asyncio.sleep(0)
            response = decode_response(FetchRequest, 12, bytes(frame))
            assert bytes(response.responses[0].partitions[0].records or b"") == RECORDS
        writer.close()

    run(scenario)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">i", -1),
        struct.pack(">i", 1_000_000),
        struct.pack(">i", 3) + b"abc",
        struct.pack(">ihhi", 8, 999, 0, 1),
        struct.pack(">ihhi", 8, 3, 99, 1),
        struct.pack(">ihhihbb", 12, 3, 12, 1, -1, 0, 0x7F),
        struct.pack(">ihhih", 12, 3, 12, 1, 30_000) + bytes(2),
    ],
    ids=["http", "negative", "too large", "short", "api", "version", "garbled", "client id"],
)
def test_nonsense_ends_its_own_connection_with_one_line(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(port: int) -> None:
        other = await Connection.open("127.0.0.1", port, client_id="me")
        assert await exchange(port, sent) == b""
        assert (await other.send(metadata(), timeout_ms=30_000)).cluster_id == "me"
        other.close()

    with caplog.at_level(logging.WARNING):
        run(scenario, max_request_bytes=100_000)
    # Not what other tests' clients say meanwhile.
    (line,) = [record.getMessage() for record in caplog.records if record.name == "barnabas.net.server"]
    assert line.startswith("hung up on 127.0.0.1:")


def test_a_client_that_is_too_new_learns_which_versions_there_are() -> None:
    async def scenario(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        newer = struct.pack(">hhihb", ApiVersionsRequest.API_KEY, 99, 7, -1, 0) + b"what the future brings"
        writer.write(struct.pack(">i", len(newer)) + newer)
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        response = decode_response(ApiVersionsRequest, 0, await reader.readexactly(size))
        assert response.error_code == 35
        assert [(key.api_key, key.min_version, key.max_version) for key in response.api_keys] == [(18, 0, 4)]
        writer.write(encode_request(metadata(), 12, 8, None))
        assert await reader.readexactly(4)
        writer.close()

    run(scenario)


def test_a_bug_in_a_handler_becomes_an_error_and_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(encode_request(metadata("broken"), 13, 1, "me"))
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        response = decode_response(MetadataRequest, 13, await reader.readexactly(size))
        assert response.error_code == -1
        writer.close()

    run(scenario)
    (record,) = caplog.records
    assert record.getMessage() == "Metadata request from me failed"
    assert record.exc_info is not None


def test_a_handler_may_hang_up() -> None:
    async def scenario(port: int) -> None:
        assert await exchange(port, encode_request(metadata("hang up"), 12, 1, "me")) == b""

    run(scenario)


def test_a_port_that_is_taken_is_named() -> None:
    async def scenario(port: int) -> None:
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1:{port}: the port is in use"):
            await KafkaServer(handle, VERSIONS).start("127.0.0.1", port)

    run(scenario)


def test_stopping_ends_requests_under_way() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def never(context: RequestContext, header: Any, request: Any) -> Any:
            asked.set()
            await asyncio.Event().wait()

        server = KafkaServer(never, VERSIONS)
        port = await server.start("127.0.0.1", 0)
        asking = asyncio.create_task(exchange(port, encode_request(metadata(), 12, 1, "me")))
        async with asyncio.timeout(30):
            await asked.wait()
            await server.stop()
            assert await asking == b""

    asyncio.run(main())


def test_idle_connections_are_ended_and_busy_ones_are_not() -> None:
    async def main() -> None:
        is_ended = asyncio.Event()

        async def handle_late(context: RequestContext, header: Any, request: Any) -> Any:
            if not isinstance(request, ApiVersionsRequest):
                await is_ended.wait()
            return await handle(context, header, request)

        server = KafkaServer(handle_late, VERSIONS, max_idle_ms=500)
        port = await server.start("127.0.0.1", 0)
        connection = await Connection.open("127.0.0.1", port, client_id="busy")
        answer = connection.submit(metadata(), timeout_ms=60_000)
        started = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        assert time.monotonic() - started >= 0.5
        is_ended.set()
        assert (await answer).cluster_id == "busy"
        connection.close()
        writer.close()
        await server.stop()

    asyncio.run(main())
