"""The pages of one cluster, as an application of its own: several stand beside each other under one roof.

Knows nothing of who may come in, which is `barnabas.ui.app`'s.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.errors import BarnabasError
from barnabas.registry.errors import RegistryError
from barnabas.ui.audit import AuditLog
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.named_cluster import MenuItem
from barnabas.ui.pages import faults, groups, queries, records, topic_changes, topics
from barnabas.ui.pages.cluster import routes as cluster
from barnabas.ui.pages.registry import routes as registry
from barnabas.ui.pages.registry.subjects import no_schema
from barnabas.ui.records.decoding import RecordDecoder
from barnabas.ui.rendering import render, to
from barnabas.ui.settings import UiSettings


def make_cluster_app(settings: UiSettings, audit: AuditLog, name: str | None = None) -> Starlette:
    """An ASGI application, whose lifespan asks the cluster. `name`: where there are several. Raises in the
    lifespan: InvalidSettingError, UnknownSettingError."""

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

    app = Starlette(
        lifespan=lifespan,
        routes=[
            Route("/", _home),
            *topics.routes,
            *topic_changes.routes,
            *records.routes,
            *groups.routes,
            *queries.routes,
            *cluster.routes,
            *registry.routes,
            *faults.routes,
        ],
        exception_handlers={HTTPException: refused, RegistryError: no_schema, BarnabasError: _failed},
    )
    # It would lead to the address by which a proxy has asked.
    app.router.redirect_slashes = False
    app.state.settings = settings
    app.state.audit = audit
    app.state.menu = _menu(settings)
    app.state.name = name
    app.state.clusters = []
    return app


def _menu(settings: UiSettings) -> list[MenuItem]:
    """What there is to see with these settings."""
    shows_queries = settings.listener is not None or bool(settings.checkpoints)
    items = [
        (True, MenuItem("/topics", "Topics", "t", "/topics")),
        (True, MenuItem("/groups", "Groups", "g", "/group")),
        (shows_queries, MenuItem("/queries", "Queries", "q", "/quer")),
        (settings.registry is not None, MenuItem("/schemas", "Schemas", "s", "/schema")),
        (True, MenuItem("/cluster", "Cluster", "c", "/cluster")),
        (settings.faults is not None, MenuItem("/faults", "Faults", "f", "/faults")),
    ]
    return [item for is_there, item in items if is_there]


async def _home(request: Request) -> Response:
    return to(request, "/topics")


async def refused(request: Request, error: Exception) -> Response:
    """The page of what there is not, and of what may not be."""
    assert isinstance(error, HTTPException)
    return render(
        request, "error.html", status=error.status_code, title=str(error.status_code), message=error.detail
    )


async def _failed(request: Request, error: Exception) -> Response:
    return render(request, "error.html", status=502, title="The cluster refused this", message=str(error))
