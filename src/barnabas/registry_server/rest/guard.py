"""Basic authentication before the API, and which role a request needs.

Knows nothing of what is answered.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from barnabas.registry_server.access import User, Users
from barnabas.registry_server.rest.answers import error
from barnabas.registry_server.rest.call import split

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

REALM = "SchemaRegistry"
READING = ("GET", "HEAD", "OPTIONS")
# Hashes are dear: whoever tries passwords does not get all the cores.
HASHES_AT_ONCE = 2


class Guard:
    """An ASGI application that lets requests of users through who may make them."""

    def __init__(self, app: ASGIApp, users: Users) -> None:
        self._app = app
        self._authentication = BasicAuthentication(users)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            user = await self._authentication.user(request.headers.get("authorization", ""))
            refusal = None
            if user is None:
                refusal = error(401, "Unauthorized", 401)
            elif user.role == "read" and not only_reads(request.method, scope["raw_path"]):
                refusal = error(403, "Forbidden", 403)
            if refusal is not None:
                headers = {"Content-Type": "application/json"}
                if refusal.status == 401:
                    headers["WWW-Authenticate"] = f'Basic realm="{REALM}"'
                await Response(refusal.body, refusal.status, headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class BasicAuthentication:
    """Finds the user that a request names."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self._hashing = asyncio.Semaphore(HASHES_AT_ONCE)

    async def user(self, authorization: str) -> User | None:
        """Of the header Authorization; None for a wrong name or password, or another scheme."""
        said = _name_and_password(authorization)
        if said is None:
            return None
        known = self._users.known(*said)
        if known is not None:
            return known
        async with self._hashing:
            return await asyncio.to_thread(self._users.checked, *said)

    def known(self, authorization: str) -> User | None:
        """As `user`, of those alone who have come in before."""
        said = _name_and_password(authorization)
        return None if said is None else self._users.known(*said)


def _name_and_password(authorization: str) -> tuple[str, str] | None:
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        said = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    name, colon, password = said.partition(":")
    return (name, password) if colon else None


def only_reads(method: str, raw_path: bytes) -> bool:
    """Schemas are looked up and checked by POST, and several associations, which changes nothing."""
    if method in READING:
        return True
    segments = split(raw_path.decode("ascii", "replace"))
    if segments[:1] == ["contexts"] and len(segments) > 2:
        segments = segments[2:]
    match segments:
        case ["compatibility", *_] | ["subjects", _] | ["associations:batchGet"] | []:
            return method == "POST"
        case _:
            return False
