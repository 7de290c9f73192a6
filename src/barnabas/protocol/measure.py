"""How much there is in a message, in items of its arrays: what reading and writing it takes goes by that.

Counts only as far as is asked for.
"""

from __future__ import annotations

from typing import Any

from barnabas.protocol.decoder import NUMBERS_OF_AN_ITEM
from barnabas.protocol.schema import Message, fields_of

_arrays: dict[type[Any], tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]] = {}
"""By a struct's type: its arrays, each with whether they are of structs, and the structs in it."""


def has_more_items_than(message: Message, most: int, *, numbers_of_an_item: int = NUMBERS_OF_AN_ITEM) -> bool:
    return _left(message, most, numbers_of_an_item) < 0


def _left(struct: Any, left: int, numbers: int) -> int:
    """How many of so many are left, or less than none."""
    cls: Any = struct.__class__
    found = _arrays.get(cls)
    if found is None:
        found = _arrays[cls] = _arrays_of(cls)
    arrays, structs = found
    for name, is_of_structs in arrays:
        items = getattr(struct, name)
        if not items:
            continue
        left -= len(items) if is_of_structs or not isinstance(items[0], int) else len(items) // numbers
        if is_of_structs:
            for item in items:
                if left < 0:
                    return left
                left = _left(item, left, numbers)
        if left < 0:
            return left
    for name in structs:
        if (value := getattr(struct, name)) is not None:
            left = _left(value, left, numbers)
    return left


def _arrays_of(cls: type[Any]) -> tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]:
    arrays: list[tuple[str, bool]] = []
    structs: list[str] = []
    for field in fields_of(cls):
        is_struct = field.wire.element_type[:1].isupper()
        if field.wire.is_array:
            arrays.append((field.name, is_struct))
        elif is_struct:
            structs.append(field.name)
    return tuple(arrays), tuple(structs)
