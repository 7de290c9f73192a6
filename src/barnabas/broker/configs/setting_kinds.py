"""What a setting is: its type, the values that it takes, where a value comes from.

Owns the rules that hold for any table of settings, in Kafka's words. Must not know any one setting.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from barnabas.broker_errors import InvalidConfigError

MAX_INT = (1 << 31) - 1
MAX_LONG = (1 << 63) - 1


class SettingType(IntEnum):
    """Kafka's numbers for the types of settings, as DescribeConfigs gives them."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class SettingSource(IntEnum):
    """Where a value comes from, with Kafka's numbers."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
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

    def check(self, value: str) -> str:
        """The value as it is kept. Raises: InvalidConfigError, in Kafka's words."""
        try:
            _CHECKS[self.type](self, value)
            if self.form is not None:
                self.form(value)
        except ValueError as error:
            raise InvalidConfigError(
                f"Invalid value {value} for configuration {self.name}: {error}"
            ) from None
        return value.strip()


def _check_boolean(setting: Setting, value: str) -> None:
    if value.strip().lower() not in ("true", "false"):
        raise ValueError("Expected value to be either true or false")


def _check_number(setting: Setting, value: str) -> None:
    try:
        number = float(value) if setting.type is SettingType.DOUBLE else int(value)
    except ValueError:
        raise ValueError(f"Not a number of type {setting.type.name}") from None
    largest = MAX_INT if setting.type is SettingType.INT else MAX_LONG
    if number > largest:
        raise ValueError(f"Not a number of type {setting.type.name}")
    if setting.low is not None and number < setting.low:
        raise ValueError(f"Value must be at least {setting.low}")
    if setting.high is not None and number > setting.high:
        raise ValueError(f"Value must be no more than {setting.high}")


def _check_words(setting: Setting, value: str) -> None:
    words = value.split(",") if setting.type is SettingType.LIST else [value]
    for word in words:
        if setting.choices and word.strip() not in setting.choices:
            raise ValueError(f"String must be one of: {', '.join(setting.choices)}")


_CHECKS: Mapping[SettingType, Callable[[Setting, str], None]] = {
    SettingType.UNKNOWN: _check_words,
    SettingType.BOOLEAN: _check_boolean,
    SettingType.STRING: _check_words,
    SettingType.LIST: _check_words,
    SettingType.CLASS: _check_words,
    SettingType.PASSWORD: _check_words,
    SettingType.INT: _check_number,
    SettingType.LONG: _check_number,
    SettingType.DOUBLE: _check_number,
}


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
    nearest = difflib.get_close_matches(name, table, 1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    raise InvalidConfigError(f"unknown setting {name}{hint}")


def parse_assignment(text: str) -> tuple[str, str]:
    """`name=value` as its two parts. Raises: InvalidConfigError."""
    matched = re.fullmatch(r"\s*([\w.-]+)\s*=(.*)", text, re.DOTALL)
    if matched is None:
        raise InvalidConfigError(f"{text!r} is not of the form name=value")
    return matched[1], matched[2].strip()
