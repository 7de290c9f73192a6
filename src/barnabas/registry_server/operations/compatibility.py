"""Whether a schema may follow others, in the words of the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.registry.compatibility.difference import Sides
from barnabas.registry.errors import InvalidSchemaError
from barnabas.registry_server import api_errors
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import JsonObject
from barnabas.registry_server.operations import parsing, settings
from barnabas.registry_server.operations.requests import Draft
from barnabas.registry_server.records import StoredSchema
from barnabas.registry_server.state import RegistryState

LONGEST_QUOTED = 10 * 1024


def check(
    state: RegistryState, subject: str, draft: Draft, earlier: Sequence[StoredSchema], *, normalize: bool
) -> list[str]:
    """Why a schema that is asked about may not follow `earlier`, the oldest first. Raises: ApiError."""
    config = settings.config_in_scope(state, subject)
    if not draft.content.text.strip():
        raise api_errors.invalid_schema("Empty schema")
    normalize = normalize or bool(config.get("normalize"))
    content = parsing.canonical(
        state, subject, draft.content, normalize=normalize and not settings.is_importing(state, subject)
    )
    return messages(state, subject, config, content, earlier)


def messages(
    state: RegistryState, subject: str, config: JsonObject, content: Content, earlier: Sequence[StoredSchema]
) -> list[str]:
    """Raises: ApiError."""
    found: list[str] = []
    if settings.validates_fields(config):
        found += _of_reserved_fields(content, earlier[-1].content if earlier else None)
    if "compatibilityGroup" in config:
        group = settings.group_of(config, content)
        earlier = [each for each in earlier if settings.group_of(config, each.content) == group]
    level: str = config["compatibilityLevel"]
    way, _, reach = level.partition("_")
    if way != "NONE":
        for each in reversed(earlier if reach else earlier[-1:]):
            differences = _between(state, subject, way, content, each, config)
            found += differences
            if differences:
                break
    if found:
        validates = "true" if settings.validates_fields(config) else "false"
        found.append(f"{{validateFields: '{validates}', compatibility: '{level}'}}")
    return found


def _between(
    state: RegistryState, subject: str, way: str, content: Content, other: StoredSchema, config: JsonObject
) -> list[str]:
    if content.type != other.content.type:
        return ["Incompatible because of different schema type"]
    compare = parsing.format_of(content).differences
    new = content.text, parsing.references(state, subject, content)
    old = other.content.text, parsing.references(state, other.subject, other.content)

    def read(
        reader: tuple[str, dict[str, str]], writer: tuple[str, dict[str, str]], sides: Sides
    ) -> list[str]:
        return [
            str(each)
            for each in compare(
                reader[0],
                writer[0],
                reader_references=reader[1],
                writer_references=writer[1],
                sides=sides,
                is_lenient=config.get("compatibilityPolicy") == "LENIENT",
            )
        ]

    try:
        forward = read(old, new, Sides("old", "new")) if way in ("FORWARD", "FULL") else []
        backward = read(new, old, Sides("new", "old")) if way in ("BACKWARD", "FULL") else []
    except InvalidSchemaError as error:
        raise parsing.invalid(content, error) from None
    if forward if way == "FORWARD" else backward:
        backward += [f"{{oldSchemaVersion: {other.version}}}", _quoted(other.content.text)]
    return forward + backward


def _quoted(text: str) -> str:
    if len(text) <= LONGEST_QUOTED:
        return f"{{oldSchema: '{text}'}}"
    return f"{{oldSchema: <truncated> '{text[:LONGEST_QUOTED]}...'}}"


def _of_reserved_fields(content: Content, previous: Content | None) -> list[str]:
    reserved = content.reserved_fields
    gone = [] if previous is None else [each for each in previous.reserved_fields if each not in reserved]
    found = [
        f"The new schema has reserved field {field} removed from its metadata which is present in the old "
        "schema's metadata."
        for field in gone
    ]
    fields: Callable[[str], Sequence[str]] = parsing.format_of(content).top_level_fields
    names = fields(content.text) if reserved else ()
    return found + [
        f"The new schema has field that conflicts with the reserved field {field}."
        for field in reserved
        if field in names
    ]
