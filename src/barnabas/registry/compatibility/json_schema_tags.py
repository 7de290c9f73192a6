"""Tags in JSON Schemas: `confluent:tags` of objects and properties, by Confluent's paths.

A path goes down what a schema is: `object.NAME` is a property, and `object` an object that is no property's
own; `array` its items, `anyof.0` the first of several, which are in Confluent's order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from barnabas.registry.compatibility import tags
from barnabas.registry.compatibility.json_schema_model import KINDS
from barnabas.registry.compatibility.json_schema_text import loaded, written
from barnabas.registry.compatibility.tags import FIELD, RECORD, Entity, Tagged
from barnabas.registry.errors import InvalidSchemaError

JsonObject = dict[str, Any]
Part = tuple[str, Any]
"""A kind of schema, and what of the schema is that: parts of a combination, or the schema itself."""
# In their order within a combination.
RANKS = (
    "ARRAY",
    "BOOLEAN",
    "COMBINED",
    "CONDITIONAL",
    "CONST",
    "EMPTY",
    "ENUM",
    "FALSE",
    "NOT",
    "NULL",
    "NUMBER",
    "OBJECT",
    "REFERENCE",
    "STRING",
    "TRUE",
)
DEEPEST = 200


def top_level_fields(text: str) -> list[str]:
    schema = json.loads(text)
    properties = cast(JsonObject, schema).get("properties") if isinstance(schema, dict) else None
    return list(cast(JsonObject, properties)) if isinstance(properties, dict) else []


def found(text: str) -> dict[Entity, list[str]]:
    return tags.told(_entities(loaded(text), "", 0, is_property=False))


def changed(
    text: str, to_add: Mapping[Entity, Sequence[str]], to_remove: Mapping[Entity, Sequence[str]]
) -> str:
    """With some tags and without others; what is in both stays. Raises: InvalidSchemaError."""
    schema = loaded(text)
    entities = _entities(schema, "", 0, is_property=False)
    tags.change(entities, to_add, to_remove, lambda asked, entity: asked == entity)
    return written(schema)


def _entities(schema: Any, scope: str, depth: int, *, is_property: bool) -> Iterator[Tagged]:
    if depth > DEEPEST:
        raise InvalidSchemaError(f"the JSON Schema is deeper than {DEEPEST} schemas")
    parts = _parts(schema)
    if len(parts) > 1:
        parts = [("allOf", [[part] for part in parts])]
    for part in parts:
        yield from _of_part(part, schema, scope, depth + 1, is_property=is_property)


def _of_part(part: Part, schema: Any, scope: str, depth: int, *, is_property: bool) -> Iterator[Tagged]:
    kind, what = part
    match kind:
        case "anyOf" | "allOf" | "oneOf":
            for number, each in enumerate(sorted(what, key=_order)):
                below = f"{scope}{kind.lower()}.{number}."
                if isinstance(each, list):
                    # A part of the schema itself.
                    [inner] = cast(list[Part], each)
                    yield from _of_part(inner, schema, below, depth, is_property=False)
                else:
                    yield from _entities(each, below, depth, is_property=False)
        case "ARRAY":
            if isinstance(what.get("items"), dict):
                yield from _entities(what["items"], f"{scope}array.", depth, is_property=False)
        case "OBJECT":
            if not is_property:
                yield (f"{scope}object", RECORD), what
            for name, each in what.get("properties", {}).items():
                path = f"{scope}object.{name}"
                if isinstance(each, dict):
                    yield (path, FIELD), cast(JsonObject, each)
                yield from _entities(each, f"{path}.", depth, is_property=True)
            for keyword in ("definitions", "$defs"):
                for name, each in what.get(keyword, {}).items():
                    below = f"{scope}object.{keyword}.{name}."
                    yield from _entities(each, below, depth, is_property=False)
        case "NOT":
            yield from _entities(what["not"], f"{scope}not.", depth, is_property=False)
        case "CONDITIONAL":
            for keyword in ("if", "then", "else"):
                if keyword in what:
                    below = f"{scope}conditional.{keyword}."
                    yield from _entities(what[keyword], below, depth, is_property=False)
        case _:
            pass


def _parts(schema: Any) -> list[Part]:
    """The kinds of a schema. Of several types each is a part of an anyOf."""
    if not isinstance(schema, dict):
        return [("TRUE" if schema else "FALSE", schema)]
    whole = cast(JsonObject, schema)
    if "$ref" in whole:
        return [("REFERENCE", whole)]
    parts: list[Part] = [("ENUM", whole)] if "enum" in whole else []
    parts += [
        (criterion, whole[criterion]) for criterion in ("allOf", "anyOf", "oneOf") if criterion in whole
    ]
    parts += [(keyword.upper(), whole) for keyword in ("not", "const") if keyword in whole]
    told = whole.get("type")
    types = cast(list[str], told if isinstance(told, list) else [told] if isinstance(told, str) else [])
    kinds = [KINDS[each] for each in types if each in KINDS]
    if isinstance(told, list):
        parts.append(("anyOf", [[(kind, whole)] for kind in kinds]))
    else:
        parts += [(kind, whole) for kind in kinds]
    if "OBJECT" not in kinds and "properties" in whole:
        parts.append(("OBJECT", whole))
    if "ARRAY" not in kinds and "items" in whole:
        parts.append(("ARRAY", whole))
    if {"if", "then", "else"} & whole.keys():
        parts.append(("CONDITIONAL", whole))
    return parts or [("EMPTY", whole)]


def _order(schema: Any) -> tuple[Any, ...]:
    """Of the parts of a combination: by kind, what is said of them, and what is in them."""
    own = cast(list[Part], schema) if isinstance(schema, list) else _parts(schema)
    kind, what = own[0] if len(own) == 1 else cast(Part, ("allOf", own))
    is_combined = kind in ("anyOf", "allOf", "oneOf")
    said = cast(JsonObject, schema) if isinstance(schema, dict) else {}
    words = [said.get(keyword) for keyword in ("title", "description", "default")]
    inside: tuple[Any, ...] = ()
    if is_combined:
        inside = (kind.lower(), len(what))
    elif kind == "OBJECT":
        inside = tuple(each for name in ("properties", "required") for each in _listed(what.get(name, ())))
    elif kind == "ENUM":
        inside = _listed(what["enum"])
    elif kind == "CONST":
        inside = (str(what["const"]),)
    return (
        RANKS.index("COMBINED" if is_combined else kind),
        *((word is not None, str(word)) for word in words),
        inside,
    )


def _listed(values: Any) -> tuple[int, list[str]]:
    return len(values), sorted(map(str, values))
