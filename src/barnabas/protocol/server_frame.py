"""Requests and responses with their headers, as a server reads and writes them (a client: `frame`).

Knows every API by its number. Knows nothing of sockets, nor of what is answered.
"""

from __future__ import annotations

import struct
from typing import Any

from barnabas.errors import BrokenProtocolError
from barnabas.protocol.api_key import ApiKey
from barnabas.protocol.codec import decode_prefix, encode_parts
from barnabas.protocol.decoder import NO_LIMIT
from barnabas.protocol.frame import Frame, request_header_version, response_header_version
from barnabas.protocol.messages.request_header import RequestHeader
from barnabas.protocol.messages.response_header import ResponseHeader
from barnabas.protocol.registry import REQUESTS
from barnabas.protocol.schema import Request, Response

_LENGTH = struct.Struct(">i")
_REQUEST_START = struct.Struct(">hhi")


def decode_request(frame: Frame, most_items: int = NO_LIMIT) -> tuple[RequestHeader, Request[Any]]:
    """The header and the request in a frame, which is given without its length.

    Raises TooManyItemsError where the request's arrays have more than `most_items`.

    Raises BrokenProtocolError where the bytes are malformed, or the API or its version is unknown; the latter
    as UnsupportedRequestError, from which a broker can still answer.
    """
    if len(frame) < _REQUEST_START.size:
        raise BrokenProtocolError(f"a request of {len(frame)} bytes is too short for its header")
    api_key, version, correlation_id = _REQUEST_START.unpack_from(frame)
    if api_key not in REQUESTS:
        raise UnsupportedRequestError(api_key, version, correlation_id)
    request_type = REQUESTS[api_key]
    if not request_type.VERSIONS[0] <= version <= request_type.VERSIONS[1]:
        raise UnsupportedRequestError(api_key, version, correlation_id)
    header_version = request_header_version(request_type, version)
    header, position = decode_prefix(RequestHeader, header_version, frame, 0, most_items)
    # As in Kafka, left-over bytes are not looked at: librdkafka 2.16 sends three when it asks for all topics.
    request, _ = decode_prefix(request_type, version, frame, position, most_items)
    return header, request


class UnsupportedRequestError(BrokenProtocolError):
    """A request of an API or version that is not known, so that nothing after its numbers can be read.

    KIP-511: to ApiVersions, a broker answers this with version 0 of the response and UNSUPPORTED_VERSION.
    """

    def __init__(self, api_key: int, version: int, correlation_id: int) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        known = api_key in REQUESTS
        name = ApiKey(api_key).name if known else f"API key {api_key}"
        has = "known are {} to {}".format(*REQUESTS[api_key].VERSIONS) if known else "there is no such API"
        super().__init__(f"request of {name} version {version}: {has}")


def encode_response(response: Response, api_key: int, version: int, correlation_id: int) -> bytes:
    """The whole frame of a response, its length included. Raises what `codec.encode` does."""
    header = ResponseHeader(correlation_id)
    header_version = response_header_version(REQUESTS[api_key], version)
    parts = encode_parts(header, header_version) + encode_parts(response, version)
    return b"".join((_LENGTH.pack(sum(map(len, parts))), *parts))
