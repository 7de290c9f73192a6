"""Who is asking, by OpenID Connect: the browser is sent to an issuer, and comes back with who its user is.

Owns the way there and back, and what a session keeps of it. What users may do, pages ask in
`barnabas.ui.security`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol, cast

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth
from joserfc.errors import JoseError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from barnabas.ui.below_path import own_path
from barnabas.ui.forms import is_own
from barnabas.ui.rendering import base_path
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_token
from barnabas.ui.settings import OidcSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOGIN, CALLBACK, LOGOUT = "/login", "/login/callback", "/logout"
# A style sheet and the like are nobody's secret.
OPEN = "/static/"
USER_FIELD, NEXT_FIELD = "user", "next"
SESSION_SECONDS = 8 * 3600
NAME_CLAIMS = ("preferred_username", "email", "name", "sub")


class SingleSignOn:
    """An ASGI application that lets nobody through but those who have come back from the issuer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _is_open(own_path(scope)):
            request = Request(scope)
            user = request.session.get(USER_FIELD)
            if user is None or user["until"] <= time.time():
                await self._refusal(request)(scope, receive, send)
                return
            scope["ui.user"], scope["ui.role"], scope["ui.may_log_out"] = (
                user["name"],
                Role(user["role"]),
                True,
            )
        await self._app(scope, receive, send)

    @staticmethod
    def _refusal(request: Request) -> Response:
        """A page is what somebody looks at: parts of one, and what is sent, are no place to log in."""
        looks = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if not looks or "hx-request" in request.headers:
            return PlainTextResponse("the session has ended: load the page again", 401)
        request.session[NEXT_FIELD] = request.url.path + (
            f"?{request.url.query}" if request.url.query else ""
        )
        return RedirectResponse(base_path(request) + LOGIN, 303)


def _is_open(path: str) -> bool:
    """The way in is for those who are not in yet."""
    return path in (LOGIN, CALLBACK) or path.startswith(OPEN)


def login_routes(settings: OidcSettings, public_url: str | None) -> list[Route]:
    """To the issuer, back from it, and out. `public_url`: the page's address as browsers see it, where that
    is not the one they ask for."""
    issuer = _registered(settings)

    async def login(request: Request) -> Response:
        base = public_url or str(request.base_url)
        try:
            return await issuer.authorize_redirect(request, base.rstrip("/") + CALLBACK)
        except (httpx2.HTTPError, ValueError, KeyError, OAuthError) as error:
            raise HTTPException(502, f"the issuer {settings.issuer} cannot be asked: {error}") from None

    async def callback(request: Request) -> Response:
        try:
            token = await issuer.authorize_access_token(request)
        except (OAuthError, JoseError) as error:
            raise HTTPException(403, f"the issuer did not let you in: {error}") from None
        except (httpx2.HTTPError, ValueError) as error:
            raise HTTPException(502, f"the issuer {settings.issuer} cannot be asked: {error}") from None
        claims: dict[str, Any] = token.get("userinfo") or {}
        name = next((claims[claim] for claim in NAME_CLAIMS if claims.get(claim)), None)
        if name is None:
            raise HTTPException(403, "the issuer did not say who you are")
        home = base_path(request) + "/"
        wanted = request.session.pop(NEXT_FIELD, home)
        # A session that somebody else has begun in this browser is not gone on with.
        request.session.clear()
        request.session[USER_FIELD] = {
            "name": str(name),
            "role": settings.role(claims),
            "until": time.time() + SESSION_SECONDS,
        }
        return RedirectResponse(wanted if is_own(wanted) else home, 303)

    async def logout(request: Request) -> Response:
        await sent_token(request)
        request.session.clear()
        return PlainTextResponse("You are logged out here; the issuer may still know you.")

    return [
        Route(LOGIN, login),
        Route(CALLBACK, callback),
        Route(LOGOUT, logout, methods=["POST"]),
    ]


class _Issuer(Protocol):
    """What authlib makes."""

    async def authorize_redirect(self, request: Request, redirect_uri: str) -> Response: ...

    async def authorize_access_token(self, request: Request) -> dict[str, Any]: ...


def _registered(settings: OidcSettings) -> _Issuer:
    client: Any = cast("Any", OAuth()).register(
        "issuer",
        client_id=settings.client_id,
        client_secret=settings.client_secret.reveal(),
        server_metadata_url=f"{settings.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": settings.scope, "code_challenge_method": "S256"},
    )
    return client
