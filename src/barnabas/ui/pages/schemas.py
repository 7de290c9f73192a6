"""A schema registry: its subjects, their versions and what changed between them, and whether a schema would
be compatible."""

from __future__ import annotations

import difflib
import json

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.aio import Registry
from barnabas.errors import BarnabasError
from barnabas.registry.schemas import RegistrySettings, Schema
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import number
from barnabas.ui.rendering import paged, render


async def subjects(request: Request) -> Response:
    wanted = request.query_params.get("q", "").casefold()
    found = sorted(name for name in await _registry(request).subjects() if wanted in name.casefold())
    return render(request, "subjects.html", title="Schemas", rows=paged(request, found))


async def subject(request: Request) -> Response:
    """A version; by POST with a schema that is checked against it, which changes nothing."""
    registry = _registry(request)
    name = request.query_params.get("subject", "")
    versions = await registry.versions(name)
    wanted = number(dict(request.query_params), "version", versions[-1])
    if wanted not in versions:
        raise HTTPException(404, f"subject {name!r} has no version {wanted}")
    shown = await registry.version(name, wanted)
    before = [version for version in versions if version < wanted]
    text = readable(shown.schema)
    difference: list[str] = []
    if before:
        earlier = await registry.version(name, before[-1])
        lines = difflib.unified_diff(
            readable(earlier.schema).splitlines(),
            text.splitlines(),
            f"version {before[-1]}",
            f"version {wanted}",
            lineterm="",
        )
        difference = list(lines)
    verdict = None
    tried = ""
    problem_of_check: str | None = None
    if request.method == "POST":
        tried = str((await request.form()).get("schema", ""))
        try:
            verdict = await registry.check(name, Schema(tried, shown.schema.type), version=wanted)
        except BarnabasError as error:
            problem_of_check = str(error)
    settings: RegistrySettings = await registry.settings(name, default_to_global=True)
    return render(
        request,
        "subject.html",
        title=name,
        subject=name,
        versions=versions,
        shown=shown,
        text=text,
        difference=difference,
        level=settings.compatibility,
        verdict=verdict,
        tried=tried,
        problem_of_check=problem_of_check,
    )


def readable(schema: Schema) -> str:
    """JSON over several lines; a .proto file as it is."""
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except ValueError:
        return schema.text


def _registry(request: Request) -> Registry:
    """Raises: HTTPException (404)."""
    access: ClusterAccess = request.app.state.access
    if access.registry is None:
        raise HTTPException(404, "no registry was named: start the page with --registry URL")
    return access.registry


routes = [
    Route("/schemas", subjects),
    Route("/schema", subject, methods=["GET", "POST"]),
]
