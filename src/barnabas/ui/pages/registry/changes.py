"""Changes of a registry: schemas registered and deleted, compatibility set."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.errors import BarnabasError
from barnabas.registry.compatibility.levels import LEVELS
from barnabas.registry.schemas import RegistrySettings
from barnabas.ui.forms import changed, number, tell
from barnabas.ui.pages.registry.asking import TYPES, registry_of, schema_in
from barnabas.ui.rendering import render, segment, to
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form

AS_THE_REGISTRY = "as the registry"


async def register(request: Request) -> Response:
    """Makes a schema a version of a subject. What the registry says against it is shown where the text is."""
    form = await sent_form(request, Role.ADMIN)
    registry, schema = registry_of(request), schema_in(form)
    name, normalizes = form.get("subject", "").strip(), form.get("normalize") == "1"
    if not name:
        raise HTTPException(400, "name the subject")
    problem: str | None = None
    try:
        verdict = await registry.check(name, schema, version="all", normalize=normalizes)
        if not verdict.is_compatible:
            problem = f"It is not compatible. {' '.join(verdict.messages)}"
    except BarnabasError as error:
        problem = str(error)
    if problem is not None or form.get("do") == "check":
        return render(
            request,
            "registry/new.html",
            title="Register a schema",
            form=form,
            name=name,
            types=TYPES,
            problem_of_schema=problem,
        )
    return await changed(
        request,
        registry.register(name, schema, normalize=normalizes),
        f"/schema?subject={segment(name)}",
        f"{name} has this schema",
        renews=False,
    )


async def delete(request: Request) -> Response:
    """A subject or one of its versions; permanently what was deleted before."""
    form = await sent_form(request, Role.ADMIN)
    registry, name = registry_of(request), form.get("subject", "")
    version, is_permanent = number(form, "version", 0), form.get("permanent") == "1"
    what = f"version {version} of {name}" if version else name
    back = f"/schema?subject={segment(name)}"
    if form.get("confirmed") != name:
        tell(request, "error", f"To delete {what}, type {name}.")
        return to(request, f"{back}&version={version}" if version else back)
    call: Awaitable[Any]
    if version:
        call = registry.delete_version(name, version, permanent=is_permanent)
    else:
        call = registry.delete_subject(name, permanent=is_permanent)
    permanently = " permanently" if is_permanent else ""
    # The last version takes the subject with it.
    return await changed(request, call, "/schemas", f"{what} was deleted{permanently}", renews=False)


async def set_level(request: Request) -> Response:
    """Of a subject, or of the whole registry."""
    form = await sent_form(request, Role.ADMIN)
    registry, level = registry_of(request), form.get("level", "")
    name = form.get("subject") or None
    back = "/schemas" if name is None else f"/schema?subject={segment(name)}"
    call: Awaitable[Any]
    if level == AS_THE_REGISTRY and name is not None:
        call, told = registry.delete_settings(name), f"{name} has the compatibility of the registry"
    elif level in LEVELS:
        call = registry.set_settings(RegistrySettings(level), name)
        told = f"the compatibility of {'the registry' if name is None else name} is {level}"
    else:
        raise HTTPException(400, f"level: {level!r} is none of {', '.join(LEVELS)}")
    return await changed(request, call, back, told, renews=False)


routes = [
    Route("/schemas", register, methods=["POST"]),
    Route("/schemas/level", set_level, methods=["POST"]),
    Route("/schema/delete", delete, methods=["POST"]),
]
