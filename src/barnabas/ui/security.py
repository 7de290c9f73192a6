"""What keeps others from using the page: headers, and the tokens and roles that changes need.

Knows nothing of how users are recognised: `barnabas.ui.login` and `barnabas.ui.single_sign_on` tell.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request

from barnabas.ui.roles import Role

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSRF_FIELD = "csrf"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class SecurityHeaders:
    """An ASGI application that adds them to every answer. What is shown is nobody else's to keep: only the
    assets may be cached."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def csrf_token(request: Request) -> str:
    """What forms of this session carry."""
    return request.session.setdefault(CSRF_FIELD, secrets.token_urlsafe(24))


def user_name(request: Request) -> str | None:
    """None where there are no users."""
    return request.scope.get("ui.user")


def role_of(request: Request) -> Role:
    """What this user may do here. Where there are no users, everyone is an admin; without --allow-writes
    everyone is a viewer."""
    if not request.app.state.access.settings.allows_writes:
        return Role.VIEWER
    return request.scope.get("ui.role", Role.ADMIN)


async def sent_form(request: Request, needs: Role) -> Mapping[str, str]:
    """The fields of a form that changes something, for which a user needs the role `needs`.
    Raises: HTTPException (403)."""
    if not request.app.state.access.settings.allows_writes:
        raise HTTPException(403, "nothing can be changed here: the page was started without --allow-writes")
    role = role_of(request)
    if role < needs:
        raise HTTPException(
            403, f"{user_name(request)} has the role {role.name.lower()}; this needs {needs.name.lower()}"
        )
    return await sent_token(request)


async def sent_token(request: Request) -> Mapping[str, str]:
    """A form that is of this session, and its fields. Raises: HTTPException (403)."""
    form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
    said = form.pop(CSRF_FIELD, "") or request.headers.get("X-CSRF-Token", "")
    expected = request.session.get(CSRF_FIELD, "")
    if not expected or not hmac.compare_digest(said.encode(), expected.encode()):
        raise HTTPException(403, "the form is not of this session: load the page again, and send it again")
    return form
