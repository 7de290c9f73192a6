"""Connecting a socket to the first address of a host that takes the connection.

Owns a socket's options and the time-out of each address. Knows nothing of what is spoken on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

from barnabas.errors import KafkaConnectionError
from barnabas.net.addresses import Address, AddressFamily, resolve


async def dial(
    host: str,
    port: int,
    timeout: float,
    family: AddressFamily,
    send_buffer_bytes: int,
    receive_buffer_bytes: int,
) -> socket.socket:
    """A connected socket to the first address of a host that takes the connection."""
    try:
        addresses = await resolve(host, port, timeout, family)
    except OSError as error:
        raise KafkaConnectionError(f"{host}:{port}: the name does not resolve ({error})") from error
    reasons: list[str] = []
    last: OSError | None = None
    for address in addresses:
        sock: socket.socket | None = None
        try:
            sock = socket.socket(address.family, socket.SOCK_STREAM)
            _set_options(sock, send_buffer_bytes, receive_buffer_bytes)
            async with asyncio.timeout(timeout):
                await asyncio.get_running_loop().sock_connect(sock, address.sockaddr)
            return sock
        except BaseException as error:
            if sock is not None:
                sock.close()
            if isinstance(error, TimeoutError) and error.errno is None:
                reasons.append(f"{_text(address)}no connection within {timeout * 1000:.0f} ms")
            elif isinstance(error, OSError):
                last = error
                reasons.append(f"{_text(address)}{_words(error)}")
            else:
                raise
    raise KafkaConnectionError(f"{host}:{port}: " + "; ".join(reasons)) from last


def _set_options(sock: socket.socket, send_buffer_bytes: int, receive_buffer_bytes: int) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if send_buffer_bytes >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    if receive_buffer_bytes >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _words(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _text(address: Address) -> str:
    return f"{address.sockaddr[0]} " if address.is_resolved else ""
