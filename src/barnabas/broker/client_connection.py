"""What the broker knows of a client for as long as its connection lasts.

Owns only the data. Who the client is, is for those to say who check it; until then it is nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.principal import ANONYMOUS, Principal
from barnabas.net.server import RequestContext


@dataclass(slots=True, eq=False)
class ClientConnection(RequestContext):
    """`listener`: Kafka's name of where the client came in, `node`: to which node.
    `software_name` and `software_version`: what it says of itself (KIP-511), empty until then."""

    listener: str = "PLAINTEXT"
    node: int = 1
    principal: Principal = ANONYMOUS
    software_name: str = ""
    software_version: str = ""
    refused_for_ms: int = 0
    """How long it is held, without an answer, until it ends: its address has made too many connections."""
