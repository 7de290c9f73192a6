"""Settings of topics and brokers: read, checked by the brokers, changed, and taken back to the default."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from barnabas.client.admin.types import ConfigEntry, ConfigResource
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, tell
from barnabas.ui.inputs import objection
from barnabas.ui.pages.config_rows import ConfigRow, config_rows, told_change
from barnabas.ui.rendering import to
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form


async def shown_configs(request: Request, resource: ConfigResource) -> list[ConfigRow]:
    """Those that the search finds. Raises: BarnabasError."""
    found = await _configs(request, resource, documentation=True)
    return config_rows(resource, found, request.query_params.get("q", ""))


async def change_config(request: Request, resource: ConfigResource, back: str) -> Response:
    """What the form of a setting asks for."""
    form = await sent_form(request, Role.ADMIN, shows=("value",))
    access: ClusterAccess = request.app.state.access
    name = form.get("name", "")
    value = None if form.get("to") == "default" else form.get("value", "")
    if not name:
        raise HTTPException(400, "no setting is named")
    wanted = {resource: {name: value}}
    found = await _configs(request, resource)
    if form.get("to") == "check":
        problem = await objection(access.admin.alter_configs(wanted, validate_only=True))
        said = f"{told_change(resource, found, name, value)} would be taken. Nothing was changed."
        tell(request, *(("done", said) if problem is None else ("error", problem)))
        return to(request, back)
    shown = "what was given" if name in found and found[name].is_sensitive else value
    told = f"{name} has its default again" if value is None else f"{name} is {shown}"
    return await changed(request, access.admin.alter_configs(wanted), back, told)


async def _configs(
    request: Request, resource: ConfigResource, *, documentation: bool = False
) -> Mapping[str, ConfigEntry]:
    access: ClusterAccess = request.app.state.access
    found = await access.admin.describe_configs(
        [resource], include_synonyms=True, include_documentation=documentation
    )
    return found[resource]
