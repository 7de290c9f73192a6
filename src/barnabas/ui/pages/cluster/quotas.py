"""How much clients may do: quotas of users, clients and addresses."""

from __future__ import annotations

import math
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.types import ClientQuotaEntity
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, tell
from barnabas.ui.inputs import objection, told
from barnabas.ui.rendering import paged, render, to
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form

DEFAULT = "<default>"
KINDS = ("user", "client-id", "ip")
QUOTAS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)


async def quotas(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    found, problem = await told(access.admin.describe_client_quotas())
    wanted = request.query_params.get("q", "").casefold()
    rows = [
        (_names(entity), quota, value)
        for entity, values in (found or {}).items()
        for quota, value in sorted(values.items())
        if wanted in str(entity).casefold()
    ]
    rows.sort(key=lambda row: ([row[0].get(kind, "") for kind in KINDS], row[1]))
    return render(
        request,
        "cluster/quotas.html",
        title="Quotas",
        tab="quotas",
        rows=paged(request, rows),
        kinds=KINDS,
        quotas=QUOTAS,
        default=DEFAULT,
        problem_of_page=problem,
    )


async def set_quota(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN, shows=("value",))
    access: ClusterAccess = request.app.state.access
    entity, name = _entity(form), form.get("quota", "").strip()
    change = {entity: {name: None if form.get("do") == "remove" else _value(form.get("value", ""))}}
    if not name:
        raise HTTPException(400, "name the quota, producer_byte_rate for instance")
    if form.get("do") == "check":
        problem = await objection(access.admin.alter_client_quotas(change, validate_only=True))
        said = f"{name} of {entity} could be {form.get('value')}. Nothing was changed."
        tell(request, *(("done", said) if problem is None else ("error", problem)))
        return to(request, "/cluster/quotas")
    said = f"{name} of {entity} " + (
        "is no more" if form.get("do") == "remove" else f"is {form.get('value')}"
    )
    return await changed(
        request, access.admin.alter_client_quotas(change), "/cluster/quotas", said, renews=False
    )


def _names(entity: ClientQuotaEntity) -> dict[str, str]:
    return {kind: DEFAULT if name is None else name for kind, name in entity.names.items()}


def _entity(form: Mapping[str, str]) -> ClientQuotaEntity:
    """Raises: HTTPException (400)."""
    named = {kind: form[kind].strip() for kind in KINDS if form.get(kind, "").strip()}
    if not named:
        raise HTTPException(
            400, f"name whom the quota is for: a user, a client id or an address, or {DEFAULT}"
        )
    return ClientQuotaEntity({kind: None if name == DEFAULT else name for kind, name in named.items()})


def _value(text: str) -> float:
    """Raises: HTTPException (400)."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise HTTPException(400, f"value: {text!r} is no number")
    return found


routes = [Route("/cluster/quotas", quotas), Route("/cluster/quotas", set_quota, methods=["POST"])]
