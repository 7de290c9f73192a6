"""JSON Schemas as types of columns.

Owns which column has a schema's values. A column has one type, and all of it may be null: what a schema says
besides types is for who validates.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, cast

import pyarrow as pa

from barnabas.formats.errors import SchemaError
from barnabas.formats.json_schema_documents import Documents, Place

NO_REFERENCES: Mapping[str, str] = MappingProxyType({})
MAX_DIGITS = 38
DEEPEST = 100
MOST_SCHEMAS = 20_000
NUMBERS = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
}
"""By Kafka Connect's `connect.type`."""
FORMATS = {"date": pa.date32(), "date-time": pa.timestamp("us", "UTC")}
DECIMAL = "org.apache.kafka.connect.data.Decimal"
# Those of the values of `enum` and `const`; a boolean is no number.
OF_VALUES: dict[type[Any], pa.DataType] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    type(None): pa.null(),
}


def arrow_type(schema: str, references: Mapping[str, str] = NO_REFERENCES) -> pa.DataType:
    """The type of a column that has a JSON Schema's values: objects are structs, or maps where only
    `additionalProperties` tells of them; integers have 64 bits or those of `connect.type`, numbers are
    doubles, the formats date and date-time are dates and timestamps. `references`: texts by the names in
    `$ref`.

    Raises: SchemaError, which names the path of what no column can hold.
    """
    documents = Documents(schema, references)
    try:
        found = _Types(documents).of(documents.root, "", frozenset())
    except (AttributeError, TypeError) as error:
        raise SchemaError(f"the JSON Schema is broken: {type(error).__name__}: {error}") from None
    if found is None:
        raise SchemaError("the value may be anything, which no column holds: its JSON Schema tells no type")
    if pa.types.is_null(found):
        raise SchemaError("the value is always null, which needs no column")
    return found


Within = frozenset[tuple[str, tuple[str, ...]]]
"""The schemas that one lies in."""


class _Types:
    """None is the type of what tells none, Arrow's null that of null alone."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._count = 0

    def of(self, place: Place, path: str, within: Within) -> pa.DataType | None:
        schema = place.schema
        key = (place.document, place.path)
        if key in within:
            raise _wrong(path, "contains itself, which no column can")
        if len(within) > DEEPEST:
            raise _wrong(path, f"is deeper than {DEEPEST} schemas")
        self._count += 1
        if self._count > MOST_SCHEMAS:
            raise SchemaError(f"with its references the JSON Schema has more than {MOST_SCHEMAS} parts")
        if not isinstance(schema, dict):
            return None
        within |= {key}
        fields = cast(dict[str, Any], schema)
        told: list[pa.DataType | None] = []
        if isinstance(fields.get("$ref"), str):
            told.append(self.of(self._documents.resolve(fields["$ref"], place), path, within))
            if self._documents.draft_of(place.document) < 2019:
                return told[0]
        told.append(self._of_itself(place, fields, path, within))
        for criterion in ("anyOf", "oneOf"):
            parts = self._parts(place, criterion, path, within)
            if parts and None not in parts:
                told.append(_any_of(parts, path))
        told += self._parts(place, "allOf", path, within)
        return _all_of(told, path)

    def _parts(self, place: Place, criterion: str, path: str, within: Within) -> list[pa.DataType | None]:
        count = len(place.schema.get(criterion, ()))
        places = (self._documents.child(place, criterion, str(number)) for number in range(count))
        return [self.of(each, path, within) for each in places]

    def _of_itself(
        self, place: Place, schema: dict[str, Any], path: str, within: Within
    ) -> pa.DataType | None:
        types = schema.get("type")
        if types is not None:
            names = cast(list[str], types if isinstance(types, list) else [types])
            return _any_of([self._of_name(each, place, schema, path, within) for each in names], path)
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            if all(type(each) in OF_VALUES for each in values):
                return _any_of([OF_VALUES[type(each)] for each in values], path)
            return None
        if {"properties", "patternProperties"} & schema.keys():
            return self._of_object(place, schema, path, within)
        return self._of_array(place, schema, path, within) if "items" in schema else None

    def _of_name(
        self, name: str, place: Place, schema: dict[str, Any], path: str, within: Within
    ) -> pa.DataType:
        connect_type: Any = schema.get("connect.type")
        match name:
            case "string":
                if connect_type == "bytes" or schema.get("contentEncoding") == "base64":
                    return pa.binary()
                return FORMATS.get(schema.get("format", ""), pa.string())
            case "integer":
                return NUMBERS.get(connect_type, pa.int64())
            case "number":
                if connect_type == "bytes" and schema.get("title") == DECIMAL:
                    return _decimal(schema.get("connect.parameters"), path)
                return NUMBERS.get(connect_type, pa.float64())
            case "boolean":
                return pa.bool_()
            case "null":
                return pa.null()
            case "array":
                return self._of_array(place, schema, path, within)
            case "object":
                return self._of_object(place, schema, path, within)
            case _:
                raise _wrong(path, f"has the type {name!r}, which JSON Schema does not know")

    def _of_object(self, place: Place, schema: dict[str, Any], path: str, within: Within) -> pa.DataType:
        fields: list[pa.Field] = []
        for name, each in schema.get("properties", {}).items():
            if each is not False:
                inner = f"{path}.{name}" if path else name
                below = self._documents.child(place, "properties", name)
                fields.append(pa.field(name, self._certain(below, inner, within)))
        if fields:
            return pa.struct(fields)
        others: list[Place] = []
        if isinstance(schema.get("additionalProperties"), dict):
            others.append(self._documents.child(place, "additionalProperties"))
        patterns = schema.get("patternProperties", {})
        others += [self._documents.child(place, "patternProperties", pattern) for pattern in patterns]
        if not others:
            raise _wrong(path, "is an object without properties; no column can hold it: add 'properties'")
        values = _any_of([self._certain(each, f"{path}[]", within) for each in others], f"{path}[]")
        return pa.map_(pa.string(), pa.field("value", values))

    def _of_array(self, place: Place, schema: dict[str, Any], path: str, within: Within) -> pa.DataType:
        steps: list[tuple[str, ...]] = []
        for keyword in ("prefixItems", "items"):
            found = schema.get(keyword)
            if isinstance(found, list):
                steps += [(keyword, str(number)) for number in range(len(cast(list[Any], found)))]
            elif isinstance(found, dict):
                steps.append((keyword,))
        if not steps:
            raise _wrong(path, "is an array without items; no column can hold it: add 'items'")
        items = [self._certain(self._documents.child(place, *each), f"{path}[]", within) for each in steps]
        return pa.list_(pa.field("element", _any_of(items, f"{path}[]")))

    def _certain(self, place: Place, path: str, within: Within) -> pa.DataType:
        found = self.of(place, path, within)
        if found is None:
            raise _wrong(path, "may be anything, which no column holds: its JSON Schema tells no type")
        if pa.types.is_null(found):
            raise _wrong(path, "is always null, which needs no column")
        return found


def _any_of(types: Iterable[pa.DataType], path: str) -> pa.DataType:
    """Of a value that is of one of them."""
    found = pa.null()
    for each in types:
        if found == each or pa.types.is_null(each):
            continue
        if pa.types.is_null(found):
            found = each
        elif _is_number(found) and _is_number(each):
            found = _wider(found, each)
        else:
            raise _wrong(path, f"is {_named(found)} or {_named(each)}, and no column holds both")
    return found


def _all_of(types: Iterable[pa.DataType | None], path: str) -> pa.DataType | None:
    """Of a value that is of each of them."""
    found: pa.DataType | None = None
    for each in types:
        if each is None or each == found:
            continue
        if found is None:
            found = each
        elif pa.types.is_struct(found) and pa.types.is_struct(each):
            found = _joined(found, each, path)
        elif _is_number(found) and _is_number(each):
            # The narrower one, as 1 is of both.
            found = each if _wider(found, each) == found else found
        else:
            raise _wrong(path, f"is {_named(found)} and {_named(each)}, which no value is")
    return found


def _joined(first: pa.DataType, second: pa.DataType, path: str) -> pa.DataType:
    types = {field.name: field.type for field in first}
    for field in second:
        inner = f"{path}.{field.name}" if path else field.name
        types[field.name] = _all_of([types.get(field.name), field.type], inner)
    return pa.struct([pa.field(name, each) for name, each in types.items()])


def _is_number(data_type: pa.DataType) -> bool:
    return data_type in NUMBERS.values()


def _wider(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    is_floating = pa.types.is_floating(first), pa.types.is_floating(second)
    if is_floating[0] != is_floating[1]:
        return pa.float64()
    return first if first.bit_width >= second.bit_width else second


def _decimal(parameters: Any, path: str) -> pa.DataType:
    told = cast(dict[str, Any], parameters) if isinstance(parameters, dict) else {}
    try:
        precision = int(told.get("connect.decimal.precision", MAX_DIGITS))
        return pa.decimal128(precision, int(told.get("scale", 0)))
    except (ValueError, TypeError) as error:
        raise _wrong(path, f"is a decimal that no column holds: {error}") from None


def _named(data_type: pa.DataType) -> str:
    if pa.types.is_struct(data_type):
        return "an object"
    if pa.types.is_map(data_type):
        return "a map"
    return "an array" if pa.types.is_list(data_type) else str(data_type)


def _wrong(path: str, what: str) -> SchemaError:
    return SchemaError(f"{path or 'the value'} {what}")
