"""A .proto text to its elements: proto2, proto3 and edition 2023.

Checks what a text alone shows to be wrong; what names mean is for `to_descriptor.py`.
"""

from __future__ import annotations

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
    ReservedElement,
    ServiceElement,
)
from barnabas.formats.proto.option_parser import OptionParser

# protoc's.
DEEPEST = 32
LABELS = ("optional", "required", "repeated")
SYNTAXES = ("proto2", "proto3")
EDITIONS = ("2023",)
# Protocol Buffers' own.
KEPT_NUMBERS = range(19_000, 20_000)


def parse(text: str) -> FileElement:
    """Raises: SchemaError, with line and column."""
    return _Parser(text).file()


class _Parser(OptionParser):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._file = FileElement(text=text)
        self._says_package = False

    def file(self) -> FileElement:
        if self.is_at("syntax", "edition"):
            self._syntax()
        while self.peek().kind != "end":
            if not self.takes(";"):
                self._declaration()
        return self._file

    def _syntax(self) -> None:
        what = self.next().text
        self.expect("=")
        token = self.peek()
        said = self.text()
        self.expect(";")
        known = SYNTAXES if what == "syntax" else EDITIONS
        if said not in known:
            self.fail(f"the {what} is {' or '.join(known)}, not {said!r:.50}", token)
        if what == "syntax":
            self._file.syntax = said
        else:
            self._file.edition = said

    def _declaration(self) -> None:
        token, file = self.peek(), self._file
        if token.kind != "word":
            self.unexpected("a declaration")
        if token.text in ("syntax", "edition"):
            self.fail(f"{token.text} must be the first that a file says", token)
        if token.text in ("message", "enum"):
            file.types.append(self._type(0))
        elif self.takes("package"):
            if self._says_package:
                self.fail("the package is said twice", token)
            self._says_package = True
            file.package = self.dotted_name()
            self.expect(";")
        elif self.takes("import"):
            self._import()
        elif token.text == "option":
            file.options.append(self.option_statement())
        elif token.text == "extend":
            file.extends.append(self._extend(0))
        elif token.text == "service":
            file.services.append(self._service())
        else:
            self.unexpected("a declaration")

    def _import(self) -> None:
        token = self.peek()
        into = self._file.imports
        if self.takes("public"):
            into = self._file.public_imports
        elif self.takes("weak"):
            into = self._file.weak_imports
        into.append(self.text())
        if not into[-1]:
            self.fail("an import names no file", token)
        self.expect(";")

    def _type(self, depth: int) -> MessageElement | EnumElement:
        return self._message(depth) if self.is_at("message") else self._enum()

    def _message(self, depth: int) -> MessageElement:
        position = self.next().position
        message = MessageElement(self.name(), position=position)
        self._body(message, depth)
        return message

    def _body(self, message: MessageElement, depth: int) -> None:
        token = self.expect("{")
        if depth >= DEEPEST:
            self.fail(f"messages are within each other {DEEPEST + 1} deep; the limit is {DEEPEST}", token)
        while not self.takes("}"):
            if not self.takes(";"):
                self._member(message, depth)

    def _member(self, message: MessageElement, depth: int) -> None:
        # As protoc does: a word that begins a declaration is no name of a type here.
        if self.is_at("message", "enum"):
            message.types.append(self._type(depth + 1))
        elif self.is_at("extend"):
            message.extends.append(self._extend(depth + 1))
        elif self.is_at("oneof"):
            message.oneofs.append(self._oneof(depth))
        elif self.is_at("option"):
            message.options.append(self.option_statement())
        elif self.is_at("reserved"):
            message.reserved.append(self._reserved(1, LARGEST_NUMBER))
        elif self.is_at("extensions"):
            message.extensions.append(self._extensions())
        else:
            self._field_or_group(message.fields, message.groups, depth)

    def _field_or_group(
        self, fields: list[FieldElement], groups: list[GroupElement], depth: int, *, in_oneof: bool = False
    ) -> None:
        token = self.peek()
        label = self._label(in_oneof)
        if self.is_at("group"):
            groups.append(self._group(label, depth, token.position))
            return
        type_ = self._type_name(allows_map=not in_oneof)
        if type_.startswith("map<"):
            if label is not None:
                self.fail("a map has no label", token)
        elif label is None and not in_oneof and self._file.syntax != "proto3" and not self._file.edition:
            self.fail(f"expected {', '.join(LABELS)}, which fields of proto2 begin with", token)
        name = self.name()
        self.expect("=")
        number = self._field_number()
        found = FieldElement(label, type_, name, number, position=token.position)
        for option in self.bracketed_options():
            if len(option.path) == 1 and not option.is_custom and option.name in ("default", "json_name"):
                self._special(found, option)
            else:
                found.options.append(option)
        self.expect(";")
        fields.append(found)

    def _label(self, in_oneof: bool) -> str | None:
        token = self.peek()
        if not self.is_at(*LABELS):
            return None
        self.next()
        if in_oneof:
            self.fail("a field in a oneof has no label", token)
        if token.text == "required" and self._file.syntax == "proto3":
            self.fail("proto3 has no required fields", token)
        if self._file.edition and token.text != "repeated":
            self.fail(f"editions have features.field_presence in place of {token.text}", token)
        return token.text

    def _special(self, found: FieldElement, option: OptionElement) -> None:
        if option.name == "json_name":
            if found.json_name is not None or not isinstance(option.value, str):
                self.fail_at("json_name is one text", option.position)
            found.json_name = option.value
            return
        if found.default is not None or isinstance(option.value, list | dict):
            self.fail_at("default is one plain value", option.position)
        if self._file.syntax == "proto3":
            self.fail_at("proto3 has no defaults", option.position)
        found.default = option.value

    def _group(self, label: str | None, depth: int, position: int) -> GroupElement:
        token = self.next()
        if self._file.syntax == "proto3" or self._file.edition:
            self.fail("only proto2 has groups", token)
        message = MessageElement(self.name(), position=position)
        if not message.name[0].isupper():
            self.fail("the name of a group begins with a capital letter", token)
        self.expect("=")
        group = GroupElement(label, self._field_number(), message, position=position)
        group.options = self.bracketed_options()
        self._body(message, depth + 1)
        return group

    def _type_name(self, *, allows_map: bool = False) -> str:
        if allows_map and self.is_at("map") and self.peek(1).text == "<":
            self.next()
            self.next()
            key = self._type_name()
            self.expect(",")
            value = self._type_name()
            self.expect(">")
            return f"map<{key}, {value}>"
        leading = "." if self.takes(".") else ""
        return leading + self.dotted_name()

    def _field_number(self) -> int:
        token = self.peek()
        number = self.integer()
        if not 1 <= number <= LARGEST_NUMBER or number in KEPT_NUMBERS:
            self.fail(
                f"{number} is no number of a field: these are from 1 to {LARGEST_NUMBER}, "
                f"without {KEPT_NUMBERS.start} to {KEPT_NUMBERS.stop - 1}",
                token,
            )
        return number

    def _oneof(self, depth: int) -> OneofElement:
        position = self.next().position
        oneof = OneofElement(self.name(), position=position)
        self.expect("{")
        while not self.takes("}"):
            if self.takes(";"):
                continue
            if self.is_at("option"):
                oneof.options.append(self.option_statement())
            else:
                self._field_or_group(oneof.fields, oneof.groups, depth, in_oneof=True)
        return oneof

    def _extend(self, depth: int) -> ExtendElement:
        position = self.next().position
        found = ExtendElement(self._type_name(), position=position)
        self.expect("{")
        while not self.takes("}"):
            if not self.takes(";"):
                self._field_or_group(found.fields, found.groups, depth)
        return found

    def _reserved(self, lowest: int, largest: int) -> ReservedElement:
        token = self.next()
        values: list[NumberRange | str] = []
        while not values or self.takes(","):
            if self.peek().kind == "text":
                values.append(self.text())
            elif self.peek().kind == "word":
                if not self._file.edition:
                    self.fail("names that are reserved are in quotation marks, but in editions", self.peek())
                values.append(self.name())
            else:
                values.append(self._range(lowest, largest))
        self.expect(";")
        if len({isinstance(each, str) for each in values}) > 1:
            self.fail("names and numbers are not reserved by one statement", token)
        return ReservedElement(values)

    def _extensions(self) -> ExtensionsElement:
        self.next()
        values = [self._range(1, MAX)]
        while self.takes(","):
            values.append(self._range(1, MAX))
        options = self.bracketed_options()
        self.expect(";")
        return ExtensionsElement(values, options)

    def _range(self, lowest: int, largest: int) -> NumberRange:
        token = self.peek()
        first = last = self.integer()
        if self.takes("to"):
            last = largest if self.takes("max") else self.integer()
        if not lowest <= first <= last <= largest:
            self.fail(f"{first} to {last} is no range of numbers between {lowest} and {largest}", token)
        return NumberRange(first, last)

    def _enum(self) -> EnumElement:
        position = self.next().position
        enum = EnumElement(self.name(), position=position)
        self.expect("{")
        while not self.takes("}"):
            if self.takes(";"):
                continue
            if self.is_at("option"):
                enum.options.append(self.option_statement())
            elif self.is_at("reserved"):
                enum.reserved.append(self._reserved(-LARGEST_ENUM_NUMBER - 1, LARGEST_ENUM_NUMBER))
            else:
                enum.constants.append(self._constant())
        return enum

    def _constant(self) -> ConstantElement:
        name = self.name()
        self.expect("=")
        token = self.peek()
        number = self.integer()
        if not -LARGEST_ENUM_NUMBER - 1 <= number <= LARGEST_ENUM_NUMBER:
            self.fail(f"{number} is more than an enum holds", token)
        constant = ConstantElement(name, number, self.bracketed_options())
        self.expect(";")
        return constant

    def _service(self) -> ServiceElement:
        position = self.next().position
        service = ServiceElement(self.name(), position=position)
        self.expect("{")
        while not self.takes("}"):
            if self.is_at("option"):
                service.options.append(self.option_statement())
            elif self.is_at("rpc"):
                service.methods.append(self._method())
            elif not self.takes(";"):
                self.unexpected("rpc or option")
        return service

    def _method(self) -> MethodElement:
        position = self.next().position
        name = self.name()
        input_type, is_client_streaming = self._message_of_method()
        if not self.takes("returns"):
            self.unexpected("returns")
        output_type, is_server_streaming = self._message_of_method()
        method = MethodElement(
            name, input_type, output_type, is_client_streaming, is_server_streaming, position=position
        )
        if not self.takes("{"):
            self.expect(";")
            return method
        while not self.takes("}"):
            if self.is_at("option"):
                method.options.append(self.option_statement())
            elif not self.takes(";"):
                self.unexpected("option")
        return method

    def _message_of_method(self) -> tuple[str, bool]:
        self.expect("(")
        is_streaming = self.takes("stream")
        type_ = self._type_name()
        self.expect(")")
        return type_, is_streaming
