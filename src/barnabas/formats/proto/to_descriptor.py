"""Elements to descriptors, without their options: what names mean, and what protoc would not take.

The messages of a map's entries come after all that are declared, as in Confluent's registry: so a message's
index counts those that a text shows.
"""

# google.protobuf has no types for what pools make.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false, reportUnknownParameterType=false

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from google.protobuf import descriptor_pb2

from barnabas.formats.proto.elements import (
    INTEGERS,
    LARGEST_ENUM_NUMBER,
    LARGEST_NUMBER,
    MAX,
    MOST_OPTIONS,
    SCALARS,
    EnumElement,
    ExtendElement,
    FieldElement,
    FileElement,
    GroupElement,
    MessageElement,
    MethodElement,
    Number,
    NumberRange,
    OptionElement,
    ReservedElement,
    ServiceElement,
    Value,
    Word,
)
from barnabas.formats.proto.names import DeclaredType, Names, joined
from barnabas.formats.proto.tokens import fail

Proto = Any
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEY_TYPES = (INTEGERS | {"bool", "string"}) - {"float", "double", "bytes"}
TYPE_NUMBERS = {
    "double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "fixed64": 6, "fixed32": 7, "bool": 8,
    "string": 9, "bytes": 12, "uint32": 13, "sfixed32": 15, "sfixed64": 16, "sint32": 17, "sint64": 18,
}  # fmt: skip
LARGEST_FLOAT = 3.4028235677973366e38
"""Half a step beyond it: what is nearer to it is rounded."""
GROUP, MESSAGE, ENUM = 10, 11, 14
LABEL_NUMBERS = {None: 1, "optional": 1, "required": 2, "repeated": 3}


class PendingOptions(NamedTuple):
    """Options of something, which are worked out when all types are known."""

    owner: Proto
    """Whose field `options` they become."""
    options: Sequence[OptionElement]
    scope: str


def to_descriptor(
    file: FileElement, name: str, names: Names, visible: frozenset[str], missing: Sequence[str]
) -> tuple[Proto, list[PendingOptions]]:
    """A FileDescriptorProto. `visible`: the files whose names it may use. `missing`: imports nobody gave.

    Raises: SchemaError.
    """
    writing = _DescriptorWriting(file, name, names, visible, missing)
    return writing.file(), writing.pending


def entry_name(field: str) -> str:
    """protoc's, for the message of a map's entries."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


class _DescriptorWriting:
    def __init__(
        self, file: FileElement, name: str, names: Names, visible: frozenset[str], missing: Sequence[str]
    ) -> None:
        self._file = file
        self._name = name
        self._names = names
        self._visible = visible
        self._missing = missing
        self.pending: list[PendingOptions] = []

    def _fail(self, problem: str, position: int) -> NoReturn:
        fail(self._file.text, position, problem)

    def file(self) -> Proto:
        file = self._file
        made = descriptor_pb2.FileDescriptorProto(name=self._name)
        if file.package:
            if not all(NAME.fullmatch(part) for part in file.package.split(".")):
                self._fail(f"{file.package!r:.60} is no name of a package", -1)
            made.package = file.package
        if file.edition:
            made.syntax = "editions"
            made.edition = descriptor_pb2.Edition.Value(f"EDITION_{file.edition}")
        elif file.syntax == "proto3":
            made.syntax = "proto3"
        for into, imports in (
            (None, file.imports),
            (made.public_dependency, file.public_imports),
            (made.weak_dependency, file.weak_imports),
        ):
            for each in dict.fromkeys(imports):
                if each not in self._missing:
                    if into is not None:
                        into.append(len(made.dependency))
                    made.dependency.append(each)
        scope = file.package
        self._check_names([each.name for each in (*file.types, *file.services)], "the file", -1)
        for message in file.messages:
            self._message(made.message_type.add(), message, scope)
        for enum in file.enums:
            self._enum(made.enum_type.add(), enum, scope)
        self._extends(file.extends, made.extension, made.message_type.add, scope)
        for service in file.services:
            self._service(made.service.add(), service, scope)
        self._later(made, file.options, scope)
        return made

    def _later(self, owner: Proto, options: Sequence[OptionElement], scope: str) -> None:
        if len(options) > MOST_OPTIONS:
            self._fail(f"there are more than {MOST_OPTIONS} options of one thing", options[0].position)
        if options:
            self.pending.append(PendingOptions(owner, options, scope))

    def _check_names(self, names: Iterable[str], where: str, position: int) -> None:
        seen: set[str] = set()
        for name in names:
            if not NAME.fullmatch(name):
                self._fail(f"{name!r:.60} in {where} is no name", position)
            if name in seen:
                self._fail(f"{where} has {name!r} twice", position)
            seen.add(name)

    def _message(self, made: Proto, message: MessageElement, scope: str) -> None:
        made.name = message.name
        scope = joined(scope, message.name)
        groups = [*message.groups, *(group for oneof in message.oneofs for group in oneof.groups)]
        fields = [*message.fields, *(field for oneof in message.oneofs for field in oneof.fields)]
        self._check_members(message, fields, groups, scope)
        for oneof in message.oneofs:
            one = made.oneof_decl.add()
            one.name = oneof.name
            self._later(one, oneof.options, scope)
        for group in groups:
            self._message(made.nested_type.add(), group.message, scope)
        for nested in message.messages:
            self._message(made.nested_type.add(), nested, scope)
        for enum in message.enums:
            self._enum(made.enum_type.add(), enum, scope)
        for field, index in self._in_order(message):
            if isinstance(field, GroupElement):
                self._group(made.field.add(), field, scope, index)
            else:
                self._field(made.field.add(), field, scope, index)
        self._add_presence(made, message)
        for field in message.fields:
            if field.map_types is not None:
                self._entry(made.nested_type.add(), field, scope)
        self._add_reserved(made, message.reserved, past=1)
        for extensions in message.extensions:
            for first, last in extensions.values:
                largest = message.largest_extension
                end = largest if last == MAX else last
                if end > largest:
                    self._fail(
                        f"{first} to {end} is no range of numbers between 1 and {largest}", message.position
                    )
                one = made.extension_range.add()
                one.start, one.end = first, end + 1
                self._later(one, extensions.options, scope)
        self._extends(message.extends, made.extension, made.nested_type.add, scope)
        self._later(made, message.options, scope)

    def _in_order(self, message: MessageElement) -> list[tuple[FieldElement | GroupElement, int | None]]:
        """With the oneof of each. As in the text; if there is none, as it would be printed."""
        found: list[tuple[FieldElement | GroupElement, int | None]] = []
        found += [(each, None) for each in message.fields]
        for index, oneof in enumerate(message.oneofs):
            found += [(each, index) for each in (*oneof.fields, *oneof.groups)]
        found += [(each, None) for each in message.groups]
        return sorted(found, key=lambda each: each[0].position)

    def _check_members(
        self,
        message: MessageElement,
        fields: Sequence[FieldElement],
        groups: Sequence[GroupElement],
        scope: str,
    ) -> None:
        where, position = f"the message {scope}", message.position
        names = [each.name for each in (*fields, *message.types, *message.oneofs)]
        names += [name for group in groups for name in (group.message.name, group.message.name.lower())]
        self._check_names(names, where, position)
        numbers: dict[int, str] = {}
        for each in (*fields, *groups):
            name = each.name if isinstance(each, FieldElement) else each.message.name.lower()
            if not 1 <= each.number <= LARGEST_NUMBER:
                self._fail(f"{each.number} of the field {name!r} is no number of a field", each.position)
            if each.number in numbers:
                self._fail(
                    f"{where} has the number {each.number} twice: for {numbers[each.number]!r} and {name!r}",
                    each.position,
                )
            numbers[each.number] = name
        ordered, known = sorted(numbers), set(numbers.values())
        for value in (value for each in message.reserved for value in each.values):
            if isinstance(value, NumberRange):
                place = bisect_left(ordered, value.first)
                if place < len(ordered) and ordered[place] <= value.last:
                    name = numbers[ordered[place]]
                    self._fail(f"{where} has the field {name!r}, whose number is reserved", position)
            elif value in known:
                self._fail(f"{where} has the field {value!r}, whose name is reserved", position)
        for oneof in message.oneofs:
            if not oneof.fields and not oneof.groups:
                self._fail(f"the oneof {oneof.name!r} of {where} has no fields", oneof.position)

    def _add_presence(self, made: Proto, message: MessageElement) -> None:
        """A field that is optional in proto3 is in a oneof of its own, behind those of the text."""
        if self._file.syntax != "proto3":
            return
        optional = {each.name for each in message.fields if each.label == "optional"}
        taken = {each.name for each in (*made.field, *made.oneof_decl, *made.nested_type, *made.enum_type)}
        for field in made.field:
            if field.name in optional:
                field.proto3_optional = True
                field.oneof_index = len(made.oneof_decl)
                name = f"_{field.name}"
                while name in taken:
                    name = f"X{name}"
                taken.add(name)
                made.oneof_decl.add().name = name

    def _field(self, made: Proto, field: FieldElement, scope: str, oneof: int | None) -> None:
        made.name, made.number = field.name, field.number
        made.label = LABEL_NUMBERS[field.label]
        map_types = field.map_types
        if map_types is not None:
            made.label = LABEL_NUMBERS["repeated"]
            made.type = MESSAGE
            made.type_name = f".{joined(scope, entry_name(field.name))}"
        else:
            self._set_type(made, field.type, scope, field.position)
        if oneof is not None:
            made.oneof_index = oneof
        if field.json_name is not None:
            made.json_name = field.json_name
        if field.default is not None:
            made.default_value = self._default(made, field)
        self._later(made, field.options, scope)

    def _set_type(self, made: Proto, type_: str, scope: str, position: int) -> None:
        if type_ in SCALARS:
            made.type = TYPE_NUMBERS[type_]
            return
        found = self._find(type_, scope, position)
        made.type = MESSAGE if isinstance(found.element, MessageElement) else ENUM
        made.type_name = f".{found.full_name}"

    def _find(self, name: str, scope: str, position: int) -> DeclaredType:
        found = self._names.type(name, scope)
        if found is None:
            hint = ""
            if self._missing:
                files = " and ".join(map(repr, self._missing[:3]))
                hint = f"; {files}, which it imports, is not among its references"
            self._fail(f"the type {name!r:.100} is not defined{hint}", position)
        if found.file not in self._visible:
            self._fail(f"the type {name!r:.100} is of {found.file!r}, which is not imported", position)
        return found

    def _group(self, made: Proto, group: GroupElement, scope: str, oneof: int | None) -> None:
        made.name, made.number = group.message.name.lower(), group.number
        made.label, made.type = LABEL_NUMBERS[group.label], GROUP
        made.type_name = f".{joined(scope, group.message.name)}"
        if oneof is not None:
            made.oneof_index = oneof
        self._later(made, group.options, scope)

    def _entry(self, made: Proto, field: FieldElement, scope: str) -> None:
        key, value = field.map_types or ("", "")
        if key not in KEY_TYPES:
            self._fail(f"{key!r:.60} is no type of a map's keys", field.position)
        made.name = entry_name(field.name)
        made.options.map_entry = True
        for number, (name, type_) in enumerate((("key", key), ("value", value)), 1):
            part = made.field.add()
            part.name, part.number, part.label = name, number, LABEL_NUMBERS["optional"]
            self._set_type(part, type_, scope, field.position)

    def _default(self, made: Proto, field: FieldElement) -> str:
        kind = field.type if field.type in SCALARS else "enum"
        value = field.default
        text = _default_text(kind, value)
        if text is None or made.label == LABEL_NUMBERS["repeated"] or made.type in (GROUP, MESSAGE):
            self._fail(f"the default of the field {field.name!r} is no value of {field.type}", field.position)
        return text

    def _add_reserved(self, made: Proto, reserved: Sequence[ReservedElement], past: int) -> None:
        for value in (value for each in reserved for value in each.values):
            if isinstance(value, NumberRange):
                one = made.reserved_range.add()
                one.start, one.end = value.first, value.last + past
            else:
                made.reserved_name.append(value)

    def _enum(self, made: Proto, enum: EnumElement, scope: str) -> None:
        made.name = enum.name
        where = f"the enum {joined(scope, enum.name)}"
        self._check_names([each.name for each in enum.constants], where, enum.position)
        if not enum.constants:
            self._fail(f"{where} has no values", enum.position)
        if self._file.syntax == "proto3" and enum.constants[0].number != 0:
            self._fail(f"the first value of {where} is not 0, as it is in proto3", enum.position)
        may_repeat = any(
            option.name == "allow_alias" and option.value == Word("true") for option in enum.options
        )
        numbers: dict[int, str] = {}
        for each in enum.constants:
            if each.number in numbers and not may_repeat:
                self._fail(
                    f"{where} has the number {each.number} twice: for {numbers[each.number]!r} and "
                    f"{each.name!r}, without allow_alias",
                    enum.position,
                )
            numbers[each.number] = each.name
            if not -LARGEST_ENUM_NUMBER - 1 <= each.number <= LARGEST_ENUM_NUMBER:
                self._fail(f"{each.number} in {where} is more than it holds", enum.position)
            value = made.value.add()
            value.name, value.number = each.name, each.number
            self._later(value, each.options, scope)
        self._add_reserved(made, enum.reserved, past=0)
        self._later(made, enum.options, scope)

    def _extends(
        self, extends: Sequence[ExtendElement], made: Proto, add_message: Callable[[], Proto], scope: str
    ) -> None:
        for extend in extends:
            extended = self._find(extend.name, scope, extend.position)
            if not isinstance(extended.element, MessageElement):
                self._fail(f"{extend.name!r:.100} is no message to extend", extend.position)
            self._check_names(
                [each.name for each in extend.fields], f"what extends {extend.name}", extend.position
            )
            for field in extend.fields:
                if field.map_types is not None or field.label == "required":
                    self._fail(f"the extension {field.name!r} is a map, or required", field.position)
                one = made.add()
                one.extendee = f".{extended.full_name}"
                self._field(one, field, scope, None)
                if self._file.syntax == "proto3" and field.label == "optional":
                    one.proto3_optional = True
            for group in extend.groups:
                one = made.add()
                one.extendee = f".{extended.full_name}"
                self._group(one, group, scope, None)
                self._message(add_message(), group.message, scope)

    def _service(self, made: Proto, service: ServiceElement, scope: str) -> None:
        made.name = service.name
        scope = joined(scope, service.name)
        self._check_names([each.name for each in service.methods], f"the service {scope}", service.position)
        for method in service.methods:
            self._method(made.method.add(), method, scope)
        self._later(made, service.options, scope)

    def _method(self, made: Proto, method: MethodElement, scope: str) -> None:
        made.name = method.name
        for name, into in ((method.input_type, "input_type"), (method.output_type, "output_type")):
            found = self._find(name, scope, method.position)
            if not isinstance(found.element, MessageElement):
                self._fail(f"{name!r:.100} is no message that {method.name!r} could take", method.position)
            setattr(made, into, f".{found.full_name}")
        if method.is_client_streaming:
            made.client_streaming = True
        if method.is_server_streaming:
            made.server_streaming = True
        self._later(made, method.options, scope)


def _default_text(kind: str, value: Value | None) -> str | None:
    """As a descriptor has it; None where it is no value of the kind."""
    if kind == "string":
        return value if isinstance(value, str) and _is_utf8(value) else None
    if kind == "bytes":
        return escaped_bytes(value) if isinstance(value, str) else None
    if kind in ("bool", "enum"):
        return _word_text(kind, value)
    if isinstance(value, Word) and kind in ("float", "double"):
        word = value.text.lower().replace("infinity", "inf")
        return word.replace("-nan", "nan") if word.lstrip("-") in ("inf", "nan") else None
    if not isinstance(value, Number):
        return None
    try:
        if kind in ("float", "double"):
            number = float(value.text.rstrip("fF"))
            if math.isinf(number) or (kind == "float" and abs(number) > LARGEST_FLOAT):
                return "inf" if number > 0 else "-inf"
            return repr(number).removesuffix(".0")
        return _integer_text(kind, value.text.lower())
    except ValueError:
        return None


def _word_text(kind: str, value: Value | None) -> str | None:
    if not isinstance(value, Word) or (kind == "bool" and value.text not in ("true", "false")):
        return None
    return value.text


def _integer_text(kind: str, written: str) -> str | None:
    """Raises: ValueError."""
    digits = written.lstrip("-")
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    number = int(written, base)
    bits = 64 if kind.endswith("64") else 32
    lowest, past = (0, 1 << bits) if kind[0] in "uf" else (-(1 << bits - 1), 1 << bits - 1)
    return str(number) if lowest <= number < past else None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escaped_bytes(text: str) -> str:
    """In C's way, as a descriptor has the default of bytes, and text format any text."""
    plain = {ord('"'): '\\"', ord("'"): "\\'", ord("\\"): "\\\\", 10: "\\n", 13: "\\r", 9: "\\t"}
    data = text.encode("utf-8", "surrogateescape")
    return "".join(plain.get(each) or (chr(each) if 32 <= each < 127 else f"\\{each:03o}") for each in data)
