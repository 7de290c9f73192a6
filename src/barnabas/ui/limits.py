"""How much is taken of one request, and how often somebody may be wrong about a password."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_BODY_BYTES = 16 << 20
TOO_LONG = f"more than {LONGEST_BODY_BYTES >> 20} MiB are not taken in one request"
MOST_ATTEMPTS = 10
ATTEMPT_SECONDS = 60.0
MOST_ADDRESSES = 10_000


class BodyLimit:
    """An ASGI application that refuses a body that is longer than any form of the page, before it is kept."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = Request(scope).headers.get("content-length", "0")
        if not said.isdecimal() or len(said) > 12 or int(said) > LONGEST_BODY_BYTES:
            await PlainTextResponse(TOO_LONG, 413)(scope, receive, send)
            return
        left = LONGEST_BODY_BYTES

        async def receive_some() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, TOO_LONG)
            return message

        await self._app(scope, receive_some, send)


class LoginAttempts:
    """How often passwords were wrong from an address, of late. Remembers so many addresses and no more."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def seconds_left(self, address: str) -> float:
        """Until one more may be made; 0 if it may be now."""
        began, count = self._failures.get(address, (0.0, 0))
        return max(began + ATTEMPT_SECONDS - self._clock(), 0.0) if count >= MOST_ATTEMPTS else 0.0

    def failed(self, address: str) -> None:
        now = self._clock()
        began, count = self._failures.pop(address, (now, 0))
        if began + ATTEMPT_SECONDS <= now:
            began, count = now, 0
        self._failures[address] = (began, count + 1)
        if len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)

    def succeeded(self, address: str) -> None:
        self._failures.pop(address, None)
