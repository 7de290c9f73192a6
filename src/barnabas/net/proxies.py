"""Proxies on the way to brokers: SOCKS 5 (RFC 1928, 1929) and HTTP's CONNECT (RFC 9110).

Owns what is said to a proxy. Knows nothing of what is spoken through it.
"""

from __future__ import annotations

import asyncio
import base64
import socket
from dataclasses import field
from typing import Literal

from barnabas.errors import InvalidSettingError, KafkaConnectionError
from barnabas.values import frozen

_DEFAULT_PORTS = {"socks5": 1080, "socks5h": 1080, "http": 8080}
_MAX_HTTP_HEAD_BYTES = 16_384
# SOCKS has one byte for each length.
_MAX_SOCKS_BYTES = 255
_SOCKS = 5
_NO_AUTHENTICATION, _USER_PASSWORD, _NOTHING_ACCEPTABLE = 0, 2, 255
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_SOCKS_REFUSALS = {
    1: "it failed",
    2: "its rules do not allow that",
    3: "the network is unreachable",
    4: "the host is unreachable",
    5: "the connection was refused",
    6: "it took too long",
    7: "it does not know the command",
    8: "it does not know that kind of address",
}


@frozen
class Proxy:
    """`scheme`: with socks5, names of brokers are resolved here; with the others, by the proxy."""

    scheme: Literal["socks5", "socks5h", "http"]
    host: str
    port: int
    user: str | None = field(repr=False)
    password: str = field(repr=False)

    @property
    def resolves_names(self) -> bool:
        return self.scheme != "socks5"

    async def connect(self, sock: socket.socket, host: str, port: int) -> None:
        """Has the proxy at the other end of `sock` connect to a broker. Raises: KafkaConnectionError."""
        try:
            if self.scheme == "http":
                await self._connect_http(sock, host, port)
            else:
                await self._connect_socks(sock, host, port)
        except OSError as error:
            raise self._failed(str(error)) from error

    def _failed(self, reason: str) -> KafkaConnectionError:
        return KafkaConnectionError(f"the proxy {self.host}:{self.port}: {reason}")

    async def _connect_socks(self, sock: socket.socket, host: str, port: int) -> None:
        methods = [_NO_AUTHENTICATION] if self.user is None else [_NO_AUTHENTICATION, _USER_PASSWORD]
        await _send(sock, bytes([_SOCKS, len(methods), *methods]))
        version, method = await self._receive(sock, 2)
        if version != _SOCKS or method == _NOTHING_ACCEPTABLE or method not in methods:
            asks = "it wants another authentication" if version == _SOCKS else "it does not speak SOCKS 5"
            raise self._failed(asks)
        if method == _USER_PASSWORD:
            await self._log_in(sock)
        await _send(sock, bytes([_SOCKS, _CONNECT, 0]) + _socks_address(host) + port.to_bytes(2, "big"))
        _, code, _, kind = await self._receive(sock, 4)
        if code:
            raise self._failed(
                f"no connection to {host}:{port}: {_SOCKS_REFUSALS.get(code, f'error {code}')}"
            )
        length = {_IPV4: 4, _IPV6: 16}.get(kind) or (await self._receive(sock, 1))[0]
        await self._receive(sock, length + 2)

    async def _log_in(self, sock: socket.socket) -> None:
        user, password = (self.user or "").encode(), self.password.encode()
        await _send(sock, bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        if (await self._receive(sock, 2))[1]:
            raise self._failed("it refuses user and password")

    async def _connect_http(self, sock: socket.socket, host: str, port: int) -> None:
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.user is not None:
            credentials = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            lines.append(f"Proxy-Authorization: Basic {credentials}")
        await _send(sock, "\r\n".join([*lines, "", ""]).encode())
        head = b""
        # One by one: what follows the head is the broker's already.
        while not head.endswith(b"\r\n\r\n"):
            if len(head) > _MAX_HTTP_HEAD_BYTES:
                raise self._failed("it does not speak HTTP")
            head += await self._receive(sock, 1)
        status = head.split(b"\r\n", 1)[0].decode("latin-1")
        if status.split(" ", 2)[1:2] != ["200"]:
            raise self._failed(f"no connection to {host}:{port}: {status}")

    async def _receive(self, sock: socket.socket, count: int) -> bytes:
        received = b""
        while len(received) < count:
            more = await asyncio.get_running_loop().sock_recv(sock, count - len(received))
            if not more:
                raise self._failed("it closed the connection")
            received += more
        return received


def proxy_of(url: str) -> Proxy:
    """Raises: InvalidSettingError."""
    # Few clients have a proxy, and this takes longer to import than all of barnabas.net.
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts = port = None
    if parts is None or parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        # Without the URL and Python's own error, which takes a part of some passwords for the port.
        raise InvalidSettingError(
            "proxy_url has to be socks5://, socks5h:// or http:// with host and port; any of /?#[]@: in user "
            "or password is written as in %2F"
        )
    user = None if parts.username is None else unquote(parts.username)
    password = unquote(parts.password or "")
    if parts.scheme != "http" and max(len((user or "").encode()), len(password.encode())) > _MAX_SOCKS_BYTES:
        raise InvalidSettingError(
            f"proxy_url: SOCKS takes user and password of {_MAX_SOCKS_BYTES} bytes at most (RFC 1929)"
        )
    port = port or _DEFAULT_PORTS[parts.scheme]
    return Proxy(parts.scheme, parts.hostname, port, user, password)  # pyright: ignore[reportArgumentType]


async def _send(sock: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(sock, data)


def _socks_address(host: str) -> bytes:
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = _socks_name(host)
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if address.version == 4 else _IPV6]) + address.packed


def _socks_name(host: str) -> bytes:
    """Raises: OSError."""
    try:
        name = host.encode("idna")
    except UnicodeError as error:
        raise OSError(f"{host!r} cannot be the name of a host") from error
    if len(name) > _MAX_SOCKS_BYTES:
        raise OSError(f"a name of {len(name)} bytes, where SOCKS takes {_MAX_SOCKS_BYTES} at most")
    return name
