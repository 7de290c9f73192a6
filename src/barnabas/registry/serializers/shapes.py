"""Of schemas what their values are made of, without what they say besides, so that two can be compared.

A class has no place for tags, comments and rules: the version of a subject that it is has the same shape, and
more text.
"""

# google.protobuf has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from barnabas.registry.rules.protobuf_walk import tags_of

# Only the words for people, and those that rules read.
_NOTES = frozenset(
    {
        "$comment", "confluent:rules", "confluent:tags", "default", "deprecated", "description", "examples",
        "readOnly", "title", "writeOnly",
    }
)  # fmt: skip
# Whose values are schemas by names that anybody may choose.
_BY_NAME = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
_PLAIN = frozenset({"const", "enum", "required"})
_MEANING = ("logicalType", "precision", "scale")
TAGS_FILE = "confluent/meta.proto"
"""Imported by files whose fields have tags."""


def avro_shape(schema: Any, names: Mapping[str, Any]) -> Any:
    """`schema` and `names` as fastavro has parsed them. A type that is defined elsewhere stands where it is
    used first."""
    return _avro(schema, names, set())


def _avro(schema: Any, names: Mapping[str, Any], seen: set[str]) -> Any:
    if isinstance(schema, list):
        return [_avro(branch, names, seen) for branch in cast(list[Any], schema)]
    if isinstance(schema, str):
        return schema if schema in seen or schema not in names else _avro(names[schema], names, seen)
    found = cast(dict[str, Any], schema)
    kind, name = found["type"], found.get("name")
    meaning = [found.get(each) for each in _MEANING]
    if name is not None:
        if name in seen:
            return name
        seen.add(name)
    match kind:
        case "record" | "error":
            fields = cast(list[dict[str, Any]], found["fields"])
            return ["record", name, [[field["name"], _avro(field["type"], names, seen)] for field in fields]]
        case "enum":
            return [kind, name, list(found["symbols"])]
        case "fixed":
            return [kind, name, found["size"], meaning]
        case "array":
            return [kind, _avro(found["items"], names, seen)]
        case "map":
            return [kind, _avro(found["values"], names, seen)]
        case _:
            inner = _avro(kind, names, seen)
            return inner if meaning[0] is None else [inner, meaning]


def json_shape(text: str, references: Mapping[str, str]) -> Any:
    """Of a JSON Schema, with what it refers to by name."""
    others = {name: _json(json.loads(each)) for name, each in references.items()}
    return [_json(json.loads(text)), others]


def _json(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_json(each) for each in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for word, value in cast(dict[str, Any], schema).items():
        if word in _NOTES:
            continue
        if word in _PLAIN:
            found[word] = value
        elif word in _BY_NAME and isinstance(value, dict):
            found[word] = {name: _json(each) for name, each in cast(dict[str, Any], value).items()}
        else:
            found[word] = _json(value)
    return found


def json_tags(text: str, references: Mapping[str, str]) -> set[str]:
    """All that are on fields of a JSON Schema, or of what it refers to."""
    return {tag for each in (text, *references.values()) for tag in _tags_in(json.loads(each))}


def _tags_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        found = cast(dict[str, Any], schema)
        tags = found.get("confluent:tags")
        if isinstance(tags, list):
            yield from map(str, cast(list[Any], tags))
        schema = list(found.values())
    if isinstance(schema, list):
        for part in cast(list[Any], schema):
            yield from _tags_in(part)


def protobuf_tags(file: Any) -> set[str]:
    """All that are on fields of a file's messages, or of those that it imports."""
    found = {tag for each in file.dependencies if each.name != TAGS_FILE for tag in protobuf_tags(each)}
    messages = list(file.message_types_by_name.values())
    while messages:
        message = messages.pop()
        messages += message.nested_types
        for field in message.fields:
            found |= tags_of(field)
    return found


def protobuf_shape(file: Any) -> Any:
    """Of a file's descriptor, with all files that it imports but the one that tags need."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    copy = FileDescriptorProto()
    file.CopyToProto(copy)
    for name in ("name", "source_code_info", "dependency", "public_dependency", "weak_dependency", "options"):
        copy.ClearField(name)
    for message in copy.message_type:
        _without_options(message)
    for enum in copy.enum_type:
        _without_enum_options(enum)
    for extension in copy.extension:
        _without_field_options(extension)
    copy.syntax = "" if copy.syntax == "proto2" else copy.syntax
    imported = {each.name: protobuf_shape(each) for each in file.dependencies if each.name != TAGS_FILE}
    return [copy.SerializeToString(deterministic=True), imported]


def _without_options(message: Any) -> None:
    is_entry = message.options.map_entry
    message.ClearField("options")
    if is_entry:
        message.options.map_entry = True
    for field in (*message.field, *message.extension):
        _without_field_options(field)
    for oneof in message.oneof_decl:
        oneof.ClearField("options")
    for enum in message.enum_type:
        _without_enum_options(enum)
    for nested in message.nested_type:
        _without_options(nested)


def _without_field_options(field: Any) -> None:
    field.ClearField("options")
    field.ClearField("json_name")


def _without_enum_options(enum: Any) -> None:
    enum.ClearField("options")
    for value in enum.value:
        value.ClearField("options")
