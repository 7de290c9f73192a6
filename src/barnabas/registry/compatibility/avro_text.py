"""Avro schemas as texts: as Avro's own library writes them, which is what Confluent's registry keeps, and
normalized.

Owns that order and spelling. What is no schema, `avro_schema` has refused before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from barnabas.registry.compatibility.avro_json import PRIMITIVES, loaded, written
from barnabas.registry.compatibility.avro_schema import (
    NAMED,
    NO_DEFAULT,
    absolute_name,
    definitions,
    field_default,
    parse,
)

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
    schema = loaded(text)
    return _Writing(set(), _gathered([*map(loaded, references.values()), schema]), is_normal=False).of(
        schema, ""
    )


def _written(text: str, references: Mapping[str, str], *, is_normal: bool) -> str:
    parse(text, list(references.values()))
    schema, known = loaded(text), _gathered(map(loaded, references.values()))
    return _Writing(set(known), _gathered([schema]), is_normal=is_normal).of(schema, "")


def _gathered(schemas: Iterable[Any]) -> dict[str, tuple[JsonObject, str]]:
    """The named types that they define, each with the namespace around it."""
    found = [each for schema in schemas for each in definitions(schema)]
    return {full_name: (definition, around) for full_name, definition, around in found}


class _Writing:
    """`known`: full names that are written as such. `ahead`: what defines others, for the first time that one
    is named."""

    def __init__(
        self, known: set[str], ahead: Mapping[str, tuple[JsonObject, str]], *, is_normal: bool
    ) -> None:
        self._known = known
        self._is_normal = is_normal
        self._definitions = ahead

    def of(self, schema: Any, space: str) -> str:
        if isinstance(schema, list):
            return "[" + ",".join(self.of(branch, space) for branch in cast(list[Any], schema)) + "]"
        if isinstance(schema, str):
            return self._named(schema, space)
        found = cast(JsonObject, schema)
        kind = found["type"]
        if not isinstance(kind, str):
            return self.of(kind, space)
        if kind in NAMED:
            full_name, _ = absolute_name(found, space)
            # It was written where it was named before.
            is_written = full_name in self._known
            return (
                written(_qualified(full_name, space)) if is_written else self._definition(kind, found, space)
            )
        parts = [f'"type":{written(kind)}']
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            parts.append(f'"{part}":{self.of(found[part], space)}')
        elif kind not in PRIMITIVES:
            return self._named(kind, space)
        properties = self._properties(found, OF_SCHEMAS)
        if kind in PRIMITIVES and not properties:
            return written(kind)
        return "{" + ",".join(parts + properties) + "}"

    def _named(self, name: str, space: str) -> str:
        if name in PRIMITIVES:
            return written(name)
        full_name = name if "." in name or not space else f"{space}.{name}"
        if full_name not in self._known:
            if full_name not in self._definitions:
                # Of no namespace, named within one.
                full_name = name
            if full_name in self._definitions and full_name not in self._known:
                definition, around = self._definitions[full_name]
                absolute, own = absolute_name(definition, around)
                stated = {**definition, "name": absolute.rpartition(".")[2], "namespace": own}
                return self._definition(definition["type"], stated, space)
        return written(_qualified(full_name, space))

    def _definition(self, kind: str, schema: JsonObject, space: str) -> str:
        full_name, own = absolute_name(schema, space)
        self._known.add(full_name)
        parts = [f'"type":"{kind}"', f'"name":{written(full_name.rpartition(".")[2])}']
        if own != space:
            parts.append(f'"namespace":{written(own)}')
        if isinstance(schema.get("doc"), str) and not (self._is_normal and not schema["doc"]):
            parts.append(f'"doc":{written(schema["doc"])}')
        reserved = OF_SCHEMAS
        if kind == "enum":
            reserved = OF_SCHEMAS | {"default"}
            parts.append(f'"symbols":{written(schema["symbols"])}')
            if schema.get("default") is not None:
                parts.append(f'"default":{written(schema["default"])}')
        elif kind == "fixed":
            parts.append(f'"size":{written(schema["size"])}')
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
            parts.append(f'"aliases":{written(listed)}')
        return "{" + ",".join(parts) + "}"

    def _field(self, field: JsonObject, space: str) -> str:
        parts = [f'"name":{written(field["name"])}', f'"type":{self.of(field["type"], space)}']
        if isinstance(field.get("doc"), str):
            parts.append(f'"doc":{written(field["doc"])}')
        default = field_default(field, _kind(field["type"]))
        if default is not NO_DEFAULT:
            parts.append(f'"default":{written(default, is_sorted=self._is_normal)}')
        order = field.get("order")
        if isinstance(order, str) and order.lower() != "ascending":
            parts.append(f'"order":{written(order.lower())}')
        aliases = _distinct(field.get("aliases", ()))
        if aliases:
            parts.append(f'"aliases":{written(sorted(aliases) if self._is_normal else aliases)}')
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
        return [f"{written(name)}:{written(schema[name], is_sorted=self._is_normal)}" for name in names]


def _qualified(full_name: str, space: str) -> str:
    """A full name as it is written within a namespace."""
    own, _, name = full_name.rpartition(".")
    return name if own == space else full_name


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _kind(schema: Any) -> str:
    """Of a primitive type; else whatever is there."""
    while isinstance(schema, dict):
        schema = cast(JsonObject, schema).get("type")
    return schema if isinstance(schema, str) else ""
