"""ExpireDelegationToken, versions 1 and 2 (KIP-48): a token ends earlier, or at once."""

from __future__ import annotations

from barnabas.broker.delegation_tokens.token_store import check_may_ask
from barnabas.broker.handlers.api import Call, Handler
from barnabas.errors import BrokerError
from barnabas.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


async def handle(call: Call, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    try:
        check_may_ask(call.connection)
    except BrokerError as error:
        return ExpireDelegationTokenResponse(error.code, -1)
    try:
        expiry_ms = call.parts.tokens.expire(request.hmac, call.principal, request.expiry_time_period_ms)
    except BrokerError as error:
        return ExpireDelegationTokenResponse(error.code)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expiry_ms)


HANDLER = Handler(ExpireDelegationTokenRequest, 1, 2, handle)
