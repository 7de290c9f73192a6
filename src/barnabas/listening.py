"""How a server begins to listen and, one of asyncio's, stops.

Owns what asyncio leaves undone there. Knows nothing of what is served.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

# Of the loop: who was accepted gets a transport, its protocol is told, a task that this starts begins.
_TURNS_UNTIL_MADE = 3


def listening_socket(host: str, port: int, what: str) -> socket.socket:
    """A socket that is bound, so that its port is known. `port`: 0 takes a free one. `what` listens, for the
    error. Raises: OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where it knows the protocol by its number; with that algorithm
    # an answer takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"{what} cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


async def stop_listening(server: asyncio.Server) -> None:
    """Closes it, once all whom it has accepted are connections.

    Of one that is on its way, asyncio would leave the socket open
    (https://github.com/python/cpython/issues/109564), and its client waiting.
    """
    loop = asyncio.get_running_loop()
    # A proactor has no readers.
    with contextlib.suppress(NotImplementedError):
        for listener in server.sockets:
            loop.remove_reader(listener)
    for _ in range(_TURNS_UNTIL_MADE):
        await asyncio.sleep(0)
    server.close()
