"""Moves of replicas that are under way, how far each is, and ending them."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.replica_moves import bytes_left_of
from barnabas.client.admin.types import LogDirDescription
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, number
from barnabas.ui.inputs import told
from barnabas.ui.rendering import paged, render
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form


async def reassignments(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    found, problem = await told(access.admin.list_partition_reassignments())
    rows = paged(request, sorted((found or {}).items()))
    folders: Mapping[int, Mapping[str, LogDirDescription]] | None = {}
    if rows.shown:
        places = [tp for tp, _ in rows.shown]
        folders, _ = await told(access.log_dirs_of(places))
    return render(
        request,
        "cluster/reassignments.html",
        title="Reassignments",
        tab="reassignments",
        rows=rows,
        left=bytes_left_of(dict(rows.shown), folders or {}),
        problem_of_page=problem,
    )


async def cancel(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    partition = TopicPartition(form.get("topic", ""), number(form, "partition", -1))
    return await changed(
        request,
        access.admin.alter_partition_reassignments({partition: None}),
        "/cluster/reassignments",
        f"the move of {partition} was cancelled: its replicas stay where they were",
    )


routes = [
    Route("/cluster/reassignments", reassignments),
    Route("/cluster/reassignments/cancel", cancel, methods=["POST"]),
]
