"""Tags inside of schemas in JSON: `confluent:tags` of records and fields.

Knows neither Avro nor JSON Schema, nor what tags are for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from barnabas.registry.errors import InvalidSchemaError

TAGS = "confluent:tags"
RECORD, FIELD = "sr_record", "sr_field"
Entity = tuple[str, str]
"""What tags may be on: its path, and whether it is a record or a field."""
Tagged = tuple[Entity, dict[str, Any]]
"""With the object within the schema that has its tags."""


def told(entities: Iterable[Tagged]) -> dict[Entity, list[str]]:
    found: dict[Entity, list[str]] = {}
    for entity, node in entities:
        tags = node.get(TAGS)
        if isinstance(tags, list) and tags:
            found.setdefault(entity, [str(tag) for tag in tags])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return found


def change(
    entities: Iterable[Tagged],
    to_add: Mapping[Entity, Sequence[str]],
    to_remove: Mapping[Entity, Sequence[str]],
    is_meant: Callable[[Entity, Entity], bool],
) -> None:
    """Adds some tags and takes others away; what is in both stays. `is_meant(asked, entity)`.

    Raises: InvalidSchemaError.
    """
    nodes = list(entities)
    for entity in dict.fromkeys([*to_add, *to_remove]):
        node = next((node for each, node in nodes if is_meant(entity, each)), None)
        if node is None:
            raise InvalidSchemaError(f"No matching path '{entity[0]}' found in the schema")
        kept = [tag for tag in node.get(TAGS, ()) if tag not in to_remove.get(entity, ())]
        kept += [tag for tag in to_add.get(entity, ()) if tag not in kept]
        node.pop(TAGS, None)
        if kept:
            node[TAGS] = kept
