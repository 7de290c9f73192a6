"""`KafkaProtocol`: requests as bytes to send, and bytes that were received as answers, for programs with
sockets of their own."""

from __future__ import annotations

import logging
from collections import deque
from io import BytesIO
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.version import __version__

log = logging.getLogger("kafka.protocol.parser")

_LENGTH_BYTES = 4


class KafkaProtocol:
    """One connection: answers come in the order of the requests. Does no input or output."""

    def __init__(self, client_id: str | None = None, api_version: Any = None, **config: Any) -> None:
        self._client_id = f"kafka-python{__version__}" if client_id is None else client_id
        self._longest = config.get("receive_message_max_bytes", 100000000)
        self._correlation_id = 0
        self._received = bytearray()
        self.in_flight_requests: deque[tuple[int, Any]] = deque()
        self.bytes_to_send: list[bytes] = []

    def send_request(self, request: Any, correlation_id: int | None = None) -> int:
        """Has a request be sent; its number."""
        if correlation_id is None:
            self._correlation_id = correlation_id = (self._correlation_id + 1) % 2**31
        if hasattr(request, "with_header"):
            request.with_header(correlation_id=correlation_id, client_id=self._client_id)
            self.bytes_to_send.append(request.encode(framed=True, header=True))
        else:
            header = request.build_header(correlation_id=correlation_id, client_id=self._client_id)
            message = header.encode() + request.encode()
            self.bytes_to_send.append(len(message).to_bytes(_LENGTH_BYTES, "big") + message)
        if request.expect_response():
            self.in_flight_requests.append((correlation_id, request))
        return correlation_id

    def send_bytes(self) -> bytes:
        """What is to be sent; whoever takes it sends it."""
        data = b"".join(self.bytes_to_send)
        self.bytes_to_send.clear()
        return data

    def receive_bytes(self, data: Any) -> list[tuple[int, Any]]:
        """(number of the request, answer) of all that have come whole by now.

        Raises: KafkaProtocolError for what cannot be read, CorrelationIdError for what answers nothing.
        """
        self._received += data
        answers: list[tuple[int, Any]] = []
        while len(self._received) >= _LENGTH_BYTES:
            length = int.from_bytes(self._received[:_LENGTH_BYTES], "big", signed=True)
            if not 0 <= length <= self._longest:
                raise Errors.KafkaProtocolError(f"Invalid frame length: {length}")
            if len(self._received) < _LENGTH_BYTES + length:
                break
            frame = bytes(self._received[_LENGTH_BYTES : _LENGTH_BYTES + length])
            del self._received[: _LENGTH_BYTES + length]
            answers.append(self._answer(frame))
        return answers

    def _answer(self, frame: bytes) -> tuple[int, Any]:
        if not self.in_flight_requests:
            raise Errors.CorrelationIdError("No in-flight-request found for server response")
        correlation_id, request = self.in_flight_requests.popleft()
        received = BytesIO(frame)
        is_struct = not hasattr(request, "with_header")
        answer = request.RESPONSE_TYPE if is_struct else request.header.get_response_class()
        found = answer.parse_header(received).correlation_id
        if found != correlation_id:
            raise Errors.CorrelationIdError(
                f"Correlation IDs do not match: sent {correlation_id}, recv {found}"
            )
        try:
            return correlation_id, answer.decode(received)
        except ValueError:
            # Not with the bytes: a token may be among them.
            log.error("Response %d: Unable to decode %d-byte buffer", correlation_id, len(frame))
            raise Errors.KafkaProtocolError("Unable to decode response") from None
