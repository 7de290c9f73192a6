"""Whether a broker answers and whom it knows, asked with the least of Kafka's protocol.

Written out by hand, so that tests of the protocol and of the client do not depend on what they test.
"""

from __future__ import annotations

import socket
import struct

_METADATA = 3
_VERSION = 1
_CLIENT_ID = b"probe"


def is_broker_ready(port: int) -> bool:
    """Whether the broker at this port of 127.0.0.1 finds itself, and a controller, in its own metadata."""
    return port in known_broker_ports(port)


def known_broker_ports(port: int) -> set[int]:
    """The ports of all brokers in the metadata of the one at `port`; none while it knows no controller."""
    body = struct.pack(">hhih", _METADATA, _VERSION, 7, len(_CLIENT_ID)) + _CLIENT_ID + struct.pack(">i", 0)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            with connection.makefile("rb") as stream:
                (size,) = struct.unpack(">i", stream.read(4))
                return _broker_ports(stream.read(size))
    except (OSError, struct.error):
        return set()


def _broker_ports(response: bytes) -> set[int]:
    ports: set[int] = set()
    position = 4
    (broker_count,) = struct.unpack_from(">i", response, position)
    position += 4
    for _ in range(broker_count):
        (host_length,) = struct.unpack_from(">h", response, position + 4)
        position += 6 + host_length
        (port,) = struct.unpack_from(">i", response, position)
        ports.add(port)
        (rack_length,) = struct.unpack_from(">h", response, position + 4)
        position += 6 + max(rack_length, 0)
    (controller_id,) = struct.unpack_from(">i", response, position)
    return ports if controller_id >= 0 else set()
