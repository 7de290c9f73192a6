"""A request over HTTP and its answer. Knows nothing of connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from barnabas.values import frozen

FIRST_REDIRECT = 300


class NoAnswerError(Exception):
    """Nobody answered, or not in HTTP, or not in time."""


class TlsFailedError(NoAnswerError):
    """Both sides could not agree on TLS, or did not trust each other."""


@frozen
class HttpRequest:
    """`asked_method` None is a GET, or a POST where there is a `body`. Its text shows neither headers nor
    body, which may have secrets."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    asked_method: str | None = None

    @property
    def method(self) -> str:
        return self.asked_method or ("GET" if self.body is None else "POST")


@frozen
class HttpAnswer:
    """What came back, whatever its status."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < FIRST_REDIRECT
