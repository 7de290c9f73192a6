"""SaslAuthenticate, versions 0 to 2, where nobody has to prove anything: refused, as by Kafka.

On a listener with SASL `broker.login.doorkeeper` answers it.
"""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


async def handle(_call: Call, _request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )


HANDLER = Handler(SaslAuthenticateRequest, 0, 2, handle)
