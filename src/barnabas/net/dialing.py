"""Connecting a socket to the first address of a host that takes the connection.

Owns a socket's options and the time-out of each address. Knows nothing of what is spoken on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import Any

from barnabas.errors import KafkaConnectionError
from barnabas.net.addresses import Address, AddressFamily, resolve
from barnabas.net.proxies import Proxy
from barnabas.values import frozen


async def dial(
    host: str,
    port: int,
    timeout: float,
    family: AddressFamily,
    send_buffer_bytes: int,
    receive_buffer_bytes: int,
    proxy: Proxy | None = None,
    source_address: str | None = None,
) -> socket.socket:
    """A connected socket to the first address of a host that takes the connection, by way of a `proxy`.
    `source_address`: the local host, or host:port, that it is bound to.

    Raises: KafkaConnectionError.
    """
    options = _Options(send_buffer_bytes, receive_buffer_bytes, _source(source_address))
    if proxy is not None:
        return await _dial_through(proxy, host, port, timeout, family, options)
    return await _dial(host, port, timeout, family, options)


@frozen
class _Options:
    """Of a socket. `source`: where it is bound to."""

    send_buffer_bytes: int
    receive_buffer_bytes: int
    source: tuple[str, int] | None


def _source(address: str | None) -> tuple[str, int] | None:
    if not address:
        return None
    host, separator, port = address.rpartition(":")
    if not separator:
        return address, 0
    try:
        return host.strip("[]"), int(port or 0)
    except ValueError:
        raise KafkaConnectionError(f"source_address {address!r} is no host, or host:port") from None


async def _dial(
    host: str, port: int, timeout: float, family: AddressFamily, options: _Options
) -> socket.socket:
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
            _set_options(sock, options)
            async with asyncio.timeout(timeout):
                await asyncio.get_running_loop().sock_connect(sock, address.sockaddr)
            return sock
        except BaseException as error:
            if sock is not None:
                sock.close()
            if isinstance(error, TimeoutError) and error.errno is None:
                reasons.append(f"{_text(address)}no connection within {_limit(timeout)}")
            elif isinstance(error, OSError):
                last = error
                reasons.append(f"{_text(address)}{_words(error)}")
            else:
                raise
    raise KafkaConnectionError(f"{host}:{port}: " + "; ".join(reasons)) from last


async def _dial_through(
    proxy: Proxy,
    host: str,
    port: int,
    timeout: float,
    family: AddressFamily,
    options: _Options,
) -> socket.socket:
    hosts = [host]
    if not proxy.resolves_names:
        try:
            found = await resolve(host, port, timeout, family)
        except OSError as error:
            raise KafkaConnectionError(f"{host}:{port}: the name does not resolve ({error})") from error
        hosts = [address.sockaddr[0] for address in found]
    reasons: list[str] = []
    for each in hosts:
        sock = await _dial(proxy.host, proxy.port, timeout, "any", options)
        try:
            async with asyncio.timeout(timeout):
                await proxy.connect(sock, each, port)
            return sock
        except BaseException as error:
            sock.close()
            if isinstance(error, TimeoutError):
                reasons.append(f"the proxy says nothing within {_limit(timeout)}")
            elif isinstance(error, KafkaConnectionError):
                reasons.append(str(error))
            else:
                raise
    raise KafkaConnectionError(f"{host}:{port}: " + "; ".join(reasons))


def _limit(timeout: float) -> str:
    # It grows from one try to the next (KIP-601).
    return f"{timeout * 1000:.0f} ms (socket_connection_setup_timeout_ms)"


def _set_options(sock: socket.socket, options: _Options) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if options.send_buffer_bytes >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
    if options.receive_buffer_bytes >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
    if options.source is not None:
        sock.bind(options.source)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _words(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _text(address: Address) -> str:
    return f"{address.sockaddr[0]} " if address.is_resolved else ""


def peer_of(sock: socket.socket, name: str) -> tuple[Any, ...]:
    """The address that a connection was made to. Raises: KafkaConnectionError if it has ended already."""
    try:
        return sock.getpeername()
    except OSError as error:
        raise KafkaConnectionError(f"{name} closed the connection as soon as it was made: {error}") from error
