"""What a generated message class is made of: the base classes, and the schema that its fields are written in.

Owns the meaning of `wire(...)` and how classes are made of it. Every process imports some of the hundreds of
classes, so each is made in one go, and its schema is read and its `__init__` compiled when it is first used.
Knows nothing of how bytes are read or written (`decoder`, `encoder`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, NamedTuple, NoReturn, TypeVar, dataclass_transform

from barnabas.protocol.secrets import shown_field
from barnabas.values import InitParameter, compiled_init, frozen

Records = bytes | bytearray | memoryview
"""Record batches as they are on the wire: decoded, a memoryview into the frame; to encode, any of these."""

ZERO_UUID = uuid.UUID(int=0)
"""Kafka's "no id"."""

NEVER = (1, 0)
HIGHEST_VERSION = 32767
"""The end of an open range of versions; as FLEXIBLE_VERSIONS, "no version is flexible"."""


_UNSET: Any = object()
"""In the place of an argument that was not given."""


class _WireArguments(NamedTuple):
    """What `wire` was called with."""

    type: str
    versions: str
    default: Any
    struct: Callable[[], Any] | None
    nullable: str
    tag: int
    tagged: str
    ignorable: bool
    flexible: bool


def wire(
    type: str,
    versions: str,
    *,
    default: Any = _UNSET,
    struct: Callable[[], Any] | None = None,
    nullable: str = "",
    tag: int = -1,
    tagged: str = "",
    ignorable: bool = False,
    flexible: bool = True,
) -> Any:
    """A field of a message or struct, by its schema.

    `versions`, `nullable` and `tagged` are ranges of versions (`"0+"`, `"2-5"`). `default` is the type's zero
    unless given; `struct` is the class of a field that is a struct and not null by default. `ignorable`:
    a value other than the default is dropped in silence by versions without the field, where it is an error
    otherwise. `flexible=False`: old-style lengths even in flexible versions.
    """
    return _WireArguments(type, versions, default, struct, nullable, tag, tagged, ignorable, flexible)


_UNKNOWN_TAGS = object()


def unknown_tags() -> Any:
    """The field that keeps the tagged fields which this release does not know, by tag."""
    return _UNKNOWN_TAGS


@dataclass_transform()
class MessageType(type):
    """The class of the message classes: makes slots of the fields, and keeps what they were written with."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> MessageType:
        specifiers = {
            field: value
            for field, value in namespace.items()
            if isinstance(value, _WireArguments) or value is _UNKNOWN_TAGS
        }
        for field in specifiers:
            del namespace[field]
        namespace["__slots__"] = namespace["__match_args__"] = tuple(specifiers)
        namespace["field_specifiers"] = specifiers
        return super().__new__(cls, name, bases, namespace)


class _Structure(metaclass=MessageType):
    """What messages and structs do alike."""

    field_specifiers: ClassVar[Mapping[str, Any]]
    """What each field was written with, by its name."""

    def __init__(self, *values: Any, **values_by_name: Any) -> None:
        """Of a class not used so far: gives it an `__init__` of its own, which takes the fields in order."""
        cls = type(self)
        cls.__init__ = _init_of(cls)
        cls.__init__(self, *values, **values_by_name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def _values(self) -> list[Any]:
        return [getattr(self, name) for name in self.field_specifiers]

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields_of(type(self))}
        shown = ", ".join(f"{name}={shown_field(name, values)}" for name in values)
        return f"{type(self).__qualname__}({shown})"


class Message(_Structure):
    """Base of every generated message. Its versions are those that any supported Kafka release speaks."""

    NAME: ClassVar[str]
    """Kafka's name without `Request` or `Response`: "Fetch"."""
    VERSIONS: ClassVar[tuple[int, int]]
    """The lowest and the highest stable version, inclusive."""
    FLEXIBLE_VERSIONS: ClassVar[int]
    """The first version with compact lengths and tagged fields (KIP-482), 32767 if there is none."""


class Response(Message):
    """Base of the answers to requests."""

    API_KEY: ClassVar[int]


R = TypeVar("R", bound=Response, covariant=True)


class Request(Message, Generic[R]):
    """Base of requests; `R` is the class of the answer."""

    API_KEY: ClassVar[int]
    RESPONSE: ClassVar[type[Any]]
    """The class of the answer."""


class Struct(_Structure):
    """Base of the structs nested in messages."""


class _NoTaggedFields(dict[int, bytes]):
    """The empty dictionary that all messages without unknown tagged fields share."""

    def __setitem__(self, tag: int, value: bytes) -> NoReturn:
        raise TypeError("unknown_tagged_fields is shared while it is empty: assign a dict instead")

    def __reduce__(self) -> tuple[type[_NoTaggedFields], tuple[()]]:
        return _NoTaggedFields, ()


NO_TAGGED_FIELDS: dict[int, bytes] = _NoTaggedFields()


def versions_of(text: str) -> tuple[int, int]:
    """`"0+"`, `"3"` or `"2-5"` as the lowest and the highest version, inclusive; "" as none."""
    if not text:
        return NEVER
    if text.endswith("+"):
        return int(text[:-1]), HIGHEST_VERSION
    lowest, _, highest = text.partition("-")
    return int(lowest), int(highest or lowest)


@frozen
class WireField:
    """The schema of one field.

    `type` is Kafka's: `int32`, `[]string`, or the name of a struct nested in the message.
    """

    type: str
    versions: tuple[int, int]
    nullable_versions: tuple[int, int]
    tagged_versions: tuple[int, int]
    tag: int
    ignorable: bool
    flexible: bool

    @property
    def element_type(self) -> str:
        return self.type.removeprefix("[]")

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    def present(self, version: int) -> bool:
        return self.versions[0] <= version <= self.versions[1]

    def nullable(self, version: int) -> bool:
        return self.nullable_versions[0] <= version <= self.nullable_versions[1]

    def tagged(self, version: int) -> bool:
        return self.tagged_versions[0] <= version <= self.tagged_versions[1]


_DEFAULTS: Mapping[str, Any] = {
    "bool": False,
    "int8": 0,
    "int16": 0,
    "uint16": 0,
    "int32": 0,
    "int64": 0,
    "float64": 0.0,
    "uuid": ZERO_UUID,
    "string": "",
    "bytes": b"",
    "records": b"",
}

PRIMITIVE_TYPES = frozenset(_DEFAULTS)


@frozen
class SchemaField:
    """A field of a class: its name in Python, its default and its schema."""

    name: str
    wire: WireField
    default: Any
    """The default value; None also where null is it. A list or struct is made anew by `default_factory`."""
    default_factory: Callable[[], Any] | None


@cache
def fields_of(cls: type[Any]) -> tuple[SchemaField, ...]:
    """The wire fields of a message or struct, in Kafka's order."""
    return tuple(
        _schema_field(name, given)
        for name, given in cls.field_specifiers.items()
        if isinstance(given, _WireArguments)
    )


def _schema_field(name: str, given: _WireArguments) -> SchemaField:
    schema = WireField(
        given.type,
        versions_of(given.versions),
        versions_of(given.nullable),
        versions_of(given.tagged),
        given.tag,
        given.ignorable,
        given.flexible,
    )
    if given.default is not _UNSET:
        return SchemaField(name, schema, given.default, None)
    factory: Callable[[], Any] | None = list if schema.is_array else given.struct
    return SchemaField(name, schema, None if factory else _DEFAULTS[given.type], factory)


def keeps_tags(cls: type[Any]) -> bool:
    """Whether the class has the field `unknown_tagged_fields`."""
    return "unknown_tagged_fields" in cls.field_specifiers


def _init_of(cls: type[Any]) -> Callable[..., None]:
    parameters = [InitParameter(each.name, each.default, each.default_factory) for each in fields_of(cls)]
    if keeps_tags(cls):
        parameters.append(InitParameter("unknown_tagged_fields", NO_TAGGED_FIELDS))
    return compiled_init(cls, parameters, is_frozen=False)
