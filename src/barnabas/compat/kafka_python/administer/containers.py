"""Messages of Kafka's protocol in the shape that kafka-python 3 gives them: objects with Kafka's names, that
turn into dictionaries.

Owns the names and values of that shape. Knows no single message but where kafka-python renamed a field of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from barnabas.compat.kafka_python.wire.data_containers import bits_of
from barnabas.protocol.schema import ZERO_UUID, Message, SchemaField, Struct, fields_of

__all__ = ["Container", "container_of", "dict_of", "struct_type"]

_BITS = {
    ("Metadata", "cluster_authorized_operations"): "authorized_operations",
    ("Metadata", "topic_authorized_operations"): "authorized_operations",
    ("DescribeCluster", "cluster_authorized_operations"): "authorized_operations",
    ("DescribeGroups", "authorized_operations"): "authorized_operations",
}
"""Fields that are sets of the numbers of their bits, by message and Kafka's name: the name that they go
by."""


class Container:
    """A message, or a part of one. `version`: the fields are those of this version; None: all there are."""

    _names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, top: type[Message], message: Message | Struct, version: int | None) -> None:
        self._version = version
        self._shown = [
            name
            for name, field in _fields(top, type(message))
            if version is None or field.wire.present(version)
        ]
        for name, field in _fields(top, type(message)):
            setattr(self, name, _value(top, field, getattr(message, field.name), version))

    @property
    def version(self) -> int | None:
        return self._version

    def __repr__(self) -> str:
        version = [] if self._version is None else [f"version={self._version}"]
        values = [f"{name}={getattr(self, name)!r}" for name in self._shown]
        return f"{type(self).__name__}({', '.join(version + values)})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_dict(json=False) == other.to_dict(json=False)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, name) for name in self._shown])

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def to_dict(self, meta: bool | str = False, json: bool = True) -> dict[str, Any]:
        """The fields by their names, and those of parts likewise; `json`: in values that JSON knows, but for
        bytes that another class has read."""
        about = {"_type": type(self).__name__, "_version": self._version} if meta else {}
        of_parts = meta if meta == "all" else False
        return about | {name: _plain(getattr(self, name), of_parts, json) for name in self._shown}


class _Answer(Container):
    """A whole response."""

    API_KEY: ClassVar[int]

    @property
    def API_VERSION(self) -> int | None:
        return self._version


def container_of(message: Message, version: int) -> Any:
    """A request or response of the core in this shape."""
    return _class_for(type(message))(type(message), message, version)


def dict_of(message: Message, version: int) -> dict[str, Any]:
    """A response of the core as a dictionary."""
    return container_of(message, version).to_dict()


def struct_type(top: type[Message], name: str) -> type[Struct] | None:
    """The class of a part of a message, by Kafka's name for it."""
    found = getattr(top, name, None)
    return found if isinstance(found, type) and issubclass(found, Struct) else None


@cache
def _class_for(cls: type[Message | Struct]) -> type[Container]:
    base: type[Container] = Container
    more: dict[str, Any] = {"__module__": "kafka.protocol.admin"}
    if issubclass(cls, Message):
        base = _Answer
        more["API_KEY"] = getattr(cls, "API_KEY", None)
    made: Any = type(cls.__name__, (base,), more)
    return made


@cache
def _fields(top: type[Message], cls: type[Any]) -> tuple[tuple[str, SchemaField], ...]:
    return tuple((_BITS.get((top.NAME, field.name), field.name), field) for field in fields_of(cls))


def _value(top: type[Message], field: SchemaField, value: Any, version: int | None) -> Any:
    if (top.NAME, field.name) in _BITS and field.wire.type == "int32":
        return bits_of(value)
    if field.wire.type == "uuid":
        return None if value == ZERO_UUID else value
    part = struct_type(top, field.wire.element_type)
    if part is None or value is None:
        return value
    # kafka-python has no versions in the parts of what it sends.
    part_version = None if top.__name__.endswith("Request") else version
    make = _class_for(part)
    if field.wire.is_array:
        return [make(top, each, part_version) if isinstance(each, Struct) else each for each in value]
    return make(top, value, part_version)


def _plain(value: Any, meta: bool | str, json: bool) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict(meta=meta, json=json)
    if isinstance(value, list):
        return [_plain(each, meta, json) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if not json:
        return value
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode(errors="backslashreplace")  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, set):
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return value
