"""Descriptors of Protocol Buffers: the type of the column, and the kernel's plan.

google.protobuf reads the descriptors. A message is a struct; a field that knows whether it is there is null
when it is not, any other has its default then. Enums are strings, wrappers what they wrap,
google.protobuf.Timestamp and Duration are timestamps and intervals; unsigned numbers get types that hold
all of them.
"""

# PyArrow has no types, and descriptors come from C.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false, reportAttributeAccessIssue=false, reportUnknownLambdaType=false

from __future__ import annotations

import importlib
import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from barnabas.errors import MissingExtraError
from barnabas.formats.errors import SchemaError
from barnabas.formats.form import Form
from barnabas.formats.protobuf_schema import compile_text

Plan = dict[str, Any]
Typed = tuple[pa.DataType, Plan]
Descriptor = Any
FieldDescriptor = Any

# By the numbers that descriptors have for types.
_SCALARS: dict[int, tuple[str, pa.DataType]] = {
    1: ("double", pa.float64()),
    2: ("float", pa.float32()),
    3: ("int64", pa.int64()),
    4: ("uint64", pa.decimal128(20, 0)),
    5: ("int32", pa.int32()),
    6: ("fixed64", pa.decimal128(20, 0)),
    7: ("fixed32", pa.int64()),
    8: ("bool", pa.bool_()),
    9: ("string", pa.string()),
    12: ("bytes", pa.binary()),
    13: ("uint32", pa.int64()),
    15: ("sfixed32", pa.int32()),
    16: ("sfixed64", pa.int64()),
    17: ("sint32", pa.int32()),
    18: ("sint64", pa.int64()),
}
_GROUP = 10
_MESSAGE = 11
_ENUM = 14
_TIMES: dict[str, pa.DataType] = {
    "google.protobuf.Timestamp": pa.timestamp("us", "UTC"),
    "google.protobuf.Duration": pa.duration("us"),
}
_WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
# Files that protoc leaves out without --include_imports, by the modules that have them.
_WELL_KNOWN = "google/protobuf/"


def protobuf(schema: bytes | str, message: str = "", *, references: Mapping[str, str] | None = None) -> Form:
    """`schema`: a FileDescriptorSet, as `protoc --descriptor_set_out` writes; or as registries keep it, a
    .proto text or a descriptor in base64, with the texts of its `references` by the names it imports them by.

    `message`: its name, with its package or, where no other has it, without. Of a text it may be left out:
    the first message then. Raises: SchemaError, TypeError, MissingExtraError.
    """
    if not isinstance(schema, bytes | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"expected bytes or a str for schema, got {reprlib.repr(schema)}: give the text of a .proto "
            "file, or what protoc --include_imports --descriptor_set_out writes"
        )
    try:
        from google.protobuf import descriptor_pb2
        from google.protobuf.message import DecodeError
    except ImportError:
        raise MissingExtraError("the format protobuf", "protobuf") from None
    try:
        data = schema if isinstance(schema, bytes) else compile_text(schema, references)
        files = descriptor_pb2.FileDescriptorSet.FromString(data)
    except DecodeError as error:
        raise SchemaError(
            f"this is no descriptor set, as protoc --include_imports --descriptor_set_out writes: {error}"
        ) from None
    # The messages of imported files have no index in a schema that is a text.
    own = files.file if isinstance(schema, bytes) else files.file[-1:]
    indexes = {
        name: index
        for file in own
        for name, index in _indexes(file.message_type, f"{file.package}." if file.package else "", ())
    }
    is_first = isinstance(schema, str) and not message and indexes
    full_name = next(iter(indexes)) if is_first else _full_name(message, indexes)
    data_type, plan = _message(_pool_of(files).FindMessageTypeByName(full_name), "", ())
    return Form("protobuf", data_type, json.dumps(plan), message_index=indexes[full_name], message=full_name)


def _indexes(
    messages: Sequence[Any], prefix: str, within: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The full names of messages, with the way to each within its file, as a registry's header has it."""
    for number, message in enumerate(messages):
        if not message.options.map_entry:
            name, index = f"{prefix}{message.name}", (*within, number)
            yield name, index
            yield from _indexes(message.nested_type, f"{name}.", index)


def _full_name(name: str, known: Iterable[str]) -> str:
    """Raises: SchemaError."""
    names = sorted(known)
    if name in names:
        return name
    matching = [each for each in names if each.endswith(f".{name}")]
    if len(matching) != 1:
        problem = "is not in" if not matching else f"may be {' or '.join(matching)} of"
        raise SchemaError(f"message {name!r} {problem} the schema; there are {', '.join(names) or 'none'}")
    return matching[0]


def _pool_of(files: Any) -> Any:
    from google.protobuf import descriptor_pool

    pool = descriptor_pool.DescriptorPool()
    given = {file.name: file for file in files.file}
    added: set[str] = set()

    def add(name: str) -> None:
        if name in added:
            return
        added.add(name)
        if name in given:
            for dependency in given[name].dependency:
                add(dependency)
            pool.AddSerializedFile(given[name].SerializeToString())
        elif name.startswith(_WELL_KNOWN):
            module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
            for dependency in module.DESCRIPTOR.dependencies:
                add(dependency.name)
            pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        else:
            raise SchemaError(f"the descriptor set lacks {name}: call protoc with --include_imports")

    try:
        for name in given:
            add(name)
    except (TypeError, ImportError) as error:
        raise SchemaError(f"the descriptor set is broken: {error}") from None
    return pool


def _message(message: Descriptor, path: str, within: tuple[str, ...]) -> Typed:
    if message.full_name in within:
        raise SchemaError(f"{path}: {message.full_name} contains itself, which no column can")
    fields: list[pa.Field] = []
    plans: list[Plan] = []
    for field in message.fields:
        where = f"{path}.{field.name}" if path else field.name
        data_type, plan = _field(field, where, (*within, message.full_name))
        fields.append(pa.field(field.name, data_type))
        plans.append(plan)
    return pa.struct(fields), {"kind": "message", "fields": plans}


def _field(field: FieldDescriptor, path: str, within: tuple[str, ...]) -> Typed:
    number: Plan = {"number": field.number}
    if field.type == _MESSAGE and field.message_type.GetOptions().map_entry:
        entry = field.message_type.fields_by_name
        key_type, key = _value(entry["key"], path, within)
        value_type, value = _value(entry["value"], path, within)
        return pa.map_(key_type, pa.field("value", value_type)), number | value | {"shape": "map", "key": key}
    data_type, plan = _value(field, path, within)
    plan = number | plan
    if field.is_repeated:
        plan |= {"shape": "repeated", "packed": field.is_packed}
        return pa.list_(pa.field("element", data_type)), plan
    if field.is_required:
        return data_type, plan | {"shape": "required"}
    if field.has_presence:
        group = None if field.containing_oneof is None else field.containing_oneof.index
        return data_type, plan | {"shape": "optional", "oneof": group}
    return data_type, plan | {"shape": "implicit"}


def _value(field: FieldDescriptor, path: str, within: tuple[str, ...]) -> Typed:
    if field.type in _SCALARS:
        kind, data_type = _SCALARS[field.type]
        return data_type, {"kind": kind}
    if field.type == _ENUM:
        symbols = [[value.name, value.number] for value in field.enum_type.values]
        return pa.string(), {"kind": "enum", "symbols": symbols}
    if field.type == _GROUP:
        raise SchemaError(f"{path} is a group, which Protocol Buffers gave up and there is no column for")
    message = field.message_type
    if message.full_name in _TIMES:
        return _TIMES[message.full_name], {"kind": "time"}
    if message.full_name in _WRAPPERS:
        data_type, plan = _value(message.fields_by_name["value"], path, within)
        return data_type, {"kind": "wrapper", "value": plan}
    return _message(message, path, within)
