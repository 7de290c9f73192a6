"""What the steps that make a connection ready for requests need of it."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from barnabas.protocol.codec import Request, Response

ResponseT = TypeVar("ResponseT", bound=Response)


class Carrier(Protocol):
    name: str

    def version_of(self, request_type: type[Request[Any]], max_version: int | None = None) -> int: ...

    async def ask(self, request: Request[ResponseT], version: int) -> ResponseT:
        """Sends at once, whatever else waits for being sent."""
        ...

    async def exchange_frame(self, frame: bytes) -> bytes:
        """Sends a frame without a header, and gives the next one that comes."""
        ...

    def send_frame(self, frame: bytes) -> None:
        """Sends a frame without a header, and waits for nothing."""
        ...
