"""What the broker knows of a client for as long as its connection lasts.

Owns only the data. Who the client is, is for those to say who check it; until then it is nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.broker.principal import ANONYMOUS, Principal
from barnabas.net.server import RequestContext


@dataclass(slots=True, eq=False)
class ClientConnection(RequestContext):
    """`listener`: Kafka's name of where the client came in, `protocol`: what is spoken there, `node`: to
    which node. `software_name` and `software_version`: what it says of itself (KIP-511), empty until then."""

    listener: str = "PLAINTEXT"
    protocol: str = "PLAINTEXT"
    node: int = 1
    principal: Principal = ANONYMOUS
    software_name: str = ""
    software_version: str = ""
    refused_for_ms: int = 0
    """How long it is held, without an answer, until it ends: its address has made too many connections."""
    place: asyncio.Future[None] | None = None
    """Done once the node has a place for it; None if it has one."""
    on_end: dict[str, Callable[[], None]] = field(default_factory=dict[str, Callable[[], None]])
    """What is to happen when the connection ends, by what it is about."""

    def __post_init__(self) -> None:
        self.on_lost = self._end

    def _end(self) -> None:
        for act in self.on_end.values():
            act()
