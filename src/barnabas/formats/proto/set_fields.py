"""The fields that options set, by what files declare of them."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.formats.proto.elements import SCALARS, FieldElement, GroupElement, MessageElement
from barnabas.formats.proto.names import DeclaredType, Names, joined


class SetField(NamedTuple):
    """`message`: the type of its values; None where they are no messages."""

    is_repeated: bool
    message: DeclaredType | None


def extension_field(names: Names, full_name: str) -> SetField:
    declared = names.extensions[full_name]
    return _field(names, declared.element, declared.scope)


def message_field(names: Names, message: DeclaredType, name: str) -> SetField | None:
    """None: it has none of this name."""
    element = message.element
    if not isinstance(element, MessageElement):
        return None
    parts = [element, *element.oneofs]
    for field in (field for part in parts for field in part.fields):
        if field.name == name:
            return _field(names, field, message.full_name)
    for group in (group for part in parts for group in part.groups):
        if name in (group.message.name, group.message.name.lower()):
            return _field(names, group, message.full_name)
    return None


def _field(names: Names, element: FieldElement | GroupElement, scope: str) -> SetField:
    is_repeated = element.label == "repeated"
    if isinstance(element, GroupElement):
        return SetField(is_repeated, names.types.get(joined(scope, element.message.name)))
    if element.map_types is not None:
        return SetField(True, None)
    return SetField(is_repeated, None if element.type in SCALARS else names.type(element.type, scope))
