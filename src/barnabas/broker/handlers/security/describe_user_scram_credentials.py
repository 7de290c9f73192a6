"""DescribeUserScramCredentials, version 0 (KIP-554): users' credentials, of all where none is named."""

from __future__ import annotations

from collections import Counter

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.scram_users import ScramCredential
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


async def handle(
    call: Call, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    try:
        call.parts.authorizer.require_cluster(call, Operation.DESCRIBE)
    except BrokerError as error:
        return DescribeUserScramCredentialsResponse(
            error_code=error.code,
            error_message=None,
            results=[Result(error_code=error.code, error_message=None) for _ in request.users or ()],
        )
    kept: dict[str, list[ScramCredential]] = {}
    for credential in call.parts.cluster.scram_users.credentials.values():
        kept.setdefault(credential.user, []).append(credential)
    asked = Counter([user.name for user in request.users] if request.users else list(kept))
    return DescribeUserScramCredentialsResponse(
        error_message="",
        results=[_describe(user, kept.get(user), times) for user, times in asked.items()],
    )


def _describe(user: str, credentials: list[ScramCredential] | None, times: int) -> Result:
    if times > 1:
        return Result(
            user,
            ErrorCode.DUPLICATE_RESOURCE,
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}",
        )
    if credentials is None:
        return Result(
            user,
            ErrorCode.RESOURCE_NOT_FOUND,
            f"Attempt to describe a user credential that does not exist: {user}",
        )
    infos = [
        DescribeUserScramCredentialsResponse.CredentialInfo(one.mechanism, one.iterations)
        for one in credentials
    ]
    return Result(user, error_message="", credential_infos=infos)


HANDLER = Handler(DescribeUserScramCredentialsRequest, 0, 0, handle)
