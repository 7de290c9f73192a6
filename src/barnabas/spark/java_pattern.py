r"""`subscribePattern` is a Java regular expression; this turns it into a Python one of the same meaning.

Topic names hold only ASCII letters, digits, ".", "_" and "-", which makes most differences vanish. What
remains is translated (`\Q..\E`, `(?<name>`, `\p{Alpha}` and its like, `\h`, `\z`, inline flags), and what
Python cannot say (classes within classes, `&&`) is an error that names it.
"""

from __future__ import annotations

import re

from barnabas.spark.errors import InvalidOptionError

_LETTER_CLASSES = {
    "Lower": "a-z", "javaLowerCase": "a-z", "Ll": "a-z", "IsLowercase": "a-z",
    "Upper": "A-Z", "javaUpperCase": "A-Z", "Lu": "A-Z", "IsUppercase": "A-Z",
    "Alpha": "a-zA-Z", "L": "a-zA-Z", "IsL": "a-zA-Z", "IsAlphabetic": "a-zA-Z", "IsLetter": "a-zA-Z",
    "Digit": "0-9", "N": "0-9", "Nd": "0-9", "IsDigit": "0-9", "XDigit": "0-9a-fA-F",
    "Alnum": "0-9a-zA-Z", "Punct": r"._\-", "P": r"._\-", "IsPunctuation": r"._\-",
    "ASCII": r"\x00-\x7f", "Graph": r"\x21-\x7e", "Print": r"\x20-\x7e",
}  # fmt: skip
_ESCAPES = {"h": r"[ \t]", "z": r"\Z", "Z": r"\Z", "e": r"\x1b", "R": r"\n"}
_PLAIN_ESCAPES = frozenset("dDwWsSbBAtnrfax0123456789") | frozenset("\\.^$|?*+()[]{}-/_&\"'#@!%,:;<>=~` ")

_NAMED_GROUP = re.compile(r"\(\?<(?![=!])")
_FLAGS = re.compile(r"\(\?([a-zA-Z]+)\)")
_GROUP_NAME = re.compile(r"<(\w+)>")
_PROPERTY = re.compile(r"\{(\w+)\}|(\w)")


def compile_java_pattern(pattern: str, option: str) -> re.Pattern[str]:
    """The pattern to `search` topic names for, as Spark finds it.

    Raises: InvalidOptionError.
    """
    try:
        return re.compile(_Translator(pattern).translate(), re.ASCII)
    except (re.error, ValueError) as error:
        raise InvalidOptionError(
            f"{option}: {pattern!r} is not a pattern that can be used: {error}"
        ) from None


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0

    def translate(self) -> str:
        parts: list[str] = []
        while self.position < len(self.pattern):
            if self._take(r"\Q"):
                parts.append(re.escape(self._quoted()))
            elif self._take("\\"):
                parts.append(self._escape(in_class=False))
            elif self._take("[^"):
                parts.append("[^" + self._class_members())
            elif self._take("["):
                parts.append("[" + self._class_members())
            elif _NAMED_GROUP.match(self.pattern, self.position):
                self.position += len("(?<")
                parts.append("(?P<")
            elif flags := _FLAGS.match(self.pattern, self.position):
                parts.append(self._flags(flags))
            else:
                parts.append(self._character())
        return "".join(parts)

    def _take(self, token: str) -> bool:
        if self.pattern.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def _quoted(self) -> str:
        end = self.pattern.find(r"\E", self.position)
        text = self.pattern[self.position :] if end < 0 else self.pattern[self.position : end]
        self.position = len(self.pattern) if end < 0 else end + 2
        return text

    def _character(self) -> str:
        self.position += 1
        return self.pattern[self.position - 1]

    def _flags(self, flags: re.Match[str]) -> str:
        if self.position != 0:
            raise ValueError(f"flags {flags[0]} are understood at the beginning only")
        if set(flags[1]) - set("iu"):
            raise ValueError(f"flags {flags[0]} are not understood, only (?i)")
        self.position = flags.end()
        return "(?i)" if "i" in flags[1] else ""

    def _class_members(self) -> str:
        parts: list[str] = []
        while not self._take("]"):
            if self.position >= len(self.pattern):
                raise ValueError("a character class is not closed")
            if self._take("["):
                raise ValueError("a character class within another one is not understood")
            if self._take("&&"):
                raise ValueError("&& in a character class is not understood")
            if self._take(r"\Q"):
                parts.append(re.escape(self._quoted()))
            elif self._take("\\"):
                parts.append(self._escape(in_class=True))
            elif self._take("--"):
                parts.append(r"-\-")
            else:
                parts.append(self._character())
        if not parts:
            raise ValueError("a character class is empty")
        return "".join(parts) + "]"

    def _escape(self, *, in_class: bool) -> str:
        letter = self.pattern[self.position : self.position + 1]
        self.position += 1
        if letter in ("p", "P"):
            return self._property(negated=letter == "P", in_class=in_class)
        if letter == "k":
            name = _GROUP_NAME.match(self.pattern, self.position)
            if name is None:
                raise ValueError(r"\k is not followed by a group's name")
            self.position = name.end()
            return f"(?P={name[1]})"
        if letter in _ESCAPES and not in_class:
            return _ESCAPES[letter]
        if letter in _PLAIN_ESCAPES:
            return "\\" + letter
        raise ValueError(f"\\{letter} is not understood" if letter else "it ends with a backslash")

    def _property(self, *, negated: bool, in_class: bool) -> str:
        name = _PROPERTY.match(self.pattern, self.position)
        if name is None or (name[1] or name[2]) not in _LETTER_CLASSES:
            raise ValueError(f"\\p{name[0] if name else ''} is not understood")
        self.position = name.end()
        members = _LETTER_CLASSES[name[1] or name[2]]
        if not in_class:
            return f"[^{members}]" if negated else f"[{members}]"
        if negated:
            raise ValueError(r"\P in a character class is not understood")
        return members
