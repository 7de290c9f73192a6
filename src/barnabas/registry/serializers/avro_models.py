"""Avro schemas of dataclasses and of Pydantic models."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import uuid
from typing import Any, Literal, cast, get_args, get_origin

from barnabas.formats.avro_values import AvroDuration
from barnabas.registry.serializers.models import (
    REQUIRED,
    ModelError,
    ModelField,
    branches_of,
    fields_of,
    is_model,
    plain,
    symbols_of,
    without_notes,
)
from barnabas.values import frozen

_SIMPLE: dict[Any, Any] = {
    type(None): "null",
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    bytes: "bytes",
    datetime.datetime: {"type": "long", "logicalType": "timestamp-micros"},
    datetime.date: {"type": "int", "logicalType": "date"},
    datetime.time: {"type": "long", "logicalType": "time-micros"},
    uuid.UUID: {"type": "string", "logicalType": "uuid"},
}
_DURATION = {"type": "fixed", "name": "duration", "size": 12, "logicalType": "duration"}


@frozen
class InAvro:
    """What a field is in Avro, for `Annotated[Decimal, InAvro({"type": "bytes", "logicalType": "decimal",
    "precision": 10, "scale": 2})]`, `Annotated[int, InAvro("int")]`."""

    schema: Any


def avro_schema_of(kind: type[Any]) -> str:
    """The record that a class describes. `__avro_namespace__` of a class is its namespace. Raises:
    ModelError."""
    return json.dumps(_Writer().type_of(kind, kind.__name__))


class _Writer:
    def __init__(self) -> None:
        # By full names; and the namespace that what is described now lies in.
        self._written: dict[str, Any] = {}
        self._namespace = ""

    def type_of(self, hint: Any, place: str) -> Any:
        hint, notes = without_notes(hint)
        for note in notes:
            if isinstance(note, InAvro):
                return note.schema
        branches = branches_of(hint)
        if branches is not None:
            return [self.type_of(branch, place) for branch in branches]
        if hint is None:
            return "null"
        if isinstance(hint, type) and hint in _SIMPLE:
            return _SIMPLE[hint]
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Literal and all(isinstance(value, str) for value in arguments):
            return "string"
        if origin in (list, tuple, set, frozenset) and arguments:
            return {"type": "array", "items": self.type_of(arguments[0], f"{place}[]")}
        if origin is dict and arguments[0] is str:
            return {"type": "map", "values": self.type_of(arguments[1], f"{place}[]")}
        if isinstance(hint, type):
            if is_model(hint):
                return self._record(hint)
            if issubclass(hint, enum.Enum):
                return self._enum(hint)
            if hint is decimal.Decimal:
                raise ModelError(
                    f"{place} is a Decimal of any size, which Avro does not have: write "
                    'Annotated[Decimal, InAvro({"type": "bytes", "logicalType": "decimal", "precision": '
                    '..., "scale": ...})]'
                )
            if issubclass(hint, AvroDuration):
                return self._named(hint, dict(_DURATION))
        raise ModelError(f"{place} is {hint}, which has no type in Avro")

    def _named(self, what: Any, schema: dict[str, Any]) -> Any:
        """The first time with all of it, and then by its name."""
        name = f"{self._namespace}.{schema['name']}" if self._namespace else schema["name"]
        for known, written in self._written.items():
            if written is what:
                return known
        if name in self._written:
            raise ModelError(f"two types are called {name}: rename one")
        self._written[name] = what
        return schema

    def _enum(self, kind: type[enum.Enum]) -> Any:
        return self._named(kind, {"type": "enum", "name": kind.__name__, "symbols": list(symbols_of(kind))})

    def _record(self, kind: type[Any]) -> Any:
        outer = self._namespace
        own = kind.__dict__.get("__avro_namespace__")
        if own is not None:
            self._namespace = own
        record: dict[str, Any] = {"type": "record", "name": kind.__name__}
        found = self._named(kind, record)
        if found is record:
            if self._namespace != outer:
                record["namespace"] = self._namespace
            doc = kind.__dict__.get("__doc__")
            # Of dataclasses that have none, Python makes one up.
            if doc and not doc.startswith(f"{kind.__name__}("):
                record["doc"] = doc.strip()
            record["fields"] = [self._field(kind, field) for field in fields_of(kind)]
        self._namespace = outer
        return found

    def _field(self, kind: type[Any], field: ModelField) -> dict[str, Any]:
        place = f"{kind.__name__}.{field.name}"
        schema = self.type_of(field.hint, place)
        found: dict[str, Any] = {"name": field.name, "type": schema}
        if field.default is not REQUIRED:
            if isinstance(schema, list):
                # A default is of the first type.
                found["type"] = _with_first(cast(list[Any], schema), field.default)
            default = _in_json(plain(field.default))
            if default is not _NO_JSON:
                found["default"] = default
        if field.doc is not None:
            found["doc"] = field.doc
        return found


_NO_JSON: Any = object()


def _with_first(union: list[Any], default: Any) -> list[Any]:
    """The same union, with the type that a default has before the others."""
    wanted = _SIMPLE.get(type(default))
    first = [branch for branch in union if branch == wanted]
    return [*first, *(branch for branch in union if branch != wanted)] if first else union


def _in_json(value: Any) -> Any:
    """As a default is written; of logical types, which JSON has not, there is none."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list):
        parts = [_in_json(part) for part in cast(list[Any], value)]
        return _NO_JSON if _NO_JSON in parts else parts
    if isinstance(value, dict):
        found = {key: _in_json(part) for key, part in cast(dict[str, Any], value).items()}
        return _NO_JSON if _NO_JSON in found.values() else found
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return _NO_JSON
