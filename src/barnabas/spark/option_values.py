"""Reading the values of options: switches, numbers, sizes, durations, times and variables of the environment,
each named in its error.

Options come as text by their lower-case names. Pure functions; this module knows no option by name.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from pathlib import Path

from barnabas.spark.errors import InvalidOptionError

_MILLISECONDS = {
    "": 1.0,
    "us": 0.001,
    "ms": 1.0,
    "s": 1000.0,
    "m": 60_000.0,
    "min": 60_000.0,
    "h": 3_600_000.0,
    "d": 86_400_000.0,
}

_BYTES = {
    unit: 1024**power
    for power, units in enumerate((("", "b"), ("k", "kb"), ("m", "mb"), ("g", "gb"), ("t", "tb")))
    for unit in units
}

# As in Kafka's own EnvVarConfigProvider, with a default as in a shell; a file is one secret, as Kubernetes
# puts it there.
_REFERENCE = re.compile(r"\$\{(?:env:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?|file:([^}]+))\}")


def boolean(given: Mapping[str, str], option: str, *, default: bool) -> bool:
    """Raises: InvalidOptionError."""
    text = given.get(option.lower())
    if text is None:
        return default
    if text.strip().lower() not in ("true", "false"):
        raise InvalidOptionError(f"{option} must be true or false, not {text!r}")
    return text.strip().lower() == "true"


def positive(given: Mapping[str, str], option: str) -> int | None:
    """Raises: InvalidOptionError unless it is a whole number above 0."""
    number = whole_number(given, option)
    if number == 0:
        raise InvalidOptionError(f"{option} must be a whole number above 0, not {given[option.lower()]!r}")
    return number


def whole_number(given: Mapping[str, str], option: str) -> int | None:
    """Raises: InvalidOptionError unless it is 0 or more."""
    text = given.get(option.lower())
    if text is None:
        return None
    if not text.strip().isdecimal():
        raise InvalidOptionError(f"{option} must be a whole number, not {text!r}")
    return int(text)


def byte_count(given: Mapping[str, str], option: str) -> int | None:
    """A size such as `64m` or `1gb`, with Spark's units (of 1024); a bare number is bytes.

    Raises: InvalidOptionError unless it is above 0.
    """
    text = given.get(option.lower())
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _BYTES or int(match[1]) == 0:
        raise InvalidOptionError(
            f"{option} must be a size above 0 such as 64m (units: b, k, m, g, t), not {text!r}"
        )
    return int(match[1]) * _BYTES[match[2]]


def duration_ms(given: Mapping[str, str], option: str, *, default: int) -> int:
    """A time such as `15m` or `500ms`, with Spark's units; a bare number is milliseconds.

    Raises: InvalidOptionError.
    """
    text = given.get(option.lower())
    if text is None:
        return default
    match = re.fullmatch(r"(\d+)([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _MILLISECONDS:
        units = ", ".join(unit for unit in _MILLISECONDS if unit)
        raise InvalidOptionError(f"{option} must be a time such as 15m (units: {units}), not {text!r}")
    return int(int(match[1]) * _MILLISECONDS[match[2]])


def timestamp_ms(given: Mapping[str, str], option: str) -> int | None:
    """Milliseconds since 1970. Raises: InvalidOptionError."""
    text = given.get(option.lower())
    if text is None:
        return None
    if not text.strip().isdecimal():
        raise InvalidOptionError(f"{option} must be milliseconds since 1970, not {text!r}")
    return int(text)


def looked_up(text: str, setting: str, environment: Mapping[str, str]) -> str:
    """`text` with the values of variables in place of `${env:NAME}` and `${env:NAME:-default}`, and with what
    is in files, but for the end of the last line, in place of `${file:PATH}`. That is not looked at again.

    Raises: InvalidOptionError for a variable that is not set and has no default, or a file that cannot be
    read.
    """
    option = f"kafka.{setting.replace('_', '.')}"

    def value_of(match: re.Match[str]) -> str:
        name, default, path = match.groups(None)
        if path is not None:
            return _content(str(path), option)
        value = environment.get(str(name))
        if value is not None or default is not None:
            return str(default if value is None else value)
        raise InvalidOptionError(
            f"{option} names the variable {name} of the environment, which is not set on "
            f"{socket.gethostname()}: set it there, or give a default: ${{env:{name}:-default}}"
        )

    return _REFERENCE.sub(value_of, text)


def _content(path: str, option: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise InvalidOptionError(
            f"{option} names the file {path}, which cannot be read on {socket.gethostname()}: {error}"
        ) from None
