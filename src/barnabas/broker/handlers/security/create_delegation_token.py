"""CreateDelegationToken, versions 1 to 3 (KIP-48, KIP-373): a token for who asks, or for another owner."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.delegation_tokens.token_store import check_may_ask
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.principal import ANONYMOUS, Principal
from barnabas.broker_errors import (
    DelegationTokenAuthorizationFailedError,
    ErrorCode,
    InvalidPrincipalTypeError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

USER = "User"
TELLS_REQUESTER = 3
_NEVER_MS = -1


async def handle(call: Call, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    requester = call.principal
    if not request.owner_principal_name:
        owner = requester
    elif request.owner_principal_type is None:
        # Kafka stumbles over it.
        return _refused(call, ErrorCode.UNKNOWN_SERVER_ERROR, ANONYMOUS, ANONYMOUS)
    else:
        owner = Principal(request.owner_principal_name, request.owner_principal_type)
    try:
        check_may_ask(call.connection)
        if owner != requester and not call.parts.authorizer.authorize(
            call, Operation.CREATE_TOKENS, ResourceKind.USER, str(owner)
        ):
            raise DelegationTokenAuthorizationFailedError
        if any(renewer.principal_type != USER for renewer in request.renewers):
            raise InvalidPrincipalTypeError
    except BrokerError as error:
        return _refused(call, error.code, owner, requester)
    response = _response(call, owner, requester)
    renewers = [Principal(renewer.principal_name, renewer.principal_type) for renewer in request.renewers]
    tokens = call.parts.tokens
    try:
        token = tokens.create(owner, requester, renewers, request.max_lifetime_ms)
    except BrokerError as error:
        response.error_code = error.code
        return response
    response.issue_timestamp_ms = token.issue_timestamp_ms
    response.expiry_timestamp_ms = token.expiry_timestamp_ms
    response.max_timestamp_ms = token.max_timestamp_ms
    response.token_id = token.token_id
    response.hmac = tokens.hmac(token)
    return response


def _refused(call: Call, code: int, owner: Principal, requester: Principal) -> CreateDelegationTokenResponse:
    response = _response(call, owner, requester)
    response.error_code = code
    response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = _NEVER_MS
    return response


def _response(call: Call, owner: Principal, requester: Principal) -> CreateDelegationTokenResponse:
    response = CreateDelegationTokenResponse(principal_type=owner.type, principal_name=owner.name)
    if call.version >= TELLS_REQUESTER:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    return response


HANDLER = Handler(CreateDelegationTokenRequest, 1, 3, handle)
