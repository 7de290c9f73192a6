"""Functions of CEL for texts: `format`, and whether a text is an address, a host, a UUID and so on."""

# cel-python's types are its own.
# pyright: basic

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from email.utils import parseaddr
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import urlparse

from celpy import celtypes
from celpy.evaluation import CELEvalError

LONGEST_HOST, LONGEST_PART, LONGEST_ADDRESS, LONGEST_USER = 253, 63, 254, 64
_HOST_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_ESCAPES = str.maketrans(
    {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}
    | {"\\": r"\\", '"': r"\""}
)
_INTEGERS = (celtypes.IntType, celtypes.UintType)


def is_hostname(host: str) -> bool:
    if not host or len(host) > LONGEST_HOST:
        return False
    parts = host.removesuffix(".").split(".")
    for part in parts:
        if not 0 < len(part) <= LONGEST_PART or part[0] == "-" or part[-1] == "-":
            return False
        if not _HOST_LETTERS.issuperset(part):
            return False
    # An address of numbers is none.
    return not (parts[-1].isascii() and parts[-1].isdigit())


def is_email(address: str) -> bool:
    if parseaddr(address)[1] != address or len(address) > LONGEST_ADDRESS:
        return False
    parts = address.split("@")
    return len(parts) == 2 and len(parts[0]) <= LONGEST_USER and is_hostname(parts[1])


def _is_address(kind: Callable[[Any], Any]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        try:
            kind(value)
        except ValueError:
            return False
        return True

    return check


def is_uri(text: str) -> bool:
    url = urlparse(text)
    return bool(url.scheme and url.netloc and url.path)


def is_uri_reference(text: str) -> bool:
    url = urlparse(text)
    return bool((url.scheme and url.path) or not url.fragment)


def _of_texts(check: Callable[[Any], bool], *, also_bytes: bool = False) -> Callable[[Any], Any]:
    kinds = (celtypes.StringType, celtypes.BytesType) if also_bytes else (celtypes.StringType,)
    words = "string or bytes" if also_bytes else "string"

    def function(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise CELEvalError(f"invalid argument, expected {words}")
        return celtypes.BoolType(check(value))

    return function


def format_text(template: Any, values: Any) -> Any:
    """`"%s is %d".format([name, age])`."""
    if not isinstance(template, celtypes.StringType):
        raise CELEvalError("format() requires a string as the first argument")
    if not isinstance(values, celtypes.ListType):
        raise CELEvalError("format() requires a list as the second argument")
    waiting = list(values)
    parts: list[str] = []
    place = 0
    while place < len(template):
        letter = template[place]
        place += 1
        if letter != "%":
            parts.append(letter)
            continue
        if template.startswith("%", place):
            parts.append("%")
            place += 1
            continue
        if not waiting:
            raise CELEvalError("format() not enough arguments for format string")
        value = waiting.pop(0)
        precision = 6
        if template.startswith(".", place):
            start = place = place + 1
            while place < len(template) and template[place] in "0123456789":
                place += 1
            precision = int(template[start:place] or "0")
        if place >= len(template):
            raise CELEvalError("format() incomplete format specifier")
        how = template[place]
        place += 1
        parts.append(_formatted(how, value, precision))
    if waiting:
        raise CELEvalError("format() too many arguments for format string")
    return celtypes.StringType("".join(parts))


LARGEST_PRECISION = 1000


def _formatted(how: str, value: Any, precision: int) -> str:
    if how in ("f", "e") and isinstance(value, celtypes.DoubleType):
        if precision > LARGEST_PRECISION:
            raise CELEvalError(f"format() precision is larger than {LARGEST_PRECISION}")
        return f"{float(value):.{precision}{how}}"
    if how in ("f", "e", "d"):
        if not isinstance(value, _INTEGERS):
            raise CELEvalError("format_int() requires an integer argument")
        return str(int(value))
    if how == "s":
        return _shown(value)
    if how in ("x", "X"):
        text = _hexadecimal(value)
        return text.upper() if how == "X" else text
    if how == "o":
        if not isinstance(value, _INTEGERS):
            raise CELEvalError("format_oct() requires an integer argument")
        return f"{int(value):o}"
    if how == "b":
        if not isinstance(value, (*_INTEGERS, celtypes.BoolType)):
            raise CELEvalError("format_bin() requires an integer argument")
        return f"{int(value):b}"
    raise CELEvalError(f"format() unknown format specifier: {how}")


def _hexadecimal(value: Any) -> str:
    if isinstance(value, _INTEGERS):
        return f"{int(value):x}"
    if isinstance(value, celtypes.BytesType):
        return bytes(value).hex()
    if isinstance(value, celtypes.StringType):
        return str(value).encode().hex()
    raise CELEvalError("format_hex() requires an integer, string, or binary argument")


def _shown(value: Any) -> str:
    if isinstance(value, celtypes.BytesType):
        return bytes(value).hex()
    if isinstance(value, celtypes.ListType):
        return f"[{', '.join(map(_shown_within, value))}]"
    return str(value)


def _shown_within(value: Any) -> str:
    return f'"{value.translate(_ESCAPES)}"' if isinstance(value, str) else _shown(value)


FUNCTIONS: Mapping[str, Any] = {
    "format": format_text,
    "isIpv4": _of_texts(_is_address(IPv4Address), also_bytes=True),
    "isIpv6": _of_texts(_is_address(IPv6Address), also_bytes=True),
    "isEmail": _of_texts(is_email),
    "isUri": _of_texts(is_uri),
    "isUriRef": _of_texts(is_uri_reference),
    "isHostname": _of_texts(is_hostname),
    "isUuid": _of_texts(_is_address(uuid.UUID)),
}
