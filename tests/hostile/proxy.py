"""A proxy before a broker that harms the broker's answers on their way, and keeps clients to itself."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import struct
from collections.abc import Callable
from typing import Self

from barnabas.listening import stop_listening
from barnabas.protocol.frame import decode_response
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.server_frame import encode_response

Harm = Callable[[random.Random, bytes], bytes | None]
"""What is sent in place of an answer, given without its length; None sends nothing any more."""


def framed(answer: bytes) -> bytes:
    return struct.pack(">i", len(answer)) + answer


def flip_bits(rng: random.Random, answer: bytes) -> bytes:
    harmed = bytearray(answer)
    for _ in range(rng.randrange(1, 5)):
        harmed[rng.randrange(4, len(harmed))] ^= 1 << rng.randrange(8)
    return framed(bytes(harmed))


def overwrite_numbers(rng: random.Random, answer: bytes) -> bytes:
    """Lengths and counts that are far too great, or negative."""
    harmed = bytearray(answer)
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(4, max(5, len(harmed) - 4))
        harmed[at : at + 4] = rng.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xfe", b"\x80\0\0\0"])
    return framed(bytes(harmed))


def cut_short(rng: random.Random, answer: bytes) -> bytes:
    return framed(answer[: rng.randrange(len(answer))])


def pad(rng: random.Random, answer: bytes) -> bytes:
    return framed(answer + rng.randbytes(rng.randrange(1, 50)))


def random_frame(rng: random.Random, answer: bytes) -> bytes:
    return framed(answer[:4] + rng.randbytes(rng.randrange(200)))


def random_bytes(rng: random.Random, answer: bytes) -> bytes:
    return rng.randbytes(rng.randrange(1, 300))


def other_correlation_id(rng: random.Random, answer: bytes) -> bytes:
    return framed(struct.pack(">i", rng.choice([-1, 0, 2**31 - 1, rng.randrange(10_000)])) + answer[4:])


def twice(rng: random.Random, answer: bytes) -> bytes:
    return framed(answer) * 2


def claim_two_gibibytes(rng: random.Random, answer: bytes) -> bytes:
    return struct.pack(">i", 2**31 - 1) + answer


def claim_almost_the_limit(rng: random.Random, answer: bytes) -> bytes:
    """The greatest frame that is allowed, of which only the beginning comes."""
    return struct.pack(">i", 1 << 30) + answer


def claim_negative_length(rng: random.Random, answer: bytes) -> bytes:
    return struct.pack(">i", -rng.randrange(1, 2**31)) + answer


def claim_nothing(rng: random.Random, answer: bytes) -> bytes:
    return struct.pack(">i", 0)


def say_nothing(rng: random.Random, answer: bytes) -> None:
    return None


class HostileProxy:
    """Lets `spared` answers of each connection pass, and harms about `share` of the following.

    `dribble_seconds` is the pause after every byte of an answer that is harmed; `closes` has the connection
    end after one.
    """

    def __init__(
        self,
        broker: str,
        harm: Harm,
        *,
        seed: int,
        spared: int = 0,
        share: float = 1.0,
        dribble_seconds: float = 0.0,
        closes: bool = False,
    ) -> None:
        host, _, port = broker.rpartition(":")
        self._broker = (host, int(port))
        self._harm = harm
        self._random = random.Random(seed)
        self._spared = spared
        self._share = share
        self._dribble_seconds = dribble_seconds
        self._closes = closes
        self.harmed = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._tasks: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        await stop_listening(self._server)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            broker_reader, broker_writer = await asyncio.open_connection(*self._broker)
            asked: dict[int, tuple[int, int]] = {}
            ways = [
                asyncio.create_task(self._pass_requests(reader, broker_writer, asked)),
                asyncio.create_task(self._pass_answers(broker_reader, writer, asked)),
            ]
            try:
                # Either side that hangs up is missed by the other.
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                # First, as any wait here may be cancelled. What is still to be written may wait for a broker
                # that is gone.
                broker_writer.transport.abort()
                for way in ways:
                    way.cancel()
                ended = await asyncio.gather(*ways, return_exceptions=True)
                await broker_writer.wait_closed()
            for error in ended:
                if isinstance(error, Exception):
                    raise error
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            # Cancelled here, the task would end as cancelled, of which asyncio before 3.12 makes an error.
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self._tasks.discard(task)

    async def _pass_requests(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        asked: dict[int, tuple[int, int]],
    ) -> None:
        while True:
            length = await reader.readexactly(4)
            frame = await reader.readexactly(struct.unpack(">i", length)[0])
            api_key, version, correlation_id = struct.unpack(">hhi", frame[:8])
            asked[correlation_id] = (api_key, version)
            await self._pass_request(writer, length + frame, api_key)

    async def _pass_request(self, writer: asyncio.StreamWriter, request: bytes, api_key: int) -> None:
        writer.write(request)
        await writer.drain()

    async def _pass_answers(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        asked: dict[int, tuple[int, int]],
    ) -> None:
        for number in itertools.count():
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            answer = await reader.readexactly(length)
            api_key = asked[struct.unpack(">i", answer[:4])[0]][0]
            if not await self._pass_answer(writer, self._with_own_address(answer, asked), api_key, number):
                return

    async def _pass_answer(
        self, writer: asyncio.StreamWriter, answer: bytes, api_key: int, number: int
    ) -> bool:
        """Whether the connection goes on. `number`: the place of the answer among those of the connection."""
        if number < self._spared or self._random.random() >= self._share:
            writer.write(framed(answer))
            await writer.drain()
            return True
        self.harmed += 1
        harmed = self._harm(self._random, answer)
        if harmed is None:
            return True
        if self._dribble_seconds:
            for index in range(len(harmed)):
                if writer.is_closing():
                    return False
                writer.write(harmed[index : index + 1])
                await asyncio.sleep(self._dribble_seconds)
        else:
            writer.write(harmed)
            await writer.drain()
        return not self._closes

    def _with_own_address(self, answer: bytes, asked: dict[int, tuple[int, int]]) -> bytes:
        (correlation_id,) = struct.unpack(">i", answer[:4])
        api_key, version = asked.pop(correlation_id)
        response: MetadataResponse | FindCoordinatorResponse
        if api_key == MetadataRequest.API_KEY:
            response = decode_response(MetadataRequest, version, answer)
            for broker in response.brokers:
                broker.host, broker.port = "127.0.0.1", self.port
        elif api_key == FindCoordinatorRequest.API_KEY:
            response = decode_response(FindCoordinatorRequest, version, answer)
            for node in response.coordinators or [response]:
                node.host, node.port = "127.0.0.1", self.port
        else:
            return answer
        return encode_response(response, api_key, version, correlation_id)[4:]
