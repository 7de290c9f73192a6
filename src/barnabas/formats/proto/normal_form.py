"""The normalized form: what may be written in several ways is written in one.

Names are full ones with a dot before them, numbers decide the order of fields and constants, names that of
imports and options. The order of messages stays, as indexes of messages are counted by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from barnabas.formats.proto.elements import (
    MOST_OPTIONS,
    SCALARS,
    EnumElement,
    ExtendElement,
    ExtensionsElement,
    FieldElement,
    FileElement,
    GroupElement,
    MessageElement,
    Number,
    NumberRange,
    OneofElement,
    OptionElement,
    OptionPart,
    ReservedElement,
    ServiceElement,
    Value,
)
from barnabas.formats.proto.names import DeclaredType, Names, joined
from barnabas.formats.proto.set_fields import SetField, extension_field, message_field
from barnabas.formats.proto.tokens import fail

BEHIND_ALL_NUMBERS = 1 << 32


class Normalizer:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._text = ""

    def file(self, file: FileElement) -> FileElement:
        """Raises: SchemaError."""
        self._text, scope = file.text, file.package
        return replace(
            file,
            syntax=None if file.syntax == "proto2" else file.syntax,
            imports=sorted({*file.imports}),
            public_imports=sorted({*file.public_imports}),
            weak_imports=sorted({*file.weak_imports}),
            options=self._options(file.options, scope),
            types=self._types(file.types, scope),
            extends=self._extends(file.extends, scope),
            services=[self._service(each, scope) for each in file.services],
        )

    def _types(
        self, types: Iterable[MessageElement | EnumElement], scope: str
    ) -> list[MessageElement | EnumElement]:
        return [
            self._enum(each, scope) if isinstance(each, EnumElement) else self._message(each, scope)
            for each in types
            if isinstance(each, EnumElement) or not each.is_map_entry
        ]

    def _message(self, message: MessageElement, scope: str) -> MessageElement:
        scope = joined(scope, message.name)
        oneofs = [self._oneof(each, scope) for each in message.oneofs]
        return replace(
            message,
            fields=self._fields(message.fields, scope),
            oneofs=sorted(
                oneofs, key=lambda oneof: min(each.number for each in (*oneof.fields, *oneof.groups))
            ),
            groups=self._groups(message.groups, scope),
            types=self._types(message.types, scope),
            reserved=_sorted_reserved(message.reserved),
            extensions=self._extensions(message.extensions, scope),
            extends=self._extends(message.extends, scope),
            options=self._options(message.options, scope),
        )

    def _oneof(self, oneof: OneofElement, scope: str) -> OneofElement:
        if not oneof.fields and not oneof.groups:
            fail(self._text, oneof.position, f"the oneof {oneof.name!r} has no fields")
        return replace(
            oneof,
            fields=self._fields(oneof.fields, scope),
            groups=self._groups(oneof.groups, scope),
            options=self._options(oneof.options, scope),
        )

    def _fields(self, fields: Sequence[FieldElement], scope: str) -> list[FieldElement]:
        return sorted((self._field(each, scope) for each in fields), key=lambda each: each.number)

    def _groups(self, groups: Sequence[GroupElement], scope: str) -> list[GroupElement]:
        made = [
            replace(
                each,
                message=self._message(each.message, scope),
                options=self._options(each.options, scope),
            )
            for each in groups
        ]
        return sorted(made, key=lambda each: each.number)

    def _field(self, field: FieldElement, scope: str) -> FieldElement:
        type_, label = self._field_type(field, scope)
        default = field.default if field.default is None else self._value(field.default, scope)
        options = self._options(field.options, scope)
        return replace(field, type=type_, label=label, options=options, default=default)

    def _field_type(self, field: FieldElement, scope: str) -> tuple[str, str | None]:
        """With the label."""
        if field.map_types is not None:
            key, value = field.map_types
            return f"map<{key}, {self._type(value, scope, field.position)}>", None
        type_ = self._type(field.type, scope, field.position)
        declared = self._names.types.get(type_[1:])
        if declared is None or isinstance(declared.element, EnumElement) or not declared.element.is_map_entry:
            return type_, field.label
        parts = {each.name: each for each in declared.element.fields}
        if "key" not in parts or "value" not in parts:
            fail(self._text, field.position, f"{type_!r} has no key and value, as a map's entry has")
        value = self._type(parts["value"].type, declared.full_name, field.position)
        return f"map<{parts['key'].type}, {value}>", None

    def _type(self, name: str, scope: str, position: int) -> str:
        if name in SCALARS:
            return name
        found = self._names.type(name, scope)
        if found is None:
            fail(self._text, position, f"the type {name!r:.100} is not defined")
        return f".{found.full_name}"

    def _extensions(self, extensions: Sequence[ExtensionsElement], scope: str) -> list[ExtensionsElement]:
        made = [
            ExtensionsElement([value], self._options(each.options, scope))
            for each in extensions
            for value in each.values
        ]
        return sorted(made, key=lambda each: each.values[0])

    def _extends(self, extends: Sequence[ExtendElement], scope: str) -> list[ExtendElement]:
        made: dict[str, ExtendElement] = {}
        for extend in extends:
            name = self._type(extend.name, scope, extend.position)
            into = made.setdefault(name, ExtendElement(name))
            into.fields = self._fields([*into.fields, *extend.fields], scope)
            into.groups = self._groups([*into.groups, *extend.groups], scope)
        return list(made.values())

    def _enum(self, enum: EnumElement, scope: str) -> EnumElement:
        constants = [
            replace(each, options=self._options(each.options, joined(scope, enum.name)))
            for each in enum.constants
        ]
        # The first one is what a field has by default.
        constants[1:] = sorted(constants[1:], key=lambda each: (each.number, each.name))
        return replace(
            enum,
            constants=constants,
            reserved=_sorted_reserved(enum.reserved),
            options=self._options(enum.options, joined(scope, enum.name)),
        )

    def _service(self, service: ServiceElement, scope: str) -> ServiceElement:
        methods = [
            replace(
                each,
                input_type=self._type(each.input_type, scope, each.position),
                output_type=self._type(each.output_type, scope, each.position),
                options=self._options(each.options, scope),
            )
            for each in service.methods
        ]
        return replace(service, methods=methods, options=self._options(service.options, scope))

    def _options(self, options: Sequence[OptionElement], scope: str) -> list[OptionElement]:
        """Custom ones by their full names, and one for all parts of one that is not repeated."""
        if len(options) > MOST_OPTIONS:
            fail(self._text, options[0].position, f"there are more than {MOST_OPTIONS} options of one thing")
        made: dict[str, list[OptionElement]] = {}
        for option in options:
            known = self._names.extension(option.name, scope) if option.is_custom else None
            if known is None:
                each = replace(option, value=self._value(option.value, scope))
                made.setdefault(option.name, []).append(each)
                continue
            value = self._within(option.path[1:], self._value(option.value, scope), scope)
            each = OptionElement((OptionPart(known, is_extension=True),), value, option.position)
            into = made.setdefault(known, [])
            field = extension_field(self._names, known)
            if into and not field.is_repeated:
                into[0] = replace(into[0], value=self._merged(into[0].value, value, field.message))
            else:
                into.append(each)
        return [each for name in sorted(made) for each in made[name]]

    def _merged(self, earlier: Value, later: Value, message: DeclaredType | None) -> Value:
        """Parts of one `message` that were set one by one: what is repeated has all values of both."""
        if message is None or not isinstance(earlier, dict) or not isinstance(later, dict):
            return merged(earlier, later)
        made = dict(earlier)
        for key, value in later.items():
            field = self._set_field(key, message)
            if key not in made:
                made[key] = value
            elif field is None:
                made |= cast(dict[str, Value], merged({key: made[key]}, {key: value}))
            elif field.is_repeated:
                made[key] = [*_listed(made[key]), *_listed(value)]
            else:
                made[key] = self._merged(made[key], value, field.message)
        return dict(sorted(made.items()))

    def _set_field(self, key: str, message: DeclaredType) -> SetField | None:
        if not key.startswith("["):
            return message_field(self._names, message, key)
        return extension_field(self._names, key[1:-1]) if key[1:-1] in self._names.extensions else None

    def _within(self, path: Sequence[OptionPart], value: Value, scope: str) -> Value:
        if not path:
            return value
        name = path[0].name
        if path[0].is_extension:
            name = f"[{self._names.extension(name, scope) or name}]"
        return {name: self._within(path[1:], value, scope)}

    def _value(self, value: Value, scope: str) -> Value:
        if isinstance(value, Number):
            return Number(_plain_number(value.text))
        if isinstance(value, list):
            values = [self._value(each, scope) for each in value]
            return values[0] if len(values) == 1 else values
        if isinstance(value, dict):
            made: dict[str, Value] = {}
            for key, each in value.items():
                name = key
                if key.startswith("[") and "/" not in key:
                    name = f"[{self._names.extension(key[1:-1], scope) or key[1:-1]}]"
                if each != []:
                    made[name] = self._value(each, scope)
            return dict(sorted(made.items()))
        return value


def _sorted_reserved(reserved: Sequence[ReservedElement]) -> list[ReservedElement]:
    def place(value: NumberRange | str) -> tuple[int, int, str]:
        if isinstance(value, str):
            return (BEHIND_ALL_NUMBERS, 0, value)
        return (value.first, value.last, "")

    return [
        ReservedElement([value])
        for value in sorted((value for each in reserved for value in each.values), key=place)
    ]


def _listed(value: Value) -> list[Value]:
    return value if isinstance(value, list) else [value]


def merged(earlier: Value, later: Value) -> Value:
    """Parts of one message that were set one by one, where its type is not known."""
    if not isinstance(earlier, dict) or not isinstance(later, dict):
        return later
    made = dict(earlier)
    for key, value in later.items():
        if key not in made:
            made[key] = value
        elif isinstance(made[key], dict) and isinstance(value, dict):
            made[key] = merged(made[key], value)
        else:
            before = made[key]
            values = before if isinstance(before, list) else [before]
            more = value if isinstance(value, list) else [value]
            made[key] = [*values, *(each for each in more if each not in values)]
    return dict(sorted(made.items()))


def _plain_number(text: str) -> str:
    digits = text.lower().lstrip("-")
    sign = "-" if text.startswith("-") else ""
    try:
        if digits.startswith("0x") or digits.isdigit():
            return f"{sign}{int(digits, 16 if digits.startswith('0x') else 8 if digits[0] == '0' else 10)}"
        number = float(digits.rstrip("f"))
    except ValueError:
        return text
    return sign + repr(number).removesuffix(".0")
