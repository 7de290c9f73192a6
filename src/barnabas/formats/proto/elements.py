"""What a .proto file says, as it says it: names are not resolved, nothing is checked.

The same elements come from a text (`parser.py`) and from a descriptor (`from_descriptor.py`), and go to both
(`printer.py`, `to_descriptor.py`). Texts of bytes that are no UTF-8 have surrogates for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

LARGEST_NUMBER = 536_870_911
LARGEST_IN_MESSAGE_SET = 2_147_483_646
"""Of an extension."""
MAX = 2_147_483_647
"""Where the range of a message's extensions ends that goes to `max`: what that is depends on an option."""
LARGEST_ENUM_NUMBER = 2_147_483_647
MOST_OPTIONS = 1000
"""Of one message, field, or whatever has options."""
INTEGERS = frozenset(
    {"int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"}
)
SCALARS = INTEGERS | {"double", "float", "bool", "string", "bytes"}


class Word(NamedTuple):
    """A bare word as a value: true, false, a symbol, inf."""

    text: str


class Number(NamedTuple):
    text: str


Value: TypeAlias = "Word | Number | str | list[Value] | dict[str, Value]"
"""Of a key that is given several times, a dict has a list."""


class OptionPart(NamedTuple):
    """One of the names between the dots of an option's; an extension's is in parentheses, and has dots of
    its own."""

    name: str
    is_extension: bool = False


@dataclass(slots=True)
class OptionElement:
    path: tuple[OptionPart, ...]
    value: Value
    position: int = -1
    """Where in the text; -1 if in none, here and below."""

    @property
    def name(self) -> str:
        return self.path[0].name

    @property
    def is_custom(self) -> bool:
        return self.path[0].is_extension


@dataclass(slots=True)
class FieldElement:
    label: str | None
    type: str
    """As it is written: a scalar, a name, or map<key, value>."""
    name: str
    number: int
    options: list[OptionElement] = field(default_factory=list[OptionElement])
    default: Value | None = None
    json_name: str | None = None
    position: int = -1

    @property
    def map_types(self) -> tuple[str, str] | None:
        if not self.type.startswith("map<"):
            return None
        key, _, value = self.type[4:-1].partition(",")
        return key.strip(), value.strip()


@dataclass(slots=True)
class GroupElement:
    """A field and its message in one; its name is the message's."""

    label: str | None
    number: int
    message: MessageElement
    options: list[OptionElement] = field(default_factory=list[OptionElement])
    position: int = -1


@dataclass(slots=True)
class OneofElement:
    name: str
    fields: list[FieldElement] = field(default_factory=list[FieldElement])
    groups: list[GroupElement] = field(default_factory=list[GroupElement])
    options: list[OptionElement] = field(default_factory=list[OptionElement])
    position: int = -1


class NumberRange(NamedTuple):
    """Both ends belong to it."""

    first: int
    last: int


@dataclass(slots=True)
class ReservedElement:
    values: list[NumberRange | str]


@dataclass(slots=True)
class ExtensionsElement:
    values: list[NumberRange]
    options: list[OptionElement] = field(default_factory=list[OptionElement])


@dataclass(slots=True)
class ExtendElement:
    name: str
    fields: list[FieldElement] = field(default_factory=list[FieldElement])
    groups: list[GroupElement] = field(default_factory=list[GroupElement])
    position: int = -1


@dataclass(slots=True)
class ConstantElement:
    name: str
    number: int
    options: list[OptionElement] = field(default_factory=list[OptionElement])


@dataclass(slots=True)
class EnumElement:
    name: str
    constants: list[ConstantElement] = field(default_factory=list[ConstantElement])
    reserved: list[ReservedElement] = field(default_factory=list[ReservedElement])
    options: list[OptionElement] = field(default_factory=list[OptionElement])
    position: int = -1


@dataclass(slots=True)
class MessageElement:
    name: str
    fields: list[FieldElement] = field(default_factory=list[FieldElement])
    oneofs: list[OneofElement] = field(default_factory=list[OneofElement])
    groups: list[GroupElement] = field(default_factory=list[GroupElement])
    types: list[MessageElement | EnumElement] = field(
        default_factory=lambda: list[MessageElement | EnumElement]()
    )
    reserved: list[ReservedElement] = field(default_factory=list[ReservedElement])
    extensions: list[ExtensionsElement] = field(default_factory=list[ExtensionsElement])
    extends: list[ExtendElement] = field(default_factory=list[ExtendElement])
    options: list[OptionElement] = field(default_factory=list[OptionElement])
    position: int = -1

    @property
    def is_map_entry(self) -> bool:
        return self._has("map_entry")

    @property
    def largest_extension(self) -> int:
        """Which number an extension may have; `max` is that."""
        return LARGEST_IN_MESSAGE_SET if self._has("message_set_wire_format") else LARGEST_NUMBER

    @property
    def messages(self) -> list[MessageElement]:
        return [each for each in self.types if isinstance(each, MessageElement)]

    @property
    def enums(self) -> list[EnumElement]:
        return [each for each in self.types if isinstance(each, EnumElement)]

    def _has(self, option_name: str) -> bool:
        return any(
            option.name == option_name and option.value == Word("true") and not option.is_custom
            for option in self.options
        )


@dataclass(slots=True)
class MethodElement:
    name: str
    input_type: str
    output_type: str
    is_client_streaming: bool = False
    is_server_streaming: bool = False
    options: list[OptionElement] = field(default_factory=list[OptionElement])
    position: int = -1


@dataclass(slots=True)
class ServiceElement:
    name: str
    methods: list[MethodElement] = field(default_factory=list[MethodElement])
    options: list[OptionElement] = field(default_factory=list[OptionElement])
    position: int = -1


@dataclass(slots=True)
class FileElement:
    syntax: str | None = None
    """proto2 or proto3, where the file says it."""
    edition: str | None = None
    """Such as 2023."""
    package: str = ""
    imports: list[str] = field(default_factory=list[str])
    public_imports: list[str] = field(default_factory=list[str])
    weak_imports: list[str] = field(default_factory=list[str])
    options: list[OptionElement] = field(default_factory=list[OptionElement])
    types: list[MessageElement | EnumElement] = field(
        default_factory=lambda: list[MessageElement | EnumElement]()
    )
    extends: list[ExtendElement] = field(default_factory=list[ExtendElement])
    services: list[ServiceElement] = field(default_factory=list[ServiceElement])
    text: str = ""
    """What it was read from, for errors."""

    @property
    def messages(self) -> list[MessageElement]:
        return [each for each in self.types if isinstance(each, MessageElement)]

    @property
    def enums(self) -> list[EnumElement]:
        return [each for each in self.types if isinstance(each, EnumElement)]
