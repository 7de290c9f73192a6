"""What pages of a registry ask of it, and what they read out of its forms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request

from barnabas.aio import Registry
from barnabas.registry.errors import RegistryError, SubjectNotFoundError, VersionNotFoundError
from barnabas.registry.schemas import Schema, SchemaReference, SubjectVersion
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.inputs import pairs_in

TYPES = ("AVRO", "JSON", "PROTOBUF")
MOST_REFERRING = 50
"""Schemas whose subjects are asked for, one by one."""


def registry_of(request: Request) -> Registry:
    """Raises: HTTPException (404)."""
    access: ClusterAccess = request.app.state.access
    if access.registry is None:
        raise HTTPException(404, "no registry was named: start the page with --registry URL")
    return access.registry


async def versions_of(registry: Registry, subject: str) -> tuple[list[int], set[int]]:
    """All of a subject, and those of them that were deleted and are kept. Raises: RegistryError."""
    every = await registry.versions(subject, deleted=True)
    try:
        live = await registry.versions(subject)
    except SubjectNotFoundError:
        live = []
    return sorted({*every, *live}), set(every) - set(live)


async def compatibility_of(registry: Registry, subject: str | None) -> tuple[str | None, bool]:
    """The level that holds, and whether it is set for the subject itself. Raises: RegistryError."""
    if subject is None:
        return (await registry.settings()).compatibility, True
    try:
        own = (await registry.settings(subject)).compatibility
    except RegistryError as error:
        # Registries differ in what they call a subject for which nothing is set.
        if error.status != 404:
            raise
        own = None
    if own is not None:
        return own, True
    return (await registry.settings(subject, default_to_global=True)).compatibility, False


async def referring_to(registry: Registry, subject: str, version: int) -> tuple[list[SubjectVersion], int]:
    """Who refers to a version, of the first schemas that do, and how many do. Raises: RegistryError."""
    try:
        ids = await registry.referenced_by(subject, version)
    except (SubjectNotFoundError, VersionNotFoundError):
        # It was deleted: nothing may refer to it.
        return [], 0
    found: set[tuple[str, int]] = set()
    for schema_id in ids[:MOST_REFERRING]:
        found |= {(each.subject, each.version) for each in await registry.versions_of(schema_id)}
    return [SubjectVersion(*each) for each in sorted(found)], len(ids)


def readable(schema: Schema) -> str:
    """JSON over several lines; a .proto file as it is."""
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema.text


def schema_in(form: Mapping[str, str]) -> Schema:
    """Raises: HTTPException (400)."""
    kind = form.get("type", "")
    if kind not in TYPES:
        raise HTTPException(400, f"type: {kind!r} is none of {', '.join(TYPES)}")
    references: list[SchemaReference] = []
    for name, place in pairs_in(form, "references").items():
        subject, _, version = place.rpartition(":")
        if not subject or not version.isdecimal() or len(version) > 9:
            raise HTTPException(400, f"references: {name}={place} is not NAME=SUBJECT:VERSION")
        references.append(SchemaReference(name, subject, int(version)))
    return Schema(form.get("schema", ""), kind, tuple(references))


def references_text(references: Iterable[SchemaReference]) -> str:
    """As `schema_in` reads them."""
    return "\n".join(f"{each.name}={each.subject}:{each.version}" for each in references)
