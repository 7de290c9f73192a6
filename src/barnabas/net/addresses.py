"""Names of hosts into addresses, without blocking the event loop. Knows nothing of Kafka."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Address:
    """What `socket.connect` takes. `is_resolved`: whether it came from a name rather than from digits."""

    family: int
    sockaddr: tuple[Any, ...]
    is_resolved: bool


async def resolve(host: str, port: int, timeout: float) -> list[Address]:
    """All addresses of a host, in the resolver's order. `timeout` in seconds.

    Raises: OSError (socket.gaierror, TimeoutError).
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        is_resolved = False
    except socket.gaierror:
        lookup = in_thread(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        found = await asyncio.wait_for(lookup, timeout)
        is_resolved = True
    return [Address(family, sockaddr, is_resolved) for family, _, _, _, sockaddr in found]


async def in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, done on another thread."""
    try:
        future = asyncio.get_running_loop().run_in_executor(None, work)
    except RuntimeError:
        # While the interpreter ends, no thread starts any more, but producers still deliver what they have.
        return work()
    return await future
