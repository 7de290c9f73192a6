"""What goes wrong between the legacy client and a registry."""

from __future__ import annotations


class ClientError(Exception):
    """A registry refused, or did not answer; or a schema is broken. `http_code`, where one is known."""

    def __init__(self, message: str, http_code: int | None = None) -> None:
        self.message = message
        self.http_code = http_code
        super().__init__(self.__str__())

    def __repr__(self) -> str:
        return f"ClientError(error={self.message})"

    def __str__(self) -> str:
        return self.message
