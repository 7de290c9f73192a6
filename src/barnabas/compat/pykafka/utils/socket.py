"""Reading from a socket until there is enough."""

from __future__ import annotations

from typing import Any

from barnabas.compat.pykafka.exceptions import SocketDisconnectedError

__all__ = ["recvall_into"]


def recvall_into(socket: Any, bytea: bytearray, size: int) -> bytearray:
    """`size` bytes of the socket's, at the beginning of `bytea`, which is returned.

    Raises: SocketDisconnectedError when the socket ends before.
    """
    received = 0
    while received < size:
        try:
            chunk = socket.recv(size - received)
        except OSError:
            chunk = b""
        if not chunk:
            raise SocketDisconnectedError
        bytea[received : received + len(chunk)] = chunk
        received += len(chunk)
    return bytea
