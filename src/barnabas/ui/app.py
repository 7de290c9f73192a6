"""The application: the pages of one cluster or of several under one roof, with what each answer needs around
it, and who may come in."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from barnabas.errors import InvalidSettingError, UnknownSettingError
from barnabas.registry_server.access import Users, read_users
from barnabas.ui.audit import AuditLog
from barnabas.ui.below_path import BelowPath, base_path
from barnabas.ui.cluster_app import make_cluster_app, refused
from barnabas.ui.limits import BodyLimit
from barnabas.ui.login import Login
from barnabas.ui.named_cluster import NamedCluster
from barnabas.ui.pages import clusters
from barnabas.ui.roles import ROLES_OF_USERS
from barnabas.ui.security import SecurityHeaders
from barnabas.ui.settings import UiSettings

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
WILDCARDS = ("0.0.0.0", "::")


def make_app(settings: UiSettings) -> Starlette:
    """An ASGI application, whose lifespan asks the clusters. Raises: InvalidSettingError; in the lifespan
    also UnknownSettingError."""
    base = base_path(settings)
    doors, ways_in = _doors(settings)
    hosts = _allowed_hosts(settings)
    audit = AuditLog(settings.audit_log)
    named = [
        NamedCluster(name, make_cluster_app(_of_one(settings, name), audit, name))
        for name in settings.clusters
    ]
    apps = [each.app for each in named] or [make_cluster_app(settings, audit)]
    pages: list[BaseRoute] = [Mount("", apps[0])]
    if named:
        pages = [*clusters.routes(named), *(Mount(each.path, each.app) for each in named)]
    _refuse_names_of_pages(base, [*pages, *apps[0].routes])

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with contextlib.AsyncExitStack() as ends:
            ends.callback(audit.close)
            for inner in apps:
                try:
                    await ends.enter_async_context(inner.router.lifespan_context(inner))
                except (InvalidSettingError, UnknownSettingError) as error:
                    if inner.state.name is None:
                        raise
                    raise InvalidSettingError(f"cluster {inner.state.name}: {error}") from None
            yield

    app = Starlette(
        lifespan=lifespan,
        routes=[
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
            *ways_in,
            *pages,
        ],
        middleware=[
            Middleware(BelowPath, path=base),
            Middleware(SecurityHeaders, is_https=(settings.public_url or "").startswith("https:")),
            # A page elsewhere whose name is made to lead here would otherwise see what this browser sees.
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
            Middleware(BodyLimit),
            # Sessions end with the process: nothing in them is worth a key that has to be kept.
            Middleware(
                SessionMiddleware,
                secret_key=secrets.token_urlsafe(32),
                # Browsers send cookies to all ports of a host: pages side by side would end each other's.
                session_cookie=f"session-{settings.port}" if settings.port else "session",
                same_site="lax",
                path=base or "/",
            ),
            *doors,
        ],
        exception_handlers={HTTPException: refused},
    )
    app.router.redirect_slashes = False
    app.state.settings = settings
    app.state.menu = []
    app.state.name = None
    app.state.clusters = named
    for inner in apps:
        inner.state.clusters = named
    return app


def _of_one(settings: UiSettings, name: str) -> UiSettings:
    cluster = settings.clusters[name]
    return replace(
        settings,
        client=cluster.client,
        registry=cluster.registry,
        registry_settings=cluster.registry_settings,
        clusters={},
    )


def _doors(settings: UiSettings) -> tuple[list[Middleware], list[Route]]:
    """What lets users in, and the pages where they log in. Raises: InvalidSettingError."""
    if settings.users is not None and settings.oidc is not None:
        raise InvalidSettingError("users and oidc are two ways to log in: take one")
    if settings.users is not None:
        return [Middleware(Login, users=Users(read_users(settings.users, tuple(ROLES_OF_USERS))))], []
    if settings.oidc is not None:
        # An extra of its own weight, which most pages do without.
        from barnabas.ui.single_sign_on import SingleSignOn, login_routes

        return [Middleware(SingleSignOn)], login_routes(settings.oidc, settings.public_url)
    return [], []


def _allowed_hosts(settings: UiSettings) -> list[str]:
    public = [] if settings.public_url is None else [urlsplit(settings.public_url).hostname or ""]
    if settings.host in WILDCARDS and not settings.allowed_hosts and not public:
        return ["*"]
    return [*LOCAL_HOSTS, settings.host, *settings.allowed_hosts, *public]


def _refuse_names_of_pages(base: str, routes: list[BaseRoute]) -> None:
    """A proxy may take `base` off or leave it: a path must not mean either. Raises: InvalidSettingError."""
    paths = [route.path for route in routes if isinstance(route, Route | Mount)]
    first = {path.split("/")[1] for path in (*paths, "/static", "/login", "/logout") if path.count("/")}
    if base.split("/")[1:2] and base.split("/")[1] in first - {""}:
        raise InvalidSettingError(
            f"the page cannot be at {base}, as it has a page of that name: take another"
        )
