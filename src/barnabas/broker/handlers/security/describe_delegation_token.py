"""DescribeDelegationToken, versions 1 to 3 (KIP-48): the tokens that who asks may see, of all owners or of
some."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.delegation_tokens.kept_token import KeptToken
from barnabas.broker.delegation_tokens.token_store import check_may_ask
from barnabas.broker.handlers.api import Call, Handler
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

TELLS_REQUESTER = 3
Described = DescribeDelegationTokenResponse.DescribedDelegationToken


async def handle(call: Call, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    try:
        check_may_ask(call.connection)
        tokens = call.parts.tokens.tokens()
    except BrokerError as error:
        return DescribeDelegationTokenResponse(error.code)
    if request.owners is not None:
        owners = [f"{owner.principal_type}:{owner.principal_name}" for owner in request.owners]
        tokens = [token for token in tokens if any(map(token.concerns, owners))]
    return DescribeDelegationTokenResponse(
        tokens=[_described(call, token) for token in tokens if _may_see(call, token)]
    )


def _may_see(call: Call, token: KeptToken) -> bool:
    authorize = call.parts.authorizer.authorize
    return (
        token.concerns(str(call.principal))
        or authorize(call, Operation.DESCRIBE, ResourceKind.DELEGATION_TOKEN, token.token_id)
        or authorize(call, Operation.DESCRIBE_TOKENS, ResourceKind.USER, token.owner)
    )


def _described(call: Call, token: KeptToken) -> Described:
    described = Described(
        issue_timestamp=token.issue_timestamp_ms,
        expiry_timestamp=token.expiry_timestamp_ms,
        max_timestamp=token.max_timestamp_ms,
        token_id=token.token_id,
        hmac=call.parts.tokens.hmac(token),
        renewers=[
            DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer(*_parts(renewer))
            for renewer in token.renewers
        ],
    )
    described.principal_type, described.principal_name = _parts(token.owner)
    if call.version >= TELLS_REQUESTER:
        requester = _parts(token.requester)
        described.token_requester_principal_type, described.token_requester_principal_name = requester
    return described


def _parts(principal: str) -> tuple[str, str]:
    kind, _, name = principal.partition(":")
    return kind, name


HANDLER = Handler(DescribeDelegationTokenRequest, 1, 3, handle)
