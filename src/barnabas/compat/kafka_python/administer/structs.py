"""Messages of Kafka's protocol in the shape that kafka-python 2 gives them: objects with the fields of one
version under that release's own names, with tuples for their parts.

Owns the names and values of that shape; which names differ from Kafka's is a table of `generations`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from barnabas.compat.kafka_python.generations.struct_names import BIT_FIELDS, STRUCT_NAMES
from barnabas.protocol.schema import Message, Struct, fields_of

__all__ = ["AnswerStruct", "StructField", "struct_of"]


@dataclass(frozen=True)
class StructField:
    """One field: its name here and in the core, and the fields of its parts where it has such."""

    name: str
    core_name: str
    is_bits: bool = False
    is_array: bool = False
    part: tuple[StructField, ...] | None = None


class AnswerStruct:
    """A request or response. Its fields are attributes, and what is repeated in them is lists of tuples."""

    API_KEY: ClassVar[int]
    API_VERSION: ClassVar[int]
    fields: ClassVar[tuple[StructField, ...]] = ()

    def __init__(self, *values: Any) -> None:
        for field, value in zip(self.fields, values, strict=True):
            setattr(self, field.name, value)

    def get_item(self, name: str) -> Any:
        """The value of a field. Raises: KeyError."""
        if name not in [field.name for field in self.fields]:
            raise KeyError(f"{name} is not in the schema")
        return getattr(self, name)

    def to_object(self) -> dict[str, Any]:
        """All fields by their names, and those of parts likewise."""
        return {field.name: _object(field, getattr(self, field.name)) for field in self.fields}

    def __repr__(self) -> str:
        values = [f"{field.name}={_text(field, getattr(self, field.name))}" for field in self.fields]
        return f"{type(self).__name__}({', '.join(values)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnswerStruct) and self.to_object() == other.to_object()

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def struct_of(message: Message, version: int) -> Any:
    """A request or response of the core as a struct of `version`."""
    cls = _class_for(type(message), version)
    return cls(*(_value(field, getattr(message, field.core_name)) for field in cls.fields))


@cache
def _class_for(cls: type[Any], version: int) -> type[AnswerStruct]:
    fields = {
        "__module__": "kafka.protocol.admin",
        "API_KEY": cls.API_KEY,
        "API_VERSION": version,
        "fields": _shape(cls, cls, version, ""),
    }
    return type(f"{cls.__name__}_v{version}", (AnswerStruct,), fields)


def _shape(top: type[Message], cls: type[Any], version: int, path: str) -> tuple[StructField, ...]:
    names = STRUCT_NAMES.get(top.__name__, {})
    shape: list[StructField] = []
    for field in fields_of(cls):
        if not field.wire.present(version) or field.wire.tagged(version):
            continue
        where = path + field.name
        part = struct_type(top, field.wire.element_type)
        inner = None if part is None else _shape(top, part, version, f"{where}.")
        is_bits = where in BIT_FIELDS.get(top.__name__, ())
        shape.append(
            StructField(names.get(where, field.name), field.name, is_bits, field.wire.is_array, inner)
        )
    return tuple(shape)


def struct_type(top: type[Message], name: str) -> type[Struct] | None:
    """The class of a part of a message, by Kafka's name for it."""
    found = getattr(top, name, None)
    return found if isinstance(found, type) and issubclass(found, Struct) else None


def _value(field: StructField, value: Any) -> Any:
    if field.is_bits:
        return {bit for bit in range(32) if value >> bit & 1}
    if field.part is None or value is None:
        return value
    if field.is_array:
        return [_tuple(field.part, each) for each in value]
    return _tuple(field.part, value)


def _tuple(part: tuple[StructField, ...], value: Any) -> tuple[Any, ...]:
    return tuple(_value(field, getattr(value, field.core_name)) for field in part)


def _object(field: StructField, value: Any) -> Any:
    if field.part is None or value is None:
        return value
    items = [
        {inner.name: _object(inner, each) for inner, each in zip(field.part, item, strict=True)}
        for item in (value if field.is_array else [value])
    ]
    return items if field.is_array else items[0]


def _text(field: StructField, value: Any) -> str:
    if value is None and field.is_array:
        return "NULL"
    if field.part is None or value is None:
        return repr(value)
    items = [_tuple_text(field.part, item) for item in (value if field.is_array else [value])]
    return f"[{', '.join(items)}]" if field.is_array else items[0]


def _tuple_text(part: tuple[StructField, ...], item: tuple[Any, ...]) -> str:
    values = [f"{field.name}={_text(field, value)}" for field, value in zip(part, item, strict=True)]
    return f"({', '.join(values)})"
