"""JSON Schemas as far as their compatibility goes, in the kinds that Confluent's registry compares.

Owns reading them out of JSON, drafts 4 to 2020-12 and references included. A schema that says several things
is a combination of one part for each kind: `{"type": "string", "enum": ["a"]}` is a STRING and an ENUM.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from barnabas.formats.errors import SchemaError
from barnabas.formats.json_schema_documents import DRAFTS, Documents, Place
from barnabas.registry.errors import InvalidSchemaError

KINDS = {
    "string": "STRING",
    "integer": "NUMBER",
    "number": "NUMBER",
    "boolean": "BOOLEAN",
    "null": "NULL",
    "array": "ARRAY",
    "object": "OBJECT",
}
# Keywords that make a schema one of that kind where no type is told.
NUMBER_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
LENGTHS = ("minLength", "maxLength")
COUNTS_OF_ITEMS = ("minItems", "maxItems")
COUNTS_OF_CONTAINED = ("minContains", "maxContains")
COUNTS_OF_PROPERTIES = ("minProperties", "maxProperties")
OBJECT_KEYWORDS = (
    "properties",
    "required",
    *COUNTS_OF_PROPERTIES,
    "patternProperties",
    "additionalProperties",
    "propertyNames",
)
ARRAY_KEYWORDS = ("items", "additionalItems", *COUNTS_OF_ITEMS, "uniqueItems", "contains")
DEEPEST = 100


@dataclass(eq=False, slots=True)
class SchemaNode:
    """`kind`: ARRAY, BOOLEAN, COMBINED, CONDITIONAL, CONST, ENUM, NOT, NULL, NUMBER, OBJECT, REFERENCE or
    STRING; ANY is `{}` and true, NOTHING is false, META a schema of schemas."""

    kind: str
    has_default: bool = False
    connect_type: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Lengths, numbers, counts and patterns, by their keywords."""
    is_integer: bool = False
    """Of a NUMBER."""
    values: frozenset[str] = frozenset()
    """Of an ENUM or a CONST, in JSON."""
    criterion: str = ""
    """Of a COMBINED: allOf, anyOf or oneOf."""
    parts: list[SchemaNode] = field(default_factory=list["SchemaNode"])
    """Of a COMBINED, none twice; of a NOT the one that must not be."""
    target: SchemaNode | None = None
    """Of a REFERENCE."""

    properties: dict[str, SchemaNode] = field(default_factory=dict[str, "SchemaNode"])
    required: frozenset[str] = frozenset()
    patterns: dict[str, SchemaNode] = field(default_factory=dict[str, "SchemaNode"])
    needed: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Properties that another one makes required."""
    dependents: dict[str, SchemaNode] = field(default_factory=dict[str, "SchemaNode"])
    """What a property makes the object be."""

    items: SchemaNode | None = None
    """What all items are."""
    first_items: list[SchemaNode] = field(default_factory=list["SchemaNode"])
    is_unique: bool = False

    permits_others: bool = True
    """Whether there may be additional properties or items."""
    others: SchemaNode | None = None
    """What those are; None: anything."""
    unevaluated: SchemaNode | None = None

    def all_below(self) -> Iterator[SchemaNode]:
        yield from self.parts
        yield from self.properties.values()
        yield from self.patterns.values()
        yield from self.dependents.values()
        yield from self.first_items
        for each in (self.target, self.items, self.others, self.unevaluated):
            if each is not None:
                yield each


def read(text: str, references: Mapping[str, str]) -> SchemaNode:
    """`references`: the texts of schemas that this one refers to, by the names in `$ref`.

    Raises: InvalidSchemaError.
    """
    try:
        documents = Documents(text, references)
        return _WholeReading(documents).whole()
    except RecursionError:
        raise InvalidSchemaError("the JSON Schema is too deep") from None
    except SchemaError as error:
        raise InvalidSchemaError(str(error)) from None


def followed(node: SchemaNode) -> SchemaNode:
    """What a reference refers to in the end."""
    seen: set[SchemaNode] = set()
    while node.target is not None:
        if node in seen:
            return NO_RULE
        seen.add(node)
        node = node.target
    return node


# What refers to nothing but itself.
NO_RULE = SchemaNode("ANY")


class _WholeReading:
    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._nodes: dict[tuple[str, tuple[str, ...]], SchemaNode] = {}
        self._references: deque[tuple[SchemaNode, str, Place]] = deque()

    def whole(self) -> SchemaNode:
        root = self._node(self._documents.root, 0)
        # One by one, so that a chain of references is not a depth.
        while self._references:
            node, reference, place = self._references.popleft()
            if reference.removesuffix("#").partition("://")[2] in DRAFTS:
                node.target = SchemaNode("META")
            else:
                node.target = self._node(self._documents.resolve(reference, place), 0)
        return root

    def _node(self, place: Place, depth: int) -> SchemaNode:
        key = (place.document, place.path)
        known = self._nodes.get(key)
        if known is None:
            if depth > DEEPEST:
                raise InvalidSchemaError(f"the JSON Schema is deeper than {DEEPEST} schemas")
            known = self._nodes[key] = _SchemaReading(self, place, depth).node()
        return known

    def refer(self, node: SchemaNode, reference: str, place: Place) -> None:
        self._references.append((node, reference, place))

    def below(self, place: Place, depth: int, *steps: str) -> SchemaNode:
        return self._node(self._documents.child(place, *steps), depth + 1)

    def draft(self, place: Place) -> int:
        return self._documents.draft_of(place.document)


class _SchemaReading:
    """One schema."""

    def __init__(self, reading: _WholeReading, place: Place, depth: int) -> None:
        self._reading, self._place, self._depth = reading, place, depth
        self._draft = reading.draft(place)
        # json-sKema and everit-json-schema, which Confluent's registry reads the newer and the older with.
        self._is_new = self._draft >= 2019
        self._schema: dict[str, Any] = {}

    def node(self) -> SchemaNode:
        schema = self._place.schema
        if isinstance(schema, bool):
            return SchemaNode("ANY" if schema else "NOTHING")
        if not isinstance(schema, dict):
            raise self._wrong("is no schema, which is an object, true or false")
        self._schema = cast(dict[str, Any], schema)
        for keyword in ("title", "description"):
            self._told(keyword, str)
        parts = list(self._parts())
        if not parts:
            found = SchemaNode("ANY")
        elif len(parts) == 1:
            found = parts[0]
        else:
            found = SchemaNode("COMBINED", criterion="allOf", parts=parts)
        # What stands beside a reference has no meaning to the older drafts.
        found.has_default = "default" in self._schema and (self._is_new or "$ref" not in self._schema)
        connect_type = self._schema.get("connect.type")
        found.connect_type = connect_type if isinstance(connect_type, str) else ""
        if self._is_new:
            for name in self._fields("$defs"):
                self._below("$defs", name)
        return found

    def _parts(self) -> Iterable[SchemaNode]:
        schema = self._schema
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef") if self._is_new else ("$ref",):
            reference = self._told(keyword, str)
            if reference is not None:
                node = SchemaNode("REFERENCE")
                self._reading.refer(node, reference, self._place)
                yield node
                if not self._is_new:
                    # Whatever stands beside it has no meaning.
                    return
        if "enum" in schema:
            yield SchemaNode("ENUM", values=frozenset(map(_as_text, self._items("enum"))))
        for criterion in ("allOf", "anyOf", "oneOf"):
            if criterion in schema:
                yield SchemaNode("COMBINED", criterion=criterion, parts=self._combined(criterion))
        if "not" in schema:
            yield SchemaNode("NOT", parts=[self._below("not")])
        if "const" in schema and self._draft != 4:
            yield SchemaNode("CONST", values=frozenset([_as_text(schema["const"])]))
        yield from self._typed()
        if self._draft >= 7 and {"if", "then", "else"} & schema.keys():
            for keyword in ("if", "then", "else"):
                if keyword in schema:
                    self._below(keyword)
            yield SchemaNode("CONDITIONAL")

    def _typed(self) -> Iterable[SchemaNode]:
        schema = self._schema
        told = schema.get("type", [])
        types = cast(list[Any], told if isinstance(told, list) else [told])
        for each in types:
            if not isinstance(each, str) or each not in KINDS:
                raise self._wrong(f"has the type {each!r:.100}, which is none of {', '.join(KINDS)}", "type")
        # One a type, however often it is named.
        nodes = [self._of_type(each) for each in dict.fromkeys(types)]
        if isinstance(told, list) and "type" in schema:
            yield SchemaNode("COMBINED", criterion="anyOf", parts=nodes)
        else:
            yield from nodes
        done = {KINDS[each] for each in types}
        objects = ("dependentRequired", "dependentSchemas", "unevaluatedProperties")
        arrays = ("prefixItems", "unevaluatedItems")
        for kind, keywords in (
            ("ARRAY", (*ARRAY_KEYWORDS, *(arrays if self._is_new else ()))),
            ("OBJECT", (*OBJECT_KEYWORDS, *(objects if self._is_new else ("dependencies",)))),
            ("NUMBER", NUMBER_LIMITS),
            ("STRING", (*LENGTHS, "pattern", *(() if self._is_new else ("format",)))),
        ):
            if kind not in done and any(keyword in schema for keyword in keywords):
                yield self._of_kind(kind)

    def _of_type(self, name: str) -> SchemaNode:
        node = self._of_kind(KINDS[name])
        node.is_integer = name == "integer"
        return node

    def _of_kind(self, kind: str) -> SchemaNode:
        node = SchemaNode(kind)
        if kind == "STRING":
            node.limits = {**self._whole(LENGTHS), **self._given("pattern", str)}
        elif kind == "NUMBER":
            node.limits = self._numbers()
        elif kind == "OBJECT":
            self._fill_object(node)
        elif kind == "ARRAY":
            self._fill_array(node)
        return node

    def _fill_object(self, node: SchemaNode) -> None:
        node.limits = self._whole(COUNTS_OF_PROPERTIES)
        own_id = "id" if self._draft == 4 else "$id"
        node.properties = {
            name: self._below("properties", name)
            for name, each in self._fields("properties").items()
            # An id of the properties, to the older drafts' reader.
            if self._is_new or name != own_id or isinstance(each, dict)
        }
        node.required = frozenset(self._texts(self._items("required"), "required"))
        node.patterns = self._each("patternProperties")
        self._fill_others(node, "additionalProperties")
        if "propertyNames" in self._schema and self._draft != 4:
            self._below("propertyNames")
        if self._is_new:
            for name, each in self._fields("dependentRequired").items():
                node.needed[name] = frozenset(self._texts(each, f"dependentRequired/{name}"))
            node.dependents = self._each("dependentSchemas")
            if "unevaluatedProperties" in self._schema:
                node.unevaluated = self._below("unevaluatedProperties")
            return
        for name, each in self._fields("dependencies").items():
            if isinstance(each, list):
                node.needed[name] = frozenset(self._texts(each, f"dependencies/{name}"))
            else:
                node.dependents[name] = self._below("dependencies", name)

    def _fill_array(self, node: SchemaNode) -> None:
        limits = self._whole(COUNTS_OF_ITEMS)
        node.is_unique = self._told("uniqueItems", bool) or False
        items = self._schema.get("items")
        first = "prefixItems" if self._draft == 2020 else "items"
        if isinstance(self._schema.get(first), list):
            count = len(cast(list[Any], self._schema[first]))
            node.first_items = [self._below(first, str(number)) for number in range(count)]
        elif first in self._schema and first == "prefixItems":
            raise self._wrong("is no list of schemas", "prefixItems")
        if not self._is_new:
            if items is not None and not isinstance(items, list):
                node.items = self._below("items")
            self._fill_others(node, "additionalItems")
        elif isinstance(items, list):
            if self._draft == 2020:
                raise self._wrong("is a list, which draft 2020-12 calls prefixItems", "items")
            self._fill_others(node, "additionalItems")
        elif isinstance(items, bool) or node.first_items:
            self._fill_others(node, "items")
        elif items is not None:
            node.items = self._below("items")
        if "contains" in self._schema and self._draft != 4:
            self._below("contains")
        if self._is_new and "unevaluatedItems" in self._schema:
            node.unevaluated = self._below("unevaluatedItems")
        if "contains" in self._schema or not self._is_new:
            at_least = {"minContains": 1} if self._is_new else {}
            limits = {**limits, **at_least, **self._whole(COUNTS_OF_CONTAINED)}
        node.limits = limits

    def _fill_others(self, node: SchemaNode, keyword: str) -> None:
        told = self._schema.get(keyword, True)
        if isinstance(told, bool):
            node.permits_others = told
        else:
            node.others = self._below(keyword)

    def _combined(self, criterion: str) -> list[SchemaNode]:
        schemas = self._items(criterion)
        found: dict[str, SchemaNode] = {}
        for number, each in enumerate(schemas):
            node = self._below(criterion, str(number))
            found.setdefault(_as_text(each) if len(schemas) > 1 else "", node)
        return list(found.values())

    def _numbers(self) -> dict[str, Any]:
        found = {keyword: self._schema[keyword] for keyword in NUMBER_LIMITS if keyword in self._schema}
        for keyword, value in list(found.items()):
            if self._draft == 4 and keyword.startswith("exclusive"):
                self._told(keyword, bool)
                # Nothing compares it.
                del found[keyword]
            elif isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise self._wrong("is no number", keyword)
        if found.get("multipleOf") == 0:
            raise self._wrong("is 0", "multipleOf")
        return found

    def _whole(self, keywords: Iterable[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for keyword in keywords:
            found |= self._given(keyword, int)
        return found

    def _given(self, keyword: str, wanted: type[Any]) -> dict[str, Any]:
        value = self._told(keyword, wanted)
        return {} if value is None else {keyword: value}

    def _told(self, keyword: str, wanted: type[Any]) -> Any:
        if keyword not in self._schema:
            return None
        value = self._schema[keyword]
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            names = {
                str: "a string",
                dict: "an object",
                list: "an array",
                int: "a whole number",
                bool: "a boolean",
            }
            raise self._wrong(f"is {_as_text(value):.100}, and not {names[wanted]}", keyword)
        return value

    def _fields(self, keyword: str) -> dict[str, Any]:
        return self._told(keyword, dict) or {}

    def _items(self, keyword: str) -> list[Any]:
        return self._told(keyword, list) or []

    def _texts(self, values: Any, keyword: str) -> list[str]:
        found = cast(list[Any], values)
        if not isinstance(values, list) or not all(isinstance(each, str) for each in found):
            raise self._wrong("is no list of names", keyword)
        return found

    def _each(self, keyword: str) -> dict[str, SchemaNode]:
        return {name: self._below(keyword, name) for name in self._fields(keyword)}

    def _below(self, *steps: str) -> SchemaNode:
        return self._reading.below(self._place, self._depth, *steps)

    def _wrong(self, what: str, keyword: str = "") -> InvalidSchemaError:
        place = self._place.pointer + (f"/{keyword}" if keyword else "")
        return InvalidSchemaError(f"{place} of the JSON Schema {what}")


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
