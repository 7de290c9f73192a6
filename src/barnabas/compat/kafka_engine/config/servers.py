"""Addresses of brokers in all the forms that `bootstrap_servers` takes."""

from __future__ import annotations

import socket
from collections.abc import Iterable

DEFAULT_PORT = 9092
# Where a program names no brokers, none are ever found: nor are they by a client that looks there (RFC 2606).
NOWHERE = "no-bootstrap-servers.invalid:9092"

Host = tuple[str, int, socket.AddressFamily]


def hosts_in(servers: str | Iterable[str]) -> list[Host]:
    """(host, port, address family) of each. `servers`: host, host:port, [ipv6]:port, ipv6, with or without
    PROTOCOL:// before them, in a list or separated by commas.

    Raises: ValueError for a port that is no number.
    """
    entries = servers.strip().split(",") if isinstance(servers, str) else servers
    return [host_of(entry.rpartition("://")[2]) for entry in entries]


def host_of(server: str) -> Host:
    """One address. Raises: ValueError for a port that is no number."""
    server = server.strip()
    if server.startswith("["):
        host, _, rest = server[1:].partition("]")
        return host, int(rest[1:]) if rest else DEFAULT_PORT, socket.AF_INET6
    if ":" not in server or family_of(server) is socket.AF_INET6:
        return server, DEFAULT_PORT, family_of(server)
    host, _, port = server.rpartition(":")
    return host, int(port), family_of(host)


def family_of(address: str) -> socket.AddressFamily:
    """AF_UNSPEC for what is a name."""
    if address.startswith("[") and address.endswith("]"):
        return socket.AF_INET6
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, address)
        except (ValueError, OSError):
            continue
        return family
    return socket.AF_UNSPEC


def core_servers(servers: str | Iterable[str]) -> list[str]:
    """host:port of each, as the core takes them. Raises: ValueError for a port that is no number."""
    return [
        f"[{host}]:{port}" if family is socket.AF_INET6 else f"{host}:{port}"
        for host, port, family in (
            (host, port if port > 0 else DEFAULT_PORT, family) for host, port, family in hosts_in(servers)
        )
    ] or [NOWHERE]
