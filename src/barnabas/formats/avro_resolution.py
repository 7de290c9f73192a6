"""How data of one Avro schema are read as another one has them: the specification's schema resolution, as the
kernel's plan. For single values and for columns alike. Knows nothing of where a schema comes from.
"""

# fastavro has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any, Literal

from barnabas.errors import MissingExtraError
from barnabas.formats.errors import SchemaError

Schema = Any
Plan = dict[str, Any]
Strictness = Literal["no", "but_defaults", "all"]
"""Whether a value that is written has exactly the fields of its record."""

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
# What a reader takes besides its own type, and as what.
PROMOTIONS = {
    ("int", "long"): "int",
    ("int", "float"): "long_as_double",
    ("int", "double"): "long_as_double",
    ("long", "float"): "long_as_double",
    ("long", "double"): "long_as_double",
    ("float", "double"): "float",
    ("string", "bytes"): "bytes",
    ("bytes", "string"): "string",
}
MEANINGS = {
    "int": ("date", "time-millis"),
    "long": (
        "time-micros",
        "timestamp-millis",
        "timestamp-micros",
        "local-timestamp-millis",
        "local-timestamp-micros",
    ),
    "string": ("uuid",),
}
# Unions of these have one column, of the wider type, as in Spark.
WIDER = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}
MAX_DIGITS = 38
NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
UUID_BYTES, DURATION_BYTES = 16, 12


def parsed(text: str, references: Sequence[str], names: dict[str, Schema]) -> Schema:
    """As fastavro has it; `names` gets the named types. Raises: SchemaError, MissingExtraError."""
    try:
        from fastavro.schema import SchemaParseException, UnknownType, parse_schema
    except ImportError:
        raise MissingExtraError("Avro", "avro") from None
    found: Schema = None
    for each in (*references, text):
        try:
            given = loaded(each)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"the Avro schema is not JSON: {error}") from None
        try:
            found = parse_schema(given, named_schemas=names, _write_hint=False)
        except RecursionError:
            raise SchemaError("the types of the Avro schema are too many within each other") from None
        except (SchemaParseException, UnknownType, KeyError, TypeError, ValueError, AttributeError) as error:
            raise SchemaError(f"the Avro schema is broken: {type(error).__name__}: {error}") from None
    return found


def loaded(text: str) -> Schema:
    """A schema's JSON, in which a bare name is a schema too. Raises: ValueError, RecursionError."""
    return text.strip() if text.strip() in PRIMITIVES else json.loads(text, object_hook=_with_number)


def _with_number(found: dict[str, Any]) -> dict[str, Any]:
    """A field with a default that JSON has no number for, and which is a text there."""
    default, kind = found.get("default"), found.get("type")
    while isinstance(kind, dict):
        kind = kind.get("type")
    if isinstance(default, str) and default in NO_NUMBERS and kind in ("float", "double"):
        found["default"] = float(default)
    return found


def plan(
    writer: Schema,
    writer_names: dict[str, Schema],
    reader: Schema,
    reader_names: dict[str, Schema],
    *,
    tells_records: bool = False,
    is_writing: bool = False,
    strict: Strictness = "no",
) -> str:
    """JSON: the `root`, and `records` by number. With `is_writing`, how values are written; the reader is
    the writer then. Raises: SchemaError."""
    records = _Records()
    compiler = _Resolution(
        writer_names, reader_names, records, tells_records=tells_records, is_writing=is_writing
    )
    try:
        root = compiler.node(writer, reader)
        return json.dumps({"root": root, "records": records.plans, "strict": strict})
    except RecursionError:
        raise SchemaError("the types of the Avro schema are too many within each other") from None


class _Records:
    """Those of one plan, by number: a record may contain itself."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self._numbers: dict[tuple[str, str, str], int] = {}

    def number(self, key: tuple[str, str, str], fields: Callable[[], list[Plan]]) -> int:
        """Of the record that is read so; `key` ends with the name that it has for the reader."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.plans)
            self.plans.append({})
            self.plans[number] = {"name": key[-1], "fields": fields()}
        return number


class _Resolution:
    """How what one schema describes is read as another one has it; or, with `is_writing`, is written.

    `side`: of a schema that is read as it is, whose it is; the same name may be another type's on the other.
    """

    def __init__(
        self,
        writer_names: dict[str, Schema],
        reader_names: dict[str, Schema],
        records: _Records,
        side: str = "",
        *,
        tells_records: bool = False,
        is_writing: bool = False,
    ) -> None:
        self._writer_names = writer_names
        self._reader_names = reader_names
        self._records = records
        self._side = side
        self._tells_records = tells_records
        self._is_writing = is_writing

    def node(self, writer: Schema, reader: Schema) -> Plan:
        writer, reader = _resolved(writer, self._writer_names), _resolved(reader, self._reader_names)
        if isinstance(writer, list):
            return self._union(writer, reader)
        if isinstance(reader, list):
            number = self._chosen(writer, reader)
            if number is None:
                return _mismatch(writer, reader)
            member = members(reader, self._reader_names).get(number)
            return self.node(writer, reader[number]) | ({} if member is None else {"member": member})
        was, wanted = _kind(writer), _kind(reader)
        if was != wanted:
            promoted = PROMOTIONS.get((was, wanted))
            return _mismatch(writer, reader) if promoted is None else {"kind": promoted} | _meaning(reader)
        match wanted:
            case "array":
                return {"kind": "array", "items": self.node(writer["items"], reader["items"])}
            case "map":
                return {"kind": "map", "values": self.node(writer["values"], reader["values"])}
            case "record":
                return self._record(writer, reader)
            case "enum":
                return self._enum(writer, reader)
            case "fixed":
                if not _is_named(writer, reader) or writer["size"] != reader["size"]:
                    return _mismatch(writer, reader)
                return {"kind": "fixed", "size": reader["size"]} | _meaning(reader)
            case _:
                return {"kind": wanted} | _meaning(reader)

    def _union(self, writer: list[Schema], reader: Schema) -> Plan:
        branches: list[Plan] = []
        for branch, resolved in zip(writer, _branches(writer, self._writer_names), strict=True):
            is_told = self._tells_records and _kind(resolved) == "record"
            node = self.node(branch, branch if self._is_writing else reader)
            branches.append({"node": node, "name": _name(resolved), "is_told": is_told})
        return {"kind": "union", "branches": branches}

    def _chosen(self, writer: Schema, reader: list[Schema]) -> int | None:
        """The branch of the reader's union that reads what is written: one of its type, if there is one."""
        branches = [*enumerate(_branches(reader, self._reader_names))]
        was = _kind(writer)
        same = [(n, branch) for n, branch in branches if _kind(branch) == was and _is_named(writer, branch)]
        exact = [n for n, branch in same if _name(branch) == _name(writer)]
        promoted = [n for n, branch in branches if (was, _kind(branch)) in PROMOTIONS]
        return next(iter([*exact, *(n for n, _ in same), *promoted]), None)

    def _enum(self, writer: Schema, reader: Schema) -> Plan:
        if not _is_named(writer, reader):
            return _mismatch(writer, reader)
        symbols: list[Any] = []
        for symbol in writer["symbols"]:
            if symbol in reader["symbols"]:
                symbols.append(symbol)
            elif "default" in reader:
                symbols.append(reader["default"])
            else:
                symbols.append({"mismatch": f"the reader's enum {_name(reader)} has no symbol {symbol!r}"})
        return {"kind": "enum", "symbols": symbols}

    def _record(self, writer: Schema, reader: Schema) -> Plan:
        if not _is_named(writer, reader):
            return _mismatch(writer, reader)
        key = (self._side, writer["name"], reader["name"])
        number = self._records.number(key, lambda: self._fields(writer, reader))
        return {"kind": "record", "number": number}

    def _fields(self, writer: Schema, reader: Schema) -> list[Plan]:
        found: list[Plan] = []
        wanted = {alias: field for field in reader["fields"] for alias in field.get("aliases", ())}
        wanted |= {field["name"]: field for field in reader["fields"]}
        written: set[str] = set()
        for field in writer["fields"]:
            target = wanted.get(field["name"])
            if target is None or target["name"] in written:
                node = self._as_it_is(self._writer_names, "writer").node(field["type"], field["type"])
                found.append({"name": field["name"], "node": node, "is_skipped": True})
                continue
            written.add(target["name"])
            entry: Plan = {"name": target["name"], "node": self.node(field["type"], target["type"])}
            if self._is_writing and "default" in field:
                entry["default"] = self._default(field)
            found.append(entry)
        for field in reader["fields"]:
            if field["name"] in written:
                continue
            if "default" in field:
                node = self._as_it_is(self._reader_names, "reader").node(field["type"], field["type"])
                found.append({"name": field["name"], "node": node, "default": self._default(field)})
            else:
                message = f"nobody wrote it, and the reader's record {reader['name']} has no default for it"
                found.append({"name": field["name"], "node": {"kind": "mismatch", "message": message}})
        return found

    def _as_it_is(self, names: dict[str, Schema], side: str) -> _Resolution:
        return _Resolution(names, names, self._records, side, tells_records=self._tells_records)

    def _default(self, field: Schema) -> list[int]:
        """As it would have been written."""
        written = bytearray()
        try:
            _write_default(field["default"], field["type"], self._reader_names, written)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, struct.error) as error:
            raise SchemaError(
                f"the default {field['default']!r:.100} of the field {field['name']!r} is no value of its "
                f"type ({error})"
            ) from None
        return list(written)


def _resolved(schema: Schema, names: dict[str, Schema]) -> Schema:
    """A type in the place of its name."""
    while True:
        if isinstance(schema, str):
            if schema in PRIMITIVES:
                return {"type": schema}
            schema = names[schema]
        elif isinstance(schema, dict) and not isinstance(schema["type"], str):
            schema = schema["type"]
        elif isinstance(schema, dict) and schema["type"] in names and "name" not in schema:
            schema = names[schema["type"]]
        else:
            return schema


def _branches(union: list[Schema], names: dict[str, Schema]) -> list[Schema]:
    branches = [_resolved(branch, names) for branch in union]
    if any(isinstance(branch, list) for branch in branches):
        raise SchemaError("a union of the Avro schema is in another one")
    kinds = [_name(branch) for branch in branches]
    if len(set(kinds)) < len(kinds):
        raise SchemaError(f"a union of the Avro schema has a type twice: {', '.join(kinds)}")
    return branches


def members(union: list[Schema], names: dict[str, Schema]) -> dict[int, int]:
    """In a column, the field of a struct for each of a union's types; none where all go into the column."""
    others = [number for number, branch in enumerate(_branches(union, names)) if _kind(branch) != "null"]
    bare = frozenset(branch for branch in union if isinstance(branch, str) and branch != "null")
    if len(others) < 2 or (len(others) == 2 and bare in WIDER):
        return {}
    return {number: member for member, number in enumerate(others)}


def _kind(schema: Schema) -> str:
    if isinstance(schema, list):
        return "union"
    return "record" if schema["type"] == "error" else schema["type"]


def _name(schema: Schema) -> str:
    return schema.get("name", schema["type"])


def _is_named(writer: Schema, reader: Schema) -> bool:
    """Whether the reader knows the writer's type by its name, the last part of it or an alias."""
    if "name" not in writer or "name" not in reader:
        return True
    was, wanted = writer["name"], reader["name"]
    namespace = wanted.rpartition(".")[0]
    aliases = [a if "." in a or not namespace else f"{namespace}.{a}" for a in reader.get("aliases", ())]
    return was.rpartition(".")[2] == wanted.rpartition(".")[2] or was in aliases


def _mismatch(writer: Schema, reader: Schema) -> Plan:
    wanted = "a union" if isinstance(reader, list) else _name(reader)
    return {
        "kind": "mismatch",
        "message": f"it was written as {_name(writer)}, which is not read as {wanted}",
    }


def _meaning(schema: Schema) -> Plan:
    """Of its logical type; one that is unknown or does not fit is as if it were not there."""
    kind, logical = schema["type"], schema.get("logicalType")
    if logical in MEANINGS.get(kind, ()):
        return {"meaning": logical}
    if kind == "fixed" and (logical, schema["size"]) in (("uuid", UUID_BYTES), ("duration", DURATION_BYTES)):
        return {"meaning": logical}
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = schema["precision"], schema.get("scale", 0)
        if not 0 < precision <= MAX_DIGITS or not 0 <= scale <= precision:
            raise SchemaError(f"decimal({precision},{scale}) is not between 1 and {MAX_DIGITS} digits")
        return {"meaning": "decimal", "precision": precision, "scale": scale}
    return {}


def _write_long(number: Any, written: bytearray) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not -(1 << 63) <= number < 1 << 63:
        raise TypeError(f"{number!r} is no whole number of 64 bits")
    left = (number << 1) ^ (number >> 63)
    while left >= 0x80:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    written.append(left)


def _write_default(value: Any, schema: Schema, names: dict[str, Schema], written: bytearray) -> None:
    """The bytes of a default, which is written as JSON has it: of a union, of the first type that it fits."""
    schema = _resolved(schema, names)
    kind = _kind(schema)
    match kind:
        case "union":
            for number, branch in enumerate(schema):
                attempt = bytearray()
                try:
                    _write_default(value, branch, names, attempt)
                except (TypeError, ValueError, KeyError, AttributeError, OverflowError, struct.error):
                    continue
                _write_long(number, written)
                written += attempt
                return
            raise ValueError("it fits none of the union's types")
        case "null":
            if value is not None:
                raise TypeError(f"{value!r} is not null")
        case "boolean":
            if not isinstance(value, bool):
                raise TypeError(f"{value!r} is no boolean")
            written.append(value)
        case "int" | "long":
            _write_long(value, written)
        case "float" | "double":
            written += struct.pack("<f" if kind == "float" else "<d", value)
        case "bytes" | "fixed" | "string":
            raw = value.encode() if kind == "string" else value.encode("latin-1")
            if kind != "fixed":
                _write_long(len(raw), written)
            elif len(raw) != schema["size"]:
                raise ValueError(f"{len(raw)} bytes for a fixed of {schema['size']}")
            written += raw
        case "enum":
            _write_long(schema["symbols"].index(value), written)
        case "array":
            _write_count(value, list, written)
            for part in value:
                _write_default(part, schema["items"], names, written)
            written += b"\0" if value else b""
        case "map":
            _write_count(value, dict, written)
            for key, part in value.items():
                _write_default(key, "string", names, written)
                _write_default(part, schema["values"], names, written)
            written += b"\0" if value else b""
        case _:
            for field in schema["fields"]:
                part = value[field["name"]] if field["name"] in value else field["default"]
                _write_default(part, field["type"], names, written)


def _write_count(value: Any, kind: type[Any], written: bytearray) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    _write_long(len(value), written)
