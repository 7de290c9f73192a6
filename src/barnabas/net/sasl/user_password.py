"""A user name and its password, which can be replaced while connections are open (PLAIN and SCRAM).

Owns no more than the pair. Any thread may replace it.
"""

from __future__ import annotations

from barnabas.credentials import Secret
from barnabas.values import frozen


@frozen
class UserPassword:
    """A pair that belongs together. `is_token`: whether it is a delegation token's id and HMAC (KIP-48)."""

    username: str
    password: Secret
    is_token: bool = False


class CredentialsHolder:
    """The pair that the next authentication uses."""

    def __init__(self, current: UserPassword) -> None:
        self.current = current

    def replace(self, username: str, password: str) -> None:
        self.current = UserPassword(username, Secret(password), self.current.is_token)
