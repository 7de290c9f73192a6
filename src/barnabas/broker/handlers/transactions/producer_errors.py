"""Codes that older versions of the producers' APIs have in the place of PRODUCER_FENCED (KIP-588)."""

from __future__ import annotations

from barnabas.broker_errors import ErrorCode, ProducerFencedError
from barnabas.errors import BrokerError


def code_for(error: BrokerError, version: int, first_with_fencing: int) -> int:
    """What a request in this version is answered with."""
    if isinstance(error, ProducerFencedError) and version < first_with_fencing:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error.code
