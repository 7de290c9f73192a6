"""Tags in Avro schemas: `confluent:tags` of records and fields.

Knows nothing of what they are for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from barnabas.registry.compatibility import tags
from barnabas.registry.compatibility.avro_json import loaded, written
from barnabas.registry.compatibility.avro_schema import absolute_name
from barnabas.registry.compatibility.tags import FIELD, RECORD, Entity

JsonObject = dict[str, Any]


def top_level_fields(text: str) -> list[str]:
    schema = loaded(text)
    if not isinstance(schema, dict):
        return []
    return [each["name"] for each in cast(JsonObject, schema).get("fields", ())]


def found(text: str) -> dict[Entity, list[str]]:
    """By the full name of the record, with the field's behind it."""
    return tags.told(_entities(loaded(text), ""))


def changed(
    text: str, to_add: Mapping[Entity, Sequence[str]], to_remove: Mapping[Entity, Sequence[str]]
) -> str:
    """With some tags and without others; what is in both stays. Raises: InvalidSchemaError."""
    schema = loaded(text)
    tags.change(_entities(schema, ""), to_add, to_remove, _is_meant)
    return written(schema)


def _is_meant(asked: Entity, entity: Entity) -> bool:
    """A record may be named without its namespace."""
    (path, kind), (full, own_kind) = asked, entity
    return kind == own_kind and (full == path or _without_namespace(full, kind) == path)


def _without_namespace(path: str, kind: str) -> str:
    return ".".join(path.split(".")[-2 if kind == FIELD else -1 :])


def _entities(schema: Any, space: str) -> Iterator[tuple[Entity, JsonObject]]:
    if isinstance(schema, list):
        for branch in cast(list[Any], schema):
            yield from _entities(branch, space)
    if not isinstance(schema, dict):
        return
    node = cast(JsonObject, schema)
    if node["type"] in ("record", "error"):
        full_name, own = absolute_name(node, space)
        yield (full_name, RECORD), node
        for each in node["fields"]:
            yield (f"{full_name}.{each['name']}", FIELD), each
            yield from _entities(each["type"], own)
        return
    for part in ("items", "values", "type"):
        yield from _entities(node.get(part), space)
