"""Brokers: which there are, what each keeps and leads, and its settings; and the rules of access control."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.types import ConfigResource, ResourceType
from barnabas.errors import BarnabasError
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.figures import Folder
from barnabas.ui.forms import changed
from barnabas.ui.rendering import paged, render
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form


async def brokers(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    topics, sizes = await asyncio.gather(access.topics.get(), access.sizes.look())
    folders: Mapping[int, Mapping[str, Folder]] = {} if sizes is None else sizes.folders
    return render(
        request,
        "brokers.html",
        title="Brokers",
        cluster=topics.cluster,
        leads=topics.leads,
        keeps=topics.keeps,
        sizes={node: sum(f.size_bytes for f in found.values()) for node, found in folders.items()},
        folders=folders,
        is_known=sizes is not None,
        asked_at=access.topics.asked_at,
    )


async def broker(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    node = str(request.path_params["node"])
    if all(str(each.node_id) != node for each in (await access.admin.describe_cluster()).nodes):
        raise HTTPException(404, f"there is no broker {node}")
    resource = ConfigResource(ResourceType.BROKER, node)
    configs = (await access.admin.describe_configs([resource], include_documentation=True))[resource]
    wanted = request.query_params.get("q", "").casefold()
    rows = [entry for entry in configs.values() if wanted in entry.name.casefold()]
    rows.sort(key=lambda entry: (entry.is_default, entry.name))
    return render(request, "broker.html", title=f"Broker {node}", node=node, rows=rows)


async def change_setting(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    node = str(request.path_params["node"])
    value = None if form.get("to") == "default" else form.get("value", "")
    setting = form.get("name", "")
    change = access.admin.alter_configs({ConfigResource(ResourceType.BROKER, node): {setting: value}})
    told = f"{setting} has its default again" if value is None else f"{setting} is {value}"
    return await changed(request, change, f"/brokers/{node}", told)


async def acls(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    problem_of_acls: str | None = None
    found = []
    try:
        found = await access.admin.describe_acls()
    except BarnabasError as error:
        # As of a cluster that controls nobody's access.
        problem_of_acls = str(error)
    wanted = request.query_params.get("q", "").casefold()
    rows = sorted(
        (rule for rule in found if wanted in f"{rule.principal} {rule.resource_name}".casefold()),
        key=lambda rule: (rule.resource_type, rule.resource_name, rule.principal, rule.operation),
    )
    return render(
        request, "acls.html", title="ACLs", rows=paged(request, rows), problem_of_acls=problem_of_acls
    )


routes = [
    Route("/brokers", brokers),
    Route("/brokers/{node:int}", broker),
    Route("/brokers/{node:int}", change_setting, methods=["POST"]),
    Route("/acls", acls),
]
