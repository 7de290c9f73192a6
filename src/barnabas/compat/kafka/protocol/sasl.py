"""Logging in."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka_engine.wire.message_modules import message_module


class SaslBytesRequest:
    """What a mechanism says, where no request is around it (SaslHandshake of version 0)."""

    API_VERSION = 0

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.header: SaslBytesResponse | None = None

    def with_header(self, correlation_id: int | None = None, **kwargs: Any) -> None:
        self.header = SaslBytesResponse(correlation_id)

    def encode(self, framed: bool = True, header: bool = True) -> bytes:
        """Always behind its length."""
        return len(self._data).to_bytes(4, "big") + self._data

    def expect_response(self) -> bool:
        return True


class SaslBytesResponse:
    """What a broker says to that: `auth_bytes`. It has no header: it is the header too."""

    def __init__(self, correlation_id: int | None) -> None:
        self.correlation_id = correlation_id
        self.error_code = 0
        self.auth_bytes = b""

    def parse_header(self, read_buffer: Any) -> SaslBytesResponse:
        return self

    def decode(self, read_buffer: Any) -> SaslBytesResponse:
        self.auth_bytes = read_buffer.read()
        return self

    def get_response_class(self) -> SaslBytesResponse:
        return self


__getattr__ = message_module(__name__, "SaslBytesRequest", "SaslBytesResponse")
