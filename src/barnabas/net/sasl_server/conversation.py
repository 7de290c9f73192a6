"""What every mechanism looks like to the one that carries its messages to and fro.

Knows nothing of Kafka's requests, and of no mechanism in particular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from barnabas.errors import BarnabasError


class RefusedError(BarnabasError):
    """The client is not let in, and may be told why."""


class NotProvedError(BarnabasError):
    """The client is not let in, and must not be told why: that might tell whether there is such a user."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Who the client is. `expires_at_ms`: when its credentials end, if they do, in milliseconds since 1970.
    `by_token`: they are a delegation token."""

    user: str
    expires_at_ms: int | None = None
    by_token: bool = False


class ServerConversation(Protocol):
    """One authentication. `proof` is there once it has succeeded."""

    @property
    def proof(self) -> Proof | None: ...

    async def answer(self, message: bytes) -> bytes | None:
        """What to say to the client's message; None where nothing is to be said.

        Raises: RefusedError, NotProvedError.
        """
        ...


MakeConversation = Callable[[], ServerConversation]
