"""What goes wrong between a client and a registry, or between it and who issues its tokens."""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    from fastavro.schema import SchemaParseException as SchemaParseException
    from fastavro.schema import UnknownType as UnknownType

__all__ = ["OAuthTokenError", "SchemaParseException", "SchemaRegistryError", "UnknownType"]


class SchemaRegistryError(Exception):
    """An error that a registry answered.

    `http_status_code` is HTTP's, `error_code` the registry's own (UNKNOWN where the answer was not of a
    registry), `error_message` what it says.
    """

    UNKNOWN = -1

    def __init__(self, http_status_code: int, error_code: int, error_message: str) -> None:
        # Exception itself keeps what it was called with, by which it is pickled.
        self.http_status_code = http_status_code
        self.error_code = error_code
        self.error_message = error_message

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.error_message} (HTTP status code {self.http_status_code}, SR code {self.error_code})"


class OAuthTokenError(Exception):
    """There is no token to ask a registry with."""

    def __init__(
        self, message: str, status_code: int | None = None, response_text: str | None = None
    ) -> None:
        self.message = message
        self.status_code = status_code
        self.response_text = response_text
        super().__init__(f"{message} (HTTP {status_code}): {response_text}")
