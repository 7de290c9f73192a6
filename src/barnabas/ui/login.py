"""Who is asking: basic authentication before the page, by a file of users with roles."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from barnabas.registry_server.access import User, Users
from barnabas.registry_server.rest.guard import HASHES_AT_ONCE, BasicAuthentication
from barnabas.ui.limits import LoginAttempts
from barnabas.ui.roles import ROLES_OF_USERS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

logger = logging.getLogger(__name__)

CHALLENGE = 'Basic realm="Barnabas", charset="UTF-8"'


class Login:
    """An ASGI application that lets nobody through but users. What they may do, pages ask in
    `barnabas.ui.security`. Who is wrong too often from an address waits; whoever is in stays in."""

    def __init__(self, app: ASGIApp, users: Users) -> None:
        self._app = app
        self._authentication = BasicAuthentication(users)
        self._attempts = LoginAttempts()
        self._checking = asyncio.Semaphore(HASHES_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            said = request.headers.get("authorization", "")
            user = self._authentication.known(said)
            if user is None:
                refusal = await self._refusal_or_user(request, said)
                if isinstance(refusal, Response):
                    await refusal(scope, receive, send)
                    return
                user = refusal
            scope["ui.user"], scope["ui.role"] = user.name, ROLES_OF_USERS[user.role]
        await self._app(scope, receive, send)

    async def _refusal_or_user(self, request: Request, said: str) -> Response | User:
        if not said:
            return PlainTextResponse(
                "a user's name and password are needed", 401, {"WWW-Authenticate": CHALLENGE}
            )
        address = request.client.host if request.client else ""
        # Whoever waits here has not been counted yet: many at once are no more than many in turn.
        async with self._checking:
            seconds = self._attempts.seconds_left(address)
            user = None if seconds else await self._authentication.user(said)
            if user is not None:
                self._attempts.succeeded(address)
                return user
            if seconds:
                headers = {"Retry-After": str(math.ceil(seconds))}
                return PlainTextResponse("too many wrong passwords: wait a minute", 429, headers)
            self._attempts.failed(address)
        logger.warning("a login from %s was refused", address)
        return PlainTextResponse("the name or the password is wrong", 401, {"WWW-Authenticate": CHALLENGE})
