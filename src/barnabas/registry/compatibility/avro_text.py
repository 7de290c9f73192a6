"""Avro schemas as texts: as Avro's own library writes them, which is what Confluent's registry keeps, and
normalized.

Owns that order and spelling. What is no schema, `avro_schema` has refused before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from barnabas.registry.compatibility.avro_schema import PRIMITIVES, parse

JsonObject = dict[str, Any]
# What is no property of a user's own.
OF_SCHEMAS = frozenset(
    {"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"}
)
OF_FIELDS = frozenset({"default", "doc", "name", "order", "type", "aliases"})


def canonical(text: str, references: Mapping[str, str]) -> str:
    """Without spaces, fields in Avro's order, what was defined before by its name.

    Raises: InvalidSchemaError.
    """
    return _written(text, references, is_normal=False)


def normalized(text: str, references: Mapping[str, str]) -> str:
    """The same for all texts that mean the same. Raises: InvalidSchemaError."""
    return _written(text, references, is_normal=True)


def resolved(text: str, references: Mapping[str, str]) -> str:
    """With the definitions of what it refers to inside. Raises: InvalidSchemaError."""
    parse(text, list(references.values()), is_strict=False)
    definitions: dict[str, tuple[JsonObject, str]] = {}
    for each in references.values():
        _gather(_loaded(each), "", definitions)
    return _Writing(set(), is_normal=False, definitions=definitions).of(_loaded(text), "")


def _written(text: str, references: Mapping[str, str], *, is_normal: bool) -> str:
    parse(text, list(references.values()))
    known: dict[str, tuple[JsonObject, str]] = {}
    for each in references.values():
        _gather(_loaded(each), "", known)
    return _Writing(set(known), is_normal=is_normal).of(_loaded(text), "")


def _loaded(text: str) -> Any:
    return text.strip() if text.strip() in PRIMITIVES else json.loads(text)


def _gather(schema: Any, space: str, definitions: dict[str, tuple[JsonObject, str]]) -> None:
    """The named types that a schema defines, each with the namespace around it."""
    if isinstance(schema, list):
        for branch in cast(list[Any], schema):
            _gather(branch, space, definitions)
    if not isinstance(schema, dict):
        return
    found = cast(JsonObject, schema)
    kind = found.get("type")
    if not isinstance(kind, str):
        _gather(kind, space, definitions)
    elif kind in ("array", "map"):
        _gather(found["items" if kind == "array" else "values"], space, definitions)
    elif kind in ("record", "error", "enum", "fixed"):
        full_name, own = _name(found, space)
        definitions[full_name] = (found, space)
        for field in found.get("fields", ()) if kind in ("record", "error") else ():
            _gather(field["type"], own, definitions)


def _name(schema: Mapping[str, Any], space: str) -> tuple[str, str]:
    """The full name, and the namespace of what is inside."""
    name: str = schema["name"]
    if "." in name:
        return name, name.rpartition(".")[0]
    own: str = schema.get("namespace", space) or ""
    return (f"{own}.{name}" if own else name), own


class _Writing:
    def __init__(
        self,
        known: set[str],
        *,
        is_normal: bool,
        definitions: Mapping[str, tuple[JsonObject, str]] | None = None,
    ) -> None:
        self._known = known
        self._is_normal = is_normal
        self._definitions = definitions or {}

    def of(self, schema: Any, space: str) -> str:
        if isinstance(schema, list):
            return "[" + ",".join(self.of(branch, space) for branch in cast(list[Any], schema)) + "]"
        if isinstance(schema, str):
            return self._named(schema, space)
        found = cast(JsonObject, schema)
        kind = found["type"]
        if not isinstance(kind, str):
            return self.of(kind, space)
        if kind in ("record", "error", "enum", "fixed"):
            return self._definition(kind, found, space)
        parts = [f'"type":{_json(kind)}']
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            parts.append(f'"{part}":{self.of(found[part], space)}')
        elif kind not in PRIMITIVES:
            return self._named(kind, space)
        properties = self._properties(found, OF_SCHEMAS)
        if kind in PRIMITIVES and not properties:
            return _json(kind)
        return "{" + ",".join(parts + properties) + "}"

    def _named(self, name: str, space: str) -> str:
        if name in PRIMITIVES:
            return _json(name)
        full_name = name if "." in name or not space else f"{space}.{name}"
        if full_name not in self._known:
            if full_name not in self._definitions:
                # Of no namespace, named within one.
                full_name = name
            if full_name in self._definitions and full_name not in self._known:
                definition, around = self._definitions[full_name]
                absolute, own = _name(definition, around)
                stated = {**definition, "name": absolute.rpartition(".")[2], "namespace": own}
                return self._definition(definition["type"], stated, space)
        return _json(_qualified(full_name, space))

    def _definition(self, kind: str, schema: JsonObject, space: str) -> str:
        full_name, own = _name(schema, space)
        self._known.add(full_name)
        parts = [f'"type":"{kind}"', f'"name":{_json(full_name.rpartition(".")[2])}']
        if own != space:
            parts.append(f'"namespace":{_json(own)}')
        if schema.get("doc") is not None and not (self._is_normal and not schema["doc"]):
            parts.append(f'"doc":{_json(schema["doc"])}')
        reserved = OF_SCHEMAS
        if kind == "enum":
            reserved = OF_SCHEMAS | {"default"}
            parts.append(f'"symbols":{_json(schema["symbols"])}')
            if schema.get("default") is not None:
                parts.append(f'"default":{_json(schema["default"])}')
        elif kind == "fixed":
            parts.append(f'"size":{_json(schema["size"])}')
        else:
            fields = ",".join(self._field(field, own) for field in schema["fields"])
            parts.append(f'"fields":[{fields}]')
        parts += self._properties(schema, reserved)
        aliases = [
            alias if "." in alias or not own else f"{own}.{alias}"
            for alias in _distinct(schema.get("aliases", ()))
        ]
        if aliases:
            listed = [_qualified(alias, own) for alias in (sorted(aliases) if self._is_normal else aliases)]
            parts.append(f'"aliases":{_json(listed)}')
        return "{" + ",".join(parts) + "}"

    def _field(self, field: JsonObject, space: str) -> str:
        parts = [f'"name":{_json(field["name"])}', f'"type":{self.of(field["type"], space)}']
        if field.get("doc") is not None:
            parts.append(f'"doc":{_json(field["doc"])}')
        if "default" in field:
            parts.append(f'"default":{_json(field["default"], is_sorted=self._is_normal)}')
        order = field.get("order")
        if isinstance(order, str) and order.lower() != "ascending":
            parts.append(f'"order":{_json(order.lower())}')
        aliases = _distinct(field.get("aliases", ()))
        if aliases:
            parts.append(f'"aliases":{_json(sorted(aliases) if self._is_normal else aliases)}')
        return "{" + ",".join(parts + self._properties(field, OF_FIELDS)) + "}"

    def _properties(self, schema: JsonObject, reserved: Iterable[str]) -> list[str]:
        names = [name for name in schema if name not in reserved]
        if self._is_normal:
            first = [
                "logicalType",
                *(("precision", "scale") if schema.get("logicalType") == "decimal" else ()),
            ]
            ahead = [name for name in first if name in names]
            names = ahead + sorted(name for name in names if name not in ahead)
        return [f"{_json(name)}:{_json(schema[name], is_sorted=self._is_normal)}" for name in names]


def _qualified(full_name: str, space: str) -> str:
    """A full name as it is written within a namespace."""
    own, _, name = full_name.rpartition(".")
    return name if own == space else full_name


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _json(value: Any, *, is_sorted: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=is_sorted)
