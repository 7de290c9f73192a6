"""How many connections one node has, in all, by a listener and from an address: max.connections, which may be
set of a listener, and max.connections.per.ip.

Owns the counts, and who waits for a place. Must not know listeners, nor what is asked on a connection.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from functools import partial

from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker_errors import InvalidConfigError
from barnabas.net.server import DisconnectError

ALL, PER_ADDRESS = "max.connections", "max.connections.per.ip"
OVERRIDES = "max.connections.per.ip.overrides"


class ConnectionLimits:
    """Of one node, over all of its listeners. Settings hold for what connects once they are changed, and for
    who waits.

    Raises: InvalidConfigError, for overrides that are none.
    """

    def __init__(self, settings: BrokerSettings) -> None:
        self._settings = settings
        self._by_address: Counter[str] = Counter()
        self._seated: Counter[str] = Counter()
        """By listener."""
        self._waiting: deque[ClientConnection] = deque()
        overrides_of(settings.get(OVERRIDES).value)

    def admit(self, connection: ClientConnection) -> None:
        """Counts a new connection until it ends. One too many of all has to wait for its `place`.

        Raises: DisconnectError, for one too many of its address.
        """
        address = connection.client_host
        most = self._most_from(address)
        if self._by_address[address] >= most:
            raise DisconnectError(
                f"{address} has {most} connections, which is as many as {PER_ADDRESS} allows"
            )
        self._by_address[address] += 1
        self._waiting.append(connection)
        connection.place = asyncio.get_running_loop().create_future()
        connection.on_end["its place"] = partial(self._leave, connection)
        self.seat()

    def _leave(self, connection: ClientConnection) -> None:
        address = connection.client_host
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        if connection in self._waiting:
            self._waiting.remove(connection)
        else:
            self._seated[connection.listener] -= 1
        self.seat()

    def seat(self) -> None:
        """Lets in those that wait for whom there is a place, which may be by another max.connections."""
        most = self._settings.number(ALL)
        for connection in list(self._waiting):
            listener = connection.listener
            if self._seated.total() >= most:
                break
            if self._seated[listener] >= int(self._settings.of_listener(ALL, listener)):
                continue
            self._seated[listener] += 1
            self._waiting.remove(connection)
            if connection.place is not None and not connection.place.done():
                connection.place.set_result(None)
            connection.place = None

    def _most_from(self, address: str) -> int:
        overrides = overrides_of(self._settings.get(OVERRIDES).value)
        return overrides.get(address, self._settings.number(PER_ADDRESS))


def overrides_of(text: str) -> dict[str, int]:
    """Numbers by address: `127.0.0.1:200,[::1]:100`. Raises: InvalidConfigError."""
    overrides: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        address, colon, most = part.rpartition(":")
        if not colon or not most.removeprefix("-").isdecimal():
            raise InvalidConfigError(f"{OVERRIDES}: {part!r} is not ADDRESS:NUMBER")
        overrides[address.strip("[]")] = int(most)
    return overrides
