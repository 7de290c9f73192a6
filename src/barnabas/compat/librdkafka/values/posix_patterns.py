"""POSIX extended regular expressions, which librdkafka leaves to the C library, as Python's.

Owns their syntax and what the C library says of those that have none. Must not know what is matched.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence

_MOST_REPEATS = 32_767
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": re.escape(string.punctuation),
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
# What GNU adds; a backslash before any other character takes its meaning away.
_KINDS = "wWsS"
_PLACES = {"b": r"\b", "B": r"\B", "<": r"\b(?=\w)", ">": r"\b(?<=\w)", "`": r"\A", "'": r"\Z"}
_INTERVAL = re.compile(r"(\d*)(?:(,)(\d*))?\}")

_BAD_PATTERN = "Invalid regular expression"
_BAD_BRACKET = "Unmatched [, [^, [:, [., or [="
_BAD_PARENTHESIS = r"Unmatched ( or \("
_BAD_BRACE = r"Unmatched \{"
_BAD_INTERVAL = r"Invalid content of \{\}"
_BAD_REPETITION = "Invalid preceding regular expression"
_BAD_RANGE = "Invalid range end"
_BAD_CLASS = "Invalid character class name"
_BAD_COLLATION = "Invalid collation character"
_BAD_REFERENCE = "Invalid back reference"
_TRAILING_BACKSLASH = "Trailing backslash"
_TOO_BIG = "Regular expression too big"


class PosixPatternError(ValueError):
    """A text is no pattern. The message is the C library's."""


def as_python_pattern(pattern: str, prefix: str = "group") -> str:
    """The pattern for Python, with the flags ASCII and DOTALL. `prefix` is what its groups are called, and a
    number.

    Raises: PosixPatternError.
    """
    return _PosixReader(pattern, prefix).whole()


def any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Searches a text for what one of these matches. Raises: PosixPatternError."""
    alternatives = [f"(?:{as_python_pattern(each, f'pattern{at}_')})" for at, each in enumerate(patterns)]
    return re.compile("|".join(alternatives), re.ASCII | re.DOTALL)


def topics_pattern(topics: Iterable[str]) -> re.Pattern[str]:
    """One pattern for the whole name of a topic, out of names and, where they begin with ^, of expressions
    for a part of one. Raises: PosixPatternError."""
    alternatives = [
        f".*?(?:{as_python_pattern(topic, f'topic{number}_')}).*"
        if topic.startswith("^")
        else re.escape(topic)
        for number, topic in enumerate(topics)
    ]
    return re.compile("|".join(alternatives), re.ASCII | re.DOTALL)


class _PosixReader:
    def __init__(self, pattern: str, prefix: str) -> None:
        self._rest = pattern
        self._prefix = prefix
        self._parts: list[str] = []
        # Where the groups that are open begin among the parts, with their numbers.
        self._open: list[tuple[int, int]] = []
        self._groups = 0
        self._closed: set[int] = set()
        # Where what can be repeated begins among the parts.
        self._atom: int | None = None

    def whole(self) -> str:
        while self._rest:
            self._step(self._next())
        if self._open:
            raise PosixPatternError(_BAD_PARENTHESIS)
        return "".join(self._parts)

    def _next(self) -> str:
        character, self._rest = self._rest[0], self._rest[1:]
        return character

    def _step(self, character: str) -> None:
        if character == "\\":
            self._escape()
        elif character == "[":
            self._add(self._bracket())
        elif character == "(":
            self._groups += 1
            self._open.append((len(self._parts), self._groups))
            self._place(f"(?P<{self._prefix}{self._groups}>")
        elif character == ")" and self._open:
            start, number = self._open.pop()
            self._closed.add(number)
            self._parts.append(")")
            self._atom = start
        elif character == "|":
            self._place("|")
        elif character in "*+?":
            self._repeat(character)
        elif character == "{":
            self._repeat(self._interval())
        elif character in "^$":
            self._place("^" if character == "^" else r"\Z")
        else:
            self._add("." if character == "." else re.escape(character))

    def _add(self, part: str) -> None:
        self._atom = len(self._parts)
        self._parts.append(part)

    def _place(self, part: str) -> None:
        """What cannot be repeated."""
        self._parts.append(part)
        self._atom = None

    def _escape(self) -> None:
        if not self._rest:
            raise PosixPatternError(_TRAILING_BACKSLASH)
        character = self._next()
        if character in "123456789":
            if int(character) not in self._closed:
                raise PosixPatternError(_BAD_REFERENCE)
            self._add(f"(?P={self._prefix}{character})")
        elif character in _PLACES:
            self._place(_PLACES[character])
        else:
            self._add(f"\\{character}" if character in _KINDS else re.escape(character))

    def _repeat(self, times: str) -> None:
        if self._atom is None:
            raise PosixPatternError(_BAD_REPETITION)
        repeated = "".join(self._parts[self._atom :])
        self._parts[self._atom :] = [f"(?:{repeated}){times}"]

    def _interval(self) -> str:
        if self._atom is None:
            raise PosixPatternError(_BAD_REPETITION)
        found = _INTERVAL.match(self._rest)
        if found is None or (not found[1] and not found[2]):
            raise PosixPatternError(_BAD_INTERVAL if "}" in self._rest else _BAD_BRACE)
        self._rest = self._rest[found.end() :]
        least = int(found[1] or 0)
        most = int(found[3]) if found[3] else None if found[2] else least
        if most is not None and least > most:
            raise PosixPatternError(_BAD_INTERVAL)
        if max(least, most or 0) > _MOST_REPEATS:
            raise PosixPatternError(_TOO_BIG)
        return f"{{{least},{'' if most is None else most}}}"

    def _bracket(self) -> str:
        """What stands between brackets, where a backslash is a character as any other."""
        negation = ""
        if self._rest.startswith("^"):
            negation = self._next()
        if not self._rest:
            raise PosixPatternError(_BAD_PATTERN)
        members: list[str] = []
        while not self._rest.startswith("]") or not members:
            start = self._member()
            is_range = self._rest.startswith("-") and not self._rest.startswith("-]")
            if is_range:
                self._next()
                end = self._member()
                if len(start) != 1 or len(end) != 1 or start > end:
                    raise PosixPatternError(_BAD_RANGE)
                members.append(f"{re.escape(start)}-{re.escape(end)}")
            else:
                members.append(re.escape(start) if len(start) == 1 else start)
        self._next()
        return f"[{negation}{''.join(members)}]"

    def _member(self) -> str:
        """One character, or the members of a class as Python writes them."""
        if not self._rest:
            raise PosixPatternError(_BAD_BRACKET)
        kind = self._rest[1:2]
        if self._rest[0] != "[" or not kind or kind not in ":.=":
            return self._next()
        name, found, rest = self._rest[2:].partition(f"{kind}]")
        if not found:
            raise PosixPatternError(_BAD_BRACKET)
        self._rest = rest
        if kind == ":":
            if name not in _CLASSES:
                raise PosixPatternError(_BAD_CLASS)
            return _CLASSES[name]
        if len(name) != 1:
            raise PosixPatternError(_BAD_COLLATION)
        return name
