"""Answers with parts of files in them, which the kernel sends."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from barnabas.net.server import KafkaServer, RequestContext
from barnabas.protocol.file_part import FilePart
from barnabas.protocol.frame import decode_response, encode_request
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sendfile")

VERSIONS = {3: (0, 13), 1: (4, 12)}
CONTENT = bytes(range(256)) * 40_000
"""More than a socket takes at once."""
SKIPPED = 1_000
Scenario = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run(file: Path, scenario: Scenario, *, size: int = len(CONTENT) - SKIPPED, **options: int) -> int:
    """A client of a server whose answers to Fetch are two parts of `file`, and those to Metadata none; how
    many descriptors of it are left open."""

    def part() -> Any:
        return FetchResponse.PartitionData(
            records=cast("bytes", FilePart(os.open(file, os.O_RDONLY), SKIPPED, size))
        )

    async def handle(context: RequestContext, header: Any, request: Any) -> Any:
        if not isinstance(request, FetchRequest):
            return MetadataResponse(cluster_id="c")
        assert context.sends_files
        topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[part(), part()])
        return FetchResponse(responses=[topic])

    async def main() -> None:
        server = KafkaServer(handle, VERSIONS, **options)
        port = await server.start("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
        try:
            await asyncio.wait_for(scenario(reader, writer), 30)
        finally:
            writer.close()
            await server.stop()

    asyncio.run(main())
    return sum(leads_to(file, int(descriptor)) for descriptor in os.listdir("/dev/fd"))


def leads_to(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except OSError:
        # That of the list itself, or of another thread.
        return False


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4))
    return await reader.readexactly(size)


def test_parts_of_files_come_whole_and_in_order_among_other_answers(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(CONTENT)

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(6):
            request: Any = MetadataRequest() if number % 2 else FetchRequest()
            writer.write(encode_request(request, 12, number, None))
        for number in range(6):
            frame = await read_frame(reader)
            assert int.from_bytes(frame[:4]) == number
            if number % 2:
                assert decode_response(MetadataRequest, 12, frame).cluster_id == "c"
                continue
            for data in decode_response(FetchRequest, 12, frame).responses[0].partitions:
                assert bytes(data.records or b"") == CONTENT[SKIPPED:]

    assert run(file, scenario) == 0


def test_a_file_that_was_cut_off_ends_the_connection(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(CONTENT)

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_request(FetchRequest(), 12, 0, None))
        received = await reader.read()
        assert CONTENT[SKIPPED:] in received
        assert len(received) < len(CONTENT) + 2_000

    assert run(file, scenario, size=len(CONTENT)) == 0


def test_a_client_that_takes_nothing_of_a_file_is_idle(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(CONTENT)

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_request(FetchRequest(), 12, 0, None))
        await asyncio.sleep(1)
        received = await reader.read()
        assert len(received) < 2 * len(CONTENT)

    assert run(file, scenario, max_idle_ms=400) == 0
