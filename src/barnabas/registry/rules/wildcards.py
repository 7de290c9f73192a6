"""Paths of fields by patterns, as a schema's metadata has them for tags."""

from __future__ import annotations

import re
from functools import lru_cache


def wildcard_match(text: str, matcher: str) -> bool:
    """Whether `text`, names with dots between them, is what `matcher` says: `?` is one character of a name,
    `*` any number of them, `**` also dots."""
    return _pattern(matcher).fullmatch(text) is not None


@lru_cache(maxsize=1000)
def _pattern(matcher: str) -> re.Pattern[str]:
    parts: list[str] = []
    rest = matcher.replace("**.*", "**")
    place = 0
    while place < len(rest):
        letter = rest[place]
        place += 1
        if letter == "*":
            if rest.startswith("*", place):
                place += 1
                parts.append(".*")
            else:
                parts.append("[^.]*")
        elif letter == "?":
            parts.append("[^.]")
        elif letter == "\\" and place + 1 < len(rest):
            # What comes next stands for itself.
            parts.append("\\\\" + re.escape(rest[place]))
            place += 1
        else:
            parts.append(re.escape(letter))
    return re.compile("".join(parts))
