"""Tags of records and fields, written into the schema itself."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry.errors import InvalidSchemaError
from barnabas.registry_server import api_errors
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import JsonObject
from barnabas.registry_server.operations import parsing
from barnabas.registry_server.state import RegistryState


def found(content: Content) -> list[JsonObject]:
    """Each `{"schemaEntity": {"entityPath", "entityType"}, "tags": [...]}`. Raises: ApiError."""
    tagging = parsing.format_of(content).tagging
    if tagging is None:
        return []
    try:
        return [
            {"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": names}
            for (path, kind), names in tagging.found(content.text).items()
        ]
    except InvalidSchemaError as error:
        raise parsing.invalid(content, error) from None


def changed(
    state: RegistryState,
    subject: str,
    content: Content,
    to_add: Sequence[JsonObject],
    to_remove: Sequence[JsonObject],
) -> Content:
    """Raises: ApiError."""
    if not to_add and not to_remove:
        return content
    tagging = parsing.format_of(content).tagging
    if tagging is None:
        raise api_errors.invalid_schema(f"Schemas of type {content.type} take no tags here")
    content = parsing.canonical(state, subject, content)
    try:
        text = tagging.changed(content.text, _by_entity(to_add), _by_entity(to_remove))
    except InvalidSchemaError as error:
        raise parsing.invalid(content, error) from None
    return content.with_text(text)


def _by_entity(listed: Sequence[JsonObject]) -> dict[tuple[str, str], list[str]]:
    gathered: dict[tuple[str, str], list[str]] = {}
    for each in listed:
        entity = each.get("schemaEntity", {})
        if "entityPath" not in entity or "entityType" not in entity:
            raise api_errors.unprocessable("schemaEntity needs entityPath and entityType")
        path = entity["entityPath"].removeprefix(".")
        names = gathered.setdefault((path, entity["entityType"]), [])
        names += [name for name in each.get("tags", ()) if name not in names]
    return gathered
