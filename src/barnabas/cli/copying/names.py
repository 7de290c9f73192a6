"""What copied topics are called at the target. Knows no cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from barnabas.cli.options import UsageError, pairs


def renamer(
    to: str | None, names: Sequence[str] | None, expressions: Sequence[str] | None, prefix: str
) -> Callable[[str], str]:
    """The name at the target of a topic: `to` for all, where it is given; else by `names`, each OLD=NEW;
    else by the first of `expressions`, each REGEX=NEW, that matches the whole name; then behind `prefix`.
    Raises: UsageError, InvalidSettingError."""
    by_name = pairs(names, "--rename")
    by_expression = [
        (_compiled(expression), new) for expression, new in pairs(expressions, "--rename-regex").items()
    ]

    def renamed(topic: str) -> str:
        if to is not None:
            return to
        if topic in by_name:
            return prefix + by_name[topic]
        for expression, new in by_expression:
            match = expression.fullmatch(topic)
            if match is not None:
                return prefix + _expanded(match, new)
        return prefix + topic

    return renamed


def _compiled(expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as error:
        raise UsageError(f"--rename-regex {expression!r} is no regular expression: {error}") from None


def _expanded(match: re.Match[str], new: str) -> str:
    try:
        return match.expand(new)
    except (re.error, IndexError) as error:
        raise UsageError(f"--rename-regex: {new!r} cannot be made of {match[0]!r}: {error}") from None
