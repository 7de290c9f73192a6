"""A proxy before a broker that cuts one connection within one answer, and passes all else."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Literal

from tests.hostile.proxy import HostileProxy, framed, say_nothing

Ending = Literal["reset", "end", "silence"]
ENDINGS: tuple[Ending, ...] = ("reset", "end", "silence")


class CuttingProxy(HostileProxy):
    """Of the answers to all its clients, that of number `at_answer` (None: none) comes in part: all but its
    last byte at most. Then its connection is reset, or ends, or says nothing any more."""

    def __init__(self, broker: str, at_answer: int | None, ending: Ending, seed: int) -> None:
        super().__init__(broker, say_nothing, seed=seed)
        self._at_answer = at_answer
        self._ending = ending
        self.answers = 0
        self.cut_after = ""
        """Which answer was cut, and where; empty before."""

    async def _pass_answer(
        self, writer: asyncio.StreamWriter, answer: bytes, api_key: int, number: int
    ) -> bool:
        frame = framed(answer)
        of_all, self.answers = self.answers, self.answers + 1
        if of_all != self._at_answer:
            writer.write(frame)
            await writer.drain()
            return True
        # As often at the edges as within.
        taken = self._random.choice([0, 3, 4, 8, len(frame) - 1, self._random.randrange(len(frame))])
        self.cut_after = f"{taken} of {len(frame)} bytes of answer {of_all}, to API {api_key}"
        writer.write(frame[:taken])
        await writer.drain()
        if self._ending == "silence":
            await asyncio.Event().wait()
        if self._ending == "reset":
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return False
