"""Keys and values in the forms of Kafka's own serializers, and as hexadecimal digits or base64. Knows nothing
of registries and of records."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Callable

from barnabas.values import frozen


@frozen
class PlainFormat:
    """`read` turns bytes into the text of a line, `write` such a text into bytes; both raise ValueError.
    `is_json`: the text stands in JSON as it is, and not in quotes."""

    read: Callable[[bytes], str]
    write: Callable[[str], bytes]
    is_json: bool


def _number(code: str, parse: Callable[[str], int | float]) -> PlainFormat:
    layout = struct.Struct(f">{code}")

    def read(data: bytes) -> str:
        if len(data) != layout.size:
            raise ValueError(f"it has {len(data)} bytes, not {layout.size}")
        return json.dumps(layout.unpack(data)[0])

    def write(text: str) -> bytes:
        try:
            return layout.pack(parse(text))
        except (struct.error, OverflowError):
            raise ValueError(f"{text} does not fit into {layout.size} bytes") from None

    return PlainFormat(read, write, is_json=True)


def _from_hex(text: str) -> bytes:
    return bytes.fromhex(text)


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is not base64: {error}") from None


PLAIN_FORMATS = {
    "short": _number("h", int),
    "int": _number("i", int),
    "long": _number("q", int),
    "float": _number("f", float),
    "double": _number("d", float),
    "hex": PlainFormat(bytes.hex, _from_hex, is_json=False),
    "base64": PlainFormat(lambda data: base64.b64encode(data).decode(), _from_base64, is_json=False),
}
