"""Avro schemas as far as their compatibility goes: types, names, aliases, fields and defaults.

Owns reading them out of JSON, references to other schemas included. Logical types are not looked at: those of
a value's bytes are what it is read by.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from barnabas.registry.errors import InvalidSchemaError

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DEEPEST = 200
NO_DEFAULT: Any = object()


@dataclass(eq=False, slots=True)
class AvroType:
    """`kind`: of primitives, their name. The same named type is the same object wherever it is named."""

    kind: str
    full_name: str = ""
    aliases: Sequence[str] = ()
    """Full names."""
    fields: list[AvroField] = field(default_factory=list["AvroField"])
    """Of a record."""
    symbols: Sequence[str] = ()
    """Of an enum."""
    default_symbol: str | None = None
    size: int = 0
    """Of a fixed."""
    branches: Sequence[AvroType] = ()
    """Of a union; of an array or a map the one type of what is in it."""

    @property
    def name(self) -> str:
        return self.full_name.rpartition(".")[2]


@dataclass(eq=False, slots=True)
class AvroField:
    name: str
    type: AvroType
    aliases: Sequence[str] = ()
    has_default: bool = False


def parse(text: str, references: Sequence[str] = (), *, is_strict: bool = True) -> AvroType:
    """`references`: the texts of schemas whose names this one uses, each after those that it needs itself.
    `is_strict`: also names and defaults have to be right, which old libraries did not ask for.

    Raises: InvalidSchemaError.
    """
    names: dict[str, AvroType] = {}
    for reference in references:
        _Reading(names, is_strict).type_of(_loaded(reference), "", 0)
    return _Reading(names, is_strict).type_of(_loaded(text), "", 0)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        # A primitive type may be written without its quotation marks.
        if text.strip() in PRIMITIVES:
            return text.strip()
        raise InvalidSchemaError(f"the Avro schema is not JSON: {error}") from None


class _Reading:
    def __init__(self, names: dict[str, AvroType], is_strict: bool) -> None:
        self._names = names
        self._is_strict = is_strict

    def type_of(self, found: Any, namespace: str, depth: int) -> AvroType:
        if depth > DEEPEST:
            raise InvalidSchemaError(f"the Avro schema is deeper than {DEEPEST} types")
        if isinstance(found, str):
            return self._named(found, namespace)
        if isinstance(found, list):
            return self._union(cast(list[Any], found), namespace, depth)
        if not isinstance(found, dict):
            raise InvalidSchemaError(f"{found!r:.100} is no Avro type")
        schema = cast(dict[str, Any], found)
        kind = schema.get("type")
        if not isinstance(kind, str):
            # {"type": {"type": ...}}, which adds nothing.
            return self.type_of(kind, namespace, depth + 1)
        if kind in ("record", "error", "enum", "fixed"):
            return self._definition("record" if kind == "error" else kind, schema, namespace, depth)
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            if part not in schema:
                raise InvalidSchemaError(f"an Avro {kind} has no {part!r}")
            return AvroType(kind, branches=[self.type_of(schema[part], namespace, depth + 1)])
        return self._named(kind, namespace)

    def _named(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        known = self._names.get(full_name) or self._names.get(name)
        if known is None:
            raise InvalidSchemaError(f"the Avro type {full_name!r} is not defined")
        return known

    def _union(self, branches: list[Any], namespace: str, depth: int) -> AvroType:
        types = [self.type_of(branch, namespace, depth + 1) for branch in branches]
        seen: set[str] = set()
        for branch in types:
            if branch.kind == "union":
                raise InvalidSchemaError("an Avro union is in another one")
            what = branch.full_name or branch.kind
            if what in seen:
                raise InvalidSchemaError(f"an Avro union has {what!r} twice")
            seen.add(what)
        return AvroType("union", branches=types)

    def _definition(self, kind: str, schema: Mapping[str, Any], namespace: str, depth: int) -> AvroType:
        full_name, namespace = _full_name(kind, schema, namespace, self._is_strict)
        if full_name in self._names:
            raise InvalidSchemaError(f"the Avro type {full_name!r} is defined twice")
        aliases = [
            alias if "." in alias or not namespace else f"{namespace}.{alias}"
            for alias in _texts(schema, "aliases")
        ]
        made = self._names[full_name] = AvroType(kind, full_name, aliases)
        if kind == "fixed":
            size = schema.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise InvalidSchemaError(f"the Avro fixed {full_name!r} has no size")
            made.size = size
        elif kind == "enum":
            self._fill_enum(made, schema)
        else:
            self._fill_record(made, schema, namespace, depth)
        return made

    def _fill_enum(self, made: AvroType, schema: Mapping[str, Any]) -> None:
        symbols = _texts(schema, "symbols")
        if len(set(symbols)) < len(symbols):
            raise InvalidSchemaError(f"the Avro enum {made.full_name!r} has a symbol twice")
        wrong = next((each for each in symbols if not NAME.fullmatch(each)), None)
        if self._is_strict and wrong is not None:
            raise InvalidSchemaError(f"the Avro enum {made.full_name!r} has the symbol {wrong!r:.100}")
        default = schema.get("default")
        if self._is_strict and default is not None and default not in symbols:
            raise InvalidSchemaError(
                f"the default of the Avro enum {made.full_name!r} is none of its symbols"
            )
        made.symbols, made.default_symbol = symbols, default

    def _fill_record(self, made: AvroType, schema: Mapping[str, Any], namespace: str, depth: int) -> None:
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchemaError(f"the Avro record {made.full_name!r} has no list of fields")
        names: set[str] = set()
        for found in cast(list[Any], fields):
            if not isinstance(found, dict) or not isinstance(found.get("name"), str) or "type" not in found:  # pyright: ignore[reportUnknownMemberType]
                raise InvalidSchemaError(f"a field of the Avro record {made.full_name!r} has no name or type")
            each = cast(dict[str, Any], found)
            name = each["name"]
            if name in names or (self._is_strict and not NAME.fullmatch(name)):
                why = "twice" if name in names else "which is no name"
                raise InvalidSchemaError(f"the Avro record {made.full_name!r} has the field {name!r} {why}")
            names.add(name)
            type_ = self.type_of(each["type"], namespace, depth + 1)
            default = each.get("default", NO_DEFAULT)
            if self._is_strict and default is not NO_DEFAULT and not fits(default, type_):
                raise InvalidSchemaError(
                    f"the default {default!r:.100} of the field {name!r} of the Avro record "
                    f"{made.full_name!r} is no value of its type"
                )
            made.fields.append(AvroField(name, type_, _texts(each, "aliases"), default is not NO_DEFAULT))


def _full_name(kind: str, schema: Mapping[str, Any], namespace: str, is_strict: bool) -> tuple[str, str]:
    name = schema.get("name")
    parts = name.split(".") if isinstance(name, str) else [""]
    if not isinstance(name, str) or not all(NAME.fullmatch(part) if is_strict else part for part in parts):
        raise InvalidSchemaError(f"{name!r:.100} is no name of an Avro {kind}")
    if "." in name:
        return name, name.rpartition(".")[0]
    own = schema.get("namespace", namespace)
    if not isinstance(own, str):
        raise InvalidSchemaError(f"the namespace {own!r:.100} of the Avro {kind} {name!r} is no text")
    return (f"{own}.{name}" if own else name), own


def _texts(schema: Mapping[str, Any], what: str) -> list[str]:
    found = schema.get(what, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in cast(list[Any], found)):
        raise InvalidSchemaError(f"{what} of an Avro type must be a list of texts, not {found!r:.100}")
    return cast(list[str], found)


_INTEGERS = {"int": 31, "long": 63}


def fits(value: Any, type_: AvroType, known: dict[tuple[int, AvroType], bool] | None = None) -> bool:
    """Whether a JSON value is one of the type, as defaults are written; of a union, of any branch. `known`:
    what was found before of parts of the value, which each branch would look at again."""
    known = {} if known is None else known
    found = known.get((id(value), type_))
    if found is None:
        found = known[id(value), type_] = _fits(value, type_, known)
    return found


def _fits(value: Any, type_: AvroType, known: dict[tuple[int, AvroType], bool]) -> bool:
    kind = type_.kind
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in _INTEGERS:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return is_whole and -(1 << _INTEGERS[kind]) <= value < 1 << _INTEGERS[kind]
    if kind in ("float", "double"):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind in ("bytes", "string"):
        return isinstance(value, str)
    if kind == "fixed":
        return isinstance(value, str) and len(value) == type_.size
    if kind == "enum":
        return value in type_.symbols
    if kind == "union":
        return any(fits(value, branch, known) for branch in type_.branches)
    if kind == "array":
        return isinstance(value, list) and all(
            fits(part, type_.branches[0], known) for part in cast(list[Any], value)
        )
    if not isinstance(value, dict):
        return False
    parts = cast(dict[str, Any], value)
    if kind == "map":
        return all(fits(part, type_.branches[0], known) for part in parts.values())
    return all(
        fits(parts[each.name], each.type, known) if each.name in parts else each.has_default
        for each in type_.fields
    )
