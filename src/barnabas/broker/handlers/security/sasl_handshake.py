"""SaslHandshake, versions 0 and 1, where nobody has to prove anything: refused, as by Kafka.

On a listener with SASL `broker.login.doorkeeper` answers it.
"""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


async def handle(_call: Call, _request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


HANDLER = Handler(SaslHandshakeRequest, 0, 1, handle)
