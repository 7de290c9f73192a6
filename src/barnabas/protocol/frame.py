"""Requests and responses with their headers, as a client writes and reads them (a server: `server_frame`).

A frame is a 4-byte length, a header and a body. Knows nothing of sockets, nor of requests under way.
"""

from __future__ import annotations

import struct
from typing import Any, TypeVar

from barnabas.errors import BrokenProtocolError
from barnabas.protocol.codec import decode, decode_prefix, encode_parts
from barnabas.protocol.encoder import Part
from barnabas.protocol.messages.request_header import RequestHeader
from barnabas.protocol.messages.response_header import ResponseHeader
from barnabas.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)

Frame = bytes | bytearray | memoryview

# Copying less than this costs less than a write of its own.
LARGE_PART_BYTES = 16_384
# As numbers, since a client would load the tables of all APIs and errors for these alone.
_CONTROLLED_SHUTDOWN = 7
_API_VERSIONS = 18
_UNSUPPORTED_VERSION = 35
_LENGTH = struct.Struct(">i")
_CORRELATION_ID = struct.Struct(">i")


def request_header_version(request_type: type[Request[Any]], version: int) -> int:
    """The version of the header before a request of this type and version."""
    if version >= request_type.FLEXIBLE_VERSIONS:
        return 2
    # ControlledShutdown version 0 predates the client id in the header.
    return 0 if request_type.API_KEY == _CONTROLLED_SHUTDOWN and version == 0 else 1


def response_header_version(request_type: type[Request[Any]], version: int) -> int:
    """The version of the header before the response to a request of this type and version."""
    # KIP-511: a client must be able to read the answer to ApiVersions before it knows the broker's versions.
    if request_type.API_KEY == _API_VERSIONS:
        return 0
    return 1 if version >= request_type.RESPONSE.FLEXIBLE_VERSIONS else 0


def encode_request(request: Request[Any], version: int, correlation_id: int, client_id: str | None) -> bytes:
    """The whole frame of a request, its length included. Raises what `codec.encode` does."""
    return b"".join(encode_request_parts(request, version, correlation_id, client_id))


def encode_request_parts(
    request: Request[Any], version: int, correlation_id: int, client_id: str | None
) -> list[Part]:
    """`encode_request` in pieces to be sent one after the other, which spares a copy of large records."""
    header = RequestHeader(request.API_KEY, version, correlation_id, client_id)
    parts = encode_parts(header, request_header_version(type(request), version))
    parts += encode_parts(request, version)
    pieces: list[Part] = []
    small: list[Part] = [_LENGTH.pack(sum(map(len, parts)))]
    for part in parts:
        if len(part) < LARGE_PART_BYTES:
            small.append(part)
            continue
        pieces += [b"".join(small), part]
        small = []
    if small:
        pieces.append(b"".join(small))
    return pieces


def response_correlation_id(frame: Frame) -> int:
    """Which request a response answers. The frame is given without its length."""
    if len(frame) < _CORRELATION_ID.size:
        raise BrokenProtocolError(f"a response of {len(frame)} bytes is too short for its header")
    return _CORRELATION_ID.unpack_from(frame)[0]


def decode_response(request_type: type[Request[R]], version: int, frame: Frame) -> R:
    """The response to a request of this type and version. The frame is given without its length.

    KIP-511: a broker that does not know the version of an ApiVersions request answers in version 0, with
    UNSUPPORTED_VERSION; that answer is read as what it is. Raises BrokenProtocolError on malformed bytes.
    """
    header_version = response_header_version(request_type, version)
    _, position = decode_prefix(ResponseHeader, header_version, frame)
    if request_type.API_KEY == _API_VERSIONS and _error_code_at(frame, position) == _UNSUPPORTED_VERSION:
        version = 0
    return decode(request_type.RESPONSE, version, frame, position)


def _error_code_at(frame: Frame, position: int) -> int:
    return int.from_bytes(frame[position : position + 2], "big", signed=True)
