"""A request that a program wrote in bytes, in a version that the broker speaks, and the bytes of the answer.

Knows no connection.
"""

from __future__ import annotations

import struct
from typing import Any

from barnabas.compat.kafka_engine.wire.translation import TranslatedRequest

__all__ = ["exchange_of"]

_HEADER = struct.Struct("!ihhih")
_PRODUCE = 0
_FIRST_WITH_TRANSACTIONS = 3
_INT16 = struct.Struct("!h")


def exchange_of(frame: bytes) -> TranslatedRequest:
    """`frame`: with its size before it; the answer will be without its correlation id.

    Raises: ValueError for a request that cannot be read, KeyError for one of an API that there is not.
    """
    return TranslatedRequest(_WrittenRequest(frame))


class _WrittenRequest:
    """What TranslatedRequest takes."""

    def __init__(self, frame: bytes) -> None:
        try:
            _, self.API_KEY, self.API_VERSION, _, client_id_bytes = _HEADER.unpack_from(frame)
        except struct.error as error:
            raise ValueError(str(error)) from None
        self._body = frame[_HEADER.size + max(client_id_bytes, 0) :]

    @property
    def RESPONSE_TYPE(self) -> Any:
        return _AsItIs

    def encode(self) -> bytes:
        return self._body

    def expect_response(self) -> bool:
        """Brokers do not answer who wants no acknowledgement."""
        if self.API_KEY != _PRODUCE:
            return True
        acks_at = 0
        if self.API_VERSION >= _FIRST_WITH_TRANSACTIONS:
            acks_at = _INT16.size + max(_INT16.unpack_from(self._body)[0], 0)
        return _INT16.unpack_from(self._body, acks_at)[0] != 0


class _AsItIs:
    @staticmethod
    def decode(data: bytes) -> bytes:
        return data
