"""Regular expressions by which topics and transactional ids are chosen, in the syntax of RE2, as Kafka takes
them.

Owns which ones there are, and which names each matches as a whole: they are translated for the kernel, which
takes linear time. A class is what it has of the characters that the names at hand are made of; greed makes no
difference to a whole name. Must not know groups or transactions.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from barnabas._kernel import NamePattern
from barnabas.net.addresses import in_thread

TOPIC_CHARACTERS = frozenset(string.ascii_letters + string.digits + "._-")
MOST_REPEATS = 1000
LARGEST_CHARACTER = 0x10FFFF
_CATEGORIES = """
C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
"""
_SCRIPTS = """
Any Common Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi
Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul
Ethiopic Cherokee Canadian_Aboriginal Ogham Runic Khmer Mongolian Hiragana Katakana Bopomofo Han Yi
Old_Italic Gothic Deseret Inherited Tagalog Hanunoo Buhid Tagbanwa Limbu Tai_Le Linear_B Ugaritic
Shavian Osmanya Cypriot Braille Buginese Coptic New_Tai_Lue Glagolitic Tifinagh Syloti_Nagri
Old_Persian Kharoshthi Balinese Cuneiform Phoenician Phags_Pa Nko Sundanese Batak Lepcha Ol_Chiki
Vai Saurashtra Kayah_Li Rejang Lycian Carian Lydian Cham Tai_Tham Tai_Viet Avestan
Egyptian_Hieroglyphs Samaritan Mandaic Lisu Bamum Javanese Meetei_Mayek Imperial_Aramaic
Old_South_Arabian Inscriptional_Parthian Inscriptional_Pahlavi Old_Turkic Brahmi Kaithi
"""
CATEGORIES, SCRIPTS = frozenset(_CATEGORIES.split()), frozenset(_SCRIPTS.split())
ANY, LATIN, COMMON = "Any", "Latin", "Common"
CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
ASSERTIONS = {"A": r"\A", "b": r"(?-u:\b)", "B": r"(?-u:\B)", "z": r"\z"}
LONGEST = 32_767
"""As long as Kafka's older strings may be; RE2/J takes any."""
READ_AT_ONCE = 500
MOST_CLASS_CHARACTERS = 1_000_000
"""Of all classes of an expression together."""
_ASCII = frozenset(map(chr, range(128)))
_LETTERS, _DIGITS = frozenset(string.ascii_letters), frozenset(string.digits)
_WORD = _LETTERS | _DIGITS | {"_"}
PERL_CLASSES = {"d": _DIGITS, "w": _WORD, "s": frozenset("\t\n\f\r ")}
POSIX_CLASSES = {
    "alnum": _LETTERS | _DIGITS,
    "alpha": _LETTERS,
    "ascii": _ASCII,
    "blank": frozenset(" \t"),
    "cntrl": frozenset(map(chr, (*range(32), 127))),
    "digit": _DIGITS,
    "graph": frozenset(string.ascii_letters + string.digits + string.punctuation),
    "lower": frozenset(string.ascii_lowercase),
    "print": frozenset(string.ascii_letters + string.digits + string.punctuation + " "),
    "punct": frozenset(string.punctuation),
    "space": frozenset(string.whitespace),
    "upper": frozenset(string.ascii_uppercase),
    "word": _WORD,
    "xdigit": frozenset(string.hexdigits),
}

TOO_LARGE = "expression is too large"
BAD_CLASS = "invalid character class range"
BAD_ESCAPE = "invalid escape sequence"
BAD_NAME = "invalid named capture"
BAD_PERL = "invalid or unsupported Perl syntax"
BAD_REPEATS = "invalid repeat count"
NESTED_REPEATS = "invalid nested repetition operator"
NO_ARGUMENT = "missing argument to repetition operator"
NO_BRACKET = "missing closing ]"
NO_PARENTHESIS = "missing closing )"
TRAILING_BACKSLASH = "trailing backslash at end of expression"
TWICE_NAMED = "duplicate capture group name"
# What RE2/J says of a closing parenthesis that closes nothing.
UNOPENED = "regexp/syntax: internal error"

NOTHING = r"[^\x{0}-\x{10FFFF}]"
"""Matches none."""
_REPEATS = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII)
_NAME = re.compile(r"\w+", re.ASCII)
_HEX = re.compile(r"\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2})")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")


class NamePatternError(ValueError):
    """An expression that RE2 does not take, in the words of Kafka's RE2/J."""


def name_pattern(text: str, characters: frozenset[str] = TOPIC_CHARACTERS) -> NamePattern:
    """To be matched with whole names that are made of these characters. Raises: NamePatternError."""
    if len(text) > LONGEST:
        raise NamePatternError(TOO_LARGE)
    read = _read(text, characters)
    if isinstance(read, str):
        raise NamePatternError(read)
    return read


@lru_cache(maxsize=1024)
def _read(text: str, characters: frozenset[str]) -> NamePattern | str:
    """What is wrong where something is, so that this is remembered as well."""
    try:
        return NamePattern(_Translation(text, characters).whole())
    except NamePatternError as error:
        return str(error)
    except ValueError:
        return TOO_LARGE


async def read_name_pattern(text: str, characters: frozenset[str] = TOPIC_CHARACTERS) -> NamePattern:
    """As `name_pattern`, on another thread where that takes long; it is remembered. Raises:
    NamePatternError."""
    if READ_AT_ONCE < len(text) <= LONGEST:
        return await in_thread(lambda: name_pattern(text, characters))
    return name_pattern(text, characters)


class _Translation:
    def __init__(self, text: str, characters: frozenset[str]) -> None:
        self._text = text
        self._characters = characters
        variants = (case for each in characters for case in (each, each.upper(), each.lower()))
        self._in_any_case = frozenset(case for case in variants if len(case) == 1)
        self._at: int = 0
        self._flags: frozenset[str] = frozenset()
        self._names: set[str] = set()
        self._ranges: dict[tuple[str, str, frozenset[str]], frozenset[str]] = {}
        # Of each open group: what is before the last bar, what is behind it, and the flags.
        self._open: list[tuple[list[str], list[str], frozenset[str]]] = []
        self._before: list[str] = []
        self._atoms: list[str] = []
        self._repeated_until = -1
        self._last_class_end = text.rfind(":]")
        self._class_characters = 0

    def whole(self) -> str:
        while self._at < len(self._text):
            self._step()
        if self._open:
            raise NamePatternError(NO_PARENTHESIS)
        return self._alternatives()

    def _alternatives(self) -> str:
        return "|".join([*self._before, "".join(self._atoms)])

    def _step(self) -> None:
        character = self._text[self._at]
        if character == "(":
            self._open_group()
        elif character == ")":
            self._close_group()
        elif character == "|":
            self._at += 1
            self._before.append("".join(self._atoms))
            self._atoms = []
        elif character == "[":
            self._atoms.append(self._one_of(self._bracketed()))
        elif character in "*+?":
            self._repeat(character, 1)
        elif character == "{" and (found := _REPEATS.match(self._text, self._at)):
            self._repeat(self._count(found), len(found[0]))
        elif character == "\\":
            self._backslash()
        else:
            self._at += 1
            self._atoms.append(self._special(character) or self._literal(character))

    def _special(self, character: str) -> str | None:
        match character:
            case ".":
                return "(?s:.)" if "s" in self._flags else "."
            case "^":
                return "(?m:^)" if "m" in self._flags else "^"
            case "$":
                return "(?m:$)" if "m" in self._flags else r"\z"
            case _:
                return None

    def _literal(self, character: str) -> str:
        if "i" in self._flags and character.swapcase() != character:
            return f"(?i:{_written(character)})"
        return _written(character)

    # Repetition

    def _count(self, found: re.Match[str]) -> str:
        low = int(found[1])
        high = int(found[3]) if found[3] else None if found[2] else low
        if max(low, high or 0) > MOST_REPEATS or (high is not None and high < low):
            raise NamePatternError(BAD_REPEATS)
        return found[0]

    def _repeat(self, how: str, length: int) -> None:
        if not self._atoms:
            raise NamePatternError(NO_ARGUMENT)
        if self._repeated_until == self._at:
            raise NamePatternError(NESTED_REPEATS)
        self._at += length
        if self._text.startswith("?", self._at):
            self._at += 1
        self._repeated_until = self._at
        self._atoms.append(f"{_grouped(self._atoms.pop())}{how}")

    # Groups

    def _open_group(self) -> None:
        flags = self._flags
        if self._text.startswith(("(?P<", "(?<"), self._at):
            self._name_group()
        elif self._text.startswith("(?", self._at):
            if not self._take_flags():
                return
        else:
            self._at += 1
        self._open.append((self._before, self._atoms, flags))
        self._before, self._atoms = [], []

    def _name_group(self) -> None:
        begin = self._text.index("<", self._at) + 1
        found = _NAME.match(self._text, begin)
        if found is None or not self._text.startswith(">", found.end()):
            raise NamePatternError(BAD_NAME)
        name = found[0]
        if name in self._names:
            raise NamePatternError(TWICE_NAMED)
        self._names.add(name)
        self._at = found.end() + 1

    def _take_flags(self) -> bool:
        """Whether they open a group, and are not for what follows in this one."""
        flags, is_set, is_complete = self._flags, True, True
        for at in range(self._at + 2, len(self._text)):
            flag = self._text[at]
            if flag in ":)" and is_complete:
                self._at = at + 1
                self._flags = flags
                return flag == ":"
            if flag == "-" and is_set:
                is_set = is_complete = False
                continue
            if flag not in "imsU":
                break
            is_complete = True
            flags = flags | {flag} if is_set else flags - {flag}
        raise NamePatternError(BAD_PERL)

    def _close_group(self) -> None:
        if not self._open:
            raise NamePatternError(UNOPENED)
        self._at += 1
        is_one = not self._before and len(self._atoms) == 1
        group = self._atoms[0] if is_one else f"(?:{self._alternatives()})"
        self._before, self._atoms, self._flags = self._open.pop()
        self._atoms.append(group)

    # Backslashes

    def _backslash(self) -> None:
        kind = self._text[self._at + 1 : self._at + 2]
        if kind in ASSERTIONS:
            self._at += 2
            self._atoms.append(ASSERTIONS[kind])
        elif kind == "Q":
            begin = self._at + 2
            end = self._text.find("\\E", begin)
            quoted = self._text[begin : None if end < 0 else end]
            self._at = begin + len(quoted)
            self._at += 2 if self._text.startswith("\\E", self._at) else 0
            self._atoms += map(self._literal, quoted)
        elif (found := self._class_behind_backslash()) is not None:
            self._atoms.append(self._one_of(found))
        else:
            self._atoms.append(self._literal(self._escaped()))

    def _class_behind_backslash(self) -> frozenset[str] | None:
        kind = self._text[self._at + 1 : self._at + 2]
        if kind and kind in "pP":
            return self._unicode_class(is_negated=kind == "P")
        found = PERL_CLASSES.get(kind.lower()) if kind else None
        if found is None:
            return None
        self._at += 2
        return self._folded(found, is_negated=kind.isupper())

    def _unicode_class(self, *, is_negated: bool) -> frozenset[str]:
        name = self._text[self._at + 2 : self._at + 3]
        self._at += 3
        if name == "{":
            end = self._text.find("}", self._at)
            if end < 0:
                raise NamePatternError(BAD_CLASS)
            name = self._text[self._at : end]
            self._at = end + 1
            if name.startswith("^"):
                name, is_negated = name[1:], not is_negated
        found: Iterable[str]
        if name in CATEGORIES:
            found = (each for each in self._in_any_case if unicodedata.category(each).startswith(name))
        elif name in SCRIPTS:
            found = (each for each in self._in_any_case if name in (ANY, _script(each)))
        else:
            raise NamePatternError(BAD_CLASS)
        return self._folded(found, is_negated=is_negated)

    def _folded(self, characters: Iterable[str], *, is_negated: bool) -> frozenset[str]:
        found = frozenset(characters)
        if "i" in self._flags:
            folded = {each.casefold() for each in found}
            found |= {each for each in self._characters if each.casefold() in folded}
        return self._characters - found if is_negated else found

    def _escaped(self) -> str:
        """The character that a backslash stands for with what follows it."""
        self._at += 1
        if self._at == len(self._text):
            raise NamePatternError(TRAILING_BACKSLASH)
        if found := _OCTAL.match(self._text, self._at):
            self._at = found.end()
            return chr(int(found[0], 8))
        kind = self._text[self._at]
        if kind == "x" and (found := _HEX.match(self._text, self._at + 1)):
            number = int(found[1] or found[2], 16)
            if number <= LARGEST_CHARACTER:
                self._at = found.end()
                return chr(number)
        elif kind in CONTROLS or kind not in _LETTERS | _DIGITS:
            self._at += 1
            return CONTROLS.get(kind, kind)
        raise NamePatternError(BAD_ESCAPE)

    # Classes in brackets

    def _bracketed(self) -> frozenset[str]:
        self._at += 1
        is_negated = self._text.startswith("^", self._at)
        self._at += 1 if is_negated else 0
        found: frozenset[str] = frozenset()
        is_first = True
        while is_first or not self._text.startswith("]", self._at):
            is_first = False
            found |= self._item()
        self._at += 1
        return self._characters - found if is_negated else found

    def _item(self) -> frozenset[str]:
        found = self._named_class()
        if found is None and self._text.startswith("\\", self._at):
            found = self._class_behind_backslash()
        return self._range() if found is None else found

    def _named_class(self) -> frozenset[str] | None:
        if not self._text.startswith("[:", self._at) or self._at + 1 > self._last_class_end:
            return None
        end = self._text.index(":]", self._at + 1)
        name = self._text[self._at + 2 : end]
        characters = POSIX_CLASSES.get(name.removeprefix("^"))
        if characters is None:
            raise NamePatternError(BAD_CLASS)
        self._at = end + 2
        return self._folded(characters, is_negated=name.startswith("^"))

    def _range(self) -> frozenset[str]:
        low = high = self._class_character()
        if self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
            self._at += 1
            high = self._class_character()
            if high < low:
                raise NamePatternError(BAD_CLASS)
        found = self._ranges.get((low, high, self._flags))
        if found is None:
            found = self._folded(
                (each for each in self._in_any_case | _ASCII if low <= each <= high), is_negated=False
            )
            self._ranges[low, high, self._flags] = found
        return found

    def _class_character(self) -> str:
        if self._at == len(self._text):
            raise NamePatternError(NO_BRACKET)
        if self._text[self._at] == "\\":
            return self._escaped()
        self._at += 1
        return self._text[self._at - 1]

    def _one_of(self, characters: frozenset[str]) -> str:
        found = sorted(characters & self._characters)
        self._class_characters += len(found)
        if self._class_characters > MOST_CLASS_CHARACTERS:
            raise NamePatternError(TOO_LARGE)
        return f"[{''.join(map(_written, found))}]" if found else NOTHING


def _written(character: str) -> str:
    """For the kernel."""
    if character in _LETTERS or character in _DIGITS:
        return character
    number = ord(character)
    # Halves of a surrogate are in no name.
    return NOTHING if 0xD800 <= number < 0xE000 else f"\\x{{{number:x}}}"


def _grouped(atom: str) -> str:
    """What a repetition behind it is of."""
    return atom if len(atom) == 1 and atom.isalnum() else f"(?:{atom})"


def _script(character: str) -> str:
    """By the first word of its name in Unicode, since Python knows no scripts."""
    if character.isascii():
        return LATIN if character.isalpha() else COMMON
    name = unicodedata.name(unicodedata.normalize("NFC", character), "")
    script = name.partition(" ")[0].title()
    return "Han" if script == "Cjk" else script if script in SCRIPTS else COMMON
