"""Avro schemas: the type of the column, and the kernel's plan.

fastavro reads the schema and checks it. Types are those of Spark's from_avro; beyond it a UUID of 16 bytes
is text. A schema that contains itself has no columns.
"""

# PyArrow and fastavro have no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from barnabas.errors import MissingExtraError
from barnabas.formats.errors import SchemaError
from barnabas.formats.form import Form

Schema = Any
Plan = dict[str, Any]
Typed = tuple[pa.DataType, Plan]

INSTANT = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")

_PRIMITIVES: dict[str, Typed] = {
    "null": (pa.string(), {"kind": "null"}),
    "boolean": (pa.bool_(), {"kind": "boolean"}),
    "int": (pa.int32(), {"kind": "int"}),
    "long": (pa.int64(), {"kind": "long"}),
    "float": (pa.float32(), {"kind": "float"}),
    "double": (pa.float64(), {"kind": "double"}),
    "bytes": (pa.binary(), {"kind": "bytes"}),
    "string": (pa.string(), {"kind": "string"}),
}
_LOGICAL: dict[tuple[str, str], Typed] = {
    ("int", "date"): (pa.date32(), {"kind": "int"}),
    ("long", "timestamp-millis"): (INSTANT, {"kind": "millis"}),
    ("long", "timestamp-micros"): (INSTANT, {"kind": "long"}),
    ("long", "local-timestamp-millis"): (LOCAL, {"kind": "millis"}),
    ("long", "local-timestamp-micros"): (LOCAL, {"kind": "long"}),
}
UUID_BYTES = 16
MAX_DIGITS = 38
# What unions of these two have in common, as in Spark.
_WIDER: dict[frozenset[str], pa.DataType] = {
    frozenset({"int", "long"}): pa.int64(),
    frozenset({"float", "double"}): pa.float64(),
}


def avro(schema: str) -> Form:
    """A schema in Avro's JSON. Raises: SchemaError, MissingExtraError."""
    try:
        from fastavro.schema import SchemaParseException, UnknownType, parse_schema
    except ImportError:
        raise MissingExtraError("the format avro", "avro") from None
    names: dict[str, Any] = {}
    try:
        given: Schema = json.loads(schema)
    except ValueError as error:
        # A bare name is a schema too.
        given = schema.strip()
        if given not in _PRIMITIVES:
            raise SchemaError(f"the Avro schema is not JSON: {error}") from None
    try:
        parsed = parse_schema(given, named_schemas=names, _write_hint=False)
    except (SchemaParseException, UnknownType, KeyError, TypeError, ValueError, AttributeError) as error:
        raise SchemaError(f"the Avro schema is broken: {type(error).__name__}: {error}") from None
    data_type, plan = _Compiler(names).compile(parsed, "", ())
    return Form("avro", data_type, json.dumps(plan))


class _Compiler:
    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def compile(self, schema: Schema, path: str, within: tuple[str, ...]) -> Typed:
        """`within`: the names of the types that this one lies in."""
        if isinstance(schema, list):
            return self._union(schema, path, within)
        if isinstance(schema, str):
            if schema in _PRIMITIVES:
                return _PRIMITIVES[schema]
            if schema in within:
                raise SchemaError(f"{path}: {schema} contains itself, which no column can")
            return self.compile(self._names[schema], path, within)
        kind = schema["type"]
        if isinstance(kind, (dict, list)):
            return self.compile(kind, path, within)
        logical = schema.get("logicalType")
        if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        if logical == "decimal" and kind in ("bytes", "fixed"):
            return self._decimal(schema, path)
        match kind:
            case "record" | "error":
                return self._record(schema, path, within)
            case "array":
                item, plan = self.compile(schema["items"], f"{path}[]", within)
                return pa.list_(pa.field("element", item)), {"kind": "array", "items": plan}
            case "map":
                value, plan = self.compile(schema["values"], f"{path}[]", within)
                return pa.map_(pa.string(), pa.field("value", value)), {"kind": "map", "values": plan}
            case "enum":
                return pa.string(), {"kind": "enum", "symbols": schema["symbols"]}
            case "fixed":
                if logical == "uuid" and schema["size"] == UUID_BYTES:
                    return pa.string(), {"kind": "uuid"}
                return pa.binary(), {"kind": "fixed", "size": schema["size"]}
            case _:
                return self.compile(kind, path, within)

    def _record(self, schema: Schema, path: str, within: tuple[str, ...]) -> Typed:
        name = schema["name"]
        if name in within:
            raise SchemaError(f"{path}: {name} contains itself, which no column can")
        fields: list[pa.Field] = []
        plans: list[Plan] = []
        for field in schema["fields"]:
            where = f"{path}.{field['name']}" if path else field["name"]
            data_type, plan = self.compile(field["type"], where, (*within, name))
            fields.append(pa.field(field["name"], data_type))
            plans.append(plan)
        return pa.struct(fields), {"kind": "record", "fields": plans}

    def _decimal(self, schema: Schema, path: str) -> Typed:
        precision, scale = schema["precision"], schema.get("scale", 0)
        if not 0 < precision <= MAX_DIGITS or not 0 <= scale <= precision:
            raise SchemaError(
                f"{path}: decimal({precision},{scale}) is not between 1 and {MAX_DIGITS} digits"
            )
        size = schema["size"] if schema["type"] == "fixed" else None
        return pa.decimal128(precision, scale), {"kind": "decimal", "size": size}

    def _union(self, branches: list[Schema], path: str, within: tuple[str, ...]) -> Typed:
        """With null it is nullable; of several others each is a field of a struct, member0, member1, ..."""
        compiled = [self.compile(branch, path, within) for branch in branches]
        members = [data_type for data_type, plan in compiled if plan["kind"] != "null"]
        plans = [plan for _, plan in compiled]
        if len(members) <= 1:
            return (members or [pa.string()])[0], {"kind": "optional", "branches": plans}
        wider = _WIDER.get(
            frozenset(branch for branch in branches if isinstance(branch, str) and branch != "null")
        )
        if wider is not None and len(members) == 2:
            return wider, {"kind": "optional", "branches": plans}
        fields = [pa.field(f"member{number}", member) for number, member in enumerate(members)]
        return pa.struct(fields), {"kind": "members", "branches": plans}
