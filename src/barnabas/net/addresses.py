"""Names of hosts into addresses, without blocking the event loop. Knows nothing of Kafka."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from barnabas.values import frozen

T = TypeVar("T")

AddressFamily = Literal["any", "v4", "v6"]
_FAMILIES = {"any": socket.AF_UNSPEC, "v4": socket.AF_INET, "v6": socket.AF_INET6}


@frozen
class Address:
    """What `socket.connect` takes. `is_resolved`: whether it came from a name rather than from digits."""

    family: int
    sockaddr: tuple[Any, ...]
    is_resolved: bool


def look_up(
    host: str, port: int | None, family: int = socket.AF_UNSPEC, flags: int = 0
) -> list[tuple[Any, ...]]:
    """`socket.getaddrinfo` for TCP. Blocks.

    Raises: socket.gaierror, also for what no name of a host can be, such as one of more than 63 characters
    between dots, where Python raises UnicodeError.
    """
    try:
        return [*socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=flags)]
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, f"{host!r} cannot be the name of a host") from error


async def resolve(host: str, port: int, timeout: float, family: AddressFamily = "any") -> list[Address]:
    """All addresses of a host, in the resolver's order, or those of one family. `timeout` in seconds.

    Raises: OSError (socket.gaierror, TimeoutError).
    """
    wanted = _FAMILIES[family]
    try:
        found = look_up(host, port, wanted, socket.AI_NUMERICHOST)
        is_resolved = False
    except socket.gaierror:
        lookup = in_thread(lambda: look_up(host, port, wanted))
        async with asyncio.timeout(timeout):
            found = await lookup
        is_resolved = True
    return [Address(family, sockaddr, is_resolved) for family, _, _, _, sockaddr in found]


async def canonical_names(host: str, port: int, timeout: float) -> list[str]:
    """The full names of all addresses of a host, in the resolver's order; an address without one stands for
    itself. `timeout` in seconds, for each look-up. Raises: OSError (socket.gaierror, TimeoutError)."""
    names: list[str] = []
    for address in await resolve(host, port, timeout):
        sockaddr = address.sockaddr
        lookup = in_thread(lambda sockaddr=sockaddr: socket.getnameinfo(sockaddr, socket.NI_NUMERICSERV))
        async with asyncio.timeout(timeout):
            names.append((await lookup)[0])
    return list(dict.fromkeys(names))


async def in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, done on another thread."""
    try:
        future = asyncio.get_running_loop().run_in_executor(None, work)
    except RuntimeError:
        # While the interpreter ends, no thread starts any more, but producers still deliver what they have.
        return work()
    return await future
