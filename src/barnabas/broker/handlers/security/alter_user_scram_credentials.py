"""AlterUserScramCredentials, version 0 (KIP-554): sets and deletes users' credentials.

Each user has a result of its own, and may be in a request once.
"""

from __future__ import annotations

from collections import Counter

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.scram_users import (
    ScramCredential,
    UserAndMechanism,
    check_deletion,
    check_iterations,
    check_user,
)
from barnabas.broker_errors import DuplicateResourceError, UnknownServerError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)

Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
Changes = dict[UserAndMechanism, ScramCredential | None]


async def handle(call: Call, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    asked = [*request.deletions, *request.upsertions]
    try:
        call.parts.authorizer.require_cluster(call, Operation.ALTER)
    except BrokerError as error:
        return AlterUserScramCredentialsResponse(
            results=[
                Result(user, error.code, error.context)
                for user in dict.fromkeys(change.name for change in asked)
            ]
        )
    times = Counter(change.name for change in asked)
    cluster = call.parts.cluster
    changes: Changes = {}
    results: dict[str, Result] = {}
    for change in asked:
        key = change.name, change.mechanism
        try:
            check_user(*key)
            if times[change.name] > 1:
                raise DuplicateResourceError("A user credential cannot be altered twice in the same request")
            if isinstance(change, Upsertion):
                changes[key] = _credential(change)
            else:
                check_deletion(cluster.scram_users.credentials, *key)
                changes[key] = None
        except BrokerError as error:
            results[change.name] = Result(change.name, error.code, error.context or None)
        else:
            results[change.name] = Result(change.name, error_message=None)
    try:
        cluster.scram_users.change(changes)
    except BrokerError as error:
        for user, _ in changes:
            results[user] = Result(user, error.code, error.context)
    return AlterUserScramCredentialsResponse(results=list(results.values()))


def _credential(asked: Upsertion) -> ScramCredential:
    check_iterations(asked.iterations)
    if not asked.salted_password:
        raise UnknownServerError("")
    return ScramCredential.of(
        asked.name, asked.mechanism, asked.iterations, asked.salt, asked.salted_password
    )


HANDLER = Handler(AlterUserScramCredentialsRequest, 0, 0, handle)
