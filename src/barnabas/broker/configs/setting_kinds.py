"""What a setting is: its type, the values that it takes, where a value comes from.

Owns the rules that hold for any table of settings, in Kafka's words. Must not know any one setting.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

from barnabas.broker.configs.setting_forms import as_java_shows, words_of
from barnabas.broker_errors import InvalidConfigError

MAX_INT = (1 << 31) - 1
MAX_LONG = (1 << 63) - 1


class SettingType(IntEnum):
    """Kafka's numbers for the types of settings, as DescribeConfigs gives them."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class SettingSource(IntEnum):
    """Where a value comes from, with Kafka's numbers."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `low` and `high` bound numbers; `choices` are the words that strings and lists take."""

    name: str
    type: SettingType
    default: str
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    broker_name: str = ""
    dynamic: bool = True
    """Whether it may be changed while the broker runs."""
    form: Callable[[str], None] | None = None
    """Raises ValueError for a value that is not of the form it must have."""
    has_default: bool = True
    """Whether the broker's setting has a value where nobody gave one. Where not, it is described as null, and
    a topic's as without synonyms; `default` is what holds."""
    hidden: bool = False
    """Whether it is told of to nobody: one of Kafka's own for tests."""

    def check(self, value: str) -> str:
        """The value as it is kept. Raises: InvalidConfigError, in Kafka's words."""
        text = value.strip()
        try:
            _check_type(self.type, text)
        except ValueError as error:
            raise self._refusal(value, error) from None
        for shown, rule in self._rules(text):
            try:
                rule()
            except ValueError as error:
                raise self._refusal(shown, error) from None
        return text

    def _refusal(self, shown: str, error: ValueError) -> InvalidConfigError:
        return InvalidConfigError(f"Invalid value {shown} for configuration {self.name}: {error}")

    def _rules(self, text: str) -> Iterator[tuple[str, Callable[[], None]]]:
        """What holds beyond the type, with the value as a refusal shows it."""
        shown = text
        if self.type is SettingType.DOUBLE:
            shown = as_java_shows(float(text))
            yield shown, partial(self._check_bounds, float(text))
        elif self.type in _NUMBERS:
            yield shown, partial(self._check_bounds, int(text))
        elif self.type is SettingType.LIST:
            words = words_of(text)
            shown = f"[{', '.join(words)}]"
            for word in words:
                yield word, partial(self._check_word, word)
        else:
            yield shown, partial(self._check_word, text)
        if self.form is not None:
            yield shown, partial(self.form, text)

    def _check_bounds(self, number: float) -> None:
        if self.low is not None and number < self.low:
            raise ValueError(f"Value must be at least {self.low}")
        if self.high is not None and number > self.high:
            raise ValueError(f"Value must be no more than {self.high}")

    def _check_word(self, word: str) -> None:
        if self.choices and word not in self.choices:
            raise ValueError(f"String must be one of: {', '.join(self.choices)}")


_LARGEST = {SettingType.SHORT: (1 << 15) - 1, SettingType.INT: MAX_INT, SettingType.LONG: MAX_LONG}
_NUMBERS = (*_LARGEST, SettingType.DOUBLE)


def _check_type(kind: SettingType, text: str) -> None:
    """Raises: ValueError."""
    if kind is SettingType.BOOLEAN and text.lower() not in ("true", "false"):
        raise ValueError("Expected value to be either true or false")
    if kind not in _NUMBERS:
        return
    try:
        number = float(text) if kind is SettingType.DOUBLE else int(text)
    except ValueError:
        raise ValueError(f"Not a number of type {kind.name}") from None
    largest = _LARGEST.get(kind)
    if largest is not None and not -largest - 1 <= number <= largest:
        raise ValueError(f"Not a number of type {kind.name}")


def table_of(*settings: Setting) -> dict[str, Setting]:
    return {setting.name: setting for setting in settings}


@dataclass(frozen=True, slots=True)
class Value:
    """A setting's value and where it comes from."""

    setting: Setting
    value: str
    source: SettingSource


def checked(given: Mapping[str, str | None], table: Mapping[str, Setting]) -> dict[str, str]:
    """The settings that have a value, checked. Raises: InvalidConfigError."""
    return {name: lookup(name, table).check(value) for name, value in given.items() if value is not None}


def lookup(name: str, table: Mapping[str, Setting]) -> Setting:
    """The setting of that name. Raises: InvalidConfigError, with the nearest name that exists."""
    setting = table.get(name)
    if setting is not None:
        return setting
    raise InvalidConfigError(f"unknown setting {name}{hint(name, table)}")


def hint(name: str, table: Mapping[str, Setting]) -> str:
    """The nearest name that exists, if there is one."""
    nearest = difflib.get_close_matches(name, table, 1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def parse_user(text: str) -> tuple[str, str]:
    """`name=password` as its two parts. Raises: InvalidConfigError, which does not show the password."""
    name, separator, password = text.partition("=")
    if not (name and separator):
        raise InvalidConfigError("a user is not of the form name=password")
    return name, password


def parse_assignment(text: str) -> tuple[str, str]:
    """`name=value` as its two parts. Raises: InvalidConfigError."""
    matched = re.fullmatch(r"\s*([\w.-]+)\s*=(.*)", text, re.DOTALL)
    if matched is None:
        raise InvalidConfigError(f"{text!r} is not of the form name=value")
    return matched[1], matched[2].strip()
