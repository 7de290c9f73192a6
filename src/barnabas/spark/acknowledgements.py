"""Sparing each task the 40 ms in which Spark and its Python worker wait for each other over TCP.

Spark writes to a worker in two parts, with Nagle's algorithm on: the second leaves once the first is
acknowledged, and Linux delays that on a connection that has answered anything. Owns which sockets of a worker
are Spark's; must not know what goes over them.
"""

from __future__ import annotations

import ipaddress
import os
import socket


def acknowledge_spark_at_once() -> None:
    """From now on, in this worker, on Linux. To be called before it connects to brokers: what is connected
    until then is Spark."""
    from barnabas._kernel import acknowledge_at_once

    acknowledge_at_once(connections_on_this_machine())


def connections_on_this_machine() -> list[int]:
    """Descriptors of this process's TCP connections that do not leave the machine, one of each."""
    found: dict[object, int] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            descriptor = os.dup(int(name))
        except OSError:
            # That of the folder, which is read no more.
            continue
        try:
            connection = socket.socket(fileno=descriptor)
        except OSError:
            os.close(descriptor)
            continue
        with connection:
            if connection.type != socket.SOCK_STREAM or connection.family not in (
                socket.AF_INET,
                socket.AF_INET6,
            ):
                continue
            try:
                peer = connection.getpeername()
            except OSError:
                # It listens.
                continue
            if ipaddress.ip_address(peer[0].removeprefix("::ffff:")).is_loopback:
                found[connection.getsockname(), peer] = int(name)
    return list(found.values())
