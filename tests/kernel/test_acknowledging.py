"""`acknowledge_at_once` holds a connection for as long as its peer does. How fast that makes Spark's tasks is
for `python -m bench.spark --only short` to say."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path

import pytest
from tests.waiting import wait_for

if sys.platform != "linux":
    pytest.skip("only Linux delays acknowledgements so that it matters", allow_module_level=True)

from barnabas._kernel import acknowledge_at_once


def name_of(descriptor: int) -> str:
    """What all descriptors of one open file or socket have in common."""
    return os.readlink(f"/proc/self/fd/{descriptor}")


def descriptors_of(*names: str) -> int:
    """How many this process has, whose other threads open and close theirs meanwhile."""
    count = 0
    for each in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            count += name_of(int(each)) in names
    return count


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        return client, server.accept()[0]


@pytest.mark.integration
def test_what_comes_is_left_to_those_who_read() -> None:
    client, served = connected()
    with client, served:
        acknowledge_at_once([client.fileno()])
        for turn in range(20):
            served.sendall(b"first")
            served.sendall(b"second")
            assert client.recv(11, socket.MSG_WAITALL) == b"firstsecond"
            client.sendall(b"%02d" % turn)
            assert served.recv(2, socket.MSG_WAITALL) == b"%02d" % turn


@pytest.mark.integration
def test_its_descriptors_are_closed_when_the_peers_have_hung_up() -> None:
    pairs = [connected() for _ in range(3)]
    clients = [name_of(client.fileno()) for client, _ in pairs]
    acknowledge_at_once([client.fileno() for client, _ in pairs])
    assert descriptors_of(*clients) == 6
    for client, _ in pairs:
        client.close()
    assert descriptors_of(*clients) == 3
    for _, served in pairs:
        served.close()
    wait_for(lambda: descriptors_of(*clients) == 0)


def test_what_is_no_connection_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        name = name_of(file.fileno())
        with pytest.raises(OSError, match="socket"):
            acknowledge_at_once([file.fileno()])
        assert descriptors_of(name) == 1
