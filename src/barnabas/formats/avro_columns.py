"""Avro schemas: the type of the column, and the kernel's plan.

fastavro reads the schema and checks it. Types are those of Spark's from_avro; beyond it a UUID of 16 bytes
is text. A schema that contains itself has no columns.
"""

# PyArrow and fastavro have no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import reprlib
from collections.abc import Sequence

import pyarrow as pa

from barnabas.formats.avro_resolution import (
    MAX_DIGITS,
    UUID_BYTES,
    WIDER,
    Schema,
    members,
    parsed,
    plan,
)
from barnabas.formats.errors import SchemaError
from barnabas.formats.form import Form

Types = dict[str, pa.DataType]

INSTANT = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")

_PRIMITIVES: Types = {
    "null": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: dict[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): INSTANT,
    ("long", "timestamp-micros"): INSTANT,
    ("long", "local-timestamp-millis"): LOCAL,
    ("long", "local-timestamp-micros"): LOCAL,
}


def avro(
    schema: str,
    reader_schema: str | None = None,
    *,
    references: Sequence[str] = (),
    reader_references: Sequence[str] = (),
) -> Form:
    """A schema in Avro's JSON. `reader_schema`: what the bytes become, if it is another one; such a form only
    decodes. `references` and `reader_references`: schemas whose types these name, each after those that it
    needs.

    Raises: SchemaError, TypeError, MissingExtraError.
    """
    for name, given in (("schema", schema), ("reader_schema", reader_schema or "")):
        if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected a str for {name}, got {reprlib.repr(given)}: give json.dumps({name})")
    names: dict[str, Schema] = {}
    writer = parsed(schema, references, names)
    reader, reader_names = writer, names
    if reader_schema is not None:
        reader_names = {}
        reader = parsed(reader_schema, reader_references, reader_names)
    data_type = _Columns(reader_names).type_of(reader, "", ())
    return Form("avro", data_type, plan(writer, names, reader, reader_names))


class _Columns:
    def __init__(self, names: dict[str, Schema]) -> None:
        self._names = names

    def type_of(self, schema: Schema, path: str, within: tuple[str, ...]) -> pa.DataType:
        """`within`: the names of the types that this one lies in."""
        if isinstance(schema, list):
            return self._union(schema, path, within)
        if isinstance(schema, str):
            if schema in _PRIMITIVES:
                return _PRIMITIVES[schema]
            if schema in within:
                raise SchemaError(f"{path}: {schema} contains itself, which no column can")
            return self.type_of(self._names[schema], path, within)
        kind = schema["type"]
        if isinstance(kind, (dict, list)):
            return self.type_of(kind, path, within)
        logical = schema.get("logicalType")
        if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        if logical == "decimal" and kind in ("bytes", "fixed"):
            return _decimal(schema, path)
        match kind:
            case "record" | "error":
                return self._record(schema, path, within)
            case "array":
                return pa.list_(pa.field("element", self.type_of(schema["items"], f"{path}[]", within)))
            case "map":
                value = self.type_of(schema["values"], f"{path}[]", within)
                return pa.map_(pa.string(), pa.field("value", value))
            case "enum":
                return pa.string()
            case "fixed":
                is_uuid = logical == "uuid" and schema["size"] == UUID_BYTES
                return pa.string() if is_uuid else pa.binary()
            case _:
                return self.type_of(kind, path, within)

    def _record(self, schema: Schema, path: str, within: tuple[str, ...]) -> pa.DataType:
        name = schema["name"]
        if name in within:
            raise SchemaError(f"{path}: {name} contains itself, which no column can")
        fields: list[pa.Field] = []
        for field in schema["fields"]:
            where = f"{path}.{field['name']}" if path else field["name"]
            fields.append(pa.field(field["name"], self.type_of(field["type"], where, (*within, name))))
        return pa.struct(fields)

    def _union(self, union: list[Schema], path: str, within: tuple[str, ...]) -> pa.DataType:
        """With null it is nullable; of several others each is a field of a struct, member0, member1, ..."""
        types = [self.type_of(branch, path, within) for branch in union]
        struct = members(union, self._names)
        if struct:
            return pa.struct(
                [pa.field(f"member{member}", types[number]) for number, member in struct.items()]
            )
        others = [branch for branch in union if branch not in ("null", {"type": "null"})]
        if len(others) == 2:
            return _PRIMITIVES[WIDER[frozenset(others)]]
        return types[union.index(others[0])] if others else pa.string()


def _decimal(schema: Schema, path: str) -> pa.DataType:
    precision, scale = schema["precision"], schema.get("scale", 0)
    if not 0 < precision <= MAX_DIGITS or not 0 <= scale <= precision:
        raise SchemaError(f"{path}: decimal({precision},{scale}) is not between 1 and {MAX_DIGITS} digits")
    return pa.decimal128(precision, scale)
