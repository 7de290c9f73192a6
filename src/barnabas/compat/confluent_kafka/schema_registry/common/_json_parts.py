# pyright: basic
"""How the original's classes look in JSON: each field by its name in camelCase, but for what a class says.

Knows nothing of what the classes are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Self

from barnabas.registry.schemas import camel
from barnabas.values import frozen

JsonObject = dict[str, Any]


def present(**values: Any) -> JsonObject:
    return {name: value for name, value in values.items() if value is not None}


def dict_of(part: Any) -> Any:
    """In JSON; what is not one of the classes is left as it is."""
    return part.to_dict() if hasattr(part, "to_dict") else part


def dicts_of(parts: list[Any] | None) -> list[JsonObject] | None:
    return None if parts is None else [part.to_dict() for part in parts]


def _unchanged(value: Any) -> Any:
    return value


@frozen
class JsonPart:
    """A field. `name`: its name in JSON, if that is another one; `absent`: what it is where it is not there;
    `is_told_as_none`: it is written as null, where others are left out."""

    read: Callable[[Any], Any] = _unchanged
    write: Callable[[Any], Any] = _unchanged
    name: str | None = None
    absent: Any = None
    is_told_as_none: bool = False


def one_of(kind: type[Enum]) -> JsonPart:
    return JsonPart(
        lambda found: None if found is None else kind(found),
        lambda value: None if value is None else value.value,
    )


def part_of(kind: type[Any]) -> JsonPart:
    """One of the classes."""
    return JsonPart(lambda found: None if found is None else kind.from_dict(found), dict_of)


def object_of(kind: type[Any]) -> JsonPart:
    """One of the classes. Reading raises TypeError, if what is there is no object."""

    def read(found: Any) -> Any:
        if found is None:
            return None
        if not isinstance(found, dict):
            raise TypeError()
        return kind.from_dict(found)

    return JsonPart(read, dict_of)


def list_of(kind: type[Any]) -> JsonPart:
    return JsonPart(lambda found: [kind.from_dict(each) for each in found or []], dicts_of)


def json_parts(**parts: JsonPart) -> Mapping[str, JsonPart]:
    """By the names of fields."""
    return parts


@cache
def _parts_of(cls: type[JsonParts]) -> list[tuple[str, str, JsonPart]]:
    plain = JsonPart()
    parts = [(each.name, cls._json_parts.get(each.name, plain)) for each in fields(cls)]  # pyright: ignore
    return [(attribute, part.name or camel(attribute), part) for attribute, part in parts]


class JsonParts:
    """A dataclass that is written to JSON and read from it. `_json_parts`: the fields that are not plain."""

    __slots__ = ()
    _json_parts: ClassVar[Mapping[str, JsonPart]] = json_parts()

    def to_dict(self) -> JsonObject:
        found: JsonObject = {}
        for attribute, name, part in _parts_of(type(self)):
            written = part.write(getattr(self, attribute))
            if written is not None or part.is_told_as_none:
                found[name] = written
        return found

    @classmethod
    def from_dict(cls, src_dict: JsonObject) -> Self:
        found = src_dict.copy()
        return cls(
            **{attribute: part.read(found.get(name, part.absent)) for attribute, name, part in _parts_of(cls)}
        )
