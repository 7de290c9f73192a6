"""What every SASL mechanism looks like to the one that carries its messages to and fro.

Knows nothing of Kafka's requests, and of no mechanism in particular.
"""

from __future__ import annotations

from typing import Protocol


class Conversation(Protocol):
    """One authentication, from the first message to the last. Made anew for every connection, and again when
    a connection authenticates itself anew (KIP-368)."""

    expects_answer: bool = True
    """Whether the mechanism has the broker answer what the client said last. If not, nothing comes where
    messages travel without Kafka's headers."""

    async def first(self) -> bytes:
        """The message that the client begins with. Raises: CredentialsError, KafkaConnectionError."""
        ...

    async def reply(self, challenge: bytes) -> bytes | None:
        """What to answer to the broker; None when the conversation is over and the client content.

        Raises: SaslAuthenticationError where the broker's message is not what it should be.
        """
        ...

    def has_expired(self) -> bool:
        """Whether the credentials that were sent have expired since, so that others may be accepted."""
        return False


class Mechanism(Protocol):
    """A mechanism with the credentials of one client."""

    name: str
    """As the broker knows it, such as SCRAM-SHA-256."""

    @property
    def identity(self) -> str | None:
        """Whom the credentials stand for, if that is known. A connection stays with the one it began with."""
        ...

    def converse(self, host: str) -> Conversation:
        """A new authentication with the broker that is called `host`."""
        ...
