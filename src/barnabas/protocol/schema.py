"""What a generated message class is made of: the base classes and the schema in its fields' metadata.

Owns the meaning of `wire(...)`. Knows nothing of how bytes are read or written (`decoder`, `encoder`).
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

Records = bytes | bytearray | memoryview
"""Record batches as they are on the wire: decoded, a memoryview into the frame; to encode, any of these."""

ZERO_UUID = uuid.UUID(int=0)
"""Kafka's "no id"."""

NEVER = (1, 0)
HIGHEST_VERSION = 32767
"""The end of an open range of versions; as FLEXIBLE_VERSIONS, "no version is flexible"."""


class Message:
    """Base of every generated message. Its versions are those that any supported Kafka release speaks."""

    __slots__ = ()

    NAME: ClassVar[str]
    """Kafka's name without `Request` or `Response`: "Fetch"."""
    VERSIONS: ClassVar[tuple[int, int]]
    """The lowest and the highest stable version, inclusive."""
    FLEXIBLE_VERSIONS: ClassVar[int]
    """The first version with compact lengths and tagged fields (KIP-482), 32767 if there is none."""


class Response(Message):
    """Base of the answers to requests."""

    __slots__ = ()

    API_KEY: ClassVar[int]


R = TypeVar("R", bound=Response, covariant=True)


class Request(Message, Generic[R]):
    """Base of requests; `R` is the class of the answer."""

    __slots__ = ()

    API_KEY: ClassVar[int]
    RESPONSE: ClassVar[type[Any]]
    """The class of the answer."""


class Struct:
    """Base of the structs nested in messages."""

    __slots__ = ()


class _NoTaggedFields(dict[int, bytes]):
    """The empty dictionary that all messages without unknown tagged fields share."""

    def __setitem__(self, tag: int, value: bytes) -> NoReturn:
        raise TypeError("unknown_tagged_fields is shared while it is empty: assign a dict instead")

    def __reduce__(self) -> tuple[type[_NoTaggedFields], tuple[()]]:
        return _NoTaggedFields, ()


NO_TAGGED_FIELDS: dict[int, bytes] = _NoTaggedFields()


def unknown_tags() -> Any:
    """The field that keeps the tagged fields which this release does not know, by tag."""
    return dataclasses.field(default_factory=lambda: NO_TAGGED_FIELDS, repr=False)


def versions_of(text: str) -> tuple[int, int]:
    """`"0+"`, `"3"` or `"2-5"` as the lowest and the highest version, inclusive; "" as none."""
    if not text:
        return NEVER
    if text.endswith("+"):
        return int(text[:-1]), HIGHEST_VERSION
    lowest, _, highest = text.partition("-")
    return int(lowest), int(highest or lowest)


@dataclass(frozen=True, slots=True)
class WireField:
    """The schema of one field, kept in the metadata of the dataclass field.

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

_UNSET: Any = object()


def wire(
    type: str,
    versions: str,
    *,
    default: Any = _UNSET,
    struct: Any = None,
    nullable: str = "",
    tag: int = -1,
    tagged: str = "",
    ignorable: bool = False,
    flexible: bool = True,
) -> Any:
    """A dataclass field that carries its schema.

    `versions`, `nullable` and `tagged` are ranges of versions (`"0+"`, `"2-5"`). `default` is the type's zero
    unless given; `struct` is the class of a field that is a struct and not null by default. `ignorable`:
    a value other than the default is dropped in silence by versions without the field, where it is an error
    otherwise. `flexible=False`: old-style lengths even in flexible versions.
    """
    metadata = {
        "wire": WireField(
            type, versions_of(versions), versions_of(nullable), versions_of(tagged), tag, ignorable, flexible
        )
    }
    if default is not _UNSET:
        return dataclasses.field(default=default, metadata=metadata)
    factory: Any = list if type.startswith("[]") else struct
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=_DEFAULTS[type], metadata=metadata)


@dataclass(frozen=True, slots=True)
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
    found: list[SchemaField] = []
    for each in dataclasses.fields(cls):
        schema = each.metadata.get("wire")
        if schema is not None:
            factory = None if each.default_factory is dataclasses.MISSING else each.default_factory
            default = None if factory is not None else each.default
            found.append(SchemaField(each.name, schema, default, factory))
    return tuple(found)


def keeps_tags(cls: type[Any]) -> bool:
    """Whether the class has the field `unknown_tagged_fields`."""
    return "unknown_tagged_fields" in getattr(cls, "__dataclass_fields__", {})
