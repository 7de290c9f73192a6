"""Tags of records and fields, written into the schema itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.registry.compatibility.formats import FORMATS
from barnabas.registry.compatibility.tags import Entity
from barnabas.registry.errors import InvalidSchemaError
from barnabas.registry_server import api_errors, work
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import JsonObject
from barnabas.registry_server.operations import parsing
from barnabas.registry_server.state import RegistryState


async def found(content: Content) -> list[JsonObject]:
    """Each `{"schemaEntity": {"entityPath", "entityType"}, "tags": [...]}`. Raises: ApiError."""
    if parsing.format_of(content).tagging is None:
        return []
    try:
        return [
            {"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": names}
            for (path, kind), names in (await work.done(_found, content.type, content.text)).items()
        ]
    except InvalidSchemaError as error:
        raise parsing.invalid(content, error) from None


async def changed(
    state: RegistryState,
    subject: str,
    content: Content,
    to_add: Sequence[JsonObject],
    to_remove: Sequence[JsonObject],
) -> Content:
    """Raises: ApiError."""
    if not to_add and not to_remove:
        return content
    if parsing.format_of(content).tagging is None:
        raise api_errors.invalid_schema(f"Schemas of type {content.type} take no tags here")
    content = await parsing.canonical(state, subject, content)
    try:
        text = await work.done(
            _changed, content.type, content.text, _by_entity(to_add), _by_entity(to_remove)
        )
    except InvalidSchemaError as error:
        raise parsing.invalid(content, error) from None
    return content.with_text(text)


def _found(kind: str, text: str) -> Mapping[Entity, list[str]]:
    """Takes long. Raises: InvalidSchemaError."""
    tagging = FORMATS[kind].tagging
    return {} if tagging is None else tagging.found(text)


Tags = tuple[tuple[Entity, tuple[str, ...]], ...]


def _changed(kind: str, text: str, to_add: Tags, to_remove: Tags) -> str:
    """Takes long. Raises: InvalidSchemaError."""
    tagging = FORMATS[kind].tagging
    return text if tagging is None else tagging.changed(text, dict(to_add), dict(to_remove))


def _by_entity(listed: Sequence[JsonObject]) -> Tags:
    gathered: dict[tuple[str, str], list[str]] = {}
    for each in listed:
        entity = each.get("schemaEntity", {})
        if "entityPath" not in entity or "entityType" not in entity:
            raise api_errors.unprocessable("schemaEntity needs entityPath and entityType")
        path = entity["entityPath"].removeprefix(".")
        names = gathered.setdefault((path, entity["entityType"]), [])
        names += [name for name in each.get("tags", ()) if name not in names]
    return tuple((entity, tuple(names)) for entity, names in gathered.items())
