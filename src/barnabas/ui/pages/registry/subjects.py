"""All subjects of a registry, and schemas by their ids."""

from __future__ import annotations

import uuid

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.registry.compatibility.levels import LEVELS
from barnabas.registry.errors import RegistryError
from barnabas.registry.schemas import SubjectVersion
from barnabas.ui.pages.registry.asking import TYPES, compatibility_of, readable, registry_of
from barnabas.ui.rendering import paged, render


async def subjects(request: Request) -> Response:
    registry = registry_of(request)
    wanted = request.query_params.get("q", "").casefold()
    live = set(await registry.subjects())
    every = live | set(await registry.subjects(deleted=True)) if _shows_deleted(request) else live
    level, _ = await compatibility_of(registry, None)
    return render(
        request,
        "registry/subjects.html",
        title="Schemas",
        rows=paged(request, sorted(name for name in every if wanted in name.casefold())),
        live=live,
        level=level,
        mode=await registry.mode(),
        levels=LEVELS,
        types=TYPES,
    )


async def schema(request: Request) -> Response:
    """By its id, or by the GUID that is the same in every registry."""
    registry = registry_of(request)
    said = request.query_params.get("id", "").strip()
    places: list[SubjectVersion] = []
    if said.isdecimal() and len(said) < 12:
        found = await registry.schema(int(said))
        places = await registry.versions_of(int(said), deleted=True)
    else:
        try:
            found = await registry.schema_by_guid(str(uuid.UUID(said)))
        except ValueError:
            raise HTTPException(400, f"id: {said!r} is neither a number nor a GUID") from None
    return render(
        request,
        "registry/schema.html",
        title=f"Schema {said}",
        shown=found,
        text=readable(found),
        places=sorted(places, key=lambda each: (each.subject, each.version)),
    )


async def no_schema(request: Request, error: Exception) -> Response:
    """What the registry says, with its own status."""
    assert isinstance(error, RegistryError)
    status = 404 if error.status == 404 else 502
    return render(request, "error.html", status=status, title="The registry refused this", message=str(error))


def _shows_deleted(request: Request) -> bool:
    return request.query_params.get("deleted") == "1"


routes = [Route("/schemas", subjects), Route("/schemas/schema", schema)]
