"""A TLS connection over a connected socket, and, where that fails, finding out why.

Asking a second time tells more than OpenSSL's error: which names the certificate has, or that the port does
not speak TLS at all. Knows nothing of what goes through the connection.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any

from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, HostNameError, KafkaConnectionError
from barnabas.net.dialing import peer_of
from barnabas.net.tls import Tls, host_name_error, names_in, not_tls_error
from barnabas.protocol.frame import encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest

# How long a broker may take to receive the last bytes and to say goodbye.
SHUTDOWN_SECONDS = 5.0
# What a broker says to ApiVersions is shorter than this.
MAX_ANSWER_BYTES = 1 << 20


async def connect_tls(
    make_protocol: Callable[[], asyncio.BaseProtocol],
    sock: socket.socket,
    host: str,
    tls: Tls,
    *,
    timeout: float,
    name: str,
) -> None:
    """Shakes hands, and hands the connection to the protocol. The socket is closed where that fails.
    `timeout` in seconds.

    Raises: AuthenticationError, which says what to mend; KafkaConnectionError.
    """
    try:
        peer = peer_of(sock, name)
    except KafkaConnectionError:
        sock.close()
        raise
    began = CLOCK.monotonic()
    try:
        await asyncio.get_running_loop().create_connection(
            make_protocol,
            sock=sock,
            ssl=tls.context,
            server_hostname=host,
            ssl_handshake_timeout=timeout,
            ssl_shutdown_timeout=SHUTDOWN_SECONDS,
        )
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError) as error:
        is_silent = CLOCK.monotonic() - began >= timeout
        if await _answers_without_tls(sock.family, peer, timeout):
            raise not_tls_error(name) from error
        what = "hung up during the TLS handshake"
        if is_silent:
            limit = f"{timeout * 1000:.0f} ms (socket_connection_setup_timeout_ms)"
            what = f"did not end the TLS handshake within {limit}"
        raise KafkaConnectionError(f"{name} {what}; does this port speak TLS?") from error
    except ssl.SSLError as error:
        raise await _explained(tls.error(error, name), sock.family, peer, host, tls, timeout, name) from error


async def _explained(
    error: BarnabasError, family: int, peer: Any, host: str, tls: Tls, timeout: float, name: str
) -> BarnabasError:
    if isinstance(error, HostNameError):
        return host_name_error(host, name, await _names_of(family, peer, host, tls, timeout))
    return error


async def _names_of(family: int, peer: Any, host: str, tls: Tls, timeout: float) -> tuple[str, ...]:
    """The names in the certificate, or nothing where it cannot be had."""
    try:
        async with asyncio.timeout(timeout):
            sock = await _connected(family, peer)
            _, writer = await asyncio.open_connection(
                sock=sock, ssl=tls.without_name_check(), server_hostname=host
            )
            certificate = writer.get_extra_info("peercert")
            writer.transport.abort()
    except (OSError, TimeoutError):
        return ()
    return names_in(certificate or {})


async def _answers_without_tls(family: int, peer: Any, timeout: float) -> bool:
    """Whether a broker answers there in plain text."""
    try:
        async with asyncio.timeout(timeout):
            sock = await _connected(family, peer)
            reader, writer = await asyncio.open_connection(sock=sock)
            try:
                writer.write(encode_request(ApiVersionsRequest(), 0, 0, None))
                size = int.from_bytes(await reader.readexactly(4), signed=True)
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False
    return 0 < size <= MAX_ANSWER_BYTES


async def _connected(family: int, peer: Any) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, peer)
    except BaseException:
        sock.close()
        raise
    return sock
