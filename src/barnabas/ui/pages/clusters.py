"""Where the page begins if it shows several clusters: the state of each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.named_cluster import NamedCluster
from barnabas.ui.rendering import base_path, render
from barnabas.values import frozen


@frozen
class ClusterState:
    """What is known at present, which may be nothing. `problem`: why it is not newer."""

    name: str
    path: str
    bootstrap: str
    brokers: int | None
    topics: int | None
    groups: int | None
    lag: int | None
    problem: str | None
    asked_at: float | None


def routes(named: Sequence[NamedCluster]) -> list[Route]:
    async def start(request: Request) -> Response:
        states = await asyncio.gather(*(_state(each) for each in named))
        return render(request, "cluster/clusters.html", title="Clusters", rows=states)

    def entrance(path: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def enter(request: Request) -> Response:
            return RedirectResponse(f"{base_path(request)}{path}/topics", 303)

        return enter

    return [Route("/", start), *(Route(each.path, entrance(each.path)) for each in named)]


async def _state(cluster: NamedCluster) -> ClusterState:
    """One that is away holds up no other: it is asked behind whoever looks."""
    access: ClusterAccess = cluster.app.state.access
    topics, groups = await asyncio.gather(access.topics.look(), access.groups.look())
    lags = [] if groups is None else [each.lag for each in groups.by_id.values() if each.lag is not None]
    return ClusterState(
        cluster.name,
        cluster.path,
        access.settings.client["bootstrap_servers"],
        None if topics is None else len(topics.cluster.nodes),
        None if topics is None else sum(not each.is_internal for each in topics.described.values()),
        None if groups is None else len(groups.by_id),
        sum(lags) if lags else None,
        access.problem,
        access.topics.asked_at,
    )
