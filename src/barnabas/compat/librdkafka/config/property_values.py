"""How librdkafka reads the value of one property from text, and what it says of one that it does not take.

Knows nothing of what properties mean, nor of one another.
"""

from __future__ import annotations

import math
import re

from barnabas.compat.librdkafka.config.properties import Property, find, looked_up
from barnabas.compat.librdkafka.values.posix_patterns import PosixPatternError, as_python_pattern

Value = str | int | float | bool | tuple[str, ...] | None

_BLANKS = " \t\n\v\f\r"
_TRUE = ("true", "t", "1")
_FALSE = ("false", "f", "0")
_PARTITIONERS = (
    "random",
    "consistent",
    "consistent_random",
    "murmur2",
    "murmur2_random",
    "fnv1a",
    "fnv1a_random",
)
# What C's strtol and strtod take, whatever stands behind it.
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_DECIMAL = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.I
)


class PropertyError(Exception):
    """A property does not exist, or does not take a value. The message is librdkafka's."""


def read(name: str, text: str | None) -> tuple[Property, Value]:
    """The property of this name, aliases resolved, and its value. None asks for the default.

    Raises: PropertyError.
    """
    found = find(name)
    if found is None:
        raise PropertyError(f'No such configuration property: "{looked_up(name)}"')
    if found.kind == "dedicated":
        raise PropertyError(f'Property "{name}" must be set through dedicated .._set_..() function')
    if found.kind == "internal":
        raise PropertyError(f'Internal property "{name}" not settable')
    if found.refusal is not None:
        raise PropertyError(found.refusal)
    # An empty text is the same as none, but one of blanks is not.
    value = text or None
    if value is not None and found.kind != "truth":
        value = value.lstrip(_BLANKS)
    return found, _READERS[found.kind](found, value)


def _text(found: Property, text: str | None) -> Value:
    if not _is_valid(found.name, text):
        shown = "(null)" if text is None else text
        raise PropertyError(f'Invalid value for configuration property "{found.name}": {shown}')
    if text and found.name == "plugin.library.paths":
        _refuse_plugins(text)
    return found.default if text is None else text


def _is_valid(name: str, text: str | None) -> bool:
    if name == "partitioner":
        return text in _PARTITIONERS
    if name == "sasl.mechanisms":
        return text is not None and not any(c in text for c in " ,\t")
    return text is not None or name != "broker.version.fallback"


def _refuse_plugins(paths: str) -> None:
    plugin = paths.split(";")[0]
    extension = plugin.rpartition("/")[2].rpartition(".")
    is_library = extension[1] and len(extension[2]) <= len("so")
    file = plugin if is_library else f"{plugin}.so"
    raise PropertyError(
        f"dlopen() failed: {file}: cannot open shared object file: No such file or directory "
        f"(plugin {plugin})"
    )


def _number(found: Property, text: str | None) -> Value:
    if text is None:
        raise PropertyError(f'Integer configuration property "{found.name}" cannot be set to empty value')
    match = _INTEGER.match(text)
    if match is not None:
        number = _of_32_bits(_integer(match.group()))
    elif found.name == "request.required.acks" and text.lower() == "all":
        return -1
    else:
        raise PropertyError(f'Invalid value for configuration property "{found.name}"')
    _check_range(found, number, str(number))
    return number


def _integer(text: str) -> int:
    """As C reads it: hexadecimal after 0x, octal after 0, up to the first digit that does not fit."""
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        number = int(digits, 16)
    elif digits.startswith("0"):
        octal = re.match("[0-7]+", digits)
        number = int(octal.group(), 8) if octal else 0
    else:
        number = int(digits)
    number = min(number, (1 << 63) - 1)
    return -number if text.startswith("-") else number


def _of_32_bits(number: int) -> int:
    low = number & 0xFFFF_FFFF
    return low - (1 << 32) if low >= 1 << 31 else low


def _decimal(found: Property, text: str | None) -> Value:
    if text is None:
        raise PropertyError(f'Float configuration property "{found.name}" cannot be set to empty value')
    match = _DECIMAL.match(text)
    if match is None:
        raise PropertyError(f'Invalid value for configuration property "{found.name}"')
    digits = match.group()
    number = float(int(digits, 16)) if "0x" in digits.lower() else float(digits)
    if not math.isnan(number):
        _check_range(found, number, f"{number:g}")
    return number


def _check_range(found: Property, number: float, shown: str) -> None:
    if not found.low <= number <= found.high:
        raise PropertyError(
            f'Configuration property "{found.name}" value {shown} is outside allowed range '
            f"{found.low}..{found.high}\n"
        )


def _truth(found: Property, text: str | None) -> Value:
    if text is None:
        raise PropertyError(f'Bool configuration property "{found.name}" cannot be set to empty value')
    word = text.lower()
    if word not in _TRUE and word not in _FALSE:
        raise PropertyError(f'Expected bool value for "{found.name}": true or false')
    return word in _TRUE


def _choice(found: Property, text: str | None) -> Value:
    if text is None:
        raise PropertyError(f'Configuration property "{found.name}" cannot be set to empty value')
    return _chosen(found, text) if text else found.default


def _chosen(found: Property, word: str) -> str:
    for choice in found.choices:
        if choice.lower() == word.lower():
            return choice
    raise PropertyError(f'Invalid value "{word}" for configuration property "{found.name}"')


def _flags(found: Property, text: str | None) -> Value:
    """The flags that a list sets; a minus takes one away again."""
    if text is None:
        raise PropertyError(f'Configuration property "{found.name}" cannot be set to empty value')
    flags: dict[str, None] = {}
    for part in text.split(","):
        word = part.lstrip(_BLANKS)
        if not word:
            continue
        sign = word[0] if word[0] in "+-" else ""
        flag = _chosen(found, word.removeprefix(sign))
        affected = found.choices if flag == "all" else (flag,)
        for name in affected:
            if sign == "-":
                flags.pop(name, None)
                flags.pop("all", None)
            else:
                flags[name] = None
    return tuple(name for name in found.choices if name in flags)


def _patterns(found: Property, text: str | None) -> Value:
    patterns = tuple(part for part in (text or "").split(",") if part)
    for pattern in patterns:
        try:
            as_python_pattern(pattern)
        except PosixPatternError as error:
            raise PropertyError(f'Failed to parse pattern "{pattern}": {error}') from None
    return patterns


_READERS = {
    "text": _text,
    "number": _number,
    "decimal": _decimal,
    "truth": _truth,
    "choice": _choice,
    "flags": _flags,
    "patterns": _patterns,
}
