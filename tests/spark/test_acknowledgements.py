"""What Spark sends to a Python worker is acknowledged at once, from the worker's first task on."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from barnabas.spark.acknowledgements import connections_on_this_machine

if sys.platform != "linux":
    pytest.skip("only Linux delays acknowledgements so that it matters", allow_module_level=True)


def test_connections_on_this_machine_are_found_and_nothing_else() -> None:
    before = set(connections_on_this_machine())
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as served,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.connect(server.getsockname())
        local, other = socket.socketpair()
        again = os.dup(client.fileno())
        try:
            found = set(connections_on_this_machine()) - before
        finally:
            os.close(again)
            local.close()
            other.close()
        assert len(found) == 2
        assert served.fileno() in found
        assert found & {client.fileno(), again}
