"""Descriptors to elements, as Confluent's registry makes them of what serializers send.

A name is a full one then, with a dot before it, and a map the message of its entries. Options that are
extensions are told as far as the pool knows them; others are left out.
"""

# google.protobuf has no types for what pools make.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false, reportUnknownParameterType=false, reportAttributeAccessIssue=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool

from barnabas.formats.proto.elements import (
    ConstantElement,
    EnumElement,
    ExtendElement,
    ExtensionsElement,
    FieldElement,
    FileElement,
    GroupElement,
    MessageElement,
    MethodElement,
    Number,
    NumberRange,
    OneofElement,
    OptionElement,
    OptionPart,
    ReservedElement,
    ServiceElement,
    Value,
    Word,
)
from barnabas.formats.proto.tokens import unescaped

Proto = Any

TYPES = (
    "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group", "message",
    "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip
GROUP = 10
LABELS = {1: "optional", 2: "required", 3: "repeated"}
# Confluent's order where it is not that of the numbers; custom options come last.
LATE_OPTIONS = (
    "optimize_for", "go_package", "cc_generic_services", "java_generic_services", "py_generic_services",
    "deprecated", "map_entry", "debug_redact", "cc_enable_arenas", "objc_class_prefix", "csharp_namespace",
    "swift_prefix", "php_class_prefix", "php_namespace", "php_metadata_namespace", "ruby_package",
    "retention", "targets", "edition_defaults", "features", "feature_support",
)  # fmt: skip
META = "confluent.Meta"
# Whose value comes before the key in parameters: so it was once, and texts must not change.
VALUE_FIRST = ("precision", "scale")


def from_descriptor(file: Proto, pool: DescriptorPool) -> FileElement:
    """`file`: a FileDescriptorProto. `pool` knows the extensions of options."""
    return _DescriptorReading(file, pool).file()


class _DescriptorReading:
    def __init__(self, file: Proto, pool: DescriptorPool) -> None:
        self._file = file
        self._pool = pool
        self._is_proto3 = file.syntax == "proto3"
        self._has_labels = not self._is_proto3 and file.syntax != "editions"

    def file(self) -> FileElement:
        file = self._file
        made = FileElement(package=file.package, options=self._options(file.options))
        if file.syntax == "editions":
            made.edition = (
                type(file)
                .DESCRIPTOR.fields_by_name["edition"]
                .enum_type.values_by_number[file.edition]
                .name.removeprefix("EDITION_")
            )
        else:
            made.syntax = file.syntax or None
        public, weak = set(file.public_dependency), set(file.weak_dependency)
        for number, name in enumerate(file.dependency):
            if number in public:
                made.public_imports.append(name)
            elif number in weak:
                made.weak_imports.append(name)
            else:
                made.imports.append(name)
        groups = self._group_messages(file.extension, file.message_type)
        made.types = [
            *(self._message(each) for each in file.message_type if each.name not in groups),
            *map(self._enum, file.enum_type),
        ]
        made.extends = self._extends(file.extension, groups)
        made.services = [self._service(each) for each in file.service]
        return made

    def _group_messages(self, fields: Iterable[Proto], messages: Iterable[Proto]) -> dict[str, Proto]:
        """By name, the messages that are declared together with one of the fields."""
        names = {field.type_name.rpartition(".")[2] for field in fields if field.type == GROUP}
        return {each.name: each for each in messages if each.name in names}

    def _message(self, message: Proto) -> MessageElement:
        made = MessageElement(message.name, options=self._options(message.options))
        made.oneofs = [
            OneofElement(each.name, options=self._options(each.options)) for each in message.oneof_decl
        ]
        groups = self._group_messages([*message.field, *message.extension], message.nested_type)
        for field in message.field:
            is_in_oneof = field.HasField("oneof_index") and not field.proto3_optional
            into = made.oneofs[field.oneof_index] if is_in_oneof else made
            self._add_field(field, into.fields, into.groups, groups, has_label=not is_in_oneof)
        made.oneofs = [oneof for oneof in made.oneofs if oneof.fields or oneof.groups]
        made.types = [
            *(self._message(each) for each in message.nested_type if each.name not in groups),
            *map(self._enum, message.enum_type),
        ]
        made.reserved = [
            *(ReservedElement([NumberRange(each.start, each.end - 1)]) for each in message.reserved_range),
            *(ReservedElement([name]) for name in message.reserved_name),
        ]
        made.extensions = [
            ExtensionsElement([NumberRange(each.start, each.end - 1)], self._options(each.options))
            for each in message.extension_range
        ]
        made.extends = self._extends(message.extension, groups)
        return made

    def _extends(self, fields: Iterable[Proto], group_messages: dict[str, Proto]) -> list[ExtendElement]:
        made: dict[str, ExtendElement] = {}
        for field in fields:
            into = made.setdefault(field.extendee, ExtendElement(field.extendee))
            self._add_field(field, into.fields, into.groups, group_messages, has_label=True)
        return list(made.values())

    def _add_field(
        self,
        field: Proto,
        fields: list[FieldElement],
        groups: list[GroupElement],
        group_messages: dict[str, Proto],
        *,
        has_label: bool,
    ) -> None:
        label = self._label(field) if has_label else None
        message = group_messages.get(field.type_name.rpartition(".")[2]) if field.type == GROUP else None
        if message is not None:
            group = GroupElement(label, field.number, self._message(message), self._options(field.options))
            groups.append(group)
            return
        made = FieldElement(label, field.type_name or TYPES[field.type - 1], field.name, field.number)
        made.options = self._options(field.options)
        if field.HasField("json_name"):
            made.json_name = field.json_name
        if field.HasField("default_value") and not self._is_proto3:
            made.default = _default(field)
        fields.append(made)

    def _label(self, field: Proto) -> str | None:
        label = LABELS[field.label]
        return label if self._has_labels or field.proto3_optional or label == "repeated" else None

    def _enum(self, enum: Proto) -> EnumElement:
        return EnumElement(
            enum.name,
            [ConstantElement(each.name, each.number, self._options(each.options)) for each in enum.value],
            [
                *(ReservedElement([NumberRange(each.start, each.end)]) for each in enum.reserved_range),
                *(ReservedElement([name]) for name in enum.reserved_name),
            ],
            self._options(enum.options),
        )

    def _service(self, service: Proto) -> ServiceElement:
        methods = [
            MethodElement(
                each.name,
                each.input_type,
                each.output_type,
                each.client_streaming,
                each.server_streaming,
                self._options(each.options),
            )
            for each in service.method
        ]
        return ServiceElement(service.name, methods, self._options(service.options))

    def _options(self, options: Proto) -> list[OptionElement]:
        data = options.SerializeToString()
        if not data:
            return []
        name = options.DESCRIPTOR.full_name
        known = message_factory.GetMessageClass(self._pool.FindMessageTypeByName(name)).FromString(data)
        made: list[OptionElement] = []
        for field, value in sorted(known.ListFields(), key=_rank):
            part = OptionPart(field.full_name if field.is_extension else field.name, field.is_extension)
            values = value if field.is_repeated else [value]
            made += [OptionElement((part,), _value(field, each)) for each in values]
        return made


def _rank(found: tuple[Any, Any]) -> tuple[int, int]:
    field = found[0]
    if field.is_extension:
        is_meta = field.message_type is not None and field.message_type.full_name == META
        return (len(LATE_OPTIONS) + (0 if is_meta else 1), field.number)
    return (LATE_OPTIONS.index(field.name) + 1 if field.name in LATE_OPTIONS else 0, field.number)


def _value(field: Any, value: Any) -> Value:
    if field.message_type is not None:
        return _mapping(value)
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return Number(str(value)) if named is None else Word(named.name)
    if isinstance(value, bool):
        return Word("true" if value else "false")
    if isinstance(value, float) and not math.isfinite(value):
        return Word("nan" if math.isnan(value) else "inf" if value > 0 else "-inf")
    if isinstance(value, int | float):
        return Number(repr(value))
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _mapping(message: Any) -> Value:
    made: dict[str, Value] = {}
    for field, value in message.ListFields():
        name = f"[{field.full_name}]" if field.is_extension else field.name
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            made[name] = [_entry(field.message_type, key, value[key]) for key in sorted(value)]
        elif field.is_repeated:
            made[name] = [_value(field, each) for each in value]
        else:
            made[name] = _value(field, value)
    return made


def _entry(entry: Any, key: Any, value: Any) -> Value:
    fields = entry.fields_by_name
    made: dict[str, Value] = {"key": _value(fields["key"], key), "value": _value(fields["value"], value)}
    return dict(reversed(made.items())) if key in VALUE_FIRST else made


def _default(field: Proto) -> Value:
    text, kind = field.default_value, TYPES[field.type - 1]
    if kind == "string":
        return text
    if kind == "bytes":
        return unescaped(text)
    if kind in ("bool", "enum") or text in ("inf", "-inf", "nan"):
        return Word(text)
    return Number(text)
