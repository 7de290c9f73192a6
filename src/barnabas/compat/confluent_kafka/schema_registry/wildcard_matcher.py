"""Wildcards in names whose parts are separated by dots, by which metadata tags fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPECIAL = frozenset(".+{}()|^$")


def wildcard_match(text: str, matcher: str) -> bool:
    """Whether `matcher` is about all of `text`: `?` is any character but a dot, `*` any number of those, `**`
    any number of characters, dots among them. `alice.bob*` is not about `alice.bob.eve`, `alice.bob**` is."""
    return re.fullmatch("".join(_as_expression(matcher.replace("**.*", "**"))), text) is not None


def _as_expression(matcher: str) -> Iterator[str]:
    position = 0
    while position < len(matcher):
        character = matcher[position]
        position += 1
        if character == "*" and matcher[position : position + 1] == "*":
            position += 1
            yield ".*"
        elif character == "*":
            yield "[^.]*"
        elif character == "?":
            yield "[^.]"
        elif character in _SPECIAL:
            yield "\\" + character
        elif character == "\\":
            # What follows stands for itself; the last but one character, as in the original, does not.
            yield "\\\\"
            if position + 1 < len(matcher):
                yield matcher[position]
                position += 1
        else:
            yield character
