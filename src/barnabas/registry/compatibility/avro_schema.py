"""Avro schemas as far as their compatibility goes: types, names, aliases, fields and defaults.

Owns reading them out of JSON, references to other schemas included. Logical types are not looked at: those of
a value's bytes are what it is read by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from barnabas.registry.compatibility.avro_json import PRIMITIVES, double_of, loaded
from barnabas.registry.errors import InvalidSchemaError

NAMED = ("record", "error", "enum", "fixed")
ORDERS = ("ASCENDING", "DESCENDING", "IGNORE")
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
        _Reading(names, is_strict).whole(loaded(reference))
    return _Reading(names, is_strict).whole(loaded(text))


def definitions(schema: Any, namespace: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """The named types that a schema defines: full names, what defines them, and the namespaces around them.
    Of what is no schema, whatever is found."""
    waiting: list[tuple[Any, str]] = [(schema, namespace)]
    while waiting:
        found, around = waiting.pop()
        if isinstance(found, list):
            waiting += [(branch, around) for branch in cast(list[Any], found)]
        if not isinstance(found, dict):
            continue
        each = cast(dict[str, Any], found)
        kind = each.get("type")
        if kind in ("array", "map"):
            waiting.append((each.get("items" if kind == "array" else "values"), around))
        elif not isinstance(kind, str):
            waiting.append((kind, around))
        elif kind in NAMED and isinstance(each.get("name"), str):
            full_name, own = absolute_name(each, around)
            yield full_name, each, around
            fields: Any = each.get("fields")
            if isinstance(fields, list):
                parts = cast(list[dict[str, Any]], fields)
                waiting += [(part.get("type"), own) for part in parts if isinstance(part, dict)]  # pyright: ignore[reportUnnecessaryIsInstance]


def absolute_name(schema: Mapping[str, Any], around: str) -> tuple[str, str]:
    """The full name of a definition, and the namespace of what is inside."""
    space, dot, name = schema["name"].rpartition(".")
    if not dot:
        told = schema.get("namespace")
        space = told if isinstance(told, str) else around
    return (f"{space}.{name}" if space else name), space


class _Reading:
    """Of one text. `names`: what others define, to which its own are added."""

    def __init__(self, names: dict[str, AvroType], is_strict: bool) -> None:
        self._names = names
        self._is_strict = is_strict
        self._ahead: dict[str, tuple[dict[str, Any], str]] = {}
        """What this text defines, which may be named before."""
        self._read_ahead: dict[int, AvroType] = {}

    def whole(self, schema: Any) -> AvroType:
        self._ahead = {name: (found, around) for name, found, around in definitions(schema)}
        return self.type_of(schema, "", 0)

    def type_of(self, found: Any, namespace: str, depth: int) -> AvroType:
        if depth > DEEPEST:
            raise InvalidSchemaError(f"the Avro schema is deeper than {DEEPEST} types")
        if isinstance(found, str):
            return self._named(found, namespace, depth)
        if isinstance(found, list):
            return self._union(cast(list[Any], found), namespace, depth)
        if not isinstance(found, dict):
            raise InvalidSchemaError(f"{found!r:.100} is no Avro type")
        schema = cast(dict[str, Any], found)
        kind = schema.get("type")
        if not isinstance(kind, str):
            # {"type": {"type": ...}}, which adds nothing.
            return self.type_of(kind, namespace, depth + 1)
        if kind in NAMED:
            known = self._read_ahead.pop(id(schema), None)
            return known or self._definition(kind, schema, namespace, depth)
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            if part not in schema:
                raise InvalidSchemaError(f"an Avro {kind} has no {part!r}")
            return AvroType(kind, branches=[self.type_of(schema[part], namespace, depth + 1)])
        return self._named(kind, namespace, depth)

    def _named(self, name: str, namespace: str, depth: int) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        known = self._names.get(full_name) or self._names.get(name)
        if known is not None:
            return known
        if full_name not in self._ahead:
            raise InvalidSchemaError(f"the Avro type {full_name!r} is not defined")
        schema, around = self._ahead[full_name]
        made = self._definition(schema["type"], schema, around, depth + 1)
        self._read_ahead[id(schema)] = made
        return made

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
        kind = "record" if kind == "error" else kind
        full_name, namespace = _full_name(kind, schema, namespace, self._is_strict)
        if full_name in self._names:
            raise InvalidSchemaError(f"the Avro type {full_name!r} is defined twice")
        aliases = [
            alias if "." in alias or not namespace else f"{namespace}.{alias}"
            for alias in _texts(schema, "aliases")
        ]
        for alias in aliases:
            if self._is_strict and not _is_name(alias.rpartition(".")[2]):
                raise InvalidSchemaError(f"the Avro {kind} {full_name!r} has the alias {alias!r:.100}")
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
        wrong = next((each for each in symbols if not _is_name(each)), None)
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
            if name in names or (self._is_strict and not _is_name(name)):
                why = "twice" if name in names else "which is no name"
                raise InvalidSchemaError(f"the Avro record {made.full_name!r} has the field {name!r} {why}")
            names.add(name)
            type_ = self.type_of(each["type"], namespace, depth + 1)
            order = each.get("order", ORDERS[0])
            if self._is_strict and (not isinstance(order, str) or order.upper() not in ORDERS):
                raise InvalidSchemaError(
                    f"the order {order!r:.100} of the field {name!r} of the Avro record {made.full_name!r} "
                    "is none of ascending, descending and ignore"
                )
            default = field_default(each, type_.kind)
            if self._is_strict and default is not NO_DEFAULT and not fits(default, type_):
                raise InvalidSchemaError(
                    f"the default {default!r:.100} of the field {name!r} of the Avro record "
                    f"{made.full_name!r} is no value of its type"
                )
            made.fields.append(AvroField(name, type_, _texts(each, "aliases"), default is not NO_DEFAULT))


def _full_name(kind: str, schema: Mapping[str, Any], namespace: str, is_strict: bool) -> tuple[str, str]:
    name = schema.get("name")
    # A dot before it says that it is of no namespace.
    parts = name.removeprefix(".").split(".") if isinstance(name, str) else [""]
    if not isinstance(name, str) or not all(_is_name(part) if is_strict else part for part in parts):
        raise InvalidSchemaError(f"{name!r:.100} is no name of an Avro {kind}")
    full_name, own = absolute_name(schema, namespace)
    if is_strict and own and not all(_is_name(part) for part in own.split(".")):
        raise InvalidSchemaError(f"{own!r:.100} is no namespace of the Avro {kind} {name!r:.100}")
    if is_strict and full_name in PRIMITIVES:
        raise InvalidSchemaError(f"an Avro {kind} has the name of the primitive type {name!r}")
    return full_name, own


def _is_name(text: str) -> bool:
    """Of letters, of any language, of digits and of underscores."""
    begins = text[:1].isalpha() or text[:1] == "_"
    return begins and all(each.isalpha() or each.isdecimal() or each == "_" for each in text)


def field_default(field: Mapping[str, Any], kind: str) -> Any:
    """NO_DEFAULT: it has none. `kind`: of the field's type; a text may stand for a number, as JSON has no
    name for NaN."""
    default = field.get("default", NO_DEFAULT)
    if kind not in ("float", "double") or not isinstance(default, str):
        return default
    number = double_of(default)
    return default if number is None else number


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
