"""What proves who a client is: passwords, tokens, keys. All of it must not be seen.

Owns that it stays out of every repr, log line and error. Knows nothing of what it opens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

from barnabas.values import frozen


class Secret:
    """Holds a text that only `reveal` gives back; printed, it is `Secret(***)`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the moment of its use."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def shown_url(url: str) -> str:
    """A URL as errors show it: without what is before its last `@`, which may be a user and a password."""
    return url.rpartition("@")[2]


@frozen
class OAuthBearerToken:
    """What a sasl_oauthbearer_token_callback gives. `expires_at_ms`: milliseconds since 1970; None takes the
    claim `exp` of a JSON Web Token, or asks for a new one each time. `extensions`: KIP-342."""

    value: str = field(repr=False)
    expires_at_ms: int | None = None
    extensions: Mapping[str, str] = field(default_factory=dict[str, str])


@frozen
class AwsCredentials:
    """What an aws_credentials_callback gives: keys of an identity of AWS, temporary ones with their session's
    token."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


TokenCallback = Callable[[], str | OAuthBearerToken | Awaitable[str | OAuthBearerToken]]
AwsCredentialsCallback = Callable[[], AwsCredentials | Awaitable[AwsCredentials]]
