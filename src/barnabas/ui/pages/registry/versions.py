"""A subject: its versions, what changed between two of them, what refers to what, and whether another schema
would be compatible."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.errors import BarnabasError
from barnabas.registry.compatibility.levels import LEVELS
from barnabas.registry.schemas import Compatibility, RegisteredSchema
from barnabas.ui.forms import number
from barnabas.ui.pages.registry.asking import (
    TYPES,
    compatibility_of,
    readable,
    references_text,
    referring_to,
    registry_of,
    schema_in,
    versions_of,
)
from barnabas.ui.rendering import render


async def subject(request: Request) -> Response:
    """A version; by POST with a schema that is checked against it, which changes nothing."""
    form: Mapping[str, str] = {}
    verdict: Compatibility | None = None
    problem: str | None = None
    name = request.query_params.get("subject", "")
    shown, versions, deleted = await _shown(request)
    if request.method == "POST":
        sent = {key: value for key, value in (await request.form()).items() if isinstance(value, str)}
        form = {"type": shown.schema.type, "references": references_text(shown.schema.references), **sent}
        against: int | Literal["all"] = "all" if form.get("against") == "all" else shown.version
        try:
            verdict = await registry_of(request).check(name, schema_in(form), version=against)
        except BarnabasError as error:
            problem = str(error)
    return await subject_page(
        request, shown, versions, deleted, form=form, verdict=verdict, problem_of_check=problem
    )


async def subject_page(
    request: Request,
    shown: RegisteredSchema,
    versions: list[int],
    deleted: set[int],
    **about_form: Any,
) -> Response:
    registry, name = registry_of(request), shown.subject
    earlier = [version for version in versions if version < shown.version]
    with_version = number(request.query_params, "with", earlier[-1] if earlier else 0)
    other = await registry.version(name, with_version, deleted=True) if with_version in versions else None
    level, is_own = await compatibility_of(registry, name)
    referring, referring_count = await referring_to(registry, name, shown.version)
    return render(
        request,
        "registry/subject.html",
        title=name,
        subject=name,
        versions=versions,
        deleted=deleted,
        shown=shown,
        text=readable(shown.schema),
        references=references_text(shown.schema.references),
        other=other,
        difference=[] if other is None else _difference(other, shown),
        level=level,
        has_own_level=is_own,
        levels=LEVELS,
        types=TYPES,
        referring=referring,
        referring_count=referring_count,
        **about_form,
    )


async def _shown(request: Request) -> tuple[RegisteredSchema, list[int], set[int]]:
    """The version that is asked for, the latest one that is not deleted if none is, and all of the subject.
    Raises: HTTPException (404), RegistryError."""
    registry, name = registry_of(request), request.query_params.get("subject", "")
    versions, deleted = await versions_of(registry, name)
    live = [version for version in versions if version not in deleted]
    wanted = number(request.query_params, "version", (live or versions)[-1])
    if wanted not in versions:
        raise HTTPException(404, f"subject {name!r} has no version {wanted}")
    return await registry.version(name, wanted, deleted=wanted in deleted), versions, deleted


def _difference(before: RegisteredSchema, after: RegisteredSchema) -> list[str]:
    return [
        *difflib.unified_diff(
            readable(before.schema).splitlines(),
            readable(after.schema).splitlines(),
            f"version {before.version}",
            f"version {after.version}",
            lineterm="",
        )
    ]


routes = [Route("/schema", subject, methods=["GET", "POST"])]
