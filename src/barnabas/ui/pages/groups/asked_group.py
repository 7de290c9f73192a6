"""The group that an address names."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request

from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.figures import GroupSummary
from barnabas.ui.rendering import segment


async def asked_group(request: Request) -> GroupSummary:
    """The group that `id` names. Raises: HTTPException (404), BarnabasError."""
    access: ClusterAccess = request.app.state.access
    name = request.query_params.get("id", "")
    found = (await access.groups.get()).by_id.get(name) or (await access.groups.renewed()).by_id.get(name)
    if found is None:
        raise HTTPException(404, f"there is no group {name!r}")
    return found


def page_of(group: GroupSummary) -> str:
    return f"/group?id={segment(group.group_id)}"
