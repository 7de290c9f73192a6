"""Messages to bytes and back. Owns the cache of compiled encoders and decoders.

Knows nothing of headers and frames (`frame`) nor of which message answers which (`registry`).
"""

from __future__ import annotations

import struct
from typing import TypeVar, cast

from barnabas.errors import BrokenProtocolError
from barnabas.protocol.decoder import NO_LIMIT, Decoder, compile_decoder
from barnabas.protocol.encoder import Encoder, Part, compile_encoder
from barnabas.protocol.faults import find_fault
from barnabas.protocol.file_part import FilePart
from barnabas.protocol.schema import Message, Records, Request, Response

__all__ = [
    "Message",
    "Records",
    "Request",
    "Response",
    "decode",
    "decode_prefix",
    "encode",
    "encode_parts",
    "encode_to_send",
]

M = TypeVar("M", bound=Message)

_encoders: dict[tuple[type[Message], int], Encoder] = {}
_decoders: dict[tuple[type[Message], int], Decoder] = {}


def encode(message: Message, version: int) -> bytes:
    """The message's body in `version`, without any header.

    Raises, naming the field, BrokenProtocolError where a value does not fit its type, and its subclass
    NoCommonVersionError where this version cannot carry it.
    """
    return b"".join(encode_parts(message, version))


def encode_parts(message: Message, version: int) -> list[Part]:
    """`encode` in pieces, which spares a copy of the records: their buffers are parts of their own."""
    return cast("list[Part]", encode_to_send(message, version))


def encode_to_send(message: Message, version: int) -> list[Part | FilePart]:
    """`encode_parts` of a message whose records may be parts of files."""
    cls = type(message)
    encoder = _encoders.get((cls, version))
    if encoder is None:
        _check_version(cls, version)
        encoder = _encoders[cls, version] = compile_encoder(cls, version)
    parts: list[Part | FilePart] = []
    try:
        encoder(message, parts.append)
    except (struct.error, TypeError, AttributeError, ValueError, OverflowError) as error:
        fault = find_fault(message, version) or str(error)
        raise BrokenProtocolError(f"{cls.__name__} cannot be encoded: {fault}") from error
    return parts


def decode(cls: type[M], version: int, buffer: bytes | bytearray | memoryview, start: int = 0) -> M:
    """The message in `buffer`, which from byte `start` on holds its body and nothing else.

    `records` are memoryviews into `buffer`; everything else is copied out. Raises BrokenProtocolError on
    malformed bytes, left-over bytes among them, and never any other error.
    """
    message, end = decode_prefix(cls, version, buffer, start)
    if end != len(buffer):
        raise BrokenProtocolError(
            f"{cls.__name__} version {version} ends at byte {end}, but {len(buffer)} bytes were sent"
        )
    return message


def decode_prefix(
    cls: type[M],
    version: int,
    buffer: bytes | bytearray | memoryview,
    start: int = 0,
    most_items: int = NO_LIMIT,
) -> tuple[M, int]:
    """The message that begins at byte `start` of `buffer`, and the byte after it.

    Raises: BrokenProtocolError; TooManyItemsError where its arrays have more than `most_items`.
    """
    decoder = _decoders.get((cls, version))
    if decoder is None:
        _check_version(cls, version)
        decoder = _decoders[cls, version] = compile_decoder(cls, version)
    return cast("tuple[M, int]", decoder(buffer, start, most_items))


def _check_version(cls: type[Message], version: int) -> None:
    lowest, highest = cls.VERSIONS
    if not lowest <= version <= highest:
        raise BrokenProtocolError(f"{cls.__name__} has no version {version}; known are {lowest} to {highest}")
