"""Who is asking: basic authentication before the page, by a file of users with roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from barnabas.registry_server.access import Users
from barnabas.registry_server.rest.guard import BasicAuthentication
from barnabas.ui.roles import Role

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

ROLES = {"read": Role.VIEWER, "write": Role.ADMIN}
CHALLENGE = 'Basic realm="Barnabas", charset="UTF-8"'


class Login:
    """An ASGI application that lets nobody through but users. What they may do, pages ask in
    `barnabas.ui.security`."""

    def __init__(self, app: ASGIApp, users: Users) -> None:
        self._app = app
        self._authentication = BasicAuthentication(users)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            user = await self._authentication.user(Request(scope).headers.get("authorization", ""))
            if user is None:
                refusal = PlainTextResponse(
                    "a user's name and password are needed", 401, {"WWW-Authenticate": CHALLENGE}
                )
                await refusal(scope, receive, send)
                return
            scope["ui.user"], scope["ui.role"] = user.name, ROLES[user.role]
        await self._app(scope, receive, send)
