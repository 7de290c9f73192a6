"""The application: all pages under one roof, with what each answer needs around it."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncGenerator
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from barnabas.errors import BarnabasError, InvalidSettingError
from barnabas.registry_server.access import Users, read_users
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.decoding import RecordDecoder
from barnabas.ui.login import Login
from barnabas.ui.pages import brokers, faults, groups, queries, records, schemas, topics
from barnabas.ui.rendering import render, to
from barnabas.ui.security import SecurityHeaders
from barnabas.ui.settings import UiSettings
from barnabas.values import frozen

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
WILDCARDS = ("0.0.0.0", "::")


@frozen
class MenuItem:
    """`key` goes there after g."""

    path: str
    name: str
    key: str
    prefix: str
    """What the paths of its pages begin with."""


def make_app(settings: UiSettings) -> Starlette:
    """An ASGI application, whose lifespan asks the cluster. Raises: InvalidSettingError; in the lifespan also
    UnknownSettingError."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        access = ClusterAccess(settings)
        app.state.access = access
        app.state.decoder = RecordDecoder(access.registry, settings.masked)
        try:
            await access.start()
            yield
        finally:
            await access.close()

    if settings.users is not None and settings.oidc is not None:
        raise InvalidSettingError("users and oidc are two ways to log in: take one")
    doors: list[Middleware] = []
    ways_in: list[Route] = []
    if settings.users is not None:
        doors = [Middleware(Login, users=Users(read_users(settings.users)))]
    elif settings.oidc is not None:
        # An extra of its own weight, which most pages do without.
        from barnabas.ui.single_sign_on import SingleSignOn, login_routes

        doors, ways_in = [Middleware(SingleSignOn)], login_routes(settings.oidc)
    app = Starlette(
        lifespan=lifespan,
        routes=[
            Route("/", _home),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
            *topics.routes,
            *records.routes,
            *groups.routes,
            *queries.routes,
            *brokers.routes,
            *schemas.routes,
            *faults.routes,
            *ways_in,
        ],
        middleware=[
            Middleware(SecurityHeaders),
            # A page elsewhere whose name is made to lead here would otherwise see what this browser sees.
            Middleware(TrustedHostMiddleware, allowed_hosts=_allowed_hosts(settings), www_redirect=False),
            # Sessions end with the process: nothing in them is worth a key that has to be kept.
            Middleware(SessionMiddleware, secret_key=secrets.token_urlsafe(32), same_site="lax"),
            *doors,
        ],
        exception_handlers={HTTPException: _refused, BarnabasError: _failed},
    )
    app.state.menu = _menu(settings)
    return app


def _menu(settings: UiSettings) -> list[MenuItem]:
    """What there is to see with these settings."""
    shows_queries = settings.listener is not None or bool(settings.checkpoints)
    items = [
        (True, MenuItem("/topics", "Topics", "t", "/topics")),
        (True, MenuItem("/groups", "Groups", "g", "/group")),
        (shows_queries, MenuItem("/queries", "Queries", "q", "/quer")),
        (settings.registry is not None, MenuItem("/schemas", "Schemas", "s", "/schema")),
        (True, MenuItem("/brokers", "Brokers", "b", "/brokers")),
        (True, MenuItem("/acls", "ACLs", "a", "/acls")),
        (settings.faults is not None, MenuItem("/faults", "Faults", "f", "/faults")),
    ]
    return [item for is_there, item in items if is_there]


def _allowed_hosts(settings: UiSettings) -> list[str]:
    if settings.host in WILDCARDS and not settings.allowed_hosts:
        return ["*"]
    return [*LOCAL_HOSTS, settings.host, *settings.allowed_hosts]


async def _home(request: Request) -> Response:
    return to(request, "/topics")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return render(
        request, "error.html", status=error.status_code, title=str(error.status_code), message=error.detail
    )


async def _failed(request: Request, error: Exception) -> Response:
    return render(request, "error.html", status=502, title="The cluster says no", message=str(error))
