"""Whether a schema may follow others, in the words of the original."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry.compatibility.difference import Sides
from barnabas.registry.compatibility.formats import FORMATS
from barnabas.registry.errors import InvalidSchemaError
from barnabas.registry_server import api_errors, work
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import JsonObject
from barnabas.registry_server.operations import parsing, settings
from barnabas.registry_server.operations.requests import Draft
from barnabas.registry_server.records import StoredSchema
from barnabas.registry_server.state import RegistryState
from barnabas.values import frozen

LONGEST_QUOTED = 10 * 1024


async def check(
    state: RegistryState, subject: str, draft: Draft, earlier: Sequence[StoredSchema], *, normalize: bool
) -> list[str]:
    """Why a schema that is asked about may not follow `earlier`, the oldest first. Raises: ApiError."""
    config = settings.config_in_scope(state, subject)
    if not draft.content.text.strip():
        raise api_errors.invalid_schema("Empty schema")
    normalize = normalize or bool(config.get("normalize"))
    content = await parsing.canonical(
        state, subject, draft.content, normalize=normalize and not settings.is_importing(state, subject)
    )
    return await messages(state, subject, config, content, earlier)


async def messages(
    state: RegistryState, subject: str, config: JsonObject, content: Content, earlier: Sequence[StoredSchema]
) -> list[str]:
    """Raises: ApiError."""
    found: list[str] = []
    if settings.validates_fields(config):
        found += await _of_reserved_fields(content, earlier[-1].content if earlier else None)
    if "compatibilityGroup" in config:
        group = settings.group_of(config, content)
        earlier = [each for each in earlier if settings.group_of(config, each.content) == group]
    level: str = config["compatibilityLevel"]
    way, _, reach = level.partition("_")
    if way != "NONE" and earlier:
        compared = tuple(
            _text_of(state, each.subject, each.content, each.version)
            for each in reversed(earlier if reach else earlier[-1:])
        )
        is_lenient = config.get("compatibilityPolicy") == "LENIENT"
        try:
            found += await work.done(
                _differences, way, is_lenient, _text_of(state, subject, content), compared
            )
        except InvalidSchemaError as error:
            raise parsing.invalid(content, error) from None
    if found:
        validates = "true" if settings.validates_fields(config) else "false"
        found.append(f"{{validateFields: '{validates}', compatibility: '{level}'}}")
    return found


@frozen
class _Text:
    """A schema with all that it refers to. `version`: 0 of one that is new."""

    type: str
    text: str
    references: parsing.References
    version: int


def _text_of(state: RegistryState, subject: str, content: Content, version: int = 0) -> _Text:
    return _Text(content.type, content.text, parsing.references(state, subject, content), version)


def _differences(way: str, is_lenient: bool, new: _Text, earlier: tuple[_Text, ...]) -> list[str]:
    """Of the first one of `earlier` from which there are any. Takes long. Raises: InvalidSchemaError."""
    for each in earlier:
        found = _between(way, is_lenient, new, each)
        if found:
            return found
    return []


def _between(way: str, is_lenient: bool, new: _Text, old: _Text) -> list[str]:
    if new.type != old.type:
        return ["Incompatible because of different schema type"]
    compare = FORMATS[new.type].differences

    def read(reader: _Text, writer: _Text, sides: Sides) -> list[str]:
        found = compare(
            reader.text,
            writer.text,
            reader_references=dict(reader.references),
            writer_references=dict(writer.references),
            sides=sides,
            is_lenient=is_lenient,
        )
        return [str(each) for each in found]

    forward = read(old, new, Sides("old", "new")) if way in ("FORWARD", "FULL") else []
    backward = read(new, old, Sides("new", "old")) if way in ("BACKWARD", "FULL") else []
    if forward if way == "FORWARD" else backward:
        backward += [f"{{oldSchemaVersion: {old.version}}}", _quoted(old.text)]
    return forward + backward


def _quoted(text: str) -> str:
    if len(text) <= LONGEST_QUOTED:
        return f"{{oldSchema: '{text}'}}"
    return f"{{oldSchema: <truncated> '{text[:LONGEST_QUOTED]}...'}}"


async def _of_reserved_fields(content: Content, previous: Content | None) -> list[str]:
    reserved = content.reserved_fields
    gone = [] if previous is None else [each for each in previous.reserved_fields if each not in reserved]
    found = [
        f"The new schema has reserved field {field} removed from its metadata which is present in the old "
        "schema's metadata."
        for field in gone
    ]
    names = await work.done(_top_level_fields, content.type, content.text) if reserved else ()
    return found + [
        f"The new schema has field that conflicts with the reserved field {field}."
        for field in reserved
        if field in names
    ]


def _top_level_fields(kind: str, text: str) -> Sequence[str]:
    """Takes long."""
    return FORMATS[kind].top_level_fields(text)
