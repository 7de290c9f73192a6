"""What is no call is refused, within limits, and others go on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from barnabas.errors import InvalidSettingError
from barnabas.http.json_server import (
    LONGEST_BODY_BYTES,
    LONGEST_HEAD_BYTES,
    JsonCall,
    JsonCallError,
    JsonServer,
)

TOO_LONG = b"%d" % (LONGEST_BODY_BYTES + 1)
HOST = b"Host: 127.0.0.1\r\n"


async def respond(call: JsonCall) -> Any:
    if call.path == ("teapot",):
        raise JsonCallError(418, "a teapot")
    if call.path == ("fault",):
        raise RuntimeError("of the program")
    return {"method": call.method, "path": call.path, "query": dict(call.query), "body": call.body}


async def ask(server: JsonServer, sent: bytes) -> tuple[int, Any]:
    port = int(server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    if writer.can_write_eof():
        writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    if not answer:
        return 0, None
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)


def test_calls_are_answered_and_all_else_is_refused() -> None:
    async def main() -> None:
        server = JsonServer(respond)
        await server.start("127.0.0.1", 0)
        try:
            call = b"POST /a/b%2Fc?x=1 HTTP/1.1\r\n" + HOST + b"Content-Length: 7\r\n\r\n[1, 2] "
            expected = {"method": "POST", "path": ["a", "b/c"], "query": {"x": "1"}, "body": [1, 2]}
            assert await ask(server, call) == (200, expected)
            for sent, status in (
                (b"GET /teapot HTTP/1.1\r\n" + HOST + b"\r\n", 418),
                (b"GET /fault HTTP/1.1\r\n" + HOST + b"\r\n", 500),
                (b"what is this\r\n\r\n", 403),
                (b"\x00\x01\x02\r\n\r\n", 400),
                (b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 403),
                (b"GET / HTTP/1.1\r\n" + HOST + b"Origin: null\r\n\r\n", 403),
                (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{]", 400),
                (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -2\r\n\r\n", 400),
                (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: " + TOO_LONG + b"\r\n\r\n", 400),
                (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", 400),
                (b"GET /" + b"a" * LONGEST_HEAD_BYTES * 2 + b" HTTP/1.1\r\n\r\n", 400),
                (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n[", 0),
                (b"", 0),
            ):
                assert (await ask(server, sent))[0] == status, sent[:80]
            assert await ask(server, call) == (200, expected)
        finally:
            await server.stop()

    asyncio.run(main())


def test_calls_that_wait_end_with_the_server() -> None:
    async def main() -> None:
        arrived = asyncio.Event()

        async def wait(call: JsonCall) -> None:
            arrived.set()
            await asyncio.get_running_loop().create_future()

        server = JsonServer(wait)
        await server.start("127.0.0.1", 0)
        asked = asyncio.create_task(ask(server, b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"))
        await arrived.wait()
        await server.stop()
        assert await asked == (0, None)

    asyncio.run(main())


def test_a_port_in_use_is_an_error() -> None:
    async def main() -> None:
        server = JsonServer(respond)
        await server.start("127.0.0.1", 0)
        try:
            with pytest.raises(InvalidSettingError, match="cannot listen"):
                await JsonServer(respond).start("127.0.0.1", int(server.url.rpartition(":")[2]))
        finally:
            await server.stop()

    asyncio.run(main())
