"""Elements to text, in the form that Confluent's registry keeps schemas in, and in its normalized one.

Where that form loses something (weak imports, groups' own messages, bytes as defaults, editions), this writes
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.formats.proto.elements import (
    LARGEST_ENUM_NUMBER,
    LARGEST_NUMBER,
    MAX,
    ConstantElement,
    EnumElement,
    ExtendElement,
    ExtensionsElement,
    FieldElement,
    FileElement,
    GroupElement,
    MessageElement,
    MethodElement,
    NumberRange,
    OneofElement,
    OptionElement,
    OptionPart,
    ReservedElement,
    ServiceElement,
)
from barnabas.formats.proto.normal_form import Normalizer
from barnabas.formats.proto.values_text import value_text


def printed(file: FileElement, *, normalizer: Normalizer | None = None, custom_options: bool = True) -> str:
    """`normalizer`: for the normalized form. Without `custom_options`, extensions and options that are ones
    are left out, but for Confluent's."""
    return _SchemaText(normalizer, custom_options).file(file)


class _SchemaText:
    def __init__(self, normalizer: Normalizer | None, custom_options: bool) -> None:
        self._normalizer = normalizer
        self._custom_options = custom_options
        self._quotes_names = True

    def file(self, file: FileElement) -> str:
        if self._normalizer is not None:
            file = self._normalizer.file(file)
        lines: list[str] = []
        self._quotes_names = not file.edition
        if file.edition:
            lines.append(f'edition = "{file.edition}";')
        elif file.syntax:
            lines.append(f'syntax = "{file.syntax}";')
        if file.package:
            lines.append(f"package {file.package};")
        imports = [
            *(f"import {value_text(each)};" for each in file.imports),
            *(f"import public {value_text(each)};" for each in file.public_imports),
            *(f"import weak {value_text(each)};" for each in file.weak_imports),
        ]
        blocks = [
            imports,
            self._option_lines(file.options),
            self._types(file.types),
            self._extends(file.extends),
            [line for service in file.services for line in self._service(service)],
        ]
        for block in blocks:
            if block:
                lines += ["", *block]
        return "".join(f"{line}\n" for line in lines)

    def _types(self, types: Sequence[MessageElement | EnumElement]) -> list[str]:
        # The order of messages stays: indexes of messages are counted by it.
        messages = [each for each in types if isinstance(each, MessageElement)]
        enums = [each for each in types if isinstance(each, EnumElement)]
        return [
            *(line for each in messages for line in self._message(each)),
            *(line for each in enums for line in self._enum(each)),
        ]

    def _message(self, message: MessageElement) -> list[str]:
        return self._block(f"message {message.name} {{", self._body(message))

    def _block(self, opening: str, blocks: Iterable[Sequence[str]]) -> list[str]:
        inner: list[str] = []
        for block in blocks:
            if block:
                inner += ["", *(f"  {line}" for line in block)]
        return [opening, *inner[1:], "}"] if inner else [f"{opening}}}"]

    def _body(self, message: MessageElement) -> list[list[str]]:
        return [
            self._reserved(message.reserved),
            self._option_lines(message.options),
            [line for each in message.fields for line in self._field(each)],
            [line for each in message.oneofs for line in self._oneof(each)],
            [line for each in message.groups for line in self._group(each)],
            [line for each in message.extensions for line in self._extensions(each, message)],
            self._extends(message.extends),
            self._types(message.types),
        ]

    def _reserved(self, reserved: Sequence[ReservedElement], largest: int = LARGEST_NUMBER) -> list[str]:
        return [
            f"reserved {', '.join(self._reserved_value(value, largest) for value in each.values)};"
            for each in reserved
        ]

    def _reserved_value(self, value: NumberRange | str, largest: int) -> str:
        if isinstance(value, NumberRange):
            return _range(value, largest)
        return value_text(value) if self._quotes_names else value

    def _field(self, field: FieldElement) -> list[str]:
        label = f"{field.label} " if field.label else ""
        options = self._shown(field.options)
        if field.default is not None:
            options.append(OptionElement((OptionPart("default"),), field.default))
        if field.json_name is not None:
            options.append(OptionElement((OptionPart("json_name"),), field.json_name))
        if self._normalizer is not None:
            options.sort(key=lambda option: option.name)
        return self._statement(f"{label}{field.type} {field.name} = {field.number}", options)

    def _statement(self, text: str, options: Sequence[OptionElement]) -> list[str]:
        """With the options in brackets."""
        if not options:
            return [f"{text};"]
        written = [self._option(each) for each in options]
        if len(written) == 1:
            return f"{text} [{written[0]}];".split("\n")
        lines = [f"{text} ["]
        for number, each in enumerate(written):
            comma = "," if number < len(written) - 1 else ""
            lines += [f"  {line}" for line in f"{each}{comma}".split("\n")]
        return [*lines, "];"]

    def _oneof(self, oneof: OneofElement) -> list[str]:
        return self._block(
            f"oneof {oneof.name} {{",
            [
                self._option_lines(oneof.options),
                [line for each in oneof.fields for line in self._field(each)],
                [line for each in oneof.groups for line in self._group(each)],
            ],
        )

    def _group(self, group: GroupElement) -> list[str]:
        label = f"{group.label} " if group.label else ""
        heading = self._statement(f"{label}group {group.message.name} = {group.number}", group.options)
        heading[-1] = heading[-1].removesuffix(";") + " {"
        body = self._block("", self._body(group.message))
        return [*heading[:-1], heading[-1] + body[0], *body[1:]]

    def _extensions(self, extensions: ExtensionsElement, message: MessageElement) -> list[str]:
        largest = message.largest_extension
        ranges = ", ".join(
            _range(NumberRange(first, min(last, largest) if last == MAX else last), largest)
            for first, last in extensions.values
        )
        return self._statement(f"extensions {ranges}", self._shown(extensions.options))

    def _extends(self, extends: Sequence[ExtendElement]) -> list[str]:
        if not self._custom_options:
            return []
        lines: list[str] = []
        for extend in extends:
            fields = [line for each in extend.fields for line in self._field(each)]
            groups = [line for each in extend.groups for line in self._group(each)]
            lines += self._block(f"extend {extend.name} {{", [fields, groups])
        return lines

    def _enum(self, enum: EnumElement) -> list[str]:
        constants = [line for each in enum.constants for line in self._constant(each)]
        reserved = self._reserved(enum.reserved, LARGEST_ENUM_NUMBER)
        return self._block(
            f"enum {enum.name} {{", [[*reserved, *self._option_lines(enum.options), *constants]]
        )

    def _constant(self, constant: ConstantElement) -> list[str]:
        return self._statement(f"{constant.name} = {constant.number}", self._shown(constant.options))

    def _service(self, service: ServiceElement) -> list[str]:
        methods = [line for each in service.methods for line in self._method(each)]
        return self._block(f"service {service.name} {{", [self._option_lines(service.options), methods])

    def _method(self, method: MethodElement) -> list[str]:
        taken = f"{'stream ' * method.is_client_streaming}{method.input_type}"
        given = f"{'stream ' * method.is_server_streaming}{method.output_type}"
        text = f"rpc {method.name} ({taken}) returns ({given})"
        options = self._option_lines(method.options)
        return [f"{text} {{", *(f"  {line}" for line in options), "};"] if options else [f"{text};"]

    def _shown(self, options: Sequence[OptionElement]) -> list[OptionElement]:
        return [
            each
            for each in options
            if self._custom_options or not each.is_custom or each.name.lstrip(".").startswith("confluent.")
        ]

    def _option_lines(self, options: Sequence[OptionElement]) -> list[str]:
        return [line for each in self._shown(options) for line in f"option {self._option(each)};".split("\n")]

    def _option(self, option: OptionElement) -> str:
        name = ".".join(f"({part.name})" if part.is_extension else part.name for part in option.path)
        return f"{name} = {value_text(option.value)}"


def _range(value: NumberRange, largest: int) -> str:
    if value.first == value.last:
        return str(value.first)
    return f"{value.first} to {'max' if value.last == largest else value.last}"
