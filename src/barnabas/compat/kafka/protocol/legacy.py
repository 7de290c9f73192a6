"""Messages as SimpleClient takes them, made of bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas import _kernel
from barnabas.compat.kafka.errors import UnsupportedCodecError
from barnabas.compat.kafka_python.values.structs import STRUCTS
from barnabas.compat.kafka_python.wire.message_sets import Message, MessageSet

__all__ = [
    "ALL_CODECS",
    "ATTRIBUTE_CODEC_MASK",
    "CODEC_GZIP",
    "CODEC_NONE",
    "CODEC_SNAPPY",
    "create_gzip_message",
    "create_message",
    "create_message_set",
    "create_snappy_message",
]

ATTRIBUTE_CODEC_MASK = 0x03
CODEC_NONE = 0x00
CODEC_GZIP = 0x01
CODEC_SNAPPY = 0x02
ALL_CODECS = (CODEC_NONE, CODEC_GZIP, CODEC_SNAPPY)

_GZIP_LEVEL = 9

_Payloads = Iterable[tuple[bytes | None, bytes | None]]


def create_message(payload: Any, key: Any = None) -> Any:
    """A message that is not compressed."""
    return STRUCTS["Message"](0, 0, key, payload)


def create_gzip_message(payloads: _Payloads, key: Any = None, compresslevel: int | None = None) -> Any:
    """One message with several in it, which are (value, key)."""
    compressed = _kernel.compress("gzip", _encoded(payloads), compresslevel or _GZIP_LEVEL)
    return STRUCTS["Message"](0, CODEC_GZIP, key, compressed)


def create_snappy_message(payloads: _Payloads, key: Any = None) -> Any:
    """One message with several in it, which are (value, key)."""
    return STRUCTS["Message"](0, CODEC_SNAPPY, key, _kernel.compress("snappy", _encoded(payloads)))


def create_message_set(
    messages: _Payloads, codec: int = CODEC_NONE, key: Any = None, compresslevel: int | None = None
) -> list[Any]:
    """Messages of (value, key), within a single one where there is a codec. Raises: UnsupportedCodecError."""
    if codec == CODEC_NONE:
        return [create_message(value, own_key) for value, own_key in messages]
    if codec == CODEC_GZIP:
        return [create_gzip_message(messages, key, compresslevel)]
    if codec == CODEC_SNAPPY:
        return [create_snappy_message(messages, key)]
    raise UnsupportedCodecError(f"Codec 0x{codec:02x} unsupported")


def _encoded(payloads: _Payloads) -> bytes:
    pairs = list(payloads)
    for part in (part for pair in pairs for part in pair):
        if part is not None and not isinstance(part, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f'Expected "{type(part)}" to be bytes\ndata={part!r}')
    entries = [(0, Message(value, own_key).encode()) for value, own_key in pairs]
    return MessageSet.encode(entries, size=False)
