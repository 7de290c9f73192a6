"""JSON Schemas of dataclasses and of Pydantic models, and their instances in JSON and out of it."""

from __future__ import annotations

import base64
import datetime
import decimal
import enum
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast, get_args, get_origin

from barnabas.registry.serializers.models import (
    REQUIRED,
    ModelError,
    branches_of,
    fields_of,
    is_model,
    is_pydantic,
    symbols_of,
    without_notes,
)

DRAFT = "http://json-schema.org/draft-07/schema#"
_SIMPLE: dict[Any, dict[str, Any]] = {
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    decimal.Decimal: {"type": "string"},
    uuid.UUID: {"type": "string", "format": "uuid"},
}
# How texts of JSON become what fields have.
TEXTS: dict[Any, Callable[[Any], Any]] = {
    bytes: base64.b64decode,
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    decimal.Decimal: decimal.Decimal,
    uuid.UUID: uuid.UUID,
}


def json_schema_of(kind: type[Any]) -> str:
    """The object that a class describes; a Pydantic model says it itself. Raises: ModelError."""
    if is_pydantic(kind):
        return json.dumps(cast(Any, kind).model_json_schema())
    definitions: dict[str, Any] = {}
    described = _object(kind, definitions)
    found: dict[str, Any] = {"$schema": DRAFT, **described}
    # What refers to itself is defined, too.
    if definitions:
        found["definitions"] = definitions
    return json.dumps(found)


def _object(kind: type[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in fields_of(kind):
        schema = dict(_type_of(field.hint, f"{kind.__name__}.{field.name}", definitions))
        if field.default is REQUIRED:
            required.append(field.name)
        else:
            schema["default"] = in_json(field.default)
        if field.doc is not None:
            schema["description"] = field.doc
        properties[field.name] = schema
    found: dict[str, Any] = {"title": kind.__name__, "type": "object"}
    doc = kind.__dict__.get("__doc__")
    # Of dataclasses that have none, Python makes one up.
    if doc and not doc.startswith(f"{kind.__name__}("):
        found["description"] = doc.strip()
    return {**found, "properties": properties, "required": required, "additionalProperties": False}


def _type_of(hint: Any, place: str, definitions: dict[str, Any]) -> dict[str, Any]:
    hint, _ = without_notes(hint)
    branches = branches_of(hint)
    if branches is not None:
        return {"anyOf": [_type_of(branch, place, definitions) for branch in branches]}
    if hint is None:
        hint = type(None)
    if isinstance(hint, type) and hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple, set, frozenset) and arguments:
        return {"type": "array", "items": _type_of(arguments[0], f"{place}[]", definitions)}
    if origin is dict and arguments[0] is str:
        values = _type_of(arguments[1], f"{place}[]", definitions)
        return {"type": "object", "additionalProperties": values}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": list(symbols_of(hint))}
    if isinstance(hint, type) and is_model(hint):
        name = hint.__name__
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _object(hint, definitions)
        return {"$ref": f"#/definitions/{name}"}
    raise ModelError(f"{place} is {hint}, which has no type in JSON")


def in_json(value: Any) -> Any:
    """What a value is in JSON: models as objects, times and the like as texts."""
    kind = value.__class__
    if kind in (str, int, float, bool) or value is None:
        return value
    if isinstance(value, Mapping):
        return {key: in_json(part) for key, part in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [in_json(part) for part in cast(list[Any], value)]
    if is_pydantic(kind):
        return value.model_dump(mode="json")
    if is_model(kind):
        return {field.name: in_json(getattr(value, field.name)) for field in fields_of(kind)}
    if isinstance(value, enum.Enum):
        return next(symbol for symbol, member in symbols_of(kind).items() if member is value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value
