"""Compatibility levels: which of a subject's versions a new schema is held against, and which of the two
reads. Knows nothing of what makes schemas differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from barnabas.errors import InvalidSettingError
from barnabas.registry.compatibility.difference import Difference, Sides

S = TypeVar("S")

LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)

Compare = Callable[[S, S, Sides], Sequence[Difference]]
"""`compare(reader, writer, sides)` gives what keeps data of `writer` from being read by `reader`."""


def check(level: str, schema: S, earlier: Sequence[S], compare: Compare[S]) -> list[tuple[S, Difference]]:
    """What keeps `schema` from following `earlier`, the oldest first, each with the version that it is about.

    Raises: InvalidSettingError.
    """
    if level not in LEVELS:
        raise InvalidSettingError(f"compatibility must be one of {', '.join(LEVELS)}, not {level!r}")
    way, _, reach = level.partition("_")
    versions = earlier if reach else earlier[-1:]
    found: list[tuple[S, Difference]] = []
    for version in reversed(versions):
        if way in ("FORWARD", "FULL"):
            found += [(version, each) for each in compare(version, schema, Sides("old", "new"))]
        if way in ("BACKWARD", "FULL"):
            found += [(version, each) for each in compare(schema, version, Sides("new", "old"))]
    return found
