"""What files declare, by full name, and what a name means in a place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from barnabas.formats.proto.elements import (
    EnumElement,
    ExtendElement,
    FieldElement,
    FileElement,
    GroupElement,
    MessageElement,
)
from barnabas.values import frozen

T = TypeVar("T")


@frozen
class DeclaredType:
    element: MessageElement | EnumElement
    full_name: str
    package: str
    file: str
    """Its name."""

    @property
    def local_name(self) -> str:
        """Without the package."""
        return self.full_name[len(self.package) + 1 :] if self.package else self.full_name


@frozen
class DeclaredExtension:
    element: FieldElement | GroupElement
    extendee: str
    """As it is written."""
    scope: str
    file: str


class Names:
    def __init__(self) -> None:
        self.types: dict[str, DeclaredType] = {}
        self.extensions: dict[str, DeclaredExtension] = {}

    def add(self, file: FileElement, name: str) -> None:
        self._add_types(file.types, file.package, file.package, name)
        self._add_extensions(file.extends, file.package, file.package, name)

    def _add_types(
        self, types: Iterable[MessageElement | EnumElement], scope: str, package: str, file: str
    ) -> None:
        for each in types:
            full_name = joined(scope, each.name)
            self.types[full_name] = DeclaredType(each, full_name, package, file)
            if isinstance(each, MessageElement):
                within = [*each.types, *(group.message for group in each.groups)]
                within += [group.message for oneof in each.oneofs for group in oneof.groups]
                self._add_types(within, full_name, package, file)
                self._add_extensions(each.extends, full_name, package, file)

    def _add_extensions(self, extends: Iterable[ExtendElement], scope: str, package: str, file: str) -> None:
        for extend in extends:
            for each in extend.fields:
                self.extensions[joined(scope, each.name)] = DeclaredExtension(each, extend.name, scope, file)
            for group in extend.groups:
                found = DeclaredExtension(group, extend.name, scope, file)
                self.extensions[joined(scope, group.message.name.lower())] = found
                self._add_types([group.message], scope, package, file)

    def type(self, name: str, scope: str) -> DeclaredType | None:
        full_name = resolved(self.types, name, scope)
        return None if full_name is None else self.types[full_name]

    def extension(self, name: str, scope: str) -> str | None:
        """The full name of an extension."""
        return resolved(self.extensions, name, scope)


def joined(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def resolved(known: Mapping[str, T], name: str, scope: str) -> str | None:
    """The full name that a name has in a scope: the innermost one that has it."""
    if name.startswith("."):
        return name[1:] if name[1:] in known else None
    while True:
        full_name = joined(scope, name)
        if full_name in known:
            return full_name
        if not scope:
            return None
        scope = scope.rpartition(".")[0]
