"""Which topics or groups a command is about: those that it names, or all that match a pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.options import UsageError

Topics = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TOPIC]...", help="The topics.", autocompletion=completion.topics),
]
Groups = Annotated[
    list[str] | None,
    typer.Argument(metavar="[GROUP]...", help="The groups.", autocompletion=completion.groups),
]
Pattern = Annotated[
    str | None,
    typer.Option("--pattern", metavar="REGEX", help="In place of names: all whose whole name matches."),
]


def chosen(
    what: str, names: Sequence[str] | None, pattern: str | None, there: Callable[[], Sequence[str]]
) -> list[str]:
    """In the order in which they were given, those of a pattern by name. `what` they are: topic or group;
    `there`: the names of all. Raises: UsageError where both are given, or none, and where nothing matches."""
    if bool(names) == (pattern is not None):
        raise UsageError(f"name {what}s, or give --pattern, not both")
    if pattern is None:
        return list(dict.fromkeys(names or ()))
    found = matching(there(), pattern)
    if not found:
        raise UsageError(f"no {what} matches --pattern {pattern!r}")
    return found


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """Those whose whole name matches, sorted. Raises: UsageError."""
    wanted = re.compile(pattern_of(pattern))
    return sorted(name for name in names if wanted.fullmatch(name))


def pattern_of(text: str, option: str = "--pattern") -> str:
    """A regular expression for names. Raises: UsageError."""
    try:
        re.compile(text)
    except re.error as error:
        raise UsageError(f"{option} {text!r} is no regular expression: {error}") from None
    return text
