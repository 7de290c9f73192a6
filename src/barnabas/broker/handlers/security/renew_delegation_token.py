"""RenewDelegationToken, versions 1 and 2 (KIP-48): a token lives on, as long as it may."""

from __future__ import annotations

from barnabas.broker.delegation_tokens.token_store import check_may_ask
from barnabas.broker.handlers.api import Call, Handler
from barnabas.errors import BrokerError
from barnabas.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


async def handle(call: Call, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    try:
        check_may_ask(call.connection)
    except BrokerError as error:
        return RenewDelegationTokenResponse(error.code, -1)
    try:
        expiry_ms = call.parts.tokens.renew(request.hmac, call.principal, request.renew_period_ms)
    except BrokerError as error:
        return RenewDelegationTokenResponse(error.code)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=expiry_ms)


HANDLER = Handler(RenewDelegationTokenRequest, 1, 2, handle)
