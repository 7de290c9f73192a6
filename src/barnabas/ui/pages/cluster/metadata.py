"""The quorum that keeps the cluster's metadata, and the features that it has settled on."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.inputs import told
from barnabas.ui.rendering import render


async def quorum(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    found, problem = await told(access.admin.describe_metadata_quorum())
    roles = [] if found is None else [("voter", found.voters), ("observer", found.observers)]
    ends = (
        [] if found is None else [r.log_end_offset for r in found.voters if r.replica_id == found.leader_id]
    )
    end = max(ends, default=0)
    rows = [
        (
            each,
            role,
            max(end - each.log_end_offset, 0),
            () if found is None else found.endpoints.get(each.replica_id, ()),
        )
        for role, replicas in roles
        for each in sorted(replicas, key=lambda each: each.replica_id)
    ]
    return render(
        request,
        "cluster/quorum.html",
        title="Quorum",
        tab="quorum",
        quorum=found,
        rows=rows,
        problem_of_page=problem,
    )


async def features(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    found, problem = await told(access.admin.describe_features())
    rows = (
        []
        if found is None
        else [
            (name, found.finalized.get(name), found.supported.get(name))
            for name in sorted({*found.finalized, *found.supported})
        ]
    )
    return render(
        request, "cluster/features.html", title="Features", tab="features", rows=rows, problem_of_page=problem
    )


routes = [Route("/cluster/quorum", quorum), Route("/cluster/features", features)]
