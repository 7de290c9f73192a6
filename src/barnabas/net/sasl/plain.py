"""SASL PLAIN (RFC 4616): name and password as they are. Only fit for TLS."""

from __future__ import annotations

from barnabas.net.sasl.mechanism import Conversation
from barnabas.net.sasl.user_password import CredentialsHolder, UserPassword


class Plain:
    """The mechanism PLAIN."""

    name = "PLAIN"

    def __init__(self, credentials: CredentialsHolder) -> None:
        self._credentials = credentials

    @property
    def identity(self) -> str | None:
        return self._credentials.current.username

    def converse(self, host: str) -> PlainConversation:
        return PlainConversation(self._credentials.current)


class PlainConversation(Conversation):
    """One message, which the broker answers with an empty one."""

    def __init__(self, user: UserPassword) -> None:
        self._user = user

    async def first(self) -> bytes:
        return f"\0{self._user.username}\0{self._user.password.reveal()}".encode()

    async def reply(self, challenge: bytes) -> bytes | None:
        return None
